package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/oidc"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// inFederation runs the transaction of a login, in which federate is called. A first login makes a person, so it needs what a sign-up
// needs: room, and for an address that the provider has not verified a token for our mail. These are asked before the transaction.
// Errors: fault.ErrUnavailable, fault.ErrRateLimited.
func (s *Service) inFederation(ctx context.Context, from External, ext oidc.Identity, login func(tx *postgres.Store) error) error {
	run := func() error { return s.store.InTx(ctx, login) }
	_, err := s.store.FederatedPerson(ctx, ext.Issuer, ext.Subject)
	switch {
	case err == nil:
		return run()
	case !errors.Is(err, identity.ErrPersonNotFound):
		return err
	}
	if s.room != nil {
		if err := s.room(); err != nil {
			return err
		}
	}
	if ext.EmailVerified {
		return run()
	}
	return from.Mailing(ext.Email, run)
}

// federate returns the person of an external identity. The first login creates the person with the address that the
// provider has verified; others who hold that address unverified lose it. If the provider's client belongs to an
// organization, the person joins it unless the person is a member of another one. Logins of the same identity run one
// after the other.
// Errors: identity.ErrExternalAddressInUse, identity.ErrExternalMember, identity.ErrPersonNotFound when the person is
// being deleted.
func (s *Service) federate(ctx context.Context, tx *postgres.Store, from External, ext oidc.Identity) (id.Person, error) {
	if err := tx.LockExternal(ctx, ext.Issuer, ext.Subject); err != nil {
		return id.Person{}, err
	}
	person, err := tx.FederatedPerson(ctx, ext.Issuer, ext.Subject)
	known := err == nil
	if err != nil && !errors.Is(err, identity.ErrPersonNotFound) {
		return id.Person{}, err
	}
	// The organization is locked before any person (section Locks of the package comment).
	joins, err := s.lockJoined(ctx, tx, person, ext.Organization)
	if err != nil {
		return id.Person{}, err
	}
	if known {
		if err := tx.LockPerson(ctx, person); err != nil {
			return id.Person{}, err
		}
		if ext.EmailVerified {
			err = tx.RenewVerification(ctx, person, ext.Email, s.now())
		}
	} else {
		person, err = s.createFederated(ctx, tx, from, ext)
	}
	if err == nil && joins {
		err = s.joinFederated(ctx, tx, from.Client, person, ext.Organization)
	}
	if errors.Is(err, identity.ErrUserLimit) || errors.Is(err, identity.ErrOrganizationNotFound) {
		s.log.WarnContext(ctx, "login at an identity provider cannot join the provider's organization", "organization", ext.Organization.String(),
			"error", err)
		err = identity.ErrExternalMember.Because(err)
	}
	return person, err
}

// lockJoined reports whether a person joins the organization of a provider's client; p is zero for a new person. If so
// it locks that organization, and the free one if the person is a member there.
func (s *Service) lockJoined(ctx context.Context, tx *postgres.Store, p id.Person, o id.Organization) (bool, error) {
	if o.IsZero() {
		return false, nil
	}
	locks := []id.Organization{o}
	if !p.IsZero() {
		m, err := tx.Membership(ctx, p)
		if err != nil {
			return false, err
		}
		if !m.Organization.IsZero() {
			if m.Organization == o || !m.Free {
				return false, nil
			}
			locks = append(locks, m.Organization)
		}
	}
	return true, tx.LockOrganizations(ctx, locks...)
}

