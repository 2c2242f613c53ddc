package probe

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMemoryOf: the cache of files is not in use. Without a limit, and without cgroup v2, nothing is known.
func TestMemoryOf(t *testing.T) {
	t.Parallel()
	stat := "anon 300\nfile 600\nshmem 50\ninactive_file 400\nactive_file 150\nslab 7\n"
	for name, c := range map[string]struct {
		files       map[string]string
		used, limit int64
	}{
		"a limit":    {map[string]string{"memory.max": "1000\n", "memory.current": "950\n", "memory.stat": stat}, 400, 1000},
		"no limit":   {map[string]string{"memory.max": "max\n", "memory.current": "950\n", "memory.stat": stat}, 0, 0},
		"not v2":     {nil, 0, 0},
		"all cached": {map[string]string{"memory.max": "1000\n", "memory.current": "500\n", "memory.stat": stat}, 0, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if used, limit := memoryOf(dir); used != c.used || limit != c.limit {
				t.Errorf("%d of %d are used, want %d of %d", used, limit, c.used, c.limit)
			}
		})
	}
}
