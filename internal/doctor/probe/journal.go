package probe

import (
	"os"
	"path/filepath"
	"strings"
)

// WithoutJournal reports whether a directory is on an ext4 that keeps no journal. On one that does, /sys/fs/ext4/DEVICE/journal_task
// names a process. It is false where the kernel does not say.
func WithoutJournal(dir string) bool { return withoutJournal("/sys", dir) }

func withoutJournal(sys, dir string) bool {
	number, ok := deviceOf(dir)
	if !ok {
		return false
	}
	device, err := filepath.EvalSymlinks(filepath.Join(sys, "dev/block", number))
	if err != nil {
		return false
	}
	task, err := os.ReadFile(filepath.Join(sys, "fs/ext4", filepath.Base(device), "journal_task"))
	return err == nil && strings.TrimSpace(string(task)) == "<none>"
}
