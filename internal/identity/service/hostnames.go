// Hostnames of organizations: which are allowed, the proof by a TXT record, activation, and claims that lapse.

package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// lookupTimeout bounds one DNS lookup.
const lookupTimeout = 5 * time.Second

// ResolveHost returns the organization that a hostname selects. It is the resolver of hosts.New, which is built before
// the Service.
// Errors: identity.ErrNoHost.
func ResolveHost(ctx context.Context, store *postgres.Store, name string) (hosts.Host, error) {
	h, err := store.Host(ctx, name)
	if err != nil {
		return hosts.Host{}, err
	}
	return hosts.Host{Name: h.Name, Organization: h.Organization, Free: h.Free, Own: h.Own, UploadOrigins: h.UploadOrigins}, nil
}

// hostnames are the hostnames of a profile update.
type hostnames struct {
	active string   // empty: unchanged
	keep   []string // the inactive hostnames to keep
}

// guardHostnames is guard for a profile with other hostnames.
// Errors: those of guard.
func (s *Service) guardHostnames(ctx context.Context, caller token.Caller, o id.Organization, p identity.OrganizationProfile,
	proof token.Proof) (consume, error) {
	before, err := s.store.Organization(ctx, o)
	if err != nil {
		return nil, err
	}
	return s.guard(ctx, caller, otherHostnames(before.Profile, p), proof)
}

// otherHostnames reports whether an update of a profile changes its hostnames.
func otherHostnames(before, update identity.OrganizationProfile) bool {
	return update.Hostname != "" && update.Hostname != before.Hostname ||
		slices.ContainsFunc(before.InactiveHostnames, func(h string) bool { return !slices.Contains(update.InactiveHostnames, h) })
}

// hostnamesChanged announces other hostnames of an organization. A former active one can be restored; a removed one may be
// another's by then.
func (s *Service) hostnamesChanged(ctx context.Context, tx *postgres.Store, by audit.Actor,
	before, after identity.OrganizationDetails) error {
	if before.Profile.Hostname == after.Profile.Hostname && !otherHostnames(before.Profile, after.Profile) {
		return nil
	}
	c := token.SensitiveChange{Kind: token.HostnameChanged, Subject: after.Profile.Hostname}
	if before.Profile.Hostname != "" && before.Profile.Hostname != after.Profile.Hostname {
		c.Before = before.Profile.Hostname
	}
	return s.notices.Change(ctx, tx, by, after.UID, c)
}

// verifiedClaim returns an organization's claim of a hostname if its TXT record exists, and else the zero claim. It makes a
// DNS lookup, so call it outside of transactions.
func (s *Service) verifiedClaim(ctx context.Context, o id.Organization, host string) (identity.HostClaim, error) {
	claim, err := s.store.HostClaim(ctx, o)
	if err != nil || host == "" || claim.Host != host {
		return identity.HostClaim{}, err
	}
	if s.hasTXTRecord(ctx, claim) {
		return claim, nil
	}
	return identity.HostClaim{}, nil
}

// hasTXTRecord reports whether the TXT record of a claim exists. A failed lookup counts as no record: the job tries
// again.
func (s *Service) hasTXTRecord(ctx context.Context, claim identity.HostClaim) bool {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	values, err := s.lookupTXT(ctx, claim.Record()+".")
	if err != nil {
		s.log.DebugContext(ctx, "TXT record of a claimed hostname not found", "host", claim.Host, "error", err)
		return false
	}
	return slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) == claim.Key })
}

// changeHostnames applies the hostnames of a profile update. The organization is locked. It returns the claim that
// still needs a TXT record, or the zero claim.
// Errors: identity.ErrHostnameRefused, identity.ErrInactiveHostnames, identity.ErrHostInUse.
func (s *Service) changeHostnames(ctx context.Context, tx *postgres.Store, o identity.OrganizationDetails, want hostnames,
	verified identity.HostClaim) (identity.HostClaim, error) {
	current := o.Profile
	for _, h := range want.keep {
		if h != current.Hostname && !slices.Contains(current.InactiveHostnames, h) {
			return identity.HostClaim{}, identity.ErrInactiveHostnames.With("inactiveHostnames: entries can be removed, not added; " + h +
				" is not among them")
		}
	}
	var claim identity.HostClaim
	switch {
	case want.active == "" || want.active == current.Hostname:
		waiting, err := tx.HostClaim(ctx, o.UID)
		if err != nil {
			return claim, err
		}
		claim = waiting
	case slices.Contains(current.InactiveHostnames, want.active):
		if err := s.checkHostnameAllowed(ctx, tx, o, want.active, true); err != nil {
			return claim, err
		}
		if err := s.activate(ctx, tx, o, want.active); err != nil {
			return claim, err
		}
	default:
		var err error
		if claim, err = s.takeHostname(ctx, tx, o, want.active, verified); err != nil {
			return claim, err
		}
	}
	if slices.ContainsFunc(current.InactiveHostnames, func(h string) bool { return !slices.Contains(want.keep, h) }) {
		keep := want.keep
		if current.Hostname != "" {
			keep = append(slices.Clone(keep), current.Hostname) // it may just have become inactive
		}
		if err := tx.KeepInactiveHosts(ctx, o.UID, keep); err != nil {
			return claim, err
		}
	}
	return claim, tx.NotifyDirectory(ctx)
}

