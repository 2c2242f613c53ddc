package identity

import (
	"time"

	"github.com/consign-dev/consign/internal/id"
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
