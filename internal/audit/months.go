// The monthly partitions of the audit table: made ahead, and dropped when they are too old.

package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// The table audit has a partition for each month in UTC. A partition is named after its month: audit_2026_11. The partition
// audit_default takes entries of months that have none.

const (
	monthsAhead = 2               // months after the current one that have a partition
	monthName   = "audit_2006_01" // name of a partition, as a layout of package time
	boundLayout = time.RFC3339    // of bounds in SQL
	cleanBatch  = 5000            // rows that one statement of Clean deletes, so that it holds locks only briefly
)

// Clean creates the partitions of the next months, and deletes the months that ended at or before a time: it drops their partitions.
// It returns the number of dropped partitions. Entries of such months in audit_default are deleted as rows.
// Clean fails when another session locks the audit for a second, as a backup does. It can be repeated.
func Clean(ctx context.Context, db *database.DB, now, before time.Time) (int, error) {
	months, err := partitions(ctx, db.Pool)
	if err != nil {
		return 0, err
	}
	month := firstOfMonth(now)
	if n := len(months); n > 0 && months[n-1].AddDate(0, 1, 0).After(month) {
		month = months[n-1].AddDate(0, 1, 0)
	}
	for last := firstOfMonth(now).AddDate(0, monthsAhead, 0); !month.After(last); month = month.AddDate(0, 1, 0) {
		if err := createPartition(ctx, db, month); err != nil {
			return 0, err
		}
	}
	dropped := 0
	for _, m := range months {
		if m.AddDate(0, 1, 0).After(before) {
			break
		}
		if err := dropPartition(ctx, db, m); err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, deleteRows(ctx, db.Pool, firstOfMonth(before))
}

// partitions returns the months of the partitions, oldest first.
func partitions(ctx context.Context, q database.Querier) ([]time.Time, error) {
	names, err := database.Scalars[string](ctx, q, "list partitions of audit", `
		SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'audit'::regclass AND c.relname <> 'audit_default' ORDER BY c.relname`)
	months := make([]time.Time, 0, len(names))
	for _, name := range names {
		month, err := time.Parse(monthName, name)
		if err != nil {
			return nil, fmt.Errorf("partition %s of the audit is not named after a month", name)
		}
		months = append(months, month)
	}
	return months, err
}

// createPartition creates the partition of a month, and moves the entries of that month from audit_default into it.
func createPartition(ctx context.Context, db *database.DB, month time.Time) error {
	name := month.Format(monthName)
	from, to := month.Format(boundLayout), month.AddDate(0, 1, 0).Format(boundLayout)
	return inTx(ctx, db, "create partition "+name,
		"LOCK TABLE audit IN SHARE ROW EXCLUSIVE MODE",
		fmt.Sprintf("CREATE TABLE %s (LIKE audit INCLUDING DEFAULTS INCLUDING CONSTRAINTS)", name),
		fmt.Sprintf(`WITH moved AS (DELETE FROM audit_default WHERE at >= '%s' AND at < '%s' RETURNING *) INSERT INTO %s SELECT * FROM moved`,
			from, to, name),
		fmt.Sprintf("CREATE UNIQUE INDEX %[1]s_id_idx ON %[1]s (id)", name),
		fmt.Sprintf("ALTER TABLE audit ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')", name, from, to))
}

func dropPartition(ctx context.Context, db *database.DB, month time.Time) error {
	name := month.Format(monthName)
	from, to := month.Format(boundLayout), month.AddDate(0, 1, 0).Format(boundLayout)
	return inTx(ctx, db, "drop partition "+name, fmt.Sprintf("SELECT hold_audit('%s', '%s')", from, to), "DROP TABLE IF EXISTS "+name)
}

// inTx runs statements in a transaction, which fails when it waits for a lock for longer than a second.
func inTx(ctx context.Context, db *database.DB, operation string, statements ...string) error {
	return db.InTx(ctx, func(tx database.Tx) error {
		for _, sql := range append([]string{"SET LOCAL lock_timeout = '1s'"}, statements...) { // others wait behind a waiting lock
			if _, err := database.Exec(ctx, tx, operation, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteRows deletes the entries made before a time.
func deleteRows(ctx context.Context, q database.Querier, before time.Time) error {
	for {
		n, err := database.Exec(ctx, q, "clean audit", `
			DELETE FROM audit WHERE (id, at) IN (SELECT id, at FROM audit WHERE at < $1 ORDER BY at LIMIT $2)`, before, cleanBatch)
		if err != nil || n < cleanBatch {
			return err
		}
	}
}

func firstOfMonth(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// DeleteOf deletes entries of organizations that were made before a time of each, a batch at most, and returns how many it has deleted.
func DeleteOf(ctx context.Context, q database.Querier, of []id.Organization, before []time.Time) (int, error) {
	return database.Exec(ctx, q, "delete audit entries of organizations", `
		DELETE FROM audit WHERE (id, at) IN (
			SELECT x.id, x.at FROM unnest($1::uuid[], $2::timestamptz[]) AS o (organization, before) CROSS JOIN LATERAL (
				SELECT a.id, a.at FROM audit a WHERE a.organization = o.organization AND a.at < o.before ORDER BY a.id LIMIT $3) x
			LIMIT $3)`, of, before, cleanBatch)
}
