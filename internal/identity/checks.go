// Checks of what clients send: addresses, profiles, hostnames, origins, roles and invitations. They also normalize it.

package identity

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/text"
)

// CheckProfile validates the members that a profile and a signup share. Empty members are valid.
func CheckProfile(problems *fault.Problems, name, locale, timeZone string) {
	if err := text.Line(name, text.MaxName); err != nil {
		problems.Add("name", err.Error())
	}
	if locale != "" && !i18n.Supported(locale) {
		problems.Add("locale", "must be one of "+strings.Join(i18n.Locales(), ", "))
	}
	if timeZone != "" && !knownTimeZone(timeZone) {
		problems.Add("timeZone", "is not a name of the IANA time zone database, such as Europe/Berlin")
	}
}

// knownTimeZone reports whether name is in the IANA time zone database. time.LoadLocation accepts more: "", "Local",
// and files that systems keep beside the database (localtime, posixrules, the copies posix/ and right/, and Factory).
func knownTimeZone(name string) bool {
	directory, _, _ := strings.Cut(name, "/")
	if slices.Contains([]string{"", "Local", "localtime", "posixrules", "posix", "right", "Factory"}, directory) || len(name) > text.MaxName {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// Location returns the time zone of a stored name, or UTC if the database no longer has it.
func Location(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.UTC
}

// NormalizeAddress validates a required address and returns it in stored form. member is its name in error details.
// Errors: fault.ErrInvalid.
func NormalizeAddress(member, address string) (string, error) {
	var problems fault.Problems
	normalized, err := text.Email(address)
	switch {
	case address == "":
		problems.Add(member, "is required")
	case err != nil:
		problems.Add(member, err.Error())
	}
	return normalized, problems.Err()
}

// Check validates a profile and normalizes its hostnames.
// Errors: fault.ErrInvalid.
func (p *OrganizationProfile) Check() error {
	var problems fault.Problems
	CheckProfile(&problems, p.Name, p.Locale, p.TimeZone)
	for member, value := range map[string]string{"locale": p.Locale, "timeZone": p.TimeZone} {
		if value == "" {
			problems.Add(member, "is required")
		}
	}
	for member, value := range map[string]string{
		"addressLine1": p.AddressLine1, "addressLine2": p.AddressLine2, "postCode": p.PostCode, "city": p.City, "state": p.State,
		"country": p.Country, "phoneNumber": p.PhoneNumber,
	} {
		if err := text.Line(value, text.MaxName); err != nil {
			problems.Add(member, err.Error())
		}
	}
	if err := text.Block(p.GlobalSignature, text.MaxMessage); err != nil {
		problems.Add("globalSignature", err.Error())
	}
	for member, value := range map[string]string{"legalNoticeUrl": p.LegalNoticeURL, "privacyPolicyUrl": p.PrivacyPolicyURL} {
		if err := text.URL(value); value != "" && err != nil {
			problems.Add(member, err.Error())
		}
	}
	checkHostnames(&problems, p)
	slices.Sort(problems)
	return problems.Err()
}

// checkHostnames validates the hostnames of a profile and normalizes them.
func checkHostnames(problems *fault.Problems, p *OrganizationProfile) {
	if p.Hostname != "" {
		host, err := text.Hostname(p.Hostname)
		if err != nil {
			problems.Add("hostname", err.Error())
		}
		p.Hostname = host
	}
	for i, h := range p.InactiveHostnames {
		host, err := text.Hostname(h)
		if err != nil {
			problems.Add(fmt.Sprintf("inactiveHostnames[%d]", i), err.Error())
			continue
		}
		p.InactiveHostnames[i] = host
	}
}

// CheckUploadOrigins returns origins normalized, sorted and without duplicates.
// Errors: fault.ErrInvalid.
func CheckUploadOrigins(origins []string) ([]string, error) {
	if len(origins) > MaxUploadOrigins {
		return nil, fault.ErrInvalid.With(fmt.Sprintf("origins: has %d entries; %d are allowed", len(origins), MaxUploadOrigins))
	}
	var problems fault.Problems
	checked := make([]string, 0, len(origins))
	for i, sent := range origins {
		origin, err := text.Origin(sent)
		if err != nil {
			problems.Add(fmt.Sprintf("origins[%d]", i), err.Error())
			continue
		}
		checked = append(checked, origin)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	slices.Sort(checked)
	return slices.Compact(checked), nil
}

// CheckRoles returns the known roles in the order of Roles, and adds a problem for each unknown one.
func CheckRoles(problems *fault.Problems, roles []string) []string {
	sorted, unknown := SortRoles(roles)
	for _, r := range unknown {
		if text.Line(r, text.MaxName) != nil {
			r = "an entry"
		}
		problems.Add("roles", r+" is none of "+strings.Join(Roles(), ", "))
	}
	return sorted
}

// NewInvitation is the input of an invitation: either shared or for an address.
type NewInvitation struct {
	Shared  bool
	Address string
	Roles   []string
}

// Check validates the input and normalizes its address.
// Errors: fault.ErrInvalid, ErrSharedRoles.
func (n *NewInvitation) Check() error {
	var problems fault.Problems
	switch {
	case n.Shared && n.Address != "":
		problems.Add("address", "has no place in a shared invitation")
	case !n.Shared:
		address, err := NormalizeAddress("address", n.Address)
		if err != nil {
			problems = append(problems, err.(*fault.Error).Details...) //nolint:errorlint // NormalizeAddress returns nothing else
		}
		n.Address = address
	}
	n.Roles = CheckRoles(&problems, n.Roles)
	if err := problems.Err(); err != nil {
		return err
	}
	if n.Shared && slices.ContainsFunc(n.Roles, func(r string) bool { return !strings.HasPrefix(r, servicePrefix) }) {
		return ErrSharedRoles
	}
	return nil
}

// servicePrefix is the prefix of the roles that a shared invitation may grant.
const servicePrefix = "Service."

// ProfileChange is a change of a profile. Nil members stay unchanged.
type ProfileChange struct {
	Name     *string // empty: unset
	Locale   *string
	TimeZone *string
}

// Check validates a change.
// Errors: fault.ErrInvalid.
func (c ProfileChange) Check() error {
	var problems fault.Problems
	value := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	CheckProfile(&problems, value(c.Name), value(c.Locale), value(c.TimeZone))
	if c.Locale != nil && *c.Locale == "" {
		problems.Add("locale", "is empty")
	}
	if c.TimeZone != nil && *c.TimeZone == "" {
		problems.Add("timeZone", "is empty")
	}
	return problems.Err()
}

// Parking is the query of POST /auth/park. Nil members are missing ones.
type Parking struct {
	RedirectURI     *string
	State           *string
	KeepSession     bool
	Challenge       *string
	ChallengeMethod *string
}

const (
	methodS256      = "S256"
	challengeLength = 43 // base64url of a SHA-256 (RFC 7636, 4.2)
)

// Check validates the query. checkRedirect decides whether redirect_uri is allowed.
// Errors: fault.ErrInvalid.
func (p Parking) Check() error {
	var problems fault.Problems
	if p.RedirectURI == nil || *p.RedirectURI == "" {
		problems.Add("redirect_uri", "is required")
	}
	if p.State != nil {
		if n := utf8.RuneCountInString(*p.State); n < 1 || n > MaxState {
			problems.Add("state", "must have 1 to 128 characters")
		} else if err := text.Line(*p.State, 4*MaxState); err != nil {
			problems.Add("state", err.Error())
		}
	}
	switch {
	case p.Challenge == nil && p.ChallengeMethod != nil:
		problems.Add("code_challenge", "is required with a code_challenge_method")
	case p.Challenge != nil && p.ChallengeMethod == nil:
		problems.Add("code_challenge_method", "is required with a code_challenge; S256 is supported")
	case p.Challenge != nil && *p.ChallengeMethod != methodS256:
		problems.Add("code_challenge_method", "is not supported; use S256")
	case p.Challenge != nil:
		raw, err := base64.RawURLEncoding.Strict().DecodeString(*p.Challenge)
		if err != nil || len(raw) != sha256.Size || len(*p.Challenge) != challengeLength {
			problems.Add("code_challenge", "is not the base64url form of a SHA-256")
		}
	}
	return problems.Err()
}

// Printable returns untrusted text as valid UTF-8 without control characters, cut to at most maxBytes bytes.
func Printable(s string, maxBytes int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) > maxBytes {
		s = strings.ToValidUTF8(s[:maxBytes], "")
	}
	return s
}

// CheckContract checks that the profile has what identifies a party to a contract.
// Errors: ErrProfileIncomplete.
func (p OrganizationProfile) CheckContract() error {
	var missing []string
	for _, c := range []struct{ member, value string }{
		{"name", p.Name}, {"addressLine1", p.AddressLine1}, {"city", p.City}, {"country", p.Country},
	} {
		if strings.TrimSpace(c.value) == "" {
			missing = append(missing, c.member+": is missing in the organization's profile")
		}
	}
	if len(missing) > 0 {
		return ErrProfileIncomplete.With(missing...)
	}
	return nil
}
