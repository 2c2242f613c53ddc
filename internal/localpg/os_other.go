//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package localpg

import (
	"errors"
	"os"
	"syscall"
)

var errUnsupported = errors.New("this system has no private Postgres: set CONSIGN_DATABASE_URL")

func detached(account) *syscall.SysProcAttr       { return nil }
func flock(*os.File, lockMode) error              { return errUnsupported }
func ownerOf(os.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }
func running(int) bool                            { return true }
func interrupt(int) error                         { return errUnsupported }
