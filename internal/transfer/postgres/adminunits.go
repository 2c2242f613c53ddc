package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// PutAdminunit stores an organization's settings for transfers whole.
func (s *Store) PutAdminunit(ctx context.Context, o id.Organization, u transfer.Adminunit, now time.Time) error {
	_, err := s.q.Exec(ctx, `
		INSERT INTO transfer.adminunits (organization, available_ttl, default_ttl, priority_enabled, protection_level, max_files,
			max_file_size_mb, max_recipients, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT ON CONSTRAINT adminunits_pkey DO UPDATE SET
			available_ttl = excluded.available_ttl, default_ttl = excluded.default_ttl, priority_enabled = excluded.priority_enabled,
			protection_level = excluded.protection_level, max_files = excluded.max_files, max_file_size_mb = excluded.max_file_size_mb,
			max_recipients = excluded.max_recipients, updated_at = excluded.updated_at`,
		o, u.AvailableTTL, u.DefaultTTL, u.PriorityEnabled, string(u.ProtectionLevel), u.MaxFiles, u.MaxFileSizeMB, u.MaxRecipients, now)
	if err != nil {
		return fmt.Errorf("store adminunit: %w", err)
	}
	return nil
}
