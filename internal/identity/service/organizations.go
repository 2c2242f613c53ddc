package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/token"
)

// The plan of the free organization at the first start (contract 3.19).
const (
	gigabyte          = 1_000_000_000
	planUsers         = 100_000
	planVolume        = 1000 * gigabyte
	planTransfers     = 20
	planDrain         = 1.0 / 60
	planReceivers     = 100
	planMailboxGroups = 10
)

// FreeOrganization is how operators' commands name the free organization.
const FreeOrganization = "free"

// publicHostSetting remembers PUBLIC_URL's host of the last start, so that a change is noticed.
const publicHostSetting = "identity.public_host"

// ResolveHost finds the organization that a hostname selects; it is what hosts.New asks.
// Errors: identity.ErrNoHost.
func (s *Service) ResolveHost(ctx context.Context, name string) (hosts.Host, error) {
	return ResolveHost(ctx, s.store, name)
}

// ResolveHost is Service.ResolveHost for whoever has a Store and no Service yet.
func ResolveHost(ctx context.Context, store *postgres.Store, name string) (hosts.Host, error) {
	h, err := store.Host(ctx, name)
	if err != nil {
		return hosts.Host{}, err
	}
	return hosts.Host{Name: h.Name, Organization: h.Organization, Free: h.Free, Own: h.Own}, nil
}

// Bootstrap makes the free organization at the first start, and its active hostname PUBLIC_URL's whenever that has
// changed since the last one (contract 1.2). Any number of replicas may do so at once.
// Errors: identity.ErrHostInUse when the host is another organization's.
func (s *Service) Bootstrap(ctx context.Context) error {
	host := hosts.Normalize(s.settings.PublicURL.Host)
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockBootstrap(ctx); err != nil {
			return err
		}
		free, err := tx.FindOrganization(ctx, FreeOrganization)
		if errors.Is(err, identity.ErrOrganizationNotFound) {
			free, err = s.createFree(ctx, tx)
		}
		if err != nil {
			return err
		}
		var last string
		known, err := database.Setting(ctx, tx.Querier(), publicHostSetting, &last)
		if err != nil || known && last == host {
			return err
		}
		if known {
			s.log.InfoContext(ctx, "the public URL has another host than at the last start: it is the free organization's active hostname now, the old one stays inactive",
				"host", host, "old", last)
		}
		if err := tx.ActivateHost(ctx, free, host, s.now()); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		return database.PutSetting(ctx, tx.Querier(), s.now(), publicHostSetting, host)
	})
	if errors.Is(err, identity.ErrHostInUse) {
		return fmt.Errorf("CONSIGN_PUBLIC_URL: %s is a hostname of another organization: %w", host, err)
	}
	return describe("bootstrap", err)
}

func (s *Service) createFree(ctx context.Context, tx *postgres.Store) (id.Organization, error) {
	free := id.New[id.Organization]()
	err := tx.InsertFreeOrganization(ctx, postgres.NewFreeOrganization{
		UID: free, Name: s.settings.ProductName, Locale: i18n.Default, TimeZone: "UTC", CreatedAt: s.now(), Users: planUsers,
		Transfer: planVolume, Storage: planVolume, Transfers: planTransfers, Drain: planDrain, Receivers: planReceivers, Groups: planMailboxGroups,
	})
	if err != nil {
		return free, err
	}
	return free, s.record(ctx, tx, audit.Entry{Action: "organization.create", Object: free.String(), Organization: free})
}

// SetMember makes a person a member of an organization with exactly these roles, or gives a member these roles, for an
// operator. Both are references: a uid, an address or a hostname, or FreeOrganization. The person's tokens follow at
// once. Errors: fault.ErrInvalid, identity.ErrPersonNotFound, identity.ErrOrganizationNotFound, identity.ErrMemberElsewhere.
func (s *Service) SetMember(ctx context.Context, organization, person string, roles []string) error {
	if unknown := slices.IndexFunc(roles, func(r string) bool { return !slices.Contains(identity.Roles(), r) }); unknown >= 0 {
		return fault.ErrInvalid.With("roles: " + roles[unknown] + " is no role")
	}
	if roles == nil {
		roles = []string{}
	}
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		o, err := tx.FindOrganization(ctx, organization)
		if err != nil {
			return err
		}
		p, err := tx.FindPerson(ctx, person)
		if err != nil {
			return err
		}
		epoch, err := tx.RaiseEpoch(ctx, p)
		if err != nil {
			return err
		}
		joined, err := tx.SetMember(ctx, o, p, roles, s.now())
		if err != nil {
			return err
		}
		return s.privilegesChanged(ctx, tx, o, p, epoch, joined)
	})
	return describe("set member", err)
}

// privilegesChanged tells everybody of somebody else's change of a person's membership or roles: tokens are blacklisted
// with grace, access ends, the person's feed says so.
func (s *Service) privilegesChanged(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person, epoch int64, membership bool) error {
	if err := tx.GraceSessions(ctx, p); err != nil {
		return err
	}
	if membership && s.consequences != nil {
		if err := s.consequences.MembershipChanged(ctx, tx.Tx(), p); err != nil {
			return err
		}
	}
	if err := s.revocations.Publish(ctx, tx.Querier(), token.Revocation{Person: p, Epoch: epoch}); err != nil {
		return err
	}
	if err := s.record(ctx, tx, audit.Entry{Action: "member.set", Object: p.String(), Target: p, Organization: o}); err != nil {
		return err
	}
	return events.Append(ctx, tx.Querier(), s.now(), events.Event{Kind: events.PrivilegesUpdated, Subject: p.String(), Receivers: []id.Person{p}})
}
