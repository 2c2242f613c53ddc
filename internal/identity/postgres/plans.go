package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Limits returns the effective limitations of an organization: its own, else those of its plan.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) Limits(ctx context.Context, o id.Organization) (identity.Limits, error) {
	return database.One[identity.Limits](ctx, s.q, "read limits", identity.ErrOrganizationNotFound, `
		SELECT organization, service_enabled, users, transfer_volume_bytes, storage_volume_bytes, gdpr_contract, secure_spaces, mime_type_filter,
		       new_transfer_limit, new_transfer_drain_rate, new_transfer_receivers_limit, admin_portal, mailbox_groups, change_hostname
		FROM directory.limits WHERE organization = $1`, o)
}

// limitColumns are the columns of identity.limits that SetLimit writes.
var limitColumns = map[string]string{
	"serviceEnabled": "service_enabled", "users": "users", "transferVolumeGb": "transfer_volume_bytes",
	"storageVolumeGb": "storage_volume_bytes", "gdprContract": "gdpr_contract", "secureSpaces": "secure_spaces",
	"mimeTypeFilter": "mime_type_filter", "newTransferLimit": "new_transfer_limit", "newTransferDrainRate": "new_transfer_drain_rate",
	"newTransferReceiversLimit": "new_transfer_receivers_limit", "adminPortal": "admin_portal", "mailboxGroups": "mailbox_groups",
	"changeHostname": "change_hostname",
}

// SetLimit sets one limitation, by its name in the client environment. nil restores the value of the plan.
func (s *Store) SetLimit(ctx context.Context, o id.Organization, name string, value any) error {
	column, ok := limitColumns[name]
	if !ok {
		return fmt.Errorf("set limit: there is no limit %q", name)
	}
	_, err := database.Exec(ctx, s.q, "set limit", `
		INSERT INTO identity.limits (organization, `+column+`) VALUES ($1, $2)
		ON CONFLICT ON CONSTRAINT limits_pkey DO UPDATE SET `+column+` = excluded.`+column, o, value)
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
		    expires_at = CASE WHEN $5::text = 'cancelled' AND s.status = 'cancelled' THEN coalesce($7, s.expires_at, $6) ELSE excluded.expires_at END`,
		b.Organization, b.Domain, database.Null(b.ProductID), database.Null(b.DisplayName), b.Status, now, b.ExpiresAt)
	return err
}

// SetUploadVolume sets a person's own monthly volume in bytes. nil restores the server's default.
// Errors: identity.ErrPersonNotFound.
func (s *Store) SetUploadVolume(ctx context.Context, p id.Person, bytes *int64) error {
	return database.Changed(ctx, s.q, "set upload volume", identity.ErrPersonNotFound, `
		UPDATE identity.persons SET upload_volume_bytes = $2 WHERE uid = $1 AND deleted_at IS NULL`, p, bytes)
}
