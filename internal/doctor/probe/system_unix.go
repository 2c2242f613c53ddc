//go:build unix

package probe

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// OpenFiles returns how many files this process may have open; 0: unknown.
func OpenFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur) //nolint:unconvert // types differ by system
}

// deviceOf returns the number of the device under a directory, in the form of /sys/dev/block.
func deviceOf(dir string) (number string, ok bool) {
	var s unix.Stat_t
	if err := unix.Stat(dir, &s); err != nil {
		return "", false
	}
	device := uint64(s.Dev) //nolint:unconvert // types differ by system
	return fmt.Sprintf("%d:%d", unix.Major(device), unix.Minor(device)), true
}
