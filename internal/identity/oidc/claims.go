// Parses the ID token of a provider: bounds of its claims, and what counts as a verified address.

package oidc

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"

	"github.com/consign-dev/consign/internal/text"
)

const (
	maxToken = 32 << 10 // bytes of an ID token; Microsoft's grow with the groups of a person
	maxClaim = 255      // bytes of sub (OpenID Connect Core 1.0, section 2), sid and name
	maxNonce = 1_024
	maxTime  = 253402300799 // the last second of the year 9999, in seconds since 1970
)

// token is a parsed ID token. Its signature is not verified.
type token struct {
	jws         *jose.JSONWebSignature
	claims      claims
	fingerprint [sha256.Size]byte
}

// parseToken parses the compact serialization (RFC 7515, section 7.1) and refuses algorithms that are not accepted. It
// does not verify the signature.
func parseToken(raw string) (*token, error) {
	if raw == "" || len(raw) > maxToken {
		return nil, fmt.Errorf("it must have 1 to %d bytes", maxToken)
	}
	jws, err := jose.ParseSignedCompact(raw, algorithms())
	if err != nil {
		// The error of the library can contain the token.
		return nil, errors.New("it must be a JWT signed with RS256, ES256 or EdDSA")
	}
	payload := jws.UnsafePayloadWithoutVerification()
	c, err := parseClaims(payload)
	if err != nil {
		return nil, err
	}
	// Only the payload counts: base64 and ECDSA signatures allow several encodings of the same token.
	return &token{jws: jws, claims: c, fingerprint: sha256.Sum256(payload)}, nil
}

// claims are the validated claims of an ID token (OpenID Connect Core 1.0, sections 2 and 5.1).
type claims struct {
	Issuer, Subject string
	Audience        []string
	Authorized      string // azp
	Nonce, Session  string
	Tenant          string // tid (Microsoft)
	Email           string // in stored form; empty if missing or not an address
	EmailVerified   bool   // email_verified is true or "true"
	DomainVerified  bool   // xms_edov (Microsoft): the tenant owns the domain of the email
	Name            string

	Expires, Issued, NotBefore time.Time
}

// parseClaims parses claims by their exact names. A duplicate claim or one of the wrong type is an error, except for
// the name, which is optional and then left out.
func parseClaims(payload []byte) (claims, error) {
	var c claims
	if !utf8.Valid(payload) {
		return c, errors.New("its claims are not valid UTF-8")
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(payload, &all); err != nil || all == nil {
		return c, errors.New("its claims must be a JSON object that names no claim twice")
	}
	for _, s := range []struct {
		name   string
		target *string
		max    int
	}{
		{"iss", &c.Issuer, text.MaxURL}, {"sub", &c.Subject, maxClaim}, {"azp", &c.Authorized, maxMember}, {"nonce", &c.Nonce, maxNonce},
		{"sid", &c.Session, maxClaim}, {"tid", &c.Tenant, maxClaim}, {"email", &c.Email, 4 * text.MaxEmail},
	} {
		if err := stringClaim(all, s.name, s.target, s.max); err != nil {
			return claims{}, err
		}
	}
	for _, s := range []struct {
		name   string
		target *time.Time
	}{{"exp", &c.Expires}, {"iat", &c.Issued}, {"nbf", &c.NotBefore}} {
		if err := timeClaim(all, s.name, s.target); err != nil {
			return claims{}, err
		}
	}
	switch {
	case c.Issuer == "" || c.Subject == "" || c.Expires.IsZero() || c.Issued.IsZero():
		return claims{}, errors.New("it must hold iss, sub, aud, exp and iat")
	case !audience(all["aud"], &c.Audience):
		return claims{}, errors.New("aud must be a string or several")
	}
	if address, err := text.Email(c.Email); err == nil {
		c.Email = address
	} else {
		c.Email = ""
	}
	c.EmailVerified = affirmed(all["email_verified"], `true`, `"true"`)
	c.DomainVerified = affirmed(all["xms_edov"], `true`, `"true"`, `1`, `"1"`)
	c.Name = nameOf(all)
	return c, nil
}

// stringClaim parses a claim that is a line of text. A missing claim or null leaves target empty.
func stringClaim(all map[string]json.RawMessage, name string, target *string, maxBytes int) error {
	raw, there := all[name]
	if !there {
		return nil
	}
	if err := json.Unmarshal(raw, target); err != nil || text.Line(*target, maxBytes) != nil {
		return fmt.Errorf("%s must be a string of one line, at most %d bytes", name, maxBytes)
	}
	return nil
}

// timeClaim parses a NumericDate (RFC 7519, section 2), which may have a fraction.
func timeClaim(all map[string]json.RawMessage, name string, target *time.Time) error {
	raw, there := all[name]
	if !there {
		return nil
	}
	seconds, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(seconds > 0 && seconds <= maxTime) {
		return fmt.Errorf("%s must be a number of seconds since 1970", name)
	}
	*target = time.Unix(int64(seconds), 0).UTC()
	return nil
}

func audience(raw json.RawMessage, target *[]string) bool {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		*target = []string{one}
		return true
	}
	return json.Unmarshal(raw, target) == nil && len(*target) > 0
}

func affirmed(raw json.RawMessage, spellings ...string) bool {
	for _, s := range spellings {
		if string(raw) == s {
			return true
		}
	}
	return false
}

func nameOf(all map[string]json.RawMessage) string {
	read := func(claim string) string {
		var s string
		if json.Unmarshal(all[claim], &s) != nil {
			return ""
		}
		return s
	}
	if name := displayName(read("name")); name != "" {
		return name
	}
	return displayName(read("given_name") + " " + read("family_name"))
}

// displayName turns a provider's name into one that is valid in a profile. The result may be empty.
func displayName(s string) string {
	s = strings.ToValidUTF8(s, "")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	for len(s) > text.MaxName {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return strings.TrimSpace(s)
}

// UserName returns the name in the member user of Apple's form post, or "". Apple sends this JSON text at the first
// login only. It is not signed, so the name is unverified and the email in it is ignored.
func UserName(user string) string {
	if len(user) > maxToken {
		return ""
	}
	var u struct {
		Name struct {
			First string `json:"firstName"`
			Last  string `json:"lastName"`
		} `json:"name"`
	}
	if json.Unmarshal([]byte(user), &u) != nil {
		return ""
	}
	return displayName(u.Name.First + " " + u.Name.Last)
}
