//go:build unix

package floor

import "golang.org/x/sys/unix"

// measure asks the file system of dir (statfs(2)).
func measure(dir string) (free, size int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), nil //nolint:unconvert // types differ by system
}
