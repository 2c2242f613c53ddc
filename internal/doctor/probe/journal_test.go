package probe

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWithoutJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	number, ok := deviceOf(dir)
	if !ok {
		t.Fatal("the number of its device is not known")
	}
	for _, c := range []struct {
		task string
		want bool
	}{{"<none>\n", true}, {"812\n", false}, {"", false}} {
		sys := t.TempDir()
		for _, d := range []string{"devices/sda1", "dev/block", "fs/ext4/sda1"} {
			if err := os.MkdirAll(filepath.Join(sys, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(filepath.Join(sys, "devices/sda1"), filepath.Join(sys, "dev/block", number)); err != nil {
			t.Fatal(err)
		}
		if c.task != "" { // else it is another file system
			if err := os.WriteFile(filepath.Join(sys, "fs/ext4/sda1/journal_task"), []byte(c.task), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := withoutJournal(sys, dir); got != c.want {
			t.Errorf("journal_task is %q: %v", c.task, got)
		}
	}
	if withoutJournal(t.TempDir(), dir) {
		t.Error("without /sys a journal is missed")
	}
}