// takeHostname gives an organization a new hostname. A hostname outside of the base domain needs a TXT record: without
// it the hostname becomes a claim.
// Errors: identity.ErrHostnameRefused, identity.ErrHostInUse.
func (s *Service) takeHostname(ctx context.Context, tx *postgres.Store, o identity.OrganizationDetails, host string,
	verified identity.HostClaim) (identity.HostClaim, error) {
	if err := s.checkHostnameAllowed(ctx, tx, o, host, false); err != nil {
		return identity.HostClaim{}, err
	}
	base := ""
	if s.labelsBelowBase(host) > 0 {
		base = s.settings.BaseDomain
	}
	if taken, err := tx.HostTaken(ctx, o.UID, host, base); err != nil {
		return identity.HostClaim{}, err
	} else if taken {
		return identity.HostClaim{}, identity.ErrHostInUse
	}
	if base == "" && verified.Host != host {
		return tx.ClaimHost(ctx, identity.HostClaim{Organization: o.UID, Host: host, Key: seal.NewKey()}, s.now())
	}
	return identity.HostClaim{}, s.activate(ctx, tx, o, host)
}

// activate makes a hostname the active one. An organization's first hostname becomes its members' home host in place of
// the free organization's, so the hooks are called for every member.
func (s *Service) activate(ctx context.Context, tx *postgres.Store, o identity.OrganizationDetails, host string) error {
	if err := tx.ActivateHost(ctx, o.UID, host, s.now()); err != nil {
		return err
	}
	if err := tx.DeleteHostClaim(ctx, o.UID); err != nil {
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

// checkHostnameAllowed applies the limitation changeHostname. own says that the organization had the hostname before.
// Errors: identity.ErrHostnameRefused.
func (s *Service) checkHostnameAllowed(ctx context.Context, tx *postgres.Store, o identity.OrganizationDetails, host string,
	own bool) error {
	if reason := s.reservedReason(o, host); reason != "" {
		return identity.ErrHostnameRefused.With("hostname: " + reason)
	}
	limits, err := tx.Limits(ctx, o.UID)
	if err != nil {
		return err
	}
	below := s.labelsBelowBase(host)
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

// reservedReason returns why an organization cannot have a hostname, or "" if it can.
func (s *Service) reservedReason(o identity.OrganizationDetails, host string) string {
	switch {
	case host == s.settings.BaseDomain:
		return "the base domain belongs to no organization"
	case host == hosts.Normalize(s.settings.PublicURL.Host) && !o.Free:
		return "belongs to the installation"
	}
	return ""
}

// labelsBelowBase returns the number of labels of a hostname before the base domain, or 0 if it is not below it.
func (s *Service) labelsBelowBase(host string) int {
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

// VerifyHostnames activates claimed hostnames whose TXT record exists. It is the job HostnamesJob.
func (s *Service) VerifyHostnames(ctx context.Context) error {
	since := s.now().Add(-identity.HostClaimLifetime)
	if err := s.store.DeleteHostClaims(ctx, since); err != nil {
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
		if !s.hasTXTRecord(ctx, c) {
			continue
		}
		err := s.setHostname(ctx, audit.Actor{Kind: audit.Job}, c.Organization, func(tx *postgres.Store, o identity.OrganizationDetails) error {
			_, err := s.takeHostname(ctx, tx, o, c.Host, c)
			return err
		})
		if err != nil && !isFault(err) { // another organization has it, or it is not allowed any more: the claim expires
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// setHostname calls change with the hostnames and the organization locked, and announces the change to the members.
func (s *Service) setHostname(ctx context.Context, by audit.Actor, organization id.Organization,
	change func(tx *postgres.Store, o identity.OrganizationDetails) error) error {
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
		after, err := tx.Organization(ctx, organization)
		if err != nil {
			return err
		}
		if err := s.hostnamesChanged(ctx, tx, by, o, after); err != nil {
			return err
		}
		if err := s.recordOf(ctx, tx, by, o.UID, "organization.host", nil); err != nil {
			return err
		}
		return s.announceToMembers(ctx, tx, o.UID, profileUpdated)
	})
}

// isFault reports whether err is a declared error, as opposed to an internal failure.
func isFault(err error) bool {
	var f *fault.Error
	return errors.As(err, &f)
}
