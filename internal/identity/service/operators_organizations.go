// What operators and their commands change of organizations.

package service

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// Methods of `consign org …`. An organization reference is a uid, a hostname, the address of a member, or
// FreeOrganization.

// FreeOrganization is the reference of the free organization.
const FreeOrganization = "free"

// CreateEmptyOrganization creates an organization without members.
// Errors: fault.ErrInvalid.
func (s *Service) CreateEmptyOrganization(ctx context.Context, in NewOrganization) (identity.OrganizationDetails, error) {
	var problems fault.Problems
	if err := text.Required(in.Name, text.MaxName); err != nil {
		problems.Add("name", err.Error())
	}
	checkProfile(&problems, "", in.Locale, in.TimeZone)
	if err := problems.Err(); err != nil {
		return identity.OrganizationDetails{}, err
	}
	uid := id.New[id.Organization]()
	var o identity.OrganizationDetails
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		err := tx.InsertOrganization(ctx, postgres.NewOrganization{
			UID: uid, Name: in.Name, Locale: cmp.Or(in.Locale, i18n.Default), TimeZone: cmp.Or(in.TimeZone, "UTC"), Users: identity.NewOrganizationUsers, CreatedAt: s.now(),
		})
		if err != nil {
			return err
		}
		if o, err = tx.Organization(ctx, uid); err != nil {
			return err
		}
		return s.recordOf(ctx, tx, token.Caller{}, uid, "organization.create", nil)
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
func (s *Service) ShowOrganization(ctx context.Context, organization string) (OrganizationReport, iter.Seq2[identity.Member, error], error) {
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

// SetOrganization changes an organization. Assignments are name=value, where name is a member of the profile,
// externalUid or mfaRequired.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound.
func (s *Service) SetOrganization(ctx context.Context, organization string, assignments []string) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		o, err := lockOrganization(ctx, tx, organization)
		if err != nil {
			return err
		}
		uid, before := o.UID, o.MFARequired
		if err := assign(&o, assignments); err != nil {
			return err
		}
		if err := tx.UpdateOrganizationProfile(ctx, uid, o.Profile, s.now()); err != nil {
			return err
		}
		if err := tx.SetExternalUID(ctx, uid, o.ExternalUID, s.now()); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		names := make([]string, len(assignments))
		for i, a := range assignments {
			names[i], _, _ = strings.Cut(a, "=")
		}
		if err := s.recordOf(ctx, tx, token.Caller{}, uid, "organization.set", map[string]string{"members": strings.Join(names, " ")}); err != nil {
			return err
		}
		if before != o.MFARequired {
			if err := s.setMFARequired(ctx, tx, uid, o.MFARequired); err != nil {
				return err
			}
		}
		return s.announceToMembers(ctx, tx, uid, profileUpdated)
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

// assign applies assignments name=value to an organization.
// Errors: fault.ErrInvalid.
func assign(o *identity.OrganizationDetails, assignments []string) error {
	p := &o.Profile
	texts := map[string]*string{
		"name": &p.Name, "addressLine1": &p.AddressLine1, "addressLine2": &p.AddressLine2, "postCode": &p.PostCode, "city": &p.City,
		"state": &p.State, "country": &p.Country, "phoneNumber": &p.PhoneNumber, "globalSignature": &p.GlobalSignature,
		"legalNoticeUrl": &p.LegalNoticeURL, "privacyPolicyUrl": &p.PrivacyPolicyURL, "locale": &p.Locale, "timeZone": &p.TimeZone,
		"externalUid": &o.ExternalUID,
	}
	var problems fault.Problems
	if len(assignments) == 0 {
		problems.Add("members", "give at least one")
	}
	for _, a := range assignments {
		name, value, assigned := strings.Cut(a, "=")
		if !assigned { // "city" alone must not clear it
			problems.Add(name, "write name=value; "+name+"= clears it")
			continue
		}
		if name == "mfaRequired" {
			on, problem := parseSwitch(value)
			if problem != "" {
				problems.Add(name, problem)
			}
			o.MFARequired, _ = on.(bool)
			continue
		}
		target, ok := texts[name]
		if !ok {
			problems.Add(name, "cannot be set; there are mfaRequired, "+strings.Join(slices.Sorted(maps.Keys(texts)), ", "))
			continue
		}
		*target = value
	}
	if err := text.Line(o.ExternalUID, text.MaxName); err != nil {
		problems.Add("externalUid", err.Error())
	}
	if err := problems.Err(); err != nil {
		return err
	}
	return checkOrganization(p)
}

// setMFARequired sets whether members of an organization need a second factor. It revokes their access tokens, so that
// new ones carry the rule (contract 3.2). When they need one, it queues a mail to each.
func (s *Service) setMFARequired(ctx context.Context, tx *postgres.Store, o id.Organization, required bool) error {
	if err := tx.SetMFARequired(ctx, o, required, s.now()); err != nil {
		return err
	}
	raised, err := tx.RaiseEpochs(ctx, o)
	if err != nil {
		return err
	}
	ended := make([]token.Revocation, len(raised))
	for i, r := range raised {
		ended[i] = token.Revocation{Person: r.Person, Epoch: r.Epoch}
	}
	if required {
		if err := s.jobs.Enqueue(ctx, tx.Tx(), factorMailsJob{Organization: o}); err != nil {
			return err
		}
	}
	return s.revocations.Publish(ctx, tx.Tx(), ended...)
}

// SetHostname makes a hostname the active one of an organization. It needs neither a TXT record nor the limitation
// changeHostname.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound, identity.ErrHostnameRefused, identity.ErrHostInUse.
func (s *Service) SetHostname(ctx context.Context, organization, hostname string) error {
	host, err := text.Hostname(hostname)
	if err != nil {
		return fault.ErrInvalid.With("hostname: " + err.Error())
	}
	o, err := s.store.FindOrganization(ctx, organization)
	if err != nil {
		return err
	}
	return s.setHostname(ctx, o, func(tx *postgres.Store, o identity.OrganizationDetails) error {
		if reason := s.reservedReason(o, host); reason != "" {
			return identity.ErrHostnameRefused.With("hostname: " + reason)
		}
		return s.activate(ctx, tx, o, host)
	})
}

// SetMember makes a person a member of an organization with exactly these roles, or replaces the roles of a member. The
// roles take effect at once: access tokens are revoked, and each ID token can be replaced once.
// Errors: fault.ErrInvalid, identity.ErrPersonNotFound, identity.ErrOrganizationNotFound, identity.ErrMemberElsewhere,
// identity.ErrMemberNotVerified, identity.ErrLastAdmin.
func (s *Service) SetMember(ctx context.Context, organization, person string, roles []string) error {
	var problems fault.Problems
	roles = checkRoles(&problems, roles)
	if err := problems.Err(); err != nil {
		return err
	}
	return s.withMember(ctx, organization, person, func(tx *postgres.Store, o id.Organization, p id.Person, before []string) error {
		if !slices.Contains(roles, identity.RoleOrganizationAdmin) {
			if err := s.checkNotLastAdmin(ctx, tx, o, p, before); err != nil {
				return err
			}
		}
		profile, err := tx.Profile(ctx, p)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(profile.Emails, func(a identity.Address) bool { return a.Verified }) {
			return identity.ErrMemberNotVerified
		}
		epoch, err := tx.RaiseEpoch(ctx, p)
		if err != nil {
			return err
		}
		joined, err := tx.SetMember(ctx, o, p, roles, s.now())
		if err != nil {
			return err
		}
		return s.privilegesChanged(ctx, tx, privilegeChange{
			organization: o, person: p, epoch: epoch, action: "member.set", roles: roles, grace: true, membership: joined,
		})
	})
}

// UnsetMember ends a membership and the member's sessions.
// Errors: identity.ErrPersonNotFound, identity.ErrOrganizationNotFound, identity.ErrMemberNotFound,
// identity.ErrLastAdmin.
func (s *Service) UnsetMember(ctx context.Context, organization, person string) error {
	return s.withMember(ctx, organization, person, func(tx *postgres.Store, o id.Organization, p id.Person, before []string) error {
		if err := s.checkNotLastAdmin(ctx, tx, o, p, before); err != nil {
			return err
		}
		return s.endMembership(ctx, tx, token.Caller{}, o, p)
	})
}

// withMember resolves the references of a command and calls change with the organization locked. before is the roles that
// the person has in the organization, nil if it is no member.
func (s *Service) withMember(ctx context.Context, organization, person string, change func(tx *postgres.Store, o id.Organization, p id.Person, before []string) error) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		o, err := tx.FindOrganization(ctx, organization)
		if err != nil {
			return err
		}
		p, err := tx.FindPerson(ctx, strings.ToLower(strings.TrimSpace(person)))
		if err != nil {
			return err
		}
		before, err := s.lockMember(ctx, tx, o, p)
		if err != nil && !errors.Is(err, identity.ErrMemberNotFound) {
			return err
		}
		return change(tx, o, p, before)
	})
}

// CreateSharedInvitation issues a shared invitation.
// Errors: fault.ErrInvalid, identity.ErrSharedRoles, identity.ErrOrganizationNotFound, identity.ErrUserLimit.
func (s *Service) CreateSharedInvitation(ctx context.Context, organization string, roles []string) (invitation identity.Invitation, err error) {
	in := NewInvitation{Shared: true, Roles: roles}
	if err := in.check(); err != nil {
		return invitation, err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		o, err := tx.FindOrganization(ctx, organization)
		if err != nil {
			return err
		}
		invitation, err = s.invite(ctx, tx, token.Caller{}, o, in)
		return err
	})
	return invitation, err
}
