package postgres

import (
	"context"
	"fmt"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Avatar returns the stored size of a person's picture. ErrNotFound.
func (s *Store) Avatar(ctx context.Context, p id.Person, height int) (transfer.Avatar, error) {
	row, err := one[transfer.Avatar](s.q.Query(ctx, `SELECT image, etag FROM directory.avatars WHERE person = $1 AND height = $2`, p, height))
	if err != nil {
		return transfer.Avatar{}, fmt.Errorf("read avatar: %w", err)
	}
	return row, nil
}
