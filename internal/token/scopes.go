package token

import (
	"slices"
	"strings"
)

// Scope is a right of an API token (contract 2.10). A token acts with its scopes and at most with the rights of its person.
type Scope string

// The scopes. A route names those that open it.
const (
	ScopeMailboxDrop        Scope = "mailbox:drop"        // create reservations on named mailboxes
	ScopeTransfersRead      Scope = "transfers:read"      // list and download the person's transfers
	ScopeTransfersSend      Scope = "transfers:send"      // send and change the person's transfers
	ScopeMailboxManage      Scope = "mailbox:manage"      // the person's mailbox
	ScopeOrganizationRead   Scope = "organization:read"   // read the organization
	ScopeOrganizationManage Scope = "organization:manage" // change the organization, its members and invitations
	ScopeWebhooks           Scope = "webhooks"            // the webhooks of the person, and of the organization that the person administers
	ScopeRequestsRead       Scope = "requests:read"       // read the person's requests and what was handed in
	ScopeRequestsManage     Scope = "requests:manage"     // make and change the person's requests
)

// Scopes are all scopes. The position of one is its bit in an Auth: append only.
var Scopes = []Scope{
	ScopeMailboxDrop, ScopeTransfersRead, ScopeTransfersSend, ScopeMailboxManage, ScopeOrganizationRead, ScopeOrganizationManage,
	ScopeWebhooks, ScopeRequestsRead, ScopeRequestsManage,
}

// firstScope is the bit of the first of Scopes.
const firstScope Auth = 1 << 32

// For also accepts API tokens that have one of the scopes.
func (a Auth) For(scopes ...Scope) Auth {
	for _, s := range scopes {
		a |= firstScope << slices.Index(Scopes, s)
	}
	return a
}

// ForEach also accepts API tokens that have all of the scopes.
func (a Auth) ForEach(scopes ...Scope) Auth { return a.For(scopes...) | everyScope }

// NeedsEveryScope reports whether an API token needs all scopes of the rule, not one of them.
func (a Auth) NeedsEveryScope() bool { return a&everyScope != 0 }

// between returns the word between the scopes of the rule.
func (a Auth) between() string {
	if a.NeedsEveryScope() {
		return " and "
	}
	return " or "
}

// Scopes returns the scopes of which an API token needs one, or all (NeedsEveryScope). None: the route accepts no API tokens.
func (a Auth) Scopes() []Scope {
	var list []Scope
	for i, s := range Scopes {
		if a&(firstScope<<i) != 0 {
			list = append(list, s)
		}
	}
	return list
}

// checkScopes checks the scopes of an API token.
// Errors: ErrNoScope, ErrScope.
func (a Auth) checkScopes(c Caller) error {
	need := a.Scopes()
	if len(need) == 0 {
		return ErrNoScope
	}
	missing := slices.DeleteFunc(slices.Clone(need), c.HasScope)
	if len(missing) == 0 || !a.NeedsEveryScope() && len(missing) < len(need) {
		return nil
	}
	return Insufficient("Authorization: this needs an API token with the scope "+join(need, a.between()), need...)
}

// HasScope reports whether the caller's API token has a scope.
func (c Caller) HasScope(s Scope) bool { return slices.Contains(c.Scopes, s) }

func join(scopes []Scope, separator string) string {
	texts := make([]string, len(scopes))
	for i, s := range scopes {
		texts[i] = string(s)
	}
	return strings.Join(texts, separator)
}
