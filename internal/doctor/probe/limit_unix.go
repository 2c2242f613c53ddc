//go:build unix

package probe

import "golang.org/x/sys/unix"

// OpenFiles returns how many files this process may have open; 0: unknown.
func OpenFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur) //nolint:unconvert // types differ by system
}
