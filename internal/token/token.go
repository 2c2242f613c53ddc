// Package token owns the tokens of Consign: it signs and verifies every kind of JWT (contract 2), keeps the ring of
// signing keys and rotates it, turns the token of a request into a Caller, and keeps on every replica the set of what
// was revoked before its time.
//
// It owns the tables signing_keys and revocations. It knows no person, session or reservation beyond what a token says
// of it: whether an ID token was blacklisted, a pickup token used or a transfer withdrawn is asked by the domains in
// statements of their own. It imports no HTTP routing, so that package httpapi can build on it.
package token

import (
	"log/slog"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// Kind is what a token is for; its text is the scope claim. The empty Kind is that of an anonymous caller.
type Kind string

// The kinds of tokens (the table of contract 2). A signup token is an ID token of authLevel 0 with a shorter life.
const (
	KindID          Kind = "idtoken"     // long-lived, buys access tokens; identity checks its row on every use
	KindMFA         Kind = "mfa"         // first factor passed, waits for the second
	KindAccess      Kind = "access"      // the caller of everyday calls of both APIs
	KindPickup      Kind = "park"        // fetches a parked session
	KindPreflight   Kind = "preflight"   // fetches what an external provider posted
	KindUID         Kind = "uidtoken"    // names a person in calls without authentication; opens no route
	KindReservation Kind = "reservation" // works on one reservation
	KindDownload    Kind = "download"    // downloads one delivery
)

// The audiences: the two APIs, and for uid tokens neither, since they open no route.
const (
	audienceID       = "id"
	audienceTransfer = "transfer"
	audienceUID      = "uid"
)

// purpose separates the keys of uid tokens, which live for years, from those of all other kinds.
type purpose string

const (
	purposeSession purpose = "session"
	purposeUID     purpose = "uid"
)

var purposes = []purpose{purposeSession, purposeUID}

// audience returns the aud claim of a kind, nil for a kind there is not.
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

// UIDLifetime is how long a uid token is valid: in effect for good.
const UIDLifetime = 10 * 365 * 24 * time.Hour

// Lifetimes says how long a token of each kind lives when its Claims do not say when it expires.
type Lifetimes struct {
	ID, Signup, MFA, Access, Pickup, Preflight, Reservation, Download time.Duration
}

// of returns the lifetime of a token of kind k that makes these claims.
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

// Longest returns the longest life of a token signed with a session key: what KeyPolicy needs to know.
func (l Lifetimes) Longest() time.Duration {
	return max(l.ID, l.Signup, l.MFA, l.Access, l.Pickup, l.Preflight, l.Reservation, l.Download)
}

// Claims is what a new token shall say. Which members count depends on the kind; the others are left out of the token.
type Claims struct {
	Person        id.Person       // sub of every kind but preflight, reservation and download
	Session       id.Session      // sid: ID, MFA, access and pickup tokens
	JTI           id.Token        // zero: a new one
	Organization  id.Organization // zero: none; ID and access tokens
	Roles         []string        // ID and access tokens
	AuthLevel     int             // 0, 1 or 2 (contract 2.2); ID and access tokens
	AuthTime      time.Time       // when the person proved itself; ID and access tokens
	IssuedAt      time.Time       // zero: now. Tokens hold whole seconds, the rest is cut off
	ExpiresAt     time.Time       // zero: IssuedAt and the lifetime of the kind
	Email         string          // the primary address; ID and access tokens
	EmailVerified bool            // ID tokens
	Locale        string          // ID tokens
	ZoneInfo      string          // the person's time zone; ID tokens
	Epoch         int64           // access tokens: the person's counter of changes (contract 2.4)
	SetPassword   bool            // after a password reset: ID, MFA and access tokens
	// FactorRequired marks the access token of a member that lacks the second factor its organization demands.
	FactorRequired bool
	Authenticators []string       // MFA: the verified types of the second factor
	Nonce          string         // pickup: the client's state
	State          string         // preflight: the registered state, also its sub
	Reservation    id.Reservation // sub of a reservation token
	Delivery       id.Delivery    // sub of a download token: the recipient's delivery
}

// Caller is who makes a request, according to its token. The zero Kind is an anonymous caller, of which only Client is
// known. Members mean the same as in Claims; those that the kind does not carry are zero.
type Caller struct {
	Kind           Kind
	Person         id.Person
	Session        id.Session
	JTI            id.Token
	Organization   id.Organization
	Roles          []string // shared between requests with the same token: never write to it
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
	Raw            string // the token itself, without the word Bearer; never log it
	Client         Client // facts of the request, set by httpapi
}

// Has reports whether the caller's token carries the role.
func (c Caller) Has(role string) bool { return slices.Contains(c.Roles, role) }

// String names the caller without its token, so that none gets into a message by accident.
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

// LogValue is String for logs.
func (c Caller) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Anonymous reports whether the request came without a token.
func (c Caller) Anonymous() bool { return c.Kind == "" }
