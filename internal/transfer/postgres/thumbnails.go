package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// WithoutThumbnail returns those of the first pictures of a transfer that have no thumbnail: complete objects of the types, up to a size.
func (s *Store) WithoutThumbnail(ctx context.Context, r id.Reservation, types []string, size int64, first int) ([]transfer.Object, error) {
	return database.All[transfer.Object](ctx, s.q, "list pictures", `
		SELECT `+objectColumns+` FROM (
			SELECT * FROM transfer.objects p
			WHERE p.reservation = $1 AND p.mime_type = ANY ($2) AND p.held = p.intended_size AND p.held BETWEEN 1 AND $3
			ORDER BY p.position LIMIT $4
		) o WHERE NOT EXISTS (SELECT FROM transfer.thumbnails t WHERE t.object = o.uid) ORDER BY o.position`, r, types, size, first)
}

// PutThumbnail stores the sealed thumbnail of an object, unless the object has ended.
func (s *Store) PutThumbnail(ctx context.Context, o id.Object, sealed []byte) error {
	_, err := database.Exec(ctx, s.q, "store thumbnail", `
		INSERT INTO transfer.thumbnails (object, image)
		SELECT o.uid, $2 FROM transfer.objects o WHERE o.uid = $1 FOR KEY SHARE
		ON CONFLICT ON CONSTRAINT thumbnails_pkey DO NOTHING`, o, sealed)
	return err
}

// Thumbnail returns the sealed thumbnail of an object.
// Errors: transfer.ErrNotFound.
func (s *Store) Thumbnail(ctx context.Context, o id.Object) ([]byte, error) {
	return database.Scalar[[]byte](ctx, s.q, "read thumbnail", transfer.ErrNotFound,
		`SELECT image FROM transfer.thumbnails WHERE object = $1`, o)
}
