//go:build unix

package pgtest

import "syscall"

// detached starts the watchdog in its own session, so that Ctrl-C stops the tests only.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
