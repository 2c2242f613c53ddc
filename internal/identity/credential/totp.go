// Codes of authenticator apps (TOTP), the URI that they read, and its QR code.

package credential

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" // what RFC 6238 and every authenticator app use
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image/png"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pquerna/otp"
)

// TOTP per contract 3.3: SHA-1, 6 digits, 30 s steps, one step of tolerance either way (RFC 6238).
const (
	totpPeriod = 30
	totpDigits = 6
	totpSkew   = 1
	secretSize = 20  // bytes; RFC 4226 recommends the length of the hash
	qrSize     = 264 // pixels
)

var base32NoPadding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewTOTPSecret returns a random secret.
func NewTOTPSecret() []byte {
	secret := make([]byte, secretSize)
	_, _ = rand.Read(secret) // never fails (crypto/rand)
	return secret
}

// TOTPKey returns a secret as a person types it: in base32 without padding.
func TOTPKey(secret []byte) string { return base32NoPadding.EncodeToString(secret) }

// TOTPStep returns the time step of a code that is valid at now. ok is false for an invalid code. The caller must
// accept each step once, and none before the last accepted one (RFC 6238, section 5.2).
func TOTPStep(secret []byte, code string, now time.Time) (step int64, ok bool) {
	if len(code) != totpDigits {
		return 0, false
	}
	current := now.Unix() / totpPeriod
	// All candidates are computed, so that the duration does not reveal which one matches.
	for s := current - totpSkew; s <= current+totpSkew; s++ {
		if hmac.Equal([]byte(TOTPCode(secret, s)), []byte(code)) {
			step, ok = s, true
		}
	}
	return step, ok
}

// LastTOTPStep returns the last time step whose code TOTPStep can accept at now.
func LastTOTPStep(now time.Time) int64 { return now.Unix()/totpPeriod + totpSkew }

// TOTPCode returns the code of a step (RFC 4226, section 5.3).
func TOTPCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0x0f
	number := binary.BigEndian.Uint32(sum[offset:offset+4]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, number%1_000_000)
}

// TOTPURI returns the otpauth URI from which an app imports the secret. issuer is the product's name, account the
// person's address.
func TOTPURI(secret []byte, issuer, account string) string {
	query := url.Values{
		"secret": {TOTPKey(secret)}, "issuer": {issuer}, "algorithm": {"SHA1"},
		"digits": {strconv.Itoa(totpDigits)}, "period": {strconv.Itoa(totpPeriod)},
	}.Encode()
	uri := url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + account, RawQuery: strings.ReplaceAll(query, "+", "%20")}
	return uri.String()
}

// TOTPImage returns the result of TOTPURI as a QR code: a PNG image in a data URI.
func TOTPImage(uri string) (string, error) {
	key, err := otp.NewKeyFromURL(uri)
	if err != nil {
		return "", fmt.Errorf("read otpauth URI: %w", err)
	}
	img, err := key.Image(qrSize, qrSize)
	if err != nil {
		return "", fmt.Errorf("draw QR code: %w", err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return "", fmt.Errorf("encode QR code: %w", err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
