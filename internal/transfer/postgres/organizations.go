package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// termsColumns are transfer.Terms, with the tables of termsTables.
const (
	termsColumns = `o.organization AS limits_organization, coalesce(o.host, '') AS host,
	l.service_enabled, l.mime_type_filter AS filter_allowed, l.new_transfer_receivers_limit AS receivers_limit,
	l.new_transfer_limit AS transfer_limit, l.new_transfer_drain_rate AS transfer_drain,
	coalesce(l.transfer_volume_bytes, -1) AS organization_limit, coalesce(l.storage_volume_bytes, -1) AS storage_limit,
	coalesce((SELECT sv.bytes FROM transfer.stored_totals sv WHERE sv.organization = o.organization), 0) AS storage_held, ` + adminunitColumns
	termsTables = `directory.organizations o
	JOIN directory.limits l ON l.organization = o.organization
	LEFT JOIN transfer.adminunits a ON a.organization = o.organization`
)

// terms returns the terms of an organization, those of the free one for the zero organization. Requests get them through a
// microcache of 500 ms. Jobs get what is stored now, since a job may run because of a change.
// Errors: transfer.ErrNotFound.
func (s *Store) terms(ctx context.Context, o id.Organization, sc Scope) (transfer.Terms, error) {
	load := func() (transfer.Terms, error) {
		return database.One[transfer.Terms](ctx, s.q, "read terms of organization", transfer.ErrNotFound, `
			SELECT `+termsColumns+` FROM `+termsTables+`
			WHERE o.organization = coalesce($1, (SELECT f.organization FROM directory.organizations f WHERE f.free))`, database.Null(o))
	}
	if sc.Host == AnyHost {
		return load()
	}
	return s.caches.terms.Get(o, load)
}
