package credential_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image/png"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"golang.org/x/crypto/bcrypt"

	"github.com/consign-dev/consign/internal/identity/credential"
)

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]string{
		"":                             "10 characters",
		"ninechars":                    "10 characters",
		"ééééééééé":                    "10 characters", // 18 bytes
		strings.Repeat("x!7", 24):      "common",
		"a" + strings.Repeat("bZ", 36): "72 bytes",
		"1234567890":                   "common",
		"0987654321":                   "common",
		"aaaaaaaaaaaa":                 "common",
		"abcdefghijkl":                 "common",
		"Password123":                  "common",
		"PASSWORD!!!!":                 "common",
		"2024dragon2024":               "common",
		"qwertyuiop":                   "common",
		"dragondragon":                 "common",
		"correct horse battery":        "",
		"xk7-plumbago":                 "",
		"ein Satz über Äpfel":          "",
		"tangerine-and-cobalt-1987":    "",
	} {
		err := credential.CheckPassword(password)
		switch {
		case want == "" && err != nil:
			t.Errorf("CheckPassword(%q) = %v", password, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("CheckPassword(%q) = %v, want one about %q", password, err, want)
		}
	}
}

func TestBcrypt(t *testing.T) {
	t.Parallel()
	b, err := credential.NewBcrypt(bcrypt.MinCost, 0)
	if err != nil {
		t.Fatal(err)
	}
	longest := strings.Repeat("é", 36)
	hash, err := b.Hash(t.Context(), longest)
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{longest: true, longest + "x": false, longest[:70]: false, "": false} {
		if got, err := b.Compare(t.Context(), hash, password); err != nil || got != want {
			t.Errorf("Compare with %d bytes = %v, %v, want %v", len(password), got, err, want)
		}
	}
	if _, err := b.Hash(t.Context(), longest+"x"); !errors.Is(err, credential.ErrTooLong) {
		t.Errorf("Hash of 73 bytes: %v", err)
	}
	if got, err := b.Compare(t.Context(), nil, "whatever it is"); err != nil || got {
		t.Errorf("Compare without a hash = %v, %v", got, err)
	}
	if b.Outdated(hash) {
		t.Error("a fresh hash is outdated")
	}
	other, err := credential.NewBcrypt(bcrypt.MinCost+1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !other.Outdated(hash) {
		t.Error("a hash of another cost is not outdated")
	}
	if _, err := credential.NewBcrypt(3, 1); err == nil {
		t.Error("cost 3 was accepted")
	}
}

func TestTOTP(t *testing.T) {
	t.Parallel()
	secret := credential.NewTOTPSecret()
	now := time.Unix(1_900_000_000, 0)
	step := now.Unix() / 30
	theirs, err := totp.GenerateCode(credential.TOTPKey(secret), now)
	if err != nil || theirs != credential.TOTPCode(secret, step) {
		t.Fatalf("code %s, another implementation says %s, %v", credential.TOTPCode(secret, step), theirs, err)
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

// The vectors of RFC 6238, appendix B, shortened to six digits.
func TestTOTPVectors(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 20000000000: "353130"} {
		if got := credential.TOTPCode(secret, at/30); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

func TestTOTPImage(t *testing.T) {
	t.Parallel()
	uri, err := credential.TOTPImage(credential.NewTOTPSecret(), "Consign", "ann+x@example.com")
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
		t.Error("a code typed in another way has another hash")
	}
	_, otherSalt := credential.NewRecoveryCodes()
	if bytes.Equal(credential.HashRecoveryCode(otherSalt, codes[0]), credential.HashRecoveryCode(salt, codes[0])) {
		t.Error("the salt does not matter")
	}
}
