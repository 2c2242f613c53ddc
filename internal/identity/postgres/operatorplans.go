package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Limits returns the effective limitations of an organization: its own, else those of its plan.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) Limits(ctx context.Context, o id.Organization) (identity.Limits, error) {
	columns := make([]string, 0, 13)
	for _, l := range identity.Limitations() {
		column := l.Column
		if l.Kind == identity.LimitVolume {
			column += fmt.Sprintf("::float8 / %d", identity.Gigabyte)
		}
		columns = append(columns, column+` AS "`+l.Name+`"`)
	}
	return database.One[identity.Limits](ctx, s.q, "read limits", identity.ErrOrganizationNotFound, `
		SELECT `+strings.Join(columns, ", ")+` FROM directory.limits WHERE organization = $1`, o)
}

// SetLimits sets limitations, by their columns. nil restores the value of the plan.
func (s *Store) SetLimits(ctx context.Context, o id.Organization, columns map[string]any) error {
	names := slices.Sorted(maps.Keys(columns))
	var places, updates []string
	args := []any{o}
	for i, c := range names {
		args = append(args, columns[c])
		places, updates = append(places, fmt.Sprintf("$%d", i+2)), append(updates, c+" = excluded."+c)
	}
	_, err := database.Exec(ctx, s.q, "set limits", `
		INSERT INTO identity.limits (organization, `+strings.Join(names, ", ")+`) VALUES ($1, `+strings.Join(places, ", ")+`)
		ON CONFLICT ON CONSTRAINT limits_pkey DO UPDATE SET `+strings.Join(updates, ", "), args...)
	return err
}

// PutSubscription stores a subscription, or updates the one of the same product. A domain has one without a product. A cancelled one
// without ExpiresAt expires when it was cancelled (contract 3.13).
func (s *Store) PutSubscription(ctx context.Context, b identity.Subscription, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "put subscription", `
		INSERT INTO identity.subscriptions AS s (uid, organization, domain, product_id, display_name, status, created_at, updated_at, expires_at)
		VALUES (gen_random_uuid(), $1, $2, $3, $4, $5::text, $6::timestamptz, $6,
		        CASE WHEN $5::text = 'cancelled' THEN coalesce($7::timestamptz, $6) ELSE $7 END)
		ON CONFLICT ON CONSTRAINT subscriptions_product_key DO UPDATE
		SET display_name = excluded.display_name, status = excluded.status, updated_at = excluded.updated_at,
		    expires_at = CASE WHEN $5::text = 'cancelled' AND s.status = 'cancelled' THEN coalesce($7, s.expires_at,
			$6) ELSE excluded.expires_at END`,
		b.Organization, b.Domain, database.Null(b.ProductID), database.Null(b.DisplayName), b.Status, now, b.ExpiresAt)
	return err
}

// SetUploadVolume sets a person's own monthly volume in bytes. nil restores the server's default.
// Errors: identity.ErrPersonNotFound.
func (s *Store) SetUploadVolume(ctx context.Context, p id.Person, bytes *int64) error {
	return database.Changed(ctx, s.q, "set upload volume", identity.ErrPersonNotFound, `
		UPDATE identity.persons SET upload_volume_bytes = $2 WHERE uid = $1 AND deleted_at IS NULL`, p, bytes)
}
