// Package cutter is a network that fails, between a client and a test's server: it cuts connections in the middle, and can be slow.
package cutter

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// Cutter forwards connections to a server and cuts some of them.
type Cutter struct {
	URL     string // where clients connect; make it the server's public URL
	target  atomic.Pointer[string]
	weather atomic.Pointer[Weather]
	after   atomic.Int64
	left    atomic.Int64
	cuts    atomic.Int64
}

// Weather is how a network is. The zero value is fast.
type Weather struct {
	Latency   time.Duration // from the arrival of a packet until it goes on, in each direction
	Rate      int64         // bytes in a second that each direction of a connection carries; 0: any
	SlowClose time.Duration // how long the server's side of a connection stays open after its client's has ended
	Reset     bool          // connections that are cut end with RST instead of FIN
}

// New starts a Cutter that ends with the test. Its target is set by To.
func New(t testing.TB) *Cutter {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := &Cutter{URL: "http://localhost:" + port}
	c.weather.Store(&Weather{})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.forward(conn)
		}
	}()
	return c
}

// To forwards from now on to the address of a server, host and port.
func (c *Cutter) To(address string) { c.target.Store(&address) }

// Set changes how the next connections are.
func (c *Cutter) Set(w Weather) { c.weather.Store(&w) }

// Cut cuts the next connections, as many as times says, each after it has carried so many bytes in both directions together.
func (c *Cutter) Cut(times int, after int64) {
	c.after.Store(after)
	c.left.Store(int64(times))
}

// Cuts returns how many connections were cut.
func (c *Cutter) Cuts() int { return int(c.cuts.Load()) }

func (c *Cutter) forward(client net.Conn) {
	defer client.Close()
	target := c.target.Load()
	if target == nil {
		return
	}
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", *target)
	if err != nil {
		return
	}
	l := &line{cutter: c, weather: *c.weather.Load()}
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{server, client}, {client, server}} {
		go func() {
			l.carry(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done
	if l.cut.Load() && l.weather.Reset {
		_ = client.(*net.TCPConn).SetLinger(0)
		_ = server.(*net.TCPConn).SetLinger(0)
	}
	client.Close()
	time.Sleep(l.weather.SlowClose)
	server.Close()
}

// line is a connection through a Cutter.
type line struct {
	cutter  *Cutter
	weather Weather
	carried atomic.Int64
	cut     atomic.Bool
}

type packet struct {
	due  time.Time
	data []byte
}

// carry passes bytes on until one side ends or the line is cut.
func (l *line) carry(to, from net.Conn) {
	packets := make(chan packet, 64) // under way
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		defer close(packets)
		for {
			data := make([]byte, 16<<10)
			n, err := from.Read(data)
			if n > 0 {
				select {
				case packets <- packet{time.Now().Add(l.weather.Latency), data[:n]}:
				case <-ended:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range packets {
		time.Sleep(time.Until(p.due))
		if l.weather.Rate > 0 {
			time.Sleep(time.Duration(len(p.data)) * time.Second / time.Duration(l.weather.Rate))
		}
		if c := l.cutter; l.carried.Add(int64(len(p.data))) > c.after.Load() && c.left.Load() > 0 && c.left.Add(-1) >= 0 {
			c.cuts.Add(1)
			l.cut.Store(true)
			_, _ = to.Write(p.data[:len(p.data)/2])
			return
		}
		if _, err := to.Write(p.data); err != nil {
			return
		}
	}
}
