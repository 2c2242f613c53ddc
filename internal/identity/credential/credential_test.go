// Tests of passwords, TOTP and recovery codes.

package credential_test

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/consign-dev/consign/internal/identity/credential"
)

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]string{
		"":                             "12 characters",
		"elevenchars":                  "12 characters",
		"ééééééééééé":                  "12 characters", // 22 bytes
		strings.Repeat("x!7", 24):      "common",
		"a" + strings.Repeat("bZ", 36): "72 bytes",
		"123456789012":                 "common",
		"210987654321":                 "common",
		"aaaaaaaaaaaa":                 "common",
		"abcdefghijkl":                 "common",
		"Password1234":                 "common",
		"PASSWORD!!!!":                 "common",
		"2024dragon2024":               "common",
		"qwertyuiop12":                 "common",
		"dragondragon":                 "common",
		"correct horse battery":        "",
		"xk7-plumbago":                 "",
		"ein Satz über Äpfel":          "",
		"tangerine-and-cobalt-1987":    "",
	} {
		err := credential.CheckPassword(password, 12)
		switch {
		case want == "" && err != nil:
			t.Errorf("CheckPassword(%q) = %v", password, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("CheckPassword(%q) = %v, want one about %q", password, err, want)
		}
	}
}

func TestTOTP(t *testing.T) {
	t.Parallel()
	secret := credential.NewTOTPSecret()
	now := time.Unix(1_900_000_000, 0)
	step := now.Unix() / 30
	theirs, err := totp.GenerateCode(credential.TOTPKey(secret), now)
	if err != nil || theirs != credential.TOTPCode(secret, step) {
		t.Fatalf("code %s, package otp returns %s, %v", credential.TOTPCode(secret, step), theirs, err)
	}
	for d := int64(-3); d <= 3; d++ {
		got, ok := credential.TOTPStep(secret, credential.TOTPCode(secret, step+d), now)
		if want := d >= -1 && d <= 1; ok != want || ok && got != step+d {
			t.Errorf("the code of step %+d: %d, %v", d, got-step, ok)
		}
	}
	for _, bad := range []string{"", "12345", "1234567", "12345x", " 12345"} {
		if _, ok := credential.TOTPStep(secret, bad, now); ok {
			t.Errorf("TOTPStep accepted %q", bad)
		}
	}
}

// TestTOTPVectors uses the vectors of RFC 6238, appendix B, cut to six digits.
func TestTOTPVectors(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924",
		20000000000: "353130"} {
		if got := credential.TOTPCode(secret, at/30); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

func TestTOTPImage(t *testing.T) {
	t.Parallel()
	uri, err := credential.TOTPImage(credential.TOTPURI(credential.NewTOTPSecret(), "Consign", "ann+x@example.com"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(uri, "data:image/png;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
}

// TestTOTPURI: a space must be %20, since apps show a + in the query as a plus sign (RFC 3986).
func TestTOTPURI(t *testing.T) {
	t.Parallel()
	uri := credential.TOTPURI([]byte("12345678901234567890"), "My Files", "ann+x@example.com")
	const want = "otpauth://totp/My%20Files:ann+x@example.com?algorithm=SHA1&digits=6&issuer=My%20Files&period=30&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
	if uri != want {
		t.Errorf("got  %s\nwant %s", uri, want)
	}
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	codes, salt := credential.NewRecoveryCodes()
	if len(codes) != 10 || len(salt) != 16 {
		t.Fatalf("%d codes, %d bytes of salt", len(codes), len(salt))
	}
	form := regexp.MustCompile(`^[A-Z2-7]{10}$`)
	seen := map[string]bool{}
	for _, c := range codes {
		if !form.MatchString(c) || seen[c] {
			t.Errorf("code %q", c)
		}
		seen[c] = true
	}
	typed := strings.ToLower(codes[0][:5] + " - " + codes[0][5:])
	if !bytes.Equal(credential.HashRecoveryCode(salt, typed), credential.HashRecoveryCode(salt, codes[0])) {
		t.Error("a code in lower case with separators has another hash")
	}
	_, otherSalt := credential.NewRecoveryCodes()
	if bytes.Equal(credential.HashRecoveryCode(otherSalt, codes[0]), credential.HashRecoveryCode(salt, codes[0])) {
		t.Error("the hash does not depend on the salt")
	}
}
