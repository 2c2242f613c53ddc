package audit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
)

// kept returns the objects of all entries, newest first.
func kept(t *testing.T, db *database.DB) string {
	t.Helper()
	var all strings.Builder
	for _, r := range list(t, db, audit.Filter{}) {
		all.WriteString(r.Object + " ")
	}
	return all.String()
}

func clean(t *testing.T, db *database.DB, now, before time.Time) int {
	t.Helper()
	n, err := audit.Clean(context.WithoutCancel(t.Context()), db, now, before)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCleanDropsMonths: a month is deleted as a whole, when its last entry is old enough. Listing crosses months.
func TestCleanDropsMonths(t *testing.T) {
	t.Parallel()
	db := open(t)
	day := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
	}
	write := func(object string, at time.Time) {
		t.Helper()
		if err := audit.Append(t.Context(), db.Pool, at, audit.Entry{Actor: job, Action: "a.b", Object: object}); err != nil {
			t.Fatal(err)
		}
	}
	write("past", day(2020, 5, 5))                 // stays in audit_default
	write("early", day(2040, 3, 3))                // before its partition exists: in audit_default
	clean(t, db, day(2040, 3, 4), day(2019, 1, 1)) // moves it
	write("march", day(2040, 3, 31))
	write("april", day(2040, 4, 1))
	if diff := cmp.Diff("april march early past ", kept(t, db)); diff != "" {
		t.Fatal(diff)
	}
	for _, step := range []struct {
		now, before time.Time
		dropped     int
		left        string
	}{
		{day(2040, 4, 2), day(2020, 5, 31), 0, "april march early past "},
		{day(2040, 4, 2), day(2020, 6, 1), 0, "april march early "}, // as a row
		{day(2040, 4, 2), day(2040, 3, 31), 0, "april march early "},
		{day(2040, 4, 2), day(2040, 4, 1), 1, "april "},
		{day(2040, 4, 2), day(2040, 4, 1), 0, "april "},
		{day(2040, 9, 2), day(2040, 8, 1), 3, ""}, // april, may, june; july and august never had a partition
	} {
		if n := clean(t, db, step.now, step.before); n != step.dropped {
			t.Errorf("before %s: %d partitions dropped, want %d", step.before, n, step.dropped)
		}
		if got := kept(t, db); got != step.left {
			t.Errorf("before %s: left %q, want %q", step.before, got, step.left)
		}
	}
	write("after", day(2040, 11, 30))
	var elsewhere int
	if err := db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM audit_default`).Scan(&elsewhere); err != nil || elsewhere != 0 {
		t.Errorf("%d entries in audit_default, %v: months ahead have no partition", elsewhere, err)
	}
}

// TestCleanGivesUpOnLocks: a backup locks the audit for long. Clean fails soon, so that nobody waits behind it, and works later.
func TestCleanGivesUpOnLocks(t *testing.T) {
	t.Parallel()
	db := open(t)
	backup, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Exec(t.Context(), `LOCK TABLE audit IN ACCESS SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := audit.Clean(t.Context(), db, now, now); err == nil || !strings.Contains(err.Error(), "partition") {
		t.Errorf("with a lock: %v", err)
	}
	if err := backup.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	clean(t, db, now, now) // creates the partition of January
	if n := clean(t, db, now, now.AddDate(0, 1, 0)); n != 1 {
		t.Errorf("%d partitions dropped, want 1", n)
	}
}
