//go:build campaign

package campaign

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestUpgradeUnderLoad upgrades three replicas of TEST_OLD_BINARY to TEST_NEW_BINARY as docs/use/upgrade.md describes: the new program
// migrates the database while the old replicas serve, then the replicas are replaced one after the other. No request may fail, neither
// during the migration nor while both versions serve.
func TestUpgradeUnderLoad(t *testing.T) {
	older, newer := os.Getenv("TEST_OLD_BINARY"), os.Getenv("TEST_NEW_BINARY")
	if older == "" || newer == "" {
		t.Fatal("TEST_OLD_BINARY or TEST_NEW_BINARY is not set: run make test-upgrade")
	}
	c := newClusterOf(t, older, "CONSIGN_RATE_LIMIT=off")
	l := newLoad(t, c)
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
}
