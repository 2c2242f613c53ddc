//go:build growth

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	tick = time.Second / 100 // of processor times in /proc

	firstPriority, usualPriority = -20, 5 // nice
)

// processes returns the server, Postgres and its backends.
func (g *growth) processes(srv *server) []int {
	found := []int{srv.cmd.Process.Pid}
	raw, _ := os.ReadFile(filepath.Join(g.cluster.Dir(), "data", "postmaster.pid"))
	first, _, _ := strings.Cut(string(raw), "\n")
	postmaster, err := strconv.Atoi(first)
	if err != nil {
		return found
	}
	found = append(found, postmaster)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if f := stat(pid); len(f) > 1 && f[1] == first {
			found = append(found, pid)
		}
	}
	return found
}

// stat returns the fields of /proc/PID/stat from the state on, which is the third: proc(5). It has none of a process that has ended.
func stat(pid int) []string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(raw), ") ")
	return strings.Fields(rest)
}

// busy returns the processor time of server and Postgres so far.
func (g *growth) busy(srv *server) time.Duration {
	sum := 0
	for _, pid := range g.processes(srv) {
		if f := stat(pid); len(f) > 14 {
			for _, n := range f[11:15] { // of the process, then of its children that have ended
				t, _ := strconv.Atoi(n)
				sum += t
			}
		}
	}
	return time.Duration(sum) * tick
}

// prefer gives server, Postgres and this program a priority (nice), as far as the system permits (as root), so that other programs on the
// machine do not decide how long a job takes.
func (g *growth) prefer(srv *server, nice int) {
	for _, pid := range append(g.processes(srv), os.Getpid()) {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, task := range tasks {
			if id, err := strconv.Atoi(filepath.Base(task)); err == nil {
				_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, nice)
			}
		}
	}
}
