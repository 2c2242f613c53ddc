package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/id"
)

// organizationColumns and organizationTables are what an organizationRow holds.
const (
	organizationColumns = `o.organization AS limits_organization, coalesce(o.host, '') AS host,
	l.service_enabled, l.mime_type_filter AS filter_allowed, l.new_transfer_receivers_limit, l.new_transfer_limit, l.new_transfer_drain_rate,
	l.transfer_volume_bytes, ` + adminunitColumns
	organizationTables = `directory.organizations o
	JOIN directory.limits l ON l.organization = o.organization
	LEFT JOIN transfer.adminunits a ON a.organization = o.organization`
)

// organizationRow is what holds for everybody in an organization, or for those in none.
type organizationRow struct {
	LimitsOrganization        id.Organization
	Host                      string
	ServiceEnabled            bool
	FilterAllowed             bool
	NewTransferReceiversLimit int32
	NewTransferLimit          int32
	NewTransferDrainRate      float64
	TransferVolumeBytes       *int64
	adminunitRow
}

// organization returns what holds for an organization, or for persons without one. Requests are answered by it as it is or was a moment
// ago; work that no request asks for, which may follow from a change of it, by what it is. ErrNotFound.
func (s *Store) organization(ctx context.Context, o id.Organization, sc Scope) (organizationRow, error) {
	load := func() (organizationRow, error) {
		return one[organizationRow](s.q.Query(ctx, `SELECT `+organizationColumns+` FROM `+organizationTables+`
			WHERE o.organization = coalesce($1, (SELECT f.organization FROM directory.organizations f WHERE f.free))`, opt(o)))
	}
	if sc.Host == AnyHost {
		return load()
	}
	return s.organizations.Get(o, load)
}
