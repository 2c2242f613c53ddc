package service

import (
	"context"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// memberCandidates is how many members a page with a search examines.
const memberCandidates = 2000

// OrganizationPeople lists members of an organization with their state to an administrator, oldest membership first: those whose name,
// address or reference contains search. A page begins behind the position after, and next is empty on the last one. With a search, a page
// may be empty and have a next one.
// Errors: those of Members, fault.ErrInvalid.
func (s *Service) OrganizationPeople(ctx context.Context, caller token.Caller, o id.Organization, search,
	after string) (list []identity.SeenMember, next string, err error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return nil, "", err
	}
	page := postgres.MemberPage{Organization: o, Search: strings.ToLower(strings.TrimSpace(search)), Candidates: memberCandidates,
		Limit: operatorPage}
	var problems fault.Problems
	if err := text.Line(search, text.MaxName); err != nil {
		problems.Add("search", err.Error())
	}
	var ok bool
	if page.After, page.AfterSince, ok = id.ParseTimePosition[id.Person](after); !ok {
		problems.Add("after", id.NotNext)
	}
	if err := problems.Err(); err != nil {
		return nil, "", err
	}
	found, last, err := s.store.FindMembers(ctx, page)
	if err != nil {
		return nil, "", err
	}
	if !last.Person.IsZero() {
		next = id.TimePosition(last.Person, last.Since)
	}
	if len(found) == 0 {
		return nil, next, nil
	}
	list, err = s.store.SeenMembers(ctx, o, found, s.now(), s.IdleSince())
	return list, next, err
}

// EndMemberSessions ends every session and API token of a member, like `consign person end-sessions`. The member can sign in again.
// Errors: those of Member.
func (s *Service) EndMemberSessions(ctx context.Context, caller token.Caller, o id.Organization, p id.Person) error {
	return s.administer(ctx, caller, o, func(tx *postgres.Store) error {
		if _, err := tx.Member(ctx, o, p); err != nil {
			return err
		}
		return s.endAll(ctx, tx, p, administrator(caller), o)
	})
}
