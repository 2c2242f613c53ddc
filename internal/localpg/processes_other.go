//go:build !linux

package localpg

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
)

// processesIn lists the live processes whose working directory is dir, according to lsof. ok is false when lsof
// fails.
func processesIn(ctx context.Context, dir string) (pids []int, ok bool) {
	out, err := exec.CommandContext(ctx, "lsof", "-a", "-d", "cwd", "-c", "postgres", "-Fpn").Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: found none, or not all it was asked for
		return nil, false
	}
	pid := 0
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "p"):
			pid, _ = strconv.Atoi(line[1:])
		case line == "n"+dir && pid > 0:
			pids = append(pids, pid)
		}
	}
	return pids, true
}
