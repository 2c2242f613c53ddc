package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// AdminunitChannel is notified whenever an adminunit changes. The payload is empty.
const AdminunitChannel = "adminunits"

// PutAdminunit stores an organization's settings for transfers whole, and tells every replica to ForgetOrganizations.
func (s *Store) PutAdminunit(ctx context.Context, o id.Organization, u transfer.Adminunit, now time.Time) error {
	_, err := s.q.Exec(ctx, `
		INSERT INTO transfer.adminunits (organization, available_ttl, default_ttl, priority_enabled, protection_level, max_files,
			max_file_size_mb, max_recipients, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT ON CONSTRAINT adminunits_pkey DO UPDATE SET
			available_ttl = excluded.available_ttl, default_ttl = excluded.default_ttl, priority_enabled = excluded.priority_enabled,
			protection_level = excluded.protection_level, max_files = excluded.max_files, max_file_size_mb = excluded.max_file_size_mb,
			max_recipients = excluded.max_recipients, updated_at = excluded.updated_at`,
		o, u.AvailableTTL, u.DefaultTTL, u.PriorityEnabled, string(u.ProtectionLevel), u.MaxFiles, u.MaxFileSizeMB, u.MaxRecipients, now)
	if err != nil {
		return fmt.Errorf("store adminunit: %w", err)
	}
	return database.Notify(ctx, s.q, AdminunitChannel, "")
}

// adminunitColumns are an adminunit's settings; all are null where the organization has none.
const adminunitColumns = `a.available_ttl, a.default_ttl, a.priority_enabled, a.protection_level, a.max_files AS unit_max_files,
	a.max_file_size_mb AS unit_max_file_size_mb, a.max_recipients`

type adminunitRow struct {
	AvailableTTL      []int32
	DefaultTTL        *int32
	PriorityEnabled   *bool
	ProtectionLevel   *string
	UnitMaxFiles      *int32
	UnitMaxFileSizeMB *int64
	MaxRecipients     *int32
}

// unit is the row's adminunit, or d where there is no row.
func (r adminunitRow) unit(d transfer.Adminunit) transfer.Adminunit {
	if r.DefaultTTL == nil {
		return d
	}
	return transfer.Adminunit{
		AvailableTTL: r.AvailableTTL, DefaultTTL: *r.DefaultTTL, PriorityEnabled: or(r.PriorityEnabled),
		ProtectionLevel: transfer.Protection(or(r.ProtectionLevel)),
		MaxFiles:        or(r.UnitMaxFiles), MaxFileSizeMB: or(r.UnitMaxFileSizeMB), MaxRecipients: or(r.MaxRecipients),
	}
}

// Adminunit returns an organization's settings for transfers, the defaults d where it has none.
func (s *Store) Adminunit(ctx context.Context, o id.Organization, d transfer.Adminunit) (transfer.Adminunit, error) {
	row, err := one[adminunitRow](s.q.Query(ctx, `SELECT `+adminunitColumns+` FROM transfer.adminunits a WHERE a.organization = $1`, o))
	if errors.Is(err, transfer.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return transfer.Adminunit{}, fmt.Errorf("read adminunit: %w", err)
	}
	return row.unit(d), nil
}

// RecentAdminunit is Adminunit as it is or was a moment ago.
func (s *Store) RecentAdminunit(ctx context.Context, o id.Organization, d transfer.Adminunit) (transfer.Adminunit, error) {
	return s.adminunits.Get(o, func() (transfer.Adminunit, error) { return s.Adminunit(ctx, o, d) })
}