// createFederated stores a new person for an external identity.
// Errors: identity.ErrExternalAddressInUse, identity.ErrOrganizationNotFound.
func (s *Service) createFederated(ctx context.Context, tx *postgres.Store, from External, ext oidc.Identity) (id.Person, error) {
	if err := tx.LockAddress(ctx, ext.Email); err != nil {
		return id.Person{}, err
	}
	if err := s.claimFederated(ctx, tx, ext); err != nil {
		return id.Person{}, err
	}
	organization := ext.Organization
	if organization.IsZero() {
		organization = from.Client.Host.Organization
	}
	zone, err := tx.TimeZone(ctx, organization)
	if err != nil {
		return id.Person{}, err
	}
	person, now := id.New[id.Person](), s.now()
	n := postgres.NewPerson{
		UID: person, Name: ext.Name, Locale: cmp.Or(from.Locale, i18n.Default), TimeZone: zone, Address: ext.Email, VerifiedAt: now,
		CreatedAt: now, Issuer: ext.Issuer, Subject: ext.Subject,
	}
	key := seal.NewKey()
	if !ext.EmailVerified {
		n.VerifiedAt, n.RemoveAt = time.Time{}, now.Add(s.settings.UnverifiedEmail)
		n.KeyHash, n.KeyExpiresAt = seal.Hash(key), now.Add(s.settings.VerificationKey)
	}
	if err := tx.InsertPerson(ctx, n); err != nil {
		return id.Person{}, err
	}
	if !ext.EmailVerified {
		if err := s.notices.Verify(ctx, tx, notice.Verification{Person: person, Address: ext.Email, Key: key, Expires: n.KeyExpiresAt,
			Host: from.Client.Host.Name}); err != nil {
			return id.Person{}, err
		}
	}
	return person, s.record(ctx, tx, audit.Entry{
		Actor: audit.By(person, from.Client), Action: "person.signup", Object: person.String(), Target: person,
		Details: map[string]string{"provider": ext.Provider},
	})
}

// claimFederated takes a locked address from those who have not verified it. One that the provider does not verify is claimed like that of
// a sign-up, which bounds the mails to it.
// Errors: identity.ErrExternalAddressInUse.
func (s *Service) claimFederated(ctx context.Context, tx *postgres.Store, ext oidc.Identity) error {
	if !ext.EmailVerified {
		err := s.claimAddress(ctx, tx, ext.Email, s.now())
		if errors.Is(err, identity.ErrSignupAddressInUse) {
			return identity.ErrExternalAddressInUse.Because(err)
		}
		return err
	}
	holders, err := tx.Holders(ctx, ext.Email)
	if err != nil {
		return err
	}
	for _, h := range holders {
		if h.Verified {
			return identity.ErrExternalAddressInUse
		}
	}
	return s.evict(ctx, tx, ext.Email, holders)
}

// joinFederated makes a person a member of an organization that lockJoined has locked. The membership replaces that of
// the free organization. The ID token of each other session can be replaced once. A person who has joined another
// organization since lockJoined, or who is the free organization's last administrator, stays there.
// Errors: identity.ErrUserLimit, identity.ErrOrganizationNotFound.
func (s *Service) joinFederated(ctx context.Context, tx *postgres.Store, c token.Client, p id.Person, o id.Organization) error {
	if err := tx.LockPerson(ctx, p); err != nil {
		return err
	}
	m, err := tx.Membership(ctx, p)
	if err != nil || !m.Organization.IsZero() && (m.Organization == o || !m.Free) {
		return err
	}
	if !m.Organization.IsZero() {
		err := s.checkNotLastAdmin(ctx, tx, m.Organization, p, m.Roles)
		if errors.Is(err, identity.ErrLastAdmin) {
			return nil
		}
		if err == nil {
			err = tx.DeleteMember(ctx, m.Organization, p)
		}
		if err != nil {
			return err
		}
	}
	if err := s.admit(ctx, tx, o, p, externalMemberRoles); err != nil {
		return err
	}
	epoch, err := tx.RaiseEpoch(ctx, p)
	if err != nil {
		return err
	}
	return s.privilegesChanged(ctx, tx, privilegeChange{
		by: audit.By(p, c), organization: o, person: p, epoch: epoch, action: "member.join", roles: externalMemberRoles,
		grace: true, membership: true,
	})
}
