package token

import "strings"

// kindNames are the words for kinds in the authorization table, in its order.
var kindNames = []struct {
	bit  Auth
	kind Kind
	name string
}{
	{NeedID, KindID, "id"},
	{NeedMFA, KindMFA, "mfa"},
	{NeedAccess, KindAccess, "access"},
	{NeedPickup, KindPickup, "pickup"},
	{NeedPreflight, KindPreflight, "preflight"},
	{NeedReservation, KindReservation, "reservation"},
	{NeedDownload, KindDownload, "download"},
	{NeedUID, KindUID, "uid"},
}

// Auth says which tokens a route accepts and under which rules. Values are constants; its methods return variations.
type Auth uint16

// None is the Auth of a route without authentication: a token, if there is one, is not looked at. Each Need accepts
// tokens of one kind.
const (
	None   Auth = 0
	NeedID Auth = 1 << (iota - 1)
	NeedMFA
	NeedAccess
	NeedPickup
	NeedPreflight
	NeedReservation
	NeedDownload
	NeedUID

	optional
	cookie
	unverified
	verified
	withoutFactor

	anyKind = NeedID | NeedMFA | NeedAccess | NeedPickup | NeedPreflight | NeedReservation | NeedDownload | NeedUID
)

// AnyOf accepts what any of auths accepts.
func AnyOf(auths ...Auth) Auth {
	var a Auth
	for _, b := range auths {
		a |= b
	}
	return a
}

// Optional lets requests without a token pass as anonymous; a token that is there must still verify.
func (a Auth) Optional() Auth { return a | optional }

// WithCookie also takes an access token from the cookie acct when there is no Authorization header.
func (a Auth) WithCookie() Auth { return a | cookie }

// Unverified lets access tokens of authLevel 0 pass (contract 2.3).
func (a Auth) Unverified() Auth { return a | unverified }

// Verified demands authLevel 1 of ID tokens too, whose level is otherwise not looked at here.
func (a Auth) Verified() Auth { return a | verified }

// WithoutFactor lets access tokens pass whose owner lacks a second factor that the organization demands (contract 3.2).
func (a Auth) WithoutFactor() Auth { return a | withoutFactor }

// Accepts reports whether tokens of kind k may call.
func (a Auth) Accepts(k Kind) bool {
	for _, n := range kindNames {
		if n.kind == k {
			return a&n.bit != 0
		}
	}
	return false
}

// IsOptional reports whether the route may also be called without a token.
func (a Auth) IsOptional() bool { return a&anyKind == 0 || a&optional != 0 }

// TakesCookie reports whether the cookie acct counts.
func (a Auth) TakesCookie() bool { return a&cookie != 0 }

// String prints the rule for the authorization table: "none", "access", "access or reservation, cookie, unverified".
func (a Auth) String() string {
	var kinds []string
	for _, n := range kindNames {
		if a&n.bit != 0 {
			kinds = append(kinds, n.name)
		}
	}
	text := strings.Join(kinds, " or ")
	if text == "" {
		text = "none"
	}
	for _, m := range []struct {
		bit  Auth
		name string
	}{{optional, "optional"}, {cookie, "cookie"}, {unverified, "unverified"}, {verified, "verified"}, {withoutFactor, "without factor"}} {
		if a&m.bit != 0 {
			text += ", " + m.name
		}
	}
	return text
}
