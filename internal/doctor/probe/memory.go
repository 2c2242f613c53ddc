package probe

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryHigh is the share of the limit above which memory is low.
const MemoryHigh = 0.9

// Memory returns how many bytes of memory the control group (cgroup v2) of this process has in use, and its limit; 0, 0: there is none.
// The cache of files does not count, because the kernel gives it up before it ends a process.
func Memory() (used, limit int64) {
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(raw)) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return memoryOf(filepath.Join("/sys/fs/cgroup", strings.TrimSpace(path)))
		}
	}
	return 0, 0
}

// memoryOf is Memory for the files of a control group.
func memoryOf(dir string) (used, limit int64) {
	limit, current := bytesIn(dir, "memory.max"), bytesIn(dir, "memory.current")
	stat, err := os.ReadFile(filepath.Join(dir, "memory.stat")) //nolint:gosec // a file of the kernel
	if limit == 0 || current == 0 || err != nil {
		return 0, 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(stat)); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), " "); name == "inactive_file" || name == "active_file" {
			cached, _ := strconv.ParseInt(value, 10, 64) // 0: not known
			current -= cached
		}
	}
	return max(current, 0), limit
}

// bytesIn returns the number in a file of a control group; 0 where it is absent, or "max".
func bytesIn(dir, name string) int64 {
	raw, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // a file of the kernel
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	return n
}
