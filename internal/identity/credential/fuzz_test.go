package credential_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity/credential"
)

// FuzzPasskeyAnswers checks that no text makes the parsers panic, and that what they accept is refused without the key that signed it.
func FuzzPasskeyAnswers(f *testing.F) {
	f.Add(`{"id":"AQ","rawId":"AQ","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ","signature":"MEUC","userHandle":"AQ"}}`)
	f.Add(`{"id":"AQ","rawId":"AQ","type":"public-key","response":{"clientDataJSON":"e30","attestationObject":"o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YUA"}}`)
	rp := credential.RelyingParty{ID: "consign.test", Name: "Consign", Origin: "https://consign.test"}
	owner := credential.PasskeyOwner{Handle: []byte{1}, Name: "ann@example.com"}
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := credential.ParsePasskeyAnswer(text); err == nil {
			if _, _, err := a.Verify(rp, owner, credential.Passkey{ID: a.ID, PublicKey: []byte{0xa0}}); err == nil {
				t.Errorf("%q is accepted", text)
			}
		}
		if m, err := credential.ParseMadePasskey(text); err == nil {
			_, _ = m.Verify(rp, owner)
		}
	})
}

// FuzzCodes checks that no text is accepted as a code of TOTP but the code itself, and that an otpauth URI keeps its labels.
func FuzzCodes(f *testing.F) {
	f.Add("000000", "ann@example.com", "Consign")
	f.Add("１２３４５６", "a:b?secret=x&issuer=y", "Con:sign")
	f.Fuzz(func(t *testing.T, code, account, issuer string) {
		secret, now := []byte("12345678901234567890"), time.Unix(1111111109, 0)
		if step, ok := credential.TOTPStep(secret, code, now); ok && credential.TOTPCode(secret, step) != code {
			t.Errorf("%q is accepted for step %d", code, step)
		}
		u, err := url.Parse(credential.TOTPURI(secret, issuer, account))
		if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Query().Get("secret") != credential.TOTPKey(secret) ||
			u.Query().Get("issuer") != issuer {
			t.Errorf("%q, %q: %v, %v", issuer, account, u, err)
		}
		credential.HashRecoveryCode([]byte("salt"), code)
		_ = credential.CheckPassword(code, 12)
	})
}
