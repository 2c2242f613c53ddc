package service

import (
	"context"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// OrganizationMailboxes lists mailboxes of members of the caller's organization, in the order of their uids: those whose name, address or
// link contains search. A page begins behind the position after, and next is empty on the last one. With a search, a page may be empty and
// have a next one.
// Errors: those of overseen, fault.ErrInvalid.
func (s *Service) OrganizationMailboxes(ctx context.Context, caller token.Caller, search,
	after string) (list []transfer.UsedMailbox, next string, err error) {
	o, err := s.overseen(ctx, caller)
	if err != nil {
		return nil, "", err
	}
	var problems fault.Problems
	if err := text.Line(search, text.MaxName); err != nil {
		problems.Add("search", err.Error())
	}
	behind, key, ok := id.ParsePosition[id.Person](after)
	if !ok || key != "" {
		problems.Add("after", id.NotNext)
	}
	if err := problems.Err(); err != nil {
		return nil, "", err
	}
	list, last, err := s.store.OrganizationMailboxes(ctx, postgres.MembersMailboxes{
		Organization: o, Search: strings.ToLower(strings.TrimSpace(search)), After: behind, Candidates: operatorCandidates, Limit: operatorPage,
	}, s.scope(caller))
	if !last.IsZero() {
		next = id.Position(last, "")
	}
	return list, next, err
}
