package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// MailboxPicture returns the picture of a person's mailbox.
// Errors: transfer.ErrNotFound.
func (s *Store) MailboxPicture(ctx context.Context, p id.Person) (transfer.Avatar, error) {
	return database.One[transfer.Avatar](ctx, s.q, "read picture of a mailbox", transfer.ErrNotFound,
		`SELECT image, etag FROM transfer.mailbox_pictures WHERE mailbox = $1`, p)
}

// PutMailboxPicture stores the picture of a person's mailbox.
// Errors: transfer.ErrNotFound.
func (s *Store) PutMailboxPicture(ctx context.Context, p id.Person, picture transfer.Avatar, now time.Time) error {
	return database.Changed(ctx, s.q, "store picture of a mailbox", transfer.ErrNotFound, `
		INSERT INTO transfer.mailbox_pictures (mailbox, image, etag, updated_at)
		SELECT m.person, $2, $3, $4 FROM transfer.mailboxes m WHERE m.person = $1 FOR KEY SHARE
		ON CONFLICT ON CONSTRAINT mailbox_pictures_pkey DO UPDATE SET image = excluded.image, etag = excluded.etag,
			updated_at = excluded.updated_at`,
		p, picture.Image, picture.ETag, now)
}

// DeleteMailboxPicture deletes the picture of a person's mailbox.
// Errors: transfer.ErrNotFound.
func (s *Store) DeleteMailboxPicture(ctx context.Context, p id.Person) error {
	return database.Changed(ctx, s.q, "delete picture of a mailbox", transfer.ErrNotFound,
		`DELETE FROM transfer.mailbox_pictures WHERE mailbox = $1`, p)
}
