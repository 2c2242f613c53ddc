// Reads and checks the file of CONSIGN_OIDC_CLIENTS.

package oidc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4/json" // unlike the standard one: exact names, duplicates refused

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/text"
)

// Type is the kind of a provider, as the client environment shows it.
type Type string

// The types (contract 3.14).
const (
	Microsoft Type = "microsoft"
	Google    Type = "google"
	Apple     Type = "apple"
	Keycloak  Type = "keycloak" // and any other provider that follows the standard
)

const (
	maxFile   = 1 << 20 // bytes of the clients file
	maxMember = 255     // bytes of name and clientId
	maxSecret = 8 << 10 // bytes of clientSecret; Apple's is a JWT
)

// Client is one registration of Consign at a provider, an element of the file of CONSIGN_OIDC_CLIENTS.
type Client struct {
	Type         Type
	Issuer       string // exactly as in the discovery document; for Microsoft also the common, organizations or consumers issuer
	ClientID     string
	ClientSecret string          `json:"-"` // empty for a public client; for Apple the JWT signed with Apple's key
	Name         string          // for the sign-in button; may be empty
	Organization id.Organization // persons who log in become its members; zero: none
	Domains      []string        // whose addresses an organization's provider verifies; required with Organization
	EmailTrusted bool            // replaces email_verified; only for an issuer that one organization controls
}

// String returns a description of the client without its secret.
func (c Client) String() string {
	return fmt.Sprintf("%s client %q at %s", c.Type, c.ClientID, c.Issuer)
}

// Load returns the clients in the file of CONSIGN_OIDC_CLIENTS: a JSON array of objects with the members type, issuer,
// clientId, clientSecret, name, organizationUid, domains and emailTrusted. It returns none for an empty path. The error has one
// sentence for each mistake and contains no secrets.
func Load(path string) ([]Client, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read OIDC clients: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read OIDC clients: %w", err)
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("read OIDC clients: %s is longer than %d bytes", path, maxFile)
	}
	clients, err := parseClients(content)
	if err != nil {
		return nil, fmt.Errorf("OIDC clients in %s: %w", path, err)
	}
	return clients, nil
}

func parseClients(content []byte) ([]Client, error) {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(content) {
		return nil, errors.New("the file is not valid UTF-8")
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(content, &elements); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			before := content[:min(int(syntax.Offset), len(content))]
			return nil, fmt.Errorf("the file is not JSON: line %d: %w", 1+bytes.Count(before, []byte("\n")), err)
		}
		return nil, errors.New("the file must hold a JSON array of objects")
	}
	if elements == nil && bytes.Equal(bytes.TrimSpace(content), []byte("null")) {
		return nil, errors.New("the file must hold a JSON array of objects")
	}
	clients := make([]Client, 0, len(elements))
	var problems []error
	for i, raw := range elements {
		c, errs := parseClient(raw)
		for _, err := range errs {
			problems = append(problems, fmt.Errorf("clients[%d]%w", i, err))
		}
		clients = append(clients, c)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return clients, validate(clients)
}

// parseClient parses one element. Each error begins with the path inside the element.
func parseClient(raw json.RawMessage) (c Client, problems []error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return c, []error{errors.New(" must be an object that names no member twice")}
	}
	var kind, organization string
	targets := map[string]any{
		"type": &kind, "issuer": &c.Issuer, "clientId": &c.ClientID, "clientSecret": &c.ClientSecret,
		"name": &c.Name, "organizationUid": &organization, "domains": &c.Domains, "emailTrusted": &c.EmailTrusted,
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		target, known := targets[name]
		if !known {
			problems = append(problems, fmt.Errorf(
				" has an unknown member %s; known are type, issuer, clientId, clientSecret, name, organizationUid, domains and emailTrusted",
				strconv.Quote(name)))
			continue
		}
		want := "a string"
		switch name {
		case "emailTrusted":
			want = "true or false"
		case "domains":
			want = "an array of strings"
		}
		if err := json.Unmarshal(members[name], target); err != nil || bytes.Equal(members[name], []byte("null")) {
			problems = append(problems, fmt.Errorf(".%s: must be %s", name, want))
		}
	}
	c.Type = Type(kind)
	if organization != "" {
		var err error
		if c.Organization, err = id.Parse[id.Organization](organization); err != nil {
			problems = append(problems, fmt.Errorf(".organizationUid: %w", err))
		}
	}
	return c, problems
}

// validate checks each client, and that issuers and client IDs fit together.
func validate(clients []Client) error {
	var problems []error
	for i, c := range clients {
		add := func(member, problem string) {
			problems = append(problems, fmt.Errorf("clients[%d].%s: %s", i, member, problem))
		}
		validateClient(c, add)
		for j, other := range clients[:i] {
			if other.Issuer != c.Issuer {
				continue
			}
			if other.ClientID == c.ClientID {
				add("clientId", fmt.Sprintf("the pair of issuer and clientId is that of clients[%d]", j))
			}
			if other.Type != c.Type {
				add("type", fmt.Sprintf("clients[%d] has the same issuer, so its type must be the same", j))
			}
		}
	}
	return errors.Join(problems...)
}

func validateClient(c Client, add func(member, problem string)) {
	switch c.Type {
	case Microsoft, Google, Apple, Keycloak:
	default:
		add("type", "must be microsoft, google, apple or keycloak")
	}
	if problem := issuerProblem(c.Issuer); problem != "" {
		add("issuer", problem)
	}
	if err := text.Required(c.ClientID, maxMember); err != nil {
		add("clientId", err.Error())
	}
	if err := text.Line(c.ClientSecret, maxSecret); err != nil {
		add("clientSecret", err.Error())
	}
	if err := text.Line(c.Name, maxMember); err != nil {
		add("name", err.Error())
	}
	for _, d := range c.Domains {
		if name, err := text.Hostname(d); err != nil || name != d {
			add("domains", "must be domains in lower case, like example.com")
		}
	}
	if (len(c.Domains) > 0) == c.Organization.IsZero() {
		add("domains", "belongs to organizationUid: the domains of the addresses that this provider verifies")
	}
	if c.EmailTrusted && !singleTenant(c) {
		add("emailTrusted", "needs an issuer that one organization runs for itself: a keycloak realm or the issuer of one Microsoft tenant")
	}
	if !c.Organization.IsZero() && ruleOf(c).template != "" {
		add("organizationUid", "needs the issuer of one tenant; with this one, anybody with a Microsoft account would become a member")
	}
}

// verifies reports whether the client's provider may say that an address is verified: an organization's does for its own domains.
func (c Client) verifies(address string) bool {
	return c.Organization.IsZero() || slices.Contains(c.Domains, address[strings.LastIndexByte(address, '@')+1:])
}

// issuerProblem returns what is wrong with an issuer, or "" (OpenID Connect Discovery 1.0, section 3; contract 3.14).
func issuerProblem(issuer string) string {
	u, err := url.Parse(issuer)
	switch {
	case issuer == "":
		return "is required"
	case err != nil || u.Hostname() == "" || u.Opaque != "" || len(issuer) > text.MaxURL || text.Line(issuer, text.MaxURL) != nil:
		return "must be a URL like https://login.example.com"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(issuer, "#"):
		return "must be without user information, query and fragment"
	case u.Scheme == "https", u.Scheme == "http" && loopbackName(u.Hostname()):
		return ""
	default:
		return "must be an https URL; http is possible on loopback only"
	}
}

// loopbackName reports whether a host is localhost or a loopback address. It does not ask DNS.
func loopbackName(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
