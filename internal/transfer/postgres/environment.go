package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

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
