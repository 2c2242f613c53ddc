package pgtest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/consign-dev/consign/internal/localpg"
)

const watchInterval = "30" // seconds

// The watchdog counts the other connections once per interval. After two counts of zero in a row it stops the postmaster. It
// exits when the cluster is gone.
const watchdog = `
lonely=0
while sleep "$4"; do
  others=$("$1" -d "$2" -XAtc "SELECT count(*) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()") || exit 0
  if [ "$others" -gt 0 ]; then lonely=0; continue; fi
  lonely=$((lonely + 1))
  if [ "$lonely" -ge 2 ]; then kill -INT "$(head -n 1 "$3")"; exit 0; fi
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
