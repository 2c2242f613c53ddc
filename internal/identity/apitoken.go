package identity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// APIToken is an API token of a person or of an organization (contract 2.10).
type APIToken struct {
	UID          id.Session // also the session of its requests
	Person       id.Person  // who made it; it acts as this person
	PersonName   string
	Organization id.Organization // whose administrators manage it; zero: a token of the person
	Name         string
	Scopes       []string
	MailboxKeys  []string // the mailboxes of the scope mailbox:drop, as the client named them
	CreatedAt    time.Time
	ExpiresAt    time.Time
	LastUsedAt   *time.Time // at most a minute older than the true one
	LastAddress  string
}

// Limits of API tokens (contract 2.10).
const (
	MaxAPITokens             = 50  // of a person
	MaxOrganizationAPITokens = 200 // of an organization
	MaxAPITokenName          = 100 // bytes
	MaxAPITokenMailboxes     = 20
	MaxAPITokenNetworks      = 20 // that are remembered of a token
	APITokenLifetime         = 90 * 24 * time.Hour
	MaxAPITokenLifetime      = 366 * 24 * time.Hour
	APITokenWarning          = 7 * 24 * time.Hour // before the expiry
)

// NewAPIToken is the input of CreateAPIToken.
type NewAPIToken struct {
	Name         string
	Scopes       []string
	Mailboxes    []string        // keys of mailboxes, for the scope mailbox:drop
	ExpiresAt    time.Time       // zero: after APITokenLifetime
	Organization id.Organization // zero: a token of the caller
}

// Check validates the members and fills in the expiry.
// Errors: fault.ErrInvalid.
func (n *NewAPIToken) Check(now time.Time) error {
	var problems fault.Problems
	if err := text.Required(n.Name, MaxAPITokenName); err != nil {
		problems.Add("name", err.Error())
	}
	if len(n.Scopes) == 0 {
		problems.Add("scopes", "is required: at least one scope")
	}
	for i, s := range n.Scopes {
		if !slices.Contains(token.Scopes, token.Scope(s)) {
			problems.Add(fmt.Sprintf("scopes[%d]", i), "must be one of "+strings.Join(scopeNames(), ", "))
		}
	}
	n.Scopes = slices.Compact(slices.Sorted(slices.Values(n.Scopes)))
	n.Mailboxes = slices.Compact(slices.Sorted(slices.Values(n.Mailboxes)))
	drops := slices.Contains(n.Scopes, string(token.ScopeMailboxDrop))
	switch {
	case drops && len(n.Mailboxes) == 0:
		problems.Add("mailboxes", "is required with the scope mailbox:drop: it names the mailboxes")
	case !drops && len(n.Mailboxes) > 0:
		problems.Add("mailboxes", "is for the scope mailbox:drop only")
	case len(n.Mailboxes) > MaxAPITokenMailboxes:
		problems.Add("mailboxes", fmt.Sprintf("must name at most %d", MaxAPITokenMailboxes))
	}
	if n.ExpiresAt.IsZero() {
		n.ExpiresAt = now.Add(APITokenLifetime)
	}
	if !n.ExpiresAt.After(now) || n.ExpiresAt.After(now.Add(MaxAPITokenLifetime)) {
		problems.Add("expirationTimestamp", "must be in the future, at most a year")
	}
	return problems.Err()
}

func scopeNames() []string {
	names := make([]string, len(token.Scopes))
	for i, s := range token.Scopes {
		names[i] = string(s)
	}
	return names
}
