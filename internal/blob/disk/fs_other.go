//go:build !linux

package disk

// Reserve does nothing: reserving only makes writing faster.
func (osFile) Reserve(int64, int64) error { return nil }

// Writeback does nothing: fsync writes everything.
func (osFile) Writeback(int64, int64) {}
