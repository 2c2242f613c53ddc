package disk

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Reserve allocates blocks without changing the length (fallocate(2), FALLOC_FL_KEEP_SIZE).
func (f osFile) Reserve(offset, length int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, offset, length)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Writeback starts asynchronous writeout of dirty pages (sync_file_range(2)). Where that is unsupported, fsync writes all of
// them.
func (f osFile) Writeback(offset, length int64) {
	_ = unix.SyncFileRange(int(f.Fd()), offset, length, unix.SYNC_FILE_RANGE_WRITE)
}
