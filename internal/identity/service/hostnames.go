package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/text"
)

const (
	// publicHostSetting remembers PUBLIC_URL's host of the last start, so that a change is noticed.
	publicHostSetting = "identity.public_host"
	// claimLife is how long a custom hostname is looked for in the DNS after it was asked for last.
	claimLife = 30 * 24 * time.Hour
	// lookupLimit bounds one look into the DNS.
	lookupLimit = 5 * time.Second
)

// ResolveHost finds the organization that a hostname selects; it is what hosts.New asks, before there is a Service.
// Errors: identity.ErrNoHost.
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
	var last string
	if known, err := database.Setting(ctx, s.store.Querier(), publicHostSetting, &last); err != nil || known && last == host {
		return describe("bootstrap", err) // as at nearly every start: no transaction, and no wait for other replicas
	}
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

// BootstrapOnce is Bootstrap where no server has started yet. Commands call it: their environment may lack the server's PUBLIC_URL,
// and must not move an installation that has one.
func (s *Service) BootstrapOnce(ctx context.Context) error {
	_, err := s.store.FindOrganization(ctx, FreeOrganization)
	if errors.Is(err, identity.ErrOrganizationNotFound) {
		return s.Bootstrap(ctx)
	}
	return describe("look for the free organization", err)
}

// hostnames is what a profile asks for: the active hostname, empty to leave it, and the inactive ones to keep.
type hostnames struct {
	active string
	keep   []string
}

// checkHostnames brings the hostnames of a profile into the form they are stored in.
func checkHostnames(problems *fault.Problems, p *identity.OrganizationProfile) {
	if p.Hostname != "" {
		host, err := text.Hostname(p.Hostname)
		if err != nil {
			problems.Add("hostname", err.Error())
		}
		p.Hostname = host
	}
	for i, h := range p.InactiveHostnames {
		host, err := text.Hostname(h)
		if err != nil {
			problems.Add(fmt.Sprintf("inactiveHostnames[%d]", i), err.Error())
			continue
		}
		p.InactiveHostnames[i] = host
	}
}

// proved returns the claim of an organization on a hostname if its TXT record is there, else the zero claim. It looks into
// the DNS, so it is called outside of transactions.
func (s *Service) proved(ctx context.Context, o id.Organization, host string) (identity.HostClaim, error) {
	claim, err := s.store.HostClaim(ctx, o)
	if err != nil || host == "" || claim.Host != host {
		return identity.HostClaim{}, err
	}
	if s.recordHolds(ctx, claim) {
		return claim, nil
	}
	return identity.HostClaim{}, nil
}

// recordHolds looks for the TXT record of a claim. A DNS that fails is one without the record: there is a next time.
func (s *Service) recordHolds(ctx context.Context, claim identity.HostClaim) bool {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	values, err := s.lookupTXT(ctx, claim.Record()+".")
	if err != nil {
		s.log.DebugContext(ctx, "no TXT record of a hostname", "host", claim.Host, "error", err)
		return false
	}
	return slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) == claim.Key })
}

// changeHostnames applies what a profile asks for, with the organization locked. It returns the claim that is still to be
// proved, the zero claim if there is none. Errors: identity.ErrHostnameRefused, identity.ErrInactiveHostnames,
// identity.ErrHostInUse.
func (s *Service) changeHostnames(ctx context.Context, tx *postgres.Store, o identity.OrganizationDetails, want hostnames, proved identity.HostClaim) (identity.HostClaim, error) {
	now := o.Profile
	for _, h := range want.keep {
		if h != now.Hostname && !slices.Contains(now.InactiveHostnames, h) {
			return identity.HostClaim{}, identity.ErrInactiveHostnames.With("inactiveHostnames: entries can be removed, not added; " + h + " is not among them")
		}
	}
	var claim identity.HostClaim
	switch {
	case want.active == "" || want.active == now.Hostname:
		waiting, err := tx.HostClaim(ctx, o.UID)
		if err != nil {
			return claim, err
		}
		claim = waiting
	case slices.Contains(now.InactiveHostnames, want.active):
		if err := s.mayChoose(ctx, tx, o, want.active, true); err != nil {
			return claim, err
		}
		if err := s.activate(ctx, tx, o, want.active); err != nil {
			return claim, err
		}
	default:
		var err error
		if claim, err = s.takeHostname(ctx, tx, o, want.active, proved); err != nil {
			return claim, err
		}
	}
	if slices.ContainsFunc(now.InactiveHostnames, func(h string) bool { return !slices.Contains(want.keep, h) }) {
		keep := want.keep
		if now.Hostname != "" {
			keep = append(slices.Clone(keep), now.Hostname) // it may just have become inactive
		}
		if err := tx.KeepInactiveHosts(ctx, o.UID, keep); err != nil {
			return claim, err
		}
	}
	return claim, tx.NotifyDirectory(ctx)
}

// takeHostname gives an organization a hostname that is new to it, at once or, where that needs proof that is missing, as a
// claim.
func (s *Service) takeHostname(ctx context.Context, tx *postgres.Store, o identity.OrganizationDetails, host string, proved identity.HostClaim) (identity.HostClaim, error) {
	if err := s.mayChoose(ctx, tx, o, host, false); err != nil {
		return identity.HostClaim{}, err
	}
	base := ""
	if s.belowBase(host) > 0 {
		base = s.settings.BaseDomain
	}
	if taken, err := tx.HostTaken(ctx, o.UID, host, base); err != nil {
		return identity.HostClaim{}, err
	} else if taken {
		return identity.HostClaim{}, identity.ErrHostInUse
	}
	if base == "" && proved.Host != host {
		return tx.ClaimHost(ctx, identity.HostClaim{Organization: o.UID, Host: host, Key: seal.NewKey()}, s.now())
	}
	return identity.HostClaim{}, s.activate(ctx, tx, o, host)
}

