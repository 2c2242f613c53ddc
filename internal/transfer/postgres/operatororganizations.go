package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// OrganizationUsage returns what an organization uses. Mailboxes of people without an organization are in none.
// Errors: transfer.ErrNotFound.
func (s *Store) OrganizationUsage(ctx context.Context, o id.Organization, month time.Time) (transfer.OrganizationUsage, error) {
	return database.One[transfer.OrganizationUsage](ctx, s.q, "read usage of organization", transfer.ErrNotFound, `
		WITH RECURSIVE members AS ( -- one by one: the planner would read all of a large organization at once
			(SELECT p.person, 1 AS n FROM directory.members p WHERE p.organization = $1 ORDER BY p.person LIMIT 1)
			UNION ALL
			SELECT p.person, m.n + 1 FROM members m CROSS JOIN LATERAL (
				SELECT p.person FROM directory.members p WHERE p.organization = $1 AND p.person > m.person ORDER BY p.person LIMIT 1
			) p WHERE m.n < $3
		)
		SELECT $2::date AS month,
		       coalesce((SELECT v.held + v.reserved FROM transfer.volume_totals v WHERE v.subject = $1 AND v.month = $2::date
			AND v.kind = 'organization'), 0) AS transfer_bytes,
		       coalesce((SELECT v.bytes + v.reserved FROM transfer.stored_totals v WHERE v.organization = $1), 0) AS stored_bytes,
		       (SELECT count(*) FROM members m WHERE EXISTS (SELECT FROM transfer.mailboxes x WHERE x.person = m.person OFFSET 0)) AS mailboxes,
		       (SELECT count(*) FROM transfer.mailbox_groups g WHERE g.organization = $1) AS mailbox_groups
		FROM directory.organizations o WHERE o.organization = $1`, o, month, transfer.MaxCountedMembers)
}
