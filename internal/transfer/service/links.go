package service

import (
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// LinkRules are the operator's rules for vanity links (contract 4.1).
type LinkRules struct {
	Quarantine time.Duration // how long only its former owner may take a released link
	Reserved   transfer.ReservedLinks
}

// checkVanityLink adds a problem for a malformed link, and returns the link in lower case.
func checkVanityLink(problems *fault.Problems, value string) string {
	if value == "" {
		return ""
	}
	link, ok := transfer.ParseVanityLink(value)
	if !ok {
		problems.Add("vanityLink", "must be 3 to 64 of a-z, 0-9, dot, hyphen and underscore, begin and end with a letter or digit, and not "+
			"look like a uid")
	}
	return link
}

// mayTakeLink refuses a reserved link, unless the mailbox or group has it already. present looks up its link.
// Errors: transfer.ErrLinkReserved.
func (s *Service) mayTakeLink(link string, present func() (string, error)) error {
	parsed, ok := transfer.ParseVanityLink(link)
	if !ok || !s.links.Reserved.Contains(parsed) {
		return nil
	}
	held, err := present()
	if err != nil && !errors.Is(err, transfer.ErrNotFound) {
		return err
	}
	if held != parsed {
		return transfer.ErrLinkReserved
	}
	return nil
}

// linkScope returns the scope of a change of vanity links on the host of that organization.
func (s *Service) linkScope(host id.Organization) postgres.LinkScope {
	return postgres.LinkScope{Host: host, Now: s.now(), Quarantine: s.links.Quarantine}
}
