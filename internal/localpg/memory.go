package localpg

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

const (
	mebibyte    = 1 << 20
	leastMemory = 512 * mebibyte // below it Postgres keeps its own defaults
)

// memorySettings returns the settings of Postgres that follow from the memory of the machine: a quarter of it for shared buffers, up to
// 4 GiB, since Consign and the cache of files need the rest. bytes is 0 where it is not known.
func memorySettings(bytes int64) []string {
	if bytes < leastMemory {
		return nil
	}
	part := func(of, most int64) string { return strconv.FormatInt(min(bytes/of/mebibyte, most), 10) + "MB" }
	return []string{
		"shared_buffers=" + part(4, 4096), "effective_cache_size=" + part(2, 1<<20), "maintenance_work_mem=" + part(32, 512),
		"random_page_cost=1.1", // of solid-state disks
	}
}

// machineMemory returns the bytes of memory that this process may use: those of the machine or, if less, of its control group. It is 0 on
// systems without /proc.
func machineMemory() int64 {
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	memory := totalMemory(raw)
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if raw, err := os.ReadFile(name); err == nil {
			if limit, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && limit > 0 {
				memory = min(memory, limit)
			}
		}
	}
	return memory
}

// totalMemory returns the line MemTotal of /proc/meminfo, in bytes.
func totalMemory(meminfo []byte) int64 {
	for lines := bufio.NewScanner(bytes.NewReader(meminfo)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			n, _ := strconv.ParseInt(fields[1], 10, 64) // 0: not known
			return n << 10
		}
	}
	return 0
}
