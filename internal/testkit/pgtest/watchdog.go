package pgtest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/consign-dev/consign/internal/localpg"
)

const (
	watchInterval = "30"     // seconds
	usedLock      = "727405" // advisory lock in database postgres: shared by each test process until it ends
)

// The watchdog tries the lock once per interval. If nobody shares it twice in a row, it stops the postmaster and holds the lock
// until that ends its session. It exits when the cluster is gone.
const watchdog = `
export PIDFILE="$3"
alone=f
while sleep "$4"; do
  alone=$("$1" -d "$2" -XAtq -v before=$alone <<'SQL'
SELECT alone, alone AND :'before' AS twice FROM pg_try_advisory_lock(` + usedLock + `) AS alone \gset
\echo :alone
\if :twice
  \! kill -INT "$(head -n 1 "$PIDFILE")"
  SELECT pg_sleep(60);
\endif
SQL
  ) || exit 0
done`

// watch starts the watchdog of a cluster that was just started. Without psql it starts none, and the cluster keeps running.
func watch(cluster *localpg.Cluster, interval string) error {
	psql := filepath.Join(cluster.Bin(), "psql")
	if _, err := os.Stat(psql); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	cmd := exec.Command("/bin/sh", "-c", watchdog, "consign-pgtest-watchdog", psql, cluster.URL("postgres"), filepath.Join(cluster.Dir(), "data", "postmaster.pid"), interval) //nolint:noctx // outlives the test
	cmd.Dir = "/"
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
