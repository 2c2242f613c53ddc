package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// AdminunitChannel is notified whenever an adminunit changes. The payload is empty.
const AdminunitChannel = "adminunits"

// PutAdminunit stores an organization's settings for transfers whole, and notifies every replica, which calls ForgetOrganizations.
func (s *Store) PutAdminunit(ctx context.Context, o id.Organization, u transfer.Adminunit, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "store adminunit", `
		INSERT INTO transfer.adminunits (organization, available_ttl, default_ttl, priority_enabled, protection_level, max_files,
			max_file_size_mb, max_recipients, updated_at, pinning_enabled, inspection, retention,
			retention_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $9)
		ON CONFLICT ON CONSTRAINT adminunits_pkey DO UPDATE SET
			available_ttl = excluded.available_ttl, default_ttl = excluded.default_ttl, priority_enabled = excluded.priority_enabled,
			protection_level = excluded.protection_level, max_files = excluded.max_files, max_file_size_mb = excluded.max_file_size_mb,
			max_recipients = excluded.max_recipients, updated_at = excluded.updated_at,
			pinning_enabled = excluded.pinning_enabled, inspection = excluded.inspection,
			retention = excluded.retention, retention_at = CASE WHEN coalesce(adminunits.retention, '{}') = excluded.retention
				THEN adminunits.retention_at ELSE excluded.retention_at END`,
		o, u.AvailableTTL, u.DefaultTTL, u.PriorityEnabled, u.ProtectionLevel, u.MaxFiles, u.MaxFileSizeMB, u.MaxRecipients, now,
		u.PinningEnabled, u.Inspection, u.Retention)
	if err != nil {
		return err
	}
	return database.Notify(ctx, s.q, AdminunitChannel, "")
}

// adminunitColumns are a transfer.Adminunit; DefaultTTL is 0 where the organization has none.
const adminunitColumns = `a.available_ttl, coalesce(a.default_ttl, 0) AS default_ttl, coalesce(a.priority_enabled, false) AS priority_enabled,
	coalesce(a.pinning_enabled, false) AS pinning_enabled,
	coalesce(a.protection_level, '') AS protection_level, coalesce(a.max_files, 0) AS max_files,
	coalesce(a.max_file_size_mb, 0) AS max_file_size_mb, coalesce(a.max_recipients, 0) AS max_recipients,
	coalesce(a.inspection, '{}') AS inspection, coalesce(a.retention, '{}') AS retention`

// Adminunit returns an organization's settings for transfers, those of the free one for the zero organization, and the
// defaults d where it has none.
func (s *Store) Adminunit(ctx context.Context, o id.Organization, d transfer.Adminunit) (transfer.Adminunit, error) {
	u, err := database.One[transfer.Adminunit](ctx, s.q, "read adminunit", nil,
		`SELECT `+adminunitColumns+` FROM transfer.adminunits a
		WHERE a.organization = coalesce($1, (SELECT f.organization FROM directory.organizations f WHERE f.free))`, database.Null(o))
	if u.DefaultTTL == 0 {
		u = d
	}
	return u, err
}

// RecentAdminunit is Adminunit through a microcache of 500 ms.
func (s *Store) RecentAdminunit(ctx context.Context, o id.Organization, d transfer.Adminunit) (transfer.Adminunit, error) {
	return s.adminunits.Get(o, func() (transfer.Adminunit, error) { return s.Adminunit(ctx, o, d) })
}
