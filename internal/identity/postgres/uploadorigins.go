package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// UploadOrigins returns the upload origins of an organization, as stored.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) UploadOrigins(ctx context.Context, o id.Organization) ([]string, error) {
	return database.Scalar[[]string](ctx, s.q, "read upload origins", identity.ErrOrganizationNotFound, `
		SELECT upload_origins FROM identity.organizations WHERE uid = $1`, o)
}

// SetUploadOrigins replaces the upload origins of an organization. Readers have copies: call NotifyDirectory.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) SetUploadOrigins(ctx context.Context, o id.Organization, origins []string, now time.Time) error {
	return database.Changed(ctx, s.q, "set upload origins", identity.ErrOrganizationNotFound, `
		UPDATE identity.organizations SET upload_origins = $2, updated_at = $3 WHERE uid = $1`, o, origins, now)
}
