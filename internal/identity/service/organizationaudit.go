package service

import (
	"context"
	"iter"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/token"
)

// OrganizationEntry is an audit entry of an organization. Actor and Target are set if the person is a member now.
type OrganizationEntry struct {
	audit.Record
	ActorMember, TargetMember identity.Member
}

// OrganizationAudit returns the entries of an organization that a filter selects, newest first, up to filter.Limit of
// them; 0: all, read in pages.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing.
func (s *Service) OrganizationAudit(ctx context.Context, caller token.Caller, o id.Organization,
	filter audit.Filter) (iter.Seq2[OrganizationEntry, error], error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return nil, err
	}
	filter.Organization = o
	return audit.Pages(filter, func(f audit.Filter) ([]OrganizationEntry, error) { return s.organizationEntries(ctx, f) }), nil
}

// organizationEntries returns one page of entries with the members that they name.
func (s *Service) organizationEntries(ctx context.Context, f audit.Filter) ([]OrganizationEntry, error) {
	records, err := audit.List(ctx, s.store.Querier(), f)
	if err != nil {
		return nil, err
	}
	var persons []id.Person
	for _, r := range records {
		persons = append(persons, r.Person, r.Target)
	}
	members, err := s.store.Members(ctx, f.Organization, persons)
	if err != nil {
		return nil, err
	}
	known := make(map[id.Person]identity.Member, len(members))
	for _, m := range members {
		known[m.UID] = m
	}
	entries := make([]OrganizationEntry, len(records))
	for i, r := range records {
		entries[i] = OrganizationEntry{Record: r, ActorMember: known[r.Person], TargetMember: known[r.Target]}
	}
	return entries, nil
}

// OrganizationLimits is what an organization may use, and how many members it has.
type OrganizationLimits struct {
	identity.Limits
	Members int
}

// OrganizationLimits returns the limitations of an organization to its administrators.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing.
func (s *Service) OrganizationLimits(ctx context.Context, caller token.Caller, o id.Organization) (l OrganizationLimits, err error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return l, err
	}
	if l.Limits, err = s.store.Limits(ctx, o); err != nil {
		return l, err
	}
	l.Members, _, err = s.store.CountMembers(ctx, o)
	return l, err
}
