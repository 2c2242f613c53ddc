package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// SealedSegments implements sealed.Rows.
func (s *Store) SealedSegments(ctx context.Context, segments []id.Segment) (map[id.Segment]sealed.Row, error) {
	list, err := database.All[sealed.Row](ctx, s.q, "read keys of segments", `
		SELECT n.uid AS segment, coalesce(s.object, '00000000-0000-0000-0000-000000000000') AS object, coalesce(s.number, 0) AS number,
			k.key, k.layout, coalesce(k.version, 0) AS version
		FROM unnest($1::uuid[]) AS n (uid) LEFT JOIN transfer.segments s ON s.uid = n.uid LEFT
			JOIN transfer.sealed_segments k ON k.segment = n.uid`, segments)
	rows := make(map[id.Segment]sealed.Row, len(list))
	for _, r := range list {
		rows[r.Segment] = r
	}
	return rows, err
}

// SaveSealedSegment implements sealed.Rows.
func (s *Store) SaveSealedSegment(ctx context.Context, r sealed.Row) (bool, error) {
	if r.Version > 0 {
		n, err := database.Exec(ctx, s.q, "save layout of segment", `
			UPDATE transfer.sealed_segments SET layout = $2, version = $3 + 1 WHERE segment = $1 AND version = $3`, r.Segment, r.Layout, r.Version)
		return n == 1, err
	}
	n, err := database.Exec(ctx, s.q, "save key of segment", `
		INSERT INTO transfer.sealed_segments (segment, key, layout, version) VALUES ($1, $2, $3,
			1) ON CONFLICT DO NOTHING`, r.Segment, r.Key, r.Layout)
	return n == 1, err
}

// DeleteSealedSegment implements sealed.Rows.
func (s *Store) DeleteSealedSegment(ctx context.Context, u id.Segment) error {
	_, err := database.Exec(ctx, s.q, "delete key of segment", `DELETE FROM transfer.sealed_segments WHERE segment = $1`, u)
	return err
}

// SealedSegmentsAfter returns segments with their places and keys in the order of their uids.
func (s *Store) SealedSegmentsAfter(ctx context.Context, after id.Segment, limit int) ([]sealed.Row, error) {
	return database.All[sealed.Row](ctx, s.q, "list keys of segments", `
		SELECT k.segment, coalesce(s.object, '00000000-0000-0000-0000-000000000000') AS object, coalesce(s.number, 0) AS number, k.key, k.layout,
			k.version
		FROM transfer.sealed_segments k LEFT JOIN transfer.segments s ON s.uid = k.segment WHERE k.segment > $1
			ORDER BY k.segment LIMIT $2`, after, limit)
}

// ReplaceSealedKey replaces the sealed key of a segment if it has not changed.
func (s *Store) ReplaceSealedKey(ctx context.Context, r sealed.Row, fresh []byte) error {
	_, err := database.Exec(ctx, s.q, "replace key of segment", `UPDATE transfer.sealed_segments SET key = $3 WHERE segment = $1 AND key = $2`,
		r.Segment, r.Key, fresh)
	return err
}
