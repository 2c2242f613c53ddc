//go:build !linux

package disk

// Reserve does nothing: a reservation only makes writing quicker.
func (osFile) Reserve(int64, int64) error { return nil }

// Writeback does nothing: fsync does all the work.
func (osFile) Writeback(int64, int64) {}
