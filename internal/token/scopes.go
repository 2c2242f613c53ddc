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
)

// Scopes are all scopes. The position of one is its bit in an Auth: append only.
var Scopes = []Scope{
	ScopeMailboxDrop, ScopeTransfersRead, ScopeTransfersSend, ScopeMailboxManage, ScopeOrganizationRead, ScopeOrganizationManage,
	ScopeWebhooks,
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

// Scopes returns the scopes of which an API token needs one, none if the route accepts no API tokens.
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
	if slices.ContainsFunc(need, c.HasScope) {
		return nil
	}
	return Insufficient("Authorization: this needs an API token with the scope "+join(need, " or "), need...)
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
