package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// AvatarOwner is the owner of an avatar. Exactly one field is set.
type AvatarOwner struct {
	Person       id.Person
	Organization id.Organization
}

// PutAvatar stores every size of an avatar and replaces an earlier avatar.
func (s *Store) PutAvatar(ctx context.Context, owner AvatarOwner, sizes []identity.Avatar, now time.Time) error {
	if _, err := s.DeleteAvatar(ctx, owner); err != nil {
		return err
	}
	for _, a := range sizes {
		if _, err := database.Exec(ctx, s.q, "insert avatar", `
			INSERT INTO identity.avatars (person, organization, height, image, etag, updated_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			database.Null(owner.Person), database.Null(owner.Organization), a.Height, a.Image, a.ETag, now); err != nil {
			return err
		}
	}
	return nil
}

// Avatar returns one size of an avatar.
// Errors: identity.ErrAvatarNotFound.
func (s *Store) Avatar(ctx context.Context, owner AvatarOwner, height int) (identity.Avatar, error) {
	return database.One[identity.Avatar](ctx, s.q, "read avatar", identity.ErrAvatarNotFound, `
		SELECT height, image, etag FROM identity.avatars WHERE (person = $1 OR organization = $2) AND height = $3`,
		database.Null(owner.Person), database.Null(owner.Organization), height)
}

// DeleteAvatar removes an avatar and reports whether there was one.
func (s *Store) DeleteAvatar(ctx context.Context, owner AvatarOwner) (bool, error) {
	n, err := database.Exec(ctx, s.q, "delete avatar", `
		DELETE FROM identity.avatars WHERE person = $1 OR organization = $2`, database.Null(owner.Person), database.Null(owner.Organization))
	return n > 0, err
}

// AvatarETag returns the ETag of the largest size of an avatar, empty if there is none.
func (s *Store) AvatarETag(ctx context.Context, owner AvatarOwner) (string, error) {
	return database.Scalar[string](ctx, s.q, "read avatar's ETag", nil, `
		SELECT coalesce((SELECT etag FROM identity.avatars WHERE person = $1 OR organization = $2 ORDER BY height DESC LIMIT 1), '')`,
		database.Null(owner.Person), database.Null(owner.Organization))
}
