package localpg

import (
	"slices"
	"testing"
)

// TestMemorySettings: Postgres gets a quarter of the memory, within bounds, and keeps its defaults on a small or unknown machine.
func TestMemorySettings(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{
		2 << 30:   "shared_buffers=512MB",
		64 << 30:  "shared_buffers=4096MB",
		512 << 20: "maintenance_work_mem=16MB",
	} {
		if got := memorySettings(bytes); !slices.Contains(got, want) {
			t.Errorf("%d bytes: %v, want %s", bytes, got, want)
		}
	}
	for _, bytes := range []int64{0, 256 << 20} {
		if got := memorySettings(bytes); got != nil {
			t.Errorf("%d bytes: %v", bytes, got)
		}
	}
	for text, want := range map[string]int64{"MemTotal:       24735408 kB\nMemFree: 1 kB\n": 24735408 << 10, "": 0, "MemTotal: x kB": 0} {
		if got := totalMemory([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
