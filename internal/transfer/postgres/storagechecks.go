// SQL of checks of all stored files, and of how much is stored.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

const checkColumns = `uid, started_at, finished_at, state, scrub, total,
	coalesce(compared, '00000000-0000-0000-0000-000000000000') AS compared, listed, objects, bytes, findings, problems, sweep_off`

// InsertCheck adds a check that runs, unless one runs already. It reports whether it did.
func (s *Store) InsertCheck(ctx context.Context, uid id.StorageCheck, scrub bool, now time.Time) (bool, error) {
	n, err := database.Exec(ctx, s.q, "insert storage check", `
		INSERT INTO transfer.storage_checks (uid, started_at, scrub) VALUES ($1, $2, $3)
		ON CONFLICT ((true)) WHERE state = 'running' DO NOTHING`, uid, now, scrub)
	return n == 1, err
}

// HurryCheck lets the check that runs read at full speed.
func (s *Store) HurryCheck(ctx context.Context) error {
	_, err := database.Exec(ctx, s.q, "hurry storage check", `
		UPDATE transfer.storage_checks SET scrub = false WHERE state = 'running' AND scrub`)
	return err
}

// ScrubDue reports whether a scrub is to begin: no check runs, none was completed since one time or ended since another one, and bytes are
// stored that are older than the first.
func (s *Store) ScrubDue(ctx context.Context, completed, ended time.Time) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "find due scrub", nil, `
		SELECT NOT EXISTS (SELECT FROM transfer.storage_checks
				WHERE state = 'running' OR state = 'done' AND finished_at > $1 OR finished_at > $2)
			AND EXISTS (SELECT FROM transfer.objects WHERE held > 0 AND created_at <= $1)`, completed, ended)
}

// RunningCheck returns the check that runs.
// Errors: transfer.ErrNoCheck.
func (s *Store) RunningCheck(ctx context.Context) (transfer.StorageCheck, error) {
	return database.One[transfer.StorageCheck](ctx, s.q, "find running storage check", transfer.ErrNoCheck, `
		SELECT `+checkColumns+` FROM transfer.storage_checks WHERE state = 'running'`)
}

// StorageCheck returns a check.
// Errors: transfer.ErrNoCheck.
func (s *Store) StorageCheck(ctx context.Context, uid id.StorageCheck) (transfer.StorageCheck, error) {
	return database.One[transfer.StorageCheck](ctx, s.q, "find storage check", transfer.ErrNoCheck, `
		SELECT `+checkColumns+` FROM transfer.storage_checks WHERE uid = $1`, uid)
}

// StorageChecks returns the newest checks, the last first, without their problems.
func (s *Store) StorageChecks(ctx context.Context, limit int) ([]transfer.StorageCheck, error) {
	return database.All[transfer.StorageCheck](ctx, s.q, "list storage checks", `
		SELECT uid, started_at, finished_at, state, scrub, total, coalesce(compared, '00000000-0000-0000-0000-000000000000') AS compared, listed,
			objects, bytes,
			findings, '[]'::jsonb AS problems, sweep_off
		FROM transfer.storage_checks ORDER BY started_at DESC, uid DESC LIMIT $1`, limit)
}

// LastCheck returns when the last complete check ended, and what it found.
// Errors: transfer.ErrNoCheck.
func (s *Store) LastCheck(ctx context.Context) (transfer.StorageCheck, error) {
	return database.One[transfer.StorageCheck](ctx, s.q, "find last storage check", transfer.ErrNoCheck, `
		SELECT `+checkColumns+` FROM transfer.storage_checks WHERE state = 'done' ORDER BY finished_at DESC LIMIT 1`)
}

// LeaseCheck takes the lease of a check that runs, and returns its epoch; 0 when another server has it, or the check has ended.
func (s *Store) LeaseCheck(ctx context.Context, uid id.StorageCheck, lease time.Duration) (int64, error) {
	epochs, err := database.Scalars[int64](ctx, s.q, "lease storage check", `
		UPDATE transfer.storage_checks SET epoch = epoch + 1, lease_until = clock_timestamp() + $2::interval
		WHERE uid = $1 AND state = 'running' AND coalesce(lease_until <= clock_timestamp(), true) RETURNING epoch`, uid, lease)
	if err != nil || len(epochs) == 0 {
		return 0, err
	}
	return epochs[0], nil
}

