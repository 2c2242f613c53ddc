package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Avatar returns the stored size of a person's picture.
// Errors: transfer.ErrNotFound.
func (s *Store) Avatar(ctx context.Context, p id.Person, height int) (transfer.Avatar, error) {
	return database.One[transfer.Avatar](ctx, s.q, "read avatar", transfer.ErrNotFound,
		`SELECT image, etag FROM directory.avatars WHERE person = $1 AND height = $2`, p, height)
}
