package service

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/text"
)

// Methods of the console's page of organizations that no command has. What the page changes is in operators_organizations.go and plans.go.

// OrganizationsQuery selects organizations for an operator. At most one of the first three is given. None of them: all, by name.
type OrganizationsQuery struct {
	Name         string // what names begin with, without case
	Hostname     string // what hostnames begin with, also former ones
	Organization string // uid, hostname, address of a member, or FreeOrganization
	After        string // next of the page before; empty: the first page
}

// Organizations lists organizations. next is empty on the last page.
// Errors: fault.ErrInvalid.
func (s *Service) Organizations(ctx context.Context, q OrganizationsQuery) (list []identity.ListedOrganization, next string, err error) {
	page, err := q.page()
	if err != nil {
		return nil, "", err
	}
	if reference := strings.TrimSpace(q.Organization); reference != "" {
		page.One, err = s.store.FindOrganization(ctx, reference)
		if errors.Is(err, identity.ErrOrganizationNotFound) {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
	}
	found, err := s.store.Organizations(ctx, page)
	if err != nil {
		return nil, "", err
	}
	if len(found) > operatorPage {
		found = found[:operatorPage]
		last := found[operatorPage-1]
		next = id.Position(last.UID, last.Key)
	}
	for _, o := range found {
		list = append(list, o.ListedOrganization)
	}
	return list, next, nil
}

// page checks the query and returns the page that it asks for, without One.
// Errors: fault.ErrInvalid.
func (q OrganizationsQuery) page() (postgres.OrganizationsPage, error) {
	page := postgres.OrganizationsPage{ByHost: q.Hostname != "", Prefix: strings.ToLower(strings.TrimSpace(q.Name + q.Hostname)), Limit: operatorPage + 1}
	var problems fault.Problems
	given := 0
	for _, c := range []struct{ member, value string }{{"name", q.Name}, {"hostname", q.Hostname}, {"organization", q.Organization}} {
		if c.value != "" {
			given++
		}
		if err := text.Line(c.value, text.MaxName); err != nil {
			problems.Add(c.member, err.Error())
		}
	}
	if given > 1 {
		problems.Add("query", "give one of name, hostname and organization")
	}
	var ok bool
	if page.After, page.AfterKey, ok = id.ParsePosition[id.Organization](q.After); !ok {
		problems.Add("after", errNotNext)
	}
	return page, problems.Err()
}

// OrganizationMembers lists the members of an organization, oldest membership first. after is next of the page before. next is empty on
// the last page.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound.
func (s *Service) OrganizationMembers(ctx context.Context, o id.Organization, after string) (list []identity.JoinedMember, next string, err error) {
	var last identity.JoinedMember
	uid, since, ok := id.ParsePosition[id.Person](after)
	if ok && after != "" {
		last.UID = uid
		last.Since, err = time.Parse(time.RFC3339Nano, since)
	}
	if !ok || err != nil {
		return nil, "", fault.ErrInvalid.With("after: " + errNotNext)
	}
	if _, err := s.store.Organization(ctx, o); err != nil {
		return nil, "", err
	}
	list, err = s.store.MembersAfter(ctx, o, last, operatorPage+1)
	if err == nil && len(list) > operatorPage {
		list = list[:operatorPage]
		m := list[operatorPage-1]
		next = id.Position(m.UID, m.Since.UTC().Format(time.RFC3339Nano))
	}
	return list, next, err
}
