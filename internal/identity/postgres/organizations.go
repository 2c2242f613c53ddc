package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// LockBootstrap makes replicas that start at once prepare the database one after the other.
func (s *Store) LockBootstrap(ctx context.Context) error {
	_, err := s.exec(ctx, "lock bootstrap", `SELECT pg_advisory_xact_lock(hashtextextended('identity.bootstrap', 0))`)
	return err
}

// Host is the organization behind a hostname.
type Host struct {
	Organization id.Organization
	Free         bool
	Name         string // the organization's active hostname, the free one's where it has none
	Own          bool   // the hostname asked for is the organization's own
}

// Host finds the organization that a hostname selects: its owner, else the free one (contract 1.2).
// Errors: identity.ErrNoHost.
func (s *Store) Host(ctx context.Context, name string) (Host, error) {
	return one[Host](ctx, s.q, "resolve host", identity.ErrNoHost, `
		SELECT o.organization, o.free, coalesce(o.host, $1) AS name, found.own
		FROM (SELECT organization, true AS own FROM identity.hosts WHERE host = $1
		      UNION ALL
		      SELECT uid, false FROM identity.organizations WHERE free) AS found
		JOIN directory.organizations o ON o.organization = found.organization
		ORDER BY found.own DESC LIMIT 1`, name)
}

// FindOrganization returns the organization with that uid as text or that hostname, or the free one for "free".
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) FindOrganization(ctx context.Context, reference string) (id.Organization, error) {
	return scalar[id.Organization](ctx, s.q, "find organization", identity.ErrOrganizationNotFound, `
		SELECT o.uid FROM identity.organizations o
		WHERE o.uid::text = $1 OR (o.free AND $1 = 'free')
		   OR EXISTS (SELECT FROM identity.hosts h WHERE h.organization = o.uid AND h.host = lower($1))
		ORDER BY o.uid LIMIT 1`, reference)
}

// TimeZone returns an organization's time zone. Errors: identity.ErrOrganizationNotFound.
func (s *Store) TimeZone(ctx context.Context, o id.Organization) (string, error) {
	return scalar[string](ctx, s.q, "read time zone", identity.ErrOrganizationNotFound, `
		SELECT time_zone FROM identity.organizations WHERE uid = $1`, o.UUID)
}

// NewFreeOrganization is the free organization to be stored.
type NewFreeOrganization struct {
	UID       id.Organization
	Name      string
	Locale    string
	TimeZone  string
	CreatedAt time.Time
	Users     int // the limitations of contract 3.19
	Transfer  int64
	Storage   int64
	Transfers int
	Drain     float64
	Receivers int
	Groups    int
}

// InsertFreeOrganization stores the free organization with its plan. It must not exist.
func (s *Store) InsertFreeOrganization(ctx context.Context, n NewFreeOrganization) error {
	_, err := s.exec(ctx, "insert free organization", `
		WITH organization AS (
			INSERT INTO identity.organizations (uid, free, name, locale, time_zone, created_at, updated_at)
			VALUES ($1, true, $2, $3, $4, $5, $5)
		)
		INSERT INTO identity.limits (organization, service_enabled, users, transfer_volume_bytes, storage_volume_bytes, gdpr_contract,
		    secure_spaces, mime_type_filter, new_transfer_limit, new_transfer_drain_rate, new_transfer_receivers_limit, admin_portal,
		    mailbox_groups, change_hostname)
		VALUES ($1, true, $6, $7, $8, true, false, true, $9, $10, $11, false, $12, 'noChange')`,
		n.UID.UUID, optional(n.Name), n.Locale, n.TimeZone, n.CreatedAt, n.Users, n.Transfer, n.Storage, n.Transfers, n.Drain,
		n.Receivers, n.Groups)
	return err
}

// ActivateHost makes a hostname the active one of an organization; the one before stays, inactive.
// Errors: identity.ErrHostInUse.
func (s *Store) ActivateHost(ctx context.Context, o id.Organization, host string, now time.Time) error {
	if _, err := s.exec(ctx, "deactivate host", `
		UPDATE identity.hosts SET active = false WHERE organization = $1 AND active AND host <> $2`, o.UUID, host); err != nil {
		return err
	}
	n, err := s.exec(ctx, "activate host", `
		INSERT INTO identity.hosts AS h (host, organization, active, created_at) VALUES ($2, $1, true, $3)
		ON CONFLICT ON CONSTRAINT hosts_pkey DO UPDATE SET active = true WHERE h.organization = excluded.organization`, o.UUID, host, now)
	if err == nil && n == 0 {
		return identity.ErrHostInUse
	}
	return err
}

// NotifyDirectory tells every replica, when the transaction commits, to forget what it cached of hosts and limits.
func (s *Store) NotifyDirectory(ctx context.Context) error {
	_, err := s.exec(ctx, "notify directory", `SELECT pg_notify($1, '')`, DirectoryChannel)
	return err
}

// SetMember makes a person a member of an organization with these roles, or changes the roles of a member. joined
// reports the former. Errors: identity.ErrMemberElsewhere.
func (s *Store) SetMember(ctx context.Context, o id.Organization, p id.Person, roles []string, now time.Time) (joined bool, err error) {
	joined, err = scalar[bool](ctx, s.q, "set member", identity.ErrMemberElsewhere, `
		INSERT INTO identity.memberships AS m (person, organization, roles, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT ON CONSTRAINT memberships_pkey DO UPDATE SET roles = excluded.roles WHERE m.organization = excluded.organization
		RETURNING xmax = 0`, p.UUID, o.UUID, roles, now)
	return joined, err
}

// CountPersons tells how many persons there are.
func (s *Store) CountPersons(ctx context.Context) (int64, error) {
	return scalar[int64](ctx, s.q, "count persons", nil, `SELECT count(*) FROM identity.persons WHERE deleted_at IS NULL`)
}

// Clean deletes what has expired: tokens, keys and invitations, and the empty rows of persons deleted before forget.
func (s *Store) Clean(ctx context.Context, now, forget time.Time) error {
	var failed error
	for _, c := range []struct{ what, sql string }{
		{"expired ID tokens", `DELETE FROM identity.id_tokens WHERE expires_at <= $1`},
		{"expired mfa tokens", `DELETE FROM identity.pending_logins WHERE expires_at <= $1`},
		{"expired pickup tokens", `DELETE FROM identity.parked_tokens WHERE expires_at <= $1`},
		{"expired reset keys", `DELETE FROM identity.reset_keys WHERE expires_at <= $1`},
		{"expired invitations", `DELETE FROM identity.invitations WHERE expires_at <= $1`},
		{"expired verification keys", `UPDATE identity.addresses SET key_hash = NULL, key_expires_at = NULL WHERE key_expires_at <= $1`},
	} {
		if _, err := s.exec(ctx, "delete "+c.what, c.sql, now); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	_, err := s.exec(ctx, "forget deleted persons", `DELETE FROM identity.persons WHERE deleted_at <= $1`, forget)
	return errors.Join(failed, err)
}
