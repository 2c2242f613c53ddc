// Organizations as operators see and change them, with the console or a command.

package service

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/text"
)

// A reference of an organization is a uid, a hostname, the address of a member, or FreeOrganization.

// FreeOrganization is the reference of the free organization.
const FreeOrganization = "free"

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
	page := postgres.OrganizationsPage{ByHost: q.Hostname != "", Prefix: strings.ToLower(strings.TrimSpace(q.Name + q.Hostname)),
		Limit: operatorPage + 1}
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
		problems.Add("after", id.NotNext)
	}
	return page, problems.Err()
}

// CreateEmptyOrganization creates an organization without members.
// Errors: fault.ErrInvalid.
func (s *Service) CreateEmptyOrganization(ctx context.Context, by audit.Actor, in NewOrganization) (identity.OrganizationDetails, error) {
	var problems fault.Problems
	if err := text.Required(in.Name, text.MaxName); err != nil {
		problems.Add("name", err.Error())
	}
	identity.CheckProfile(&problems, "", in.Locale, in.TimeZone)
	if err := problems.Err(); err != nil {
		return identity.OrganizationDetails{}, err
	}
	uid := id.New[id.Organization]()
	var o identity.OrganizationDetails
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		in.Locale, in.TimeZone = cmp.Or(in.Locale, i18n.Default), cmp.Or(in.TimeZone, "UTC")
		err := s.insertOrganization(ctx, tx, uid, in, false)
		if err != nil {
			return err
		}
		if o, err = tx.Organization(ctx, uid); err != nil {
			return err
		}
		return s.recordOf(ctx, tx, by, uid, "organization.create", nil)
	})
	return o, err
}

// OrganizationReport is what an operator sees of an organization.
type OrganizationReport struct {
	identity.OrganizationDetails
	postgres.OrganizationState
	Limits identity.Limits
	Claim  identity.HostClaim // the hostname that still needs a TXT record; zero: none
}

// ShowOrganization returns the report of an organization, and its members, oldest membership first.
// Errors: identity.ErrOrganizationNotFound.
func (s *Service) ShowOrganization(ctx context.Context,
	organization string) (OrganizationReport, iter.Seq2[identity.Member, error], error) {
	o, err := s.store.FindOrganization(ctx, organization)
	if err != nil {
		return OrganizationReport{}, nil, err
	}
	r, err := s.ReportOrganization(ctx, o)
	return r, s.members(ctx, o), err
}

// ReportOrganization returns the report of an organization.
// Errors: identity.ErrOrganizationNotFound.
func (s *Service) ReportOrganization(ctx context.Context, o id.Organization) (r OrganizationReport, err error) {
	if r.OrganizationDetails, err = s.store.Organization(ctx, o); err != nil {
		return r, err
	}
	if r.OrganizationState, err = s.store.OrganizationState(ctx, o); err != nil {
		return r, err
	}
	if r.Limits, err = s.store.Limits(ctx, o); err != nil {
		return r, err
	}
	r.Claim, err = s.store.HostClaim(ctx, o)
	return r, err
}

// SetOrganization changes an organization's profile, external uid and rule of second factors.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound.
func (s *Service) SetOrganization(ctx context.Context, by audit.Actor, organization string, c identity.OrganizationChange) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		o, err := lockOrganization(ctx, tx, organization)
		if err != nil {
			return err
		}
		before := o.MFARequired
		members := c.Apply(&o)
		var problems fault.Problems
		if len(members) == 0 {
			problems.Add("members", "give at least one")
		}
		if err := text.Line(o.ExternalUID, text.MaxName); err != nil {
			problems.Add("externalUid", err.Error())
		}
		if err := problems.Err(); err != nil {
			return err
		}
		if err := o.Profile.Check(); err != nil {
			return err
		}
		if err := tx.UpdateOrganizationProfile(ctx, o.UID, o.Profile, s.now()); err != nil {
			return err
		}
		if err := tx.SetExternalUID(ctx, o.UID, o.ExternalUID, s.now()); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		if err := s.recordOf(ctx, tx, by, o.UID, "organization.set", map[string]string{"members": strings.Join(members, " ")}); err != nil {
			return err
		}
		if before != o.MFARequired {
			if err := s.setMFARequired(ctx, tx, o.UID, o.MFARequired); err != nil {
				return err
			}
			if err := s.factorWaived(ctx, tx, by, o.UID, o.MFARequired); err != nil {
				return err
			}
		}
		return s.announceToMembers(ctx, tx, o.UID, profileUpdated)
	})
}

// lockOrganization locks the organization of a reference until the transaction ends and returns it.
// Errors: identity.ErrOrganizationNotFound.
func lockOrganization(ctx context.Context, tx *postgres.Store, reference string) (o identity.OrganizationDetails, err error) {
	uid, err := tx.FindOrganization(ctx, reference)
	if err != nil {
		return o, err
	}
	if err := tx.LockOrganizations(ctx, uid); err != nil {
		return o, err
	}
	return tx.Organization(ctx, uid)
}

// SetHostname makes a hostname the active one of an organization. It needs neither a TXT record nor the limitation
// changeHostname.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound, identity.ErrHostnameRefused, identity.ErrHostInUse.
func (s *Service) SetHostname(ctx context.Context, by audit.Actor, organization, hostname string) error {
	host, err := text.Hostname(hostname)
	if err != nil {
		return fault.ErrInvalid.With("hostname: " + err.Error())
	}
	o, err := s.store.FindOrganization(ctx, organization)
	if err != nil {
		return err
	}
	return s.setHostname(ctx, by, o, func(tx *postgres.Store, o identity.OrganizationDetails) error {
		if reason := s.reservedReason(o, host); reason != "" {
			return identity.ErrHostnameRefused.With("hostname: " + reason)
		}
		return s.activate(ctx, tx, o, host)
	})
}
