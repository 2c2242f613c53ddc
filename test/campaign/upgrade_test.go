//go:build campaign

package campaign

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// TestUpgradeUnderLoad upgrades three replicas of TEST_OLD_BINARY to TEST_NEW_BINARY as docs/use/upgrade.md describes: the new program
// migrates the database while the old replicas serve, then the replicas are replaced one after the other. No request may fail, neither
// during the migration nor while both versions serve. The organization is charged with what it stores, whichever version stored it.
func TestUpgradeUnderLoad(t *testing.T) {
	older, newer := os.Getenv("TEST_OLD_BINARY"), os.Getenv("TEST_NEW_BINARY")
	if older == "" || newer == "" {
		t.Fatal("TEST_OLD_BINARY or TEST_NEW_BINARY is not set: run make test-upgrade")
	}
	c := newClusterOf(t, older, "CONSIGN_RATE_LIMIT=off")
	l := newLoad(t, c)
	conn := pgtest.Connect(t, c.database)
	// Without limits the new version charges advances, and the old one the row of the organization (migrations/0018_volume_advances.sql).
	if _, err := conn.Exec(t.Context(), `UPDATE identity.limits SET storage_volume_bytes = NULL, transfer_volume_bytes = NULL`); err != nil {
		t.Fatal(err)
	}
	l.run(func() {
		began := time.Now()
		migrate := exec.CommandContext(t.Context(), newer, "migrate", "up")
		migrate.Env = c.replicas[0].env
		out, err := migrate.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "migrated") {
			t.Errorf("migrate: %v\n%s", err, out)
			return
		}
		t.Logf("migrated in %v while the old version served", time.Since(began).Round(time.Millisecond))
		time.Sleep(5 * time.Second) // the old version on the new database
		for n, s := range c.replicas {
			s.program = newer
			l.restart(n)
			time.Sleep(5 * time.Second) // both versions
		}
	})
	var booked, kept, advances int64
	if err := conn.QueryRow(t.Context(), bookedAndKept).Scan(&booked, &kept); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM transfer.volume_advances`).Scan(&advances); err != nil {
		t.Fatal(err)
	}
	if booked != kept || advances == 0 {
		t.Errorf("%d bytes are booked and %d kept; %d advances", booked, kept, advances)
	}
}
