//go:build bench

// Measures processor time, memory and disk of the measured processes.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// tick is the unit of processor time in /proc: USER_HZ is 100 wherever Go runs on Linux.
const tick = 10 * time.Millisecond

// statFields returns the fields of /proc/PID/stat after the process name, which may contain blanks.
func statFields(pid int) ([]string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) < 15 {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields, nil
}

// processorTime returns the processor time of a process: user and system.
func processorTime(pid int) (time.Duration, error) {
	f, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	return ticks(f[11]) + ticks(f[12]), nil
}

// processTreeTime returns the processor time of a process, its children and its former children: all of Postgres.
func processTreeTime(pid int) (time.Duration, error) {
	f, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	sum := ticks(f[11]) + ticks(f[12]) + ticks(f[13]) + ticks(f[14])
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if f, err := statFields(child); err == nil && f[1] == strconv.Itoa(pid) {
			sum += ticks(f[11]) + ticks(f[12])
		}
	}
	return sum, nil
}

func ticks(field string) time.Duration {
	n, _ := strconv.ParseInt(field, 10, 64)
	return time.Duration(n) * tick
}

// memory returns VmRSS or VmHWM of a process in bytes.
func memory(pid int, name string) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/%d/status", name, pid)
}

// resetPeak sets VmHWM to the memory that is resident now.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// postmaster returns the process id of the cluster in dir.
func postmaster(dir string) (int, error) {
	for _, path := range []string{filepath.Join(dir, "data", "postmaster.pid"), filepath.Join(dir, "postmaster.pid")} {
		raw, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(raw), "\n")
		return strconv.Atoi(first)
	}
	return 0, fmt.Errorf("no postmaster.pid below %s", dir)
}

// facts are the conditions of a run. The report states them.
type facts struct {
	when                        time.Time
	cores                       int
	processor, system, postgres string
	sample                      time.Duration
	rounds                      int
	size                        int64
	version                     string
}

func (b *bench) facts() facts {
	f := facts{
		when: time.Now(), cores: runtime.NumCPU(), processor: "unknown", system: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		sample: b.options.sample, rounds: b.options.rounds, size: b.options.size, version: b.version,
	}
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				f.processor = strings.TrimSpace(value)
				break
			}
		}
	}
	f.postgres = b.postgresVersion
	return f
}

// postgresVersion returns the version of the database server.
func postgresVersion(ctx context.Context, url string) (string, error) {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close(ctx) }()
	var v string
	err = c.QueryRow(ctx, `SELECT current_setting('server_version')`).Scan(&v)
	return v, err
}
