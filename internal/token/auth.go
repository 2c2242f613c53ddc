// Which kinds of tokens and cookies a route accepts, as route tables declare it.

package token

import "strings"

// kindNames lists the kinds as the authorization table names and orders them.
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

// Auth is the rule of a route: which kinds of tokens it accepts and under which conditions. Its upper half are scopes of
// API tokens. Methods return a changed copy.
type Auth uint64

// None is the Auth of a route without authentication, which ignores any token. Each Need accepts tokens of one kind.
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
	ignoreOthers
	cookie
	unverified
	verified
	withoutFactor
	sessionCookie
	operator
	young
	everyScope
	ignoreUnusable
	outage
	auditor
	helpDesk

	anyKind = NeedID | NeedMFA | NeedAccess | NeedPickup | NeedPreflight | NeedReservation | NeedDownload | NeedUID
)

// AnyOf returns the Auth that accepts what any of auths accepts.
func AnyOf(auths ...Auth) Auth {
	var a Auth
	for _, b := range auths {
		a |= b
	}
	return a
}

// Optional admits requests without a token as anonymous. A token that is present must still verify.
func (a Auth) Optional() Auth { return a | optional }

// IgnoreOthers admits requests with a valid token of another kind as anonymous, as a browser that is signed in sends it to
// the page of a link. It implies Optional.
func (a Auth) IgnoreOthers() Auth { return a | optional | ignoreOthers }

// IgnoreUnusable admits requests with a token that is not accepted, or no longer valid, as anonymous. API tokens are not ignored: a
// program that presents one wants its rights. It implies Optional.
func (a Auth) IgnoreUnusable() Auth { return a | optional | ignoreUnusable }

// IgnoresOthers reports whether a valid token of another kind counts as no token.
func (a Auth) IgnoresOthers() bool { return a&ignoreOthers != 0 }

// WithCookie also accepts an access token in the cookie acct when there is no Authorization header.
func (a Auth) WithCookie() Auth { return a | cookie }

// WithSessionCookie also accepts an ID token in the session cookie when there is no Authorization header and a page of the
// same origin sends the request (contract 2.9).
func (a Auth) WithSessionCookie() Auth { return a | sessionCookie }

// Unverified admits access tokens of authLevel 0 (contract 2.3).
func (a Auth) Unverified() Auth { return a | unverified }

// Verified demands authLevel 1 of ID tokens too, whose level is otherwise not checked here.
func (a Auth) Verified() Auth { return a | verified }

// WithoutFactor admits access tokens whose owner lacks a second factor that the organization demands (contract 3.2).
func (a Auth) WithoutFactor() Auth { return a | withoutFactor }

// Operator demands that the caller is an operator of the installation who signed in with a second factor (contract 9.1). Such a route
// exists only where the console does.
func (a Auth) Operator() Auth { return a | operator }

// Auditor also admits those who only read in the console.
func (a Auth) Auditor() Auth { return a | auditor }

// HelpDesk also admits those who help people to sign in.
func (a Auth) HelpDesk() Auth { return a | helpDesk }

// Admits reports whether a role of the console may call a route of operators.
func (a Auth) Admits(r OperatorRole) bool {
	switch r {
	case RoleOperator:
		return true
	case RoleAuditor:
		return a&auditor != 0
	case RoleHelpDesk:
		return a&helpDesk != 0
	}
	return false
}

// Young also demands that an operator has signed in, or proved that again, within CONSIGN_YOUNG_SESSION.
func (a Auth) Young() Auth { return a | young }

// Outage also admits, while the database does not answer, an operator whose rights this replica has seen in it within an hour. It is for
// routes that show nothing but the state of the installation.
func (a Auth) Outage() Auth { return a | outage }

// InOutage reports whether the route is served while the database does not answer.
func (a Auth) InOutage() bool { return a&outage != 0 }

// IsOperator reports whether only operators may call the route.
func (a Auth) IsOperator() bool { return a&operator != 0 }

// Accepts reports whether tokens of kind k are accepted.
func (a Auth) Accepts(k Kind) bool {
	if k == KindAPI {
		return len(a.Scopes()) > 0
	}
	for _, n := range kindNames {
		if n.kind == k {
			return a&n.bit != 0
		}
	}
	return false
}

// IsOptional reports whether the route may also be called without a token.
func (a Auth) IsOptional() bool { return a&anyKind == 0 || a&optional != 0 }

// TakesCookie reports whether the cookie acct is accepted.
func (a Auth) TakesCookie() bool { return a&cookie != 0 }

// TakesSessionCookie reports whether the session cookie is accepted.
func (a Auth) TakesSessionCookie() bool { return a&sessionCookie != 0 }

// String returns the rule as the authorization table prints it: "none", "access",
// "access or reservation, cookie, unverified".
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
	}{{optional, "optional"}, {ignoreOthers, "other tokens ignored"}, {cookie, "cookie"}, {unverified, "unverified"}, {verified, "verified"},
		{withoutFactor, "without factor"}, {sessionCookie, "session cookie"}, {operator, "operator"},
		{auditor, "auditor"}, {helpDesk, "help desk"}, {young, "young"}, {ignoreUnusable, "unusable tokens ignored"}} {
		if a&m.bit != 0 {
			text += ", " + m.name
		}
	}
	if scopes := a.Scopes(); len(scopes) > 0 {
		text += ", scope " + join(scopes, a.between())
	}
	return text
}
