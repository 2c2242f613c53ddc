//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package localpg

import (
	"errors"
	"os"
	"syscall"
)

// detached returns the attributes of a process in its own session, which Ctrl-C in this terminal does not reach. It runs as a,
// if that is another user.
func detached(a account) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a.uid != os.Geteuid() {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}

func flock(f *os.File, how lockMode) error {
	operation := map[lockMode]int{shared: syscall.LOCK_SH, exclusive: syscall.LOCK_EX, unlocked: syscall.LOCK_UN}[how]
	for {
		err := syscall.Flock(int(f.Fd()), operation|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		default:
			return os.NewSyscallError("flock", err)
		}
	}
}

// ownerOf returns the user and group that own a file.
func ownerOf(info os.FileInfo) (uid, gid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

// running reports whether a process of that id exists, even one that this process may not signal.
func running(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// interrupt requests a fast shutdown of a postmaster: it disconnects clients and flushes data.
func interrupt(pid int) error { return os.NewSyscallError("kill", syscall.Kill(pid, syscall.SIGINT)) }
