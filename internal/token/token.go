// Package token signs and verifies every kind of JWT (contract 2), rotates the signing keys, turns the token of a request
// into a Caller, and keeps a set of early revocations on every replica.
//
// It owns the tables signing_keys and revocations. It does not know whether an ID token is blacklisted, a pickup token
// used or a transfer revoked: the domains check that in their own statements. It imports no HTTP routing, so that packages
// httpapi and httpserver can build on it.
package token

import (
	"log/slog"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// Kind is the purpose of a token and the text of its scope claim. Anonymous callers have the empty Kind.
type Kind string

// The kinds of tokens (table of contract 2). A signup token is an ID token of authLevel 0 with a shorter lifetime.
const (
	KindID          Kind = "idtoken"     // long-lived; exchanged for access tokens; identity checks its row on every use
	KindMFA         Kind = "mfa"         // the first factor passed, the second is missing
	KindAccess      Kind = "access"      // authenticates most calls of both APIs
	KindPickup      Kind = "park"        // fetches a parked session
	KindPreflight   Kind = "preflight"   // fetches the form that an external provider posted
	KindUID         Kind = "uidtoken"    // identifies a person in unauthenticated calls; no route accepts it as a bearer token
	KindReservation Kind = "reservation" // works on one reservation
	KindDownload    Kind = "download"    // downloads one delivery
	KindAPI         Kind = "api"         // an API token: no JWT, looked up by its hash
)

// The audiences: the two APIs, and one for uid tokens, which no route accepts.
const (
	audienceID       = "id"
	audienceTransfer = "transfer"
	audienceUID      = "uid"
)

// purpose separates the signing keys of uid tokens, which live for ten years, from those of all other kinds.
type purpose string

const (
	purposeSession purpose = "session"
	purposeUID     purpose = "uid"
)

var purposes = []purpose{purposeSession, purposeUID}

// audience returns the sorted aud claim of a kind, nil for an unknown kind.
func (k Kind) audience() []string {
	switch k {
	case KindID, KindMFA, KindPickup, KindPreflight:
		return []string{audienceID}
	case KindUID:
		return []string{audienceUID}
	case KindAccess:
		return []string{audienceID, audienceTransfer}
	case KindReservation, KindDownload:
		return []string{audienceTransfer}
	}
	return nil
}

func (k Kind) purpose() purpose {
	if k == KindUID {
		return purposeUID
	}
	return purposeSession
}

// UIDLifetime is how long a uid token is valid: in effect, for ever.
const UIDLifetime = 10 * 365 * 24 * time.Hour

// Lifetimes holds how long a token of each kind is valid unless its Claims set ExpiresAt.
type Lifetimes struct {
	ID, Signup, MFA, Access, Pickup, Preflight, Reservation, Download time.Duration
}

// of returns the lifetime of a token of kind k with the claims c.
func (l Lifetimes) of(k Kind, c Claims) time.Duration {
	switch k {
	case KindID:
		if c.AuthLevel == 0 {
			return l.Signup
		}
		return l.ID
	case KindMFA:
		return l.MFA
	case KindAccess:
		return l.Access
	case KindPickup:
		return l.Pickup
	case KindPreflight:
		return l.Preflight
	case KindReservation:
		return l.Reservation
	case KindDownload:
		return l.Download
	}
	return UIDLifetime
}

// Longest returns the longest lifetime of a token that a session key signs (KeyPolicy.LongestToken).
func (l Lifetimes) Longest() time.Duration {
	return max(l.ID, l.Signup, l.MFA, l.Access, l.Pickup, l.Preflight, l.Reservation, l.Download)
}

// Claims is the content of a new token. Fields that the kind does not carry are ignored.
type Claims struct {
	Person        id.Person       // sub of every kind but preflight, reservation and download
	Session       id.Session      // sid: ID, MFA, access and pickup tokens
	JTI           id.Token        // zero: a new one
	Organization  id.Organization // zero: none; ID and access tokens
	Roles         []string        // ID and access tokens
	AuthLevel     int             // 0, 1 or 2 (contract 2.2); ID and access tokens
	AuthTime      time.Time       // when the person authenticated; ID and access tokens
	IssuedAt      time.Time       // zero: now. Tokens hold whole seconds; the rest is truncated
	ExpiresAt     time.Time       // zero: IssuedAt plus the lifetime of the kind
	Email         string          // the primary address; ID and access tokens
	EmailVerified bool            // ID tokens
	Locale        string          // ID tokens
	ZoneInfo      string          // the person's time zone; ID tokens
	// access tokens: the person's epoch, raised by each change of rights (contract 2.4); download tokens: the transfer's protection epoch
	Epoch          int64
	SetPassword    bool           // after a password reset: ID, MFA and access tokens
	FactorRequired bool           // access tokens: the member lacks the second factor that the organization demands
	Authenticators []string       // MFA tokens: the types of the verified second factors
	Nonce          string         // pickup tokens: the client's state
	State          string         // preflight tokens: the registered state, also the sub claim
	Reservation    id.Reservation // sub of a reservation token
	APIToken       id.Session     // sid of a reservation token: the API token that made the reservation; zero: none did
	Delivery       id.Delivery    // sub of a download token
}

// Caller is the sender of a request according to its token. An anonymous caller has the zero Kind and only Client set.
// Fields mean the same as in Claims; those that the kind does not carry are zero.
type Caller struct {
	Kind           Kind
	Person         id.Person
	Session        id.Session
	JTI            id.Token
	Organization   id.Organization
	Roles          []string // shared between requests with the same token; read-only
	AuthLevel      int
	AuthTime       time.Time
	IssuedAt       time.Time
	ExpiresAt      time.Time
	Email          string
	EmailVerified  bool
	Locale         string
	ZoneInfo       string
	Epoch          int64
	SetPassword    bool
	FactorRequired bool
	Authenticators []string // shared like Roles
	Nonce, State   string
	Reservation    id.Reservation
	Delivery       id.Delivery
	Raw            string      // the token, without "Bearer"; never log it
	Cookie         bool        // the token was in the session cookie
	Scopes         []Scope     // API tokens; shared like Roles
	Mailboxes      []id.Person // API tokens: the mailboxes of ScopeMailboxDrop; shared like Roles
	Client         Client      // facts of the request, set by httpserver
}

// IsPerson reports whether the caller acts as Person: with an access token or an API token.
func (c Caller) IsPerson() bool { return c.Kind == KindAccess || c.Kind == KindAPI }

// ByAPIToken reports whether the request depends on an API token: it is sent with one, or with the token of a reservation that one made.
func (c Caller) ByAPIToken() bool {
	return c.Kind == KindAPI || c.Kind == KindReservation && !c.Session.IsZero()
}

// Has reports whether the caller's token carries the role.
func (c Caller) Has(role string) bool { return slices.Contains(c.Roles, role) }

// String describes the caller without its token, so that no token gets into a message by accident.
func (c Caller) String() string {
	switch {
	case c.Anonymous():
		return "anonymous caller"
	case !c.Reservation.IsZero():
		return "reservation " + c.Reservation.String()
	case !c.Delivery.IsZero():
		return "delivery " + c.Delivery.String()
	}
	return string(c.Kind) + " caller " + c.Person.String()
}

// LogValue implements slog.LogValuer with String.
func (c Caller) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Anonymous reports whether the request came without a token.
func (c Caller) Anonymous() bool { return c.Kind == "" }
