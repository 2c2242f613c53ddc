// SQL of contents whose stored bytes were found lost or damaged.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// MarkDamaged notes that a content is lost or damaged. It reports whether that is new.
func (s *Store) MarkDamaged(ctx context.Context, content id.Object, detail string, now time.Time) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "mark damaged content", nil, `
		INSERT INTO transfer.damaged_contents (content, detail, found_at, checked_at) VALUES ($1, $2, $3, $3)
		ON CONFLICT (content) DO UPDATE SET detail = excluded.detail, checked_at = excluded.checked_at
		RETURNING xmax = 0`, content, detail, now)
}

// ClearDamage notes that a content is in order, or gone. It reports whether it was marked.
func (s *Store) ClearDamage(ctx context.Context, content id.Object) (bool, error) {
	n, err := database.Exec(ctx, s.q, "clear damaged content", `DELETE FROM transfer.damaged_contents WHERE content = $1`, content)
	return n == 1, err
}

// DamagedSince returns up to limit marked contents that were not read since a time, those that wait longest first.
func (s *Store) DamagedSince(ctx context.Context, since time.Time, limit int) ([]id.Object, error) {
	return database.Scalars[id.Object](ctx, s.q, "list damaged contents", `
		SELECT content FROM transfer.damaged_contents WHERE checked_at <= $1 ORDER BY checked_at, content LIMIT $2`, since, limit)
}

// CountDamaged counts the marked contents.
func (s *Store) CountDamaged(ctx context.Context) (int64, error) {
	return database.Scalar[int64](ctx, s.q, "count damaged contents", nil, `SELECT count(*) FROM transfer.damaged_contents`)
}

// Damages returns up to limit marked contents, the newest first; only the given one, if it is not zero. Each has up to most transfers, and
// each of these up to most recipients.
func (s *Store) Damages(ctx context.Context, only id.Object, limit, most int) ([]transfer.Damage, error) {
	return database.All[transfer.Damage](ctx, s.q, "list damage", `
		SELECT d.content, d.detail, d.found_at, coalesce(t.list, '[]') AS transfers
		FROM transfer.damaged_contents d
		CROSS JOIN LATERAL (
			SELECT json_agg(json_build_object('uid', t.uid, 'sender', coalesce(t.sender_email, ''), 'recipients', coalesce(r.list, '{}'))) AS list
			FROM (
				SELECT t.uid, t.sender_email FROM transfer.objects o JOIN transfer.transfers t USING (reservation)
				WHERE (o.uid = d.content OR o.content = d.content) AND o.name IS NOT NULL AND t.state IN ('delivered', 'accessed')
				ORDER BY t.created_at LIMIT $3
			) t
			CROSS JOIN LATERAL (
				SELECT array_agg(e.email ORDER BY e.position) AS list FROM (
					SELECT email, position FROM transfer.deliveries WHERE transfer = t.uid AND email IS NOT NULL ORDER BY position LIMIT $3
				) e
			) r
		) t
		WHERE $1::uuid IN ('00000000-0000-0000-0000-000000000000', d.content)
		ORDER BY d.found_at DESC, d.content LIMIT $2`, only, limit, most)
}
