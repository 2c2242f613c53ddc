package app

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// stopListening ends listening on a socket, and returns the connections in its queue.
func stopListening(l *net.TCPListener) (conns []net.Conn) {
	raw, err := l.SyscallConn()
	if err != nil {
		return nil
	}
	var taken []int
	_ = raw.Control(func(fd uintptr) {
		for {
			n, _, err := unix.Accept4(int(fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			if err == unix.EINTR || err == unix.ECONNABORTED {
				continue
			}
			if err != nil {
				break
			}
			taken = append(taken, n)
		}
		_ = unix.Shutdown(int(fd), unix.SHUT_RD) // nothing is in the queue now, but for some microseconds
	})
	for _, n := range taken {
		file := os.NewFile(uintptr(n), "connection")
		if conn, err := net.FileConn(file); err == nil {
			conns = append(conns, conn)
		}
		_ = file.Close()
	}
	return conns
}
