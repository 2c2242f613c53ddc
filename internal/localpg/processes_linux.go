package localpg

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// processesIn lists the live processes whose working directory is dir. ok is false when the system does not show it.
func processesIn(_ context.Context, dir string) (pids []int, ok bool) {
	if _, err := os.Readlink("/proc/self/cwd"); err != nil {
		return nil, false
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// Processes of other users, which are not the cluster's, and processes that have ended cannot be read.
		cwd, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if err == nil && strings.TrimSuffix(cwd, " (deleted)") == dir {
			pids = append(pids, pid)
		}
	}
	return pids, true
}
