package stream

import (
	"net"

	"golang.org/x/sys/unix"
)

const closeWait = 8 // TCP_CLOSE_WAIT

// taken reports whether the other end has closed c after it had read all bytes: they are acknowledged, and it did not reset the
// connection. A program that ends before it has read what its kernel holds causes a reset (RFC 2525, 2.17), and so do bytes that arrive
// after its end.
func taken(c net.Conn) bool {
	raw, ok := c.(*net.TCPConn)
	if !ok {
		return false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	all := false
	err = control.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) //nolint:gosec // a descriptor
		all = err == nil && info.State == closeWait && info.Unacked == 0 && info.Notsent_bytes == 0
	})
	return err == nil && all
}
