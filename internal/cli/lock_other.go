//go:build !unix

package cli

// lockFile does not lock where the system has no flock.
func lockFile(string, bool) (unlock func(), err error) { return func() {}, nil }
