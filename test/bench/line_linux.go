//go:build bench

// A long line to the server, which loses packets: two TUN devices, the far one in a network namespace of its own.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Both ends of the line are in a network for benchmarks (RFC 2544).
const (
	nearEnd = "198.18.71.1"
	farEnd  = "198.18.71.2"
	lineMTU = 1500
)

// line carries the packets between two TUN devices. The kernel's TCP runs over it unchanged, towards the far end by CUBIC, which most
// clients use.
type line struct {
	addr      string // at the far end, where a relay leads to a server
	near, far *os.File
	relay     net.Listener
}

// openLine opens a line on which each packet takes delay and is lost with a probability. Connections to its address reach server.
func openLine(ctx context.Context, delay time.Duration, loss float64, server string) (_ *line, err error) {
	l := &line{}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.near, err = tun("consign-near"); err != nil {
		return nil, err
	}
	if err := address(ctx, "consign-near", nearEnd, farEnd); err != nil {
		return nil, err
	}
	if err := ip(ctx, "route", "replace", farEnd, "dev", "consign-near", "src", nearEnd, "congctl", "cubic"); err != nil {
		return nil, err
	}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // without an unlock: the thread, which is in the namespace, ends with the goroutine
		made <- l.openFar(ctx)
	}()
	if err := <-made; err != nil {
		return nil, err
	}
	l.addr = l.relay.Addr().String()
	go carry(l.near, l.far, delay, loss)
	go carry(l.far, l.near, delay, loss)
	go l.serve(ctx, server)
	return l, nil
}

// openFar makes the far end in a new network namespace.
func (l *line) openFar(ctx context.Context) (err error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("a network namespace: %w", err)
	}
	if l.far, err = tun("consign-far"); err != nil {
		return err
	}
	if err := address(ctx, "consign-far", farEnd, nearEnd); err != nil {
		return err
	}
	l.relay, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(farEnd, "0"))
	return err
}

func (l *line) close() {
	if l.relay != nil {
		_ = l.relay.Close()
	}
	for _, f := range []*os.File{l.near, l.far} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// tun opens a TUN device, which ends with the file.
func tun(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("TUN device %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil // only now: the poller refuses a file without a device
}

func address(ctx context.Context, device, own, peer string) error {
	return errors.Join(ip(ctx, "address", "add", own, "peer", peer, "dev", device),
		ip(ctx, "link", "set", device, "up", "mtu", fmt.Sprint(lineMTU), "txqueuelen", "10000"))
}

func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %v: %w %s", args, err, out)
	}
	return nil
}

// carry takes packets from one device to the other, each after delay, until a device is closed.
func carry(from, to *os.File, delay time.Duration, loss float64) {
	type packet struct {
		due  time.Time
		data []byte
	}
	packets := make(chan packet, 1<<16)
	go func() {
		for p := range packets {
			time.Sleep(time.Until(p.due))
			_, _ = to.Write(p.data)
		}
	}()
	defer close(packets)
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if rand.Float64() < loss {
			continue
		}
		select {
		case packets <- packet{time.Now().Add(delay), append([]byte(nil), buffer[:n]...)}:
		default: // a queue that is full loses packets
		}
	}
}

// serve leads connections at the far end to the server.
func (l *line) serve(ctx context.Context, server string) {
	for {
		c, err := l.relay.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			s, err := new(net.Dialer).DialContext(ctx, "tcp", server)
			if err != nil {
				return
			}
			defer s.Close()
			go func() { _, _ = io.Copy(c, s); _ = c.Close() }()
			_, _ = io.Copy(s, c)
		}()
	}
}
