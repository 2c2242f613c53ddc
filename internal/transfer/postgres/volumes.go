package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
)

// charge is what was charged for bytes, or set aside for them: a month of the owner and of the owner's organization, and the room of the
// organization whose limits they use.
type charge struct {
	Owner              id.Person
	Organization       id.Organization // zero: none
	LimitsOrganization id.Organization
	Month              *time.Time // nil: what is held stays charged to its month
	Held, Reserved     int64
}

// giveBack takes charges back. Every upload of an organization waits for these rows, so they are locked last, when all other work is
// done, and always in the same order: what is stored, then the volumes, the older month first, in it persons, then organizations.
func (s *Store) giveBack(ctx context.Context, charges []charge) error {
	if len(charges) == 0 {
		return nil
	}
	owners, organizations, limits := make([]uuid.UUID, len(charges)), make([]*uuid.UUID, len(charges)), make([]uuid.UUID, len(charges))
	months, held, reserved := make([]*time.Time, len(charges)), make([]int64, len(charges)), make([]int64, len(charges))
	for i, c := range charges {
		owners[i], organizations[i], limits[i] = c.Owner.UUID, opt(c.Organization), c.LimitsOrganization.UUID
		months[i], held[i], reserved[i] = c.Month, c.Held, c.Reserved
	}
	_, err := s.q.Exec(ctx, `
		WITH t AS (
			SELECT organization, sum(held) AS held FROM unnest($1::uuid[], $2::bigint[]) AS c (organization, held) WHERE held > 0 GROUP BY organization
		), locked AS (
			SELECT v.organization FROM transfer.stored_volumes v JOIN t ON t.organization = v.organization ORDER BY v.organization FOR NO KEY UPDATE OF v
		)
		UPDATE transfer.stored_volumes v SET bytes = greatest(v.bytes - t.held, 0)
		FROM t JOIN locked ON locked.organization = t.organization WHERE v.organization = t.organization`, limits, held)
	if err != nil {
		return fmt.Errorf("give stored volumes back: %w", err)
	}
	_, err = s.q.Exec(ctx, `
		WITH c AS (
			SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::date[], $4::bigint[], $5::bigint[]) AS c (owner, organization, month, held, reserved)
		), t AS (
			SELECT subject, month, sum(held) AS held, sum(reserved) AS reserved
			FROM (SELECT owner AS subject, month, held, reserved FROM c UNION ALL SELECT organization, month, held, reserved FROM c) s
			GROUP BY subject, month
		), locked AS (
			SELECT v.subject, v.month FROM transfer.volumes v JOIN t ON t.subject = v.subject AND t.month = v.month
			ORDER BY v.month, v.kind DESC, v.subject FOR NO KEY UPDATE OF v
		)
		UPDATE transfer.volumes v SET held = greatest(v.held - t.held, 0), reserved = greatest(v.reserved - t.reserved, 0)
		FROM t JOIN locked ON locked.subject = t.subject AND locked.month = t.month WHERE v.subject = t.subject AND v.month = t.month`,
		owners, organizations, months, held, reserved)
	if err != nil {
		return fmt.Errorf("give volumes back: %w", err)
	}
	return nil
}
