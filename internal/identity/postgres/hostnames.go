package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Host is the organization that a hostname selects.
type Host struct {
	Organization id.Organization
	Free         bool
	Name         string // the organization's active hostname, else that of the free organization
	Own          bool   // the requested hostname belongs to the organization

	UploadOrigins string // origins of other sites that the organization lists, separated by spaces
}

// Host returns the organization that a hostname selects: its owner, else the free organization (contract 1.2).
// Errors: identity.ErrNoHost.
func (s *Store) Host(ctx context.Context, name string) (Host, error) {
	return database.One[Host](ctx, s.q, "resolve host", identity.ErrNoHost, `
		SELECT o.organization, o.free, coalesce(o.host, $1) AS name, found.own, array_to_string(own.upload_origins, ' ') AS upload_origins
		FROM (SELECT organization, true AS own FROM identity.hosts WHERE host = $1
		      UNION ALL
		      SELECT uid, false FROM identity.organizations WHERE free) AS found
		JOIN directory.organizations o ON o.organization = found.organization
		JOIN identity.organizations own ON own.uid = found.organization
		ORDER BY found.own DESC LIMIT 1`, name)
}

// ActivateHost makes a hostname the active one of an organization. The former one stays as an inactive hostname.
// Errors: identity.ErrHostInUse.
func (s *Store) ActivateHost(ctx context.Context, o id.Organization, host string, now time.Time) error {
	if _, err := database.Exec(ctx, s.q, "deactivate host", `
		UPDATE identity.hosts SET active = false WHERE organization = $1 AND active AND host <> $2`, o, host); err != nil {
		return err
	}
	return database.Changed(ctx, s.q, "activate host", identity.ErrHostInUse, `
		INSERT INTO identity.hosts AS h (host, organization, active, created_at) VALUES ($2, $1, true, $3)
		ON CONFLICT ON CONSTRAINT hosts_pkey DO UPDATE SET active = true WHERE h.organization = excluded.organization`, o, host, now)
}

// NotifyDirectory sends a NOTIFY on DirectoryChannel when the transaction commits. Every replica then clears its
// caches of hosts and limits.
func (s *Store) NotifyDirectory(ctx context.Context) error {
	s.directory = true
	_, err := database.Exec(ctx, s.q, "notify directory", `SELECT pg_notify($1, '')`, DirectoryChannel)
	return err
}

// LockHosts takes the advisory lock of all hostnames until the transaction ends. Transactions that add a hostname take
// it first.
func (s *Store) LockHosts(ctx context.Context) error {
	_, err := database.Exec(ctx, s.q, "lock hosts", `SELECT pg_advisory_xact_lock(hashtextextended('identity.hosts', 0))`)
	return err
}

// HostTaken reports whether another organization has this hostname. Among the names below base (empty: none) it also
// looks for hostnames above or below this one in the DNS, because their owner could read or set its cookies.
func (s *Store) HostTaken(ctx context.Context, o id.Organization, host, base string) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "look for hostname", nil, `
		SELECT EXISTS (
			SELECT FROM identity.hosts h
			WHERE h.organization <> $1
			  AND (h.host = $2 OR $3 <> '' AND right(h.host, length($3) + 1) = '.' || $3
			       AND (right(h.host, length($2) + 1) = '.' || $2 OR right($2, length(h.host) + 1) = '.' || h.host)))`,
		o, host, base)
}

// KeepInactiveHosts deletes the inactive hostnames of an organization that are not in keep.
func (s *Store) KeepInactiveHosts(ctx context.Context, o id.Organization, keep []string) error {
	_, err := database.Exec(ctx, s.q, "give up hostnames", `
		DELETE FROM identity.hosts WHERE organization = $1 AND NOT active AND host <> ALL($2)`, o, keep)
	return err
}

// ClaimHost stores the hostname that an organization wants to verify and replaces an earlier claim. The key of an
// earlier claim for the same hostname stays.
func (s *Store) ClaimHost(ctx context.Context, c identity.HostClaim, now time.Time) (identity.HostClaim, error) {
	return database.One[identity.HostClaim](ctx, s.q, "claim hostname", nil, `
		INSERT INTO identity.host_claims AS c (organization, host, key, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT ON CONSTRAINT host_claims_pkey DO UPDATE
		SET key = CASE WHEN c.host = excluded.host THEN c.key ELSE excluded.key END, host = excluded.host, created_at = excluded.created_at
		RETURNING organization, host, key`, c.Organization, c.Host, c.Key, now)
}

// HostClaim returns the unverified hostname of an organization, or the zero claim.
func (s *Store) HostClaim(ctx context.Context, o id.Organization) (identity.HostClaim, error) {
	return database.One[identity.HostClaim](ctx, s.q, "read claim of hostname", nil, `
		SELECT organization, host, key FROM identity.host_claims WHERE organization = $1`, o)
}

// HostClaims returns the unverified hostnames claimed after since, in random order: a caller that runs out of time
// before the end starts elsewhere the next time.
func (s *Store) HostClaims(ctx context.Context, since time.Time) ([]identity.HostClaim, error) {
	return database.All[identity.HostClaim](ctx, s.q, "read claims of hostnames", `
		SELECT organization, host, key FROM identity.host_claims WHERE created_at > $1 ORDER BY random()`, since)
}

// DeleteHostClaim deletes an organization's claim of an unverified hostname.
func (s *Store) DeleteHostClaim(ctx context.Context, o id.Organization) error {
	_, err := database.Exec(ctx, s.q, "delete claim of hostname", `DELETE FROM identity.host_claims WHERE organization = $1`, o)
	return err
}

// DeleteHostClaims deletes the claims made at or before a time.
func (s *Store) DeleteHostClaims(ctx context.Context, before time.Time) error {
	_, err := database.Exec(ctx, s.q, "delete claims of hostnames", `DELETE FROM identity.host_claims WHERE created_at <= $1`, before)
	return err
}
