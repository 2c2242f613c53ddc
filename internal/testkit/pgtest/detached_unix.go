//go:build unix

package pgtest

import "syscall"

// detached keeps Ctrl-C, meant for the tests, from the watchdog.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