// RenewCheck extends the lease, or ends it with 0. ours is false when the lease is lost or the check has ended. scrub: it reads slowly.
func (s *Store) RenewCheck(ctx context.Context, uid id.StorageCheck, epoch int64, lease time.Duration) (ours, scrub bool, err error) {
	scrubs, err := database.Scalars[bool](ctx, s.q, "renew lease of storage check", `
		UPDATE transfer.storage_checks SET lease_until = clock_timestamp() + $3::interval WHERE uid = $1 AND epoch = $2
			AND state = 'running' RETURNING scrub`, uid, epoch, lease)
	return len(scrubs) == 1, len(scrubs) == 1 && scrubs[0], err
}

// SaveCheck stores how far a check is. With now it has ended. It reports false when the lease is lost or the check has ended.
func (s *Store) SaveCheck(ctx context.Context, c transfer.StorageCheck, epoch int64, now *time.Time) (bool, error) {
	n, err := database.Exec(ctx, s.q, "save storage check", `
		UPDATE transfer.storage_checks SET total = $3, compared = $4, listed = $5, objects = $6, bytes = $7, findings = $8, problems = $9,
			sweep_off = $10,
			finished_at = $11, state = CASE WHEN $11::timestamptz IS NULL THEN 'running' ELSE 'done' END
		WHERE uid = $1 AND epoch = $2 AND state = 'running'`,
		c.UID, epoch, c.Total, c.Compared, c.Listed, c.Objects, c.Bytes, c.Findings, c.Problems, c.SweepOff, now)
	return n == 1, err
}

// CancelCheck ends a check that runs. It reports whether it did.
func (s *Store) CancelCheck(ctx context.Context, uid id.StorageCheck, now time.Time) (bool, error) {
	n, err := database.Exec(ctx, s.q, "cancel storage check", `
		UPDATE transfer.storage_checks SET state = 'cancelled', finished_at = $2, lease_until = NULL WHERE uid = $1
			AND state = 'running'`, uid, now)
	return n == 1, err
}

// AbandonedChecks returns the check that runs and that no server works on, if there is one.
func (s *Store) AbandonedChecks(ctx context.Context) ([]id.StorageCheck, error) {
	return database.Scalars[id.StorageCheck](ctx, s.q, "find abandoned storage check", `
		SELECT uid FROM transfer.storage_checks WHERE state = 'running' AND coalesce(lease_until <= clock_timestamp(), true)`)
}

// DeleteChecks deletes the checks that ended before a time.
func (s *Store) DeleteChecks(ctx context.Context, before time.Time) error {
	_, err := database.Exec(ctx, s.q, "delete storage checks", `DELETE FROM transfer.storage_checks WHERE finished_at < $1`, before)
	return err
}

// StorageSize counts what is stored. It reads the rows of all objects.
func (s *Store) StorageSize(ctx context.Context) (transfer.StorageSize, error) {
	return database.One[transfer.StorageSize](ctx, s.q, "count stored objects", nil, `
		SELECT count(*) AS objects, coalesce(sum(c.held), 0)::bigint AS bytes, count(*) FILTER (WHERE c.encrypted > 0) AS encrypted_objects,
			coalesce(sum(c.encrypted), 0)::bigint AS encrypted_bytes
		FROM (
			SELECT sum(s.held) AS held, coalesce(sum(s.held) FILTER (WHERE k.segment IS NOT NULL), 0) AS encrypted
			FROM transfer.segments s LEFT JOIN transfer.sealed_segments k ON k.segment = s.uid
			WHERE s.held > 0 AND NOT EXISTS (SELECT FROM transfer.discarded_objects d WHERE d.object = s.object AND d.discarded_at < 'infinity')
			GROUP BY s.object
		) c`)
}

// LockStorageMark takes the advisory lock of the storage mark until the transaction ends, so that operators replace it one after the other.
func (s *Store) LockStorageMark(ctx context.Context) error {
	_, err := database.Exec(ctx, s.q, "lock storage mark", `SELECT pg_advisory_xact_lock(hashtextextended('transfer.storage-mark', 0))`)
	return err
}
