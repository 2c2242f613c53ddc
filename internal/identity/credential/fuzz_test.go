package credential_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity/credential"
)

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
		if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Query().Get("secret") != credential.TOTPKey(secret) || u.Query().Get("issuer") != issuer {
			t.Errorf("%q, %q: %v, %v", issuer, account, u, err)
		}
		credential.HashRecoveryCode([]byte("salt"), code)
		_ = credential.CheckPassword(code, 12)
	})
}