// activate makes a hostname the active one. With its first hostname an organization moves from the free one's hosts to
// its own, and what its members have moves along.
func (s *Service) activate(ctx context.Context, tx *postgres.Store, o identity.OrganizationDetails, host string) error {
	if err := tx.ActivateHost(ctx, o.UID, host, s.now()); err != nil {
		return err
	}
	if err := tx.DropHostClaim(ctx, o.UID); err != nil {
		return err
	}
	if err := tx.NotifyDirectory(ctx); err != nil {
		return err
	}
	if o.Profile.Hostname != "" || s.hooks == nil {
		return nil
	}
	members, err := tx.MemberUIDs(ctx, o.UID)
	if err != nil {
		return err
	}
	return s.hooks.MembershipChanged(ctx, tx.Tx(), members...)
}

// mayChoose applies the limitation changeHostname. own: the name is one that the organization had before.
// Errors: identity.ErrHostnameRefused.
func (s *Service) mayChoose(ctx context.Context, tx *postgres.Store, o identity.OrganizationDetails, host string, own bool) error {
	if reason := s.reserved(o, host); reason != "" {
		return identity.ErrHostnameRefused.With("hostname: " + reason)
	}
	limits, err := tx.Limits(ctx, o.UID)
	if err != nil {
		return err
	}
	below := s.belowBase(host)
	switch limits.ChangeHostname {
	case identity.HostnameCustom:
		return nil
	case identity.HostnameLabel:
		if own || below == 1 {
			return nil
		}
		return identity.ErrHostnameRefused.With("hostname: must be one label below " + s.baseDomain())
	case identity.HostnameLabels:
		if own || below == 1 || below == 2 {
			return nil
		}
		return identity.ErrHostnameRefused.With("hostname: must be one or two labels below " + s.baseDomain())
	}
	return identity.ErrHostnameRefused
}

// reserved says why nobody may have a hostname; empty if it is not so.
func (s *Service) reserved(o identity.OrganizationDetails, host string) string {
	switch {
	case host == s.settings.BaseDomain:
		return "the base domain belongs to no organization"
	case host == hosts.Normalize(s.settings.PublicURL.Host) && !o.Free:
		return "belongs to the installation"
	}
	return ""
}

// belowBase counts the labels of a hostname below the base domain, 0 if it is not below it.
func (s *Service) belowBase(host string) int {
	labels, found := strings.CutSuffix(host, "."+s.settings.BaseDomain)
	if !found || s.settings.BaseDomain == "" {
		return 0
	}
	return 1 + strings.Count(labels, ".")
}

func (s *Service) baseDomain() string {
	if s.settings.BaseDomain == "" {
		return "a base domain, which the operator has not set"
	}
	return s.settings.BaseDomain
}

// ProveHostnames activates the custom hostnames whose TXT record has appeared. It is a job.
func (s *Service) ProveHostnames(ctx context.Context) error {
	since := s.now().Add(-claimLife)
	if err := s.store.DropHostClaims(ctx, since); err != nil {
		return err
	}
	claims, err := s.store.HostClaims(ctx, since)
	if err != nil {
		return err
	}
	var failed error
	for _, c := range claims {
		if ctx.Err() != nil {
			return errors.Join(failed, ctx.Err())
		}
		if !s.recordHolds(ctx, c) {
			continue
		}
		err := s.setHostname(ctx, c.Organization, func(tx *postgres.Store, o identity.OrganizationDetails) error {
			_, err := s.takeHostname(ctx, tx, o, c.Host, c)
			return err
		})
		if err != nil && !isFault(err) { // taken or forbidden meanwhile: the claim runs out
			failed = errors.Join(failed, err)
		}
	}
	return describe("prove hostnames", failed)
}

// SetHostname makes a hostname the active one of an organization without further ado, for an operator. The organization is
// a reference as in SetMember. Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound, identity.ErrHostnameRefused,
// identity.ErrHostInUse.
func (s *Service) SetHostname(ctx context.Context, organization, hostname string) error {
	host, err := text.Hostname(hostname)
	if err != nil {
		return fault.ErrInvalid.With("hostname: " + err.Error())
	}
	o, err := s.store.FindOrganization(ctx, organization)
	if err != nil {
		return err
	}
	return describe("set hostname", s.setHostname(ctx, o, func(tx *postgres.Store, o identity.OrganizationDetails) error {
		if reason := s.reserved(o, host); reason != "" {
			return identity.ErrHostnameRefused.With("hostname: " + reason)
		}
		return s.activate(ctx, tx, o, host)
	}))
}

// setHostname runs change with the organization locked and tells everybody of it.
func (s *Service) setHostname(ctx context.Context, organization id.Organization, change func(tx *postgres.Store, o identity.OrganizationDetails) error) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHosts(ctx); err != nil {
			return err
		}
		if err := tx.LockOrganizations(ctx, organization); err != nil {
			return err
		}
		o, err := tx.Organization(ctx, organization)
		if err != nil {
			return err
		}
		if err := change(tx, o); err != nil {
			return err
		}
		if err := s.record(ctx, tx, audit.Entry{Action: "organization.host", Object: o.UID.String(), Organization: o.UID}); err != nil {
			return err
		}
		return s.tellMembers(ctx, tx, o.UID, profileUpdated)
	})
}

// isFault tells a failure that has a reason fit for clients from one that has none.
func isFault(err error) bool {
	var f *fault.Error
	return errors.As(err, &f)
}
