// Package scanner serves malware scanners' protocols on loopback for tests: clamd's, and ICAP.
package scanner

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Eicar is the test string that every scanner finds. It is put together here, so that no scanner finds this file.
var Eicar = []byte(`X5O!P%@AP[4\PZX54(P^)7CC)7}$` + "EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*")

// Clamd is a daemon that speaks the commands VERSION and INSTREAM of clamd. It finds Eicar in the bytes themselves. Set what it does
// with its methods at any time.
type Clamd struct {
	URL string

	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]bool
	hangs    bool
	away     bool
	version  string
	refusal  string            // the answer about each file; empty: a verdict
	most     int               // StreamMaxLength
	finds    map[string]string // finding by what is in a file
	scans    int
	parallel int
	peak     int
	gate     chan struct{} // nil: answers at once
	pace     time.Duration
	judged   map[[sha256.Size]byte]int // scans by the SHA-256 of what was read
}

// NewClamd starts a daemon that ends with the test.
func NewClamd(t testing.TB) *Clamd {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Clamd{
		URL: "clamd://" + l.Addr().String(), listener: l, open: map[net.Conn]bool{}, version: "ClamAV 1.0.9/27500/Mon Nov 23 09:30:00 2026",
		most:  100 << 20,
		finds: map[string]string{string(Eicar): "Eicar-Test-Signature"}, judged: map[[sha256.Size]byte]int{},
	}
	go c.serve()
	t.Cleanup(func() {
		l.Close()
		c.Hang(false)
		c.cut()
	})
	return c
}

// Hang makes the daemon accept connections and never answer.
func (c *Clamd) Hang(hangs bool) { c.set(func() { c.hangs = hangs }) }

// Away makes the daemon close every connection, also those that are open, as when it has died.
func (c *Clamd) Away(away bool) {
	c.set(func() { c.away = away })
	if away {
		c.cut()
	}
}

// Signatures changes the version of the signatures.
func (c *Clamd) Signatures(number string) {
	c.set(func() { c.version = "ClamAV 1.0.9/" + number + "/Mon Nov 23 12:30:00 2026" })
}

// Refuse makes the daemon give this answer in place of a verdict, as one that cannot scan.
func (c *Clamd) Refuse(answer string) { c.set(func() { c.refusal = answer }) }

// StreamMaxLength sets the most bytes of a stream.
func (c *Clamd) StreamMaxLength(n int) { c.set(func() { c.most = n }) }

// Find makes the daemon answer with a finding about files that contain text.
func (c *Clamd) Find(text, finding string) { c.set(func() { c.finds[text] = finding }) }

// Hold makes the daemon read files and answer only after release, which may be called more than once.
func (c *Clamd) Hold() (release func()) {
	gate := make(chan struct{})
	c.set(func() { c.gate = gate })
	return sync.OnceFunc(func() {
		c.set(func() { c.gate = nil })
		close(gate)
	})
}

// Pace makes the daemon wait before each answer about a file.
func (c *Clamd) Pace(d time.Duration) { c.set(func() { c.pace = d }) }

// Judged returns how many answers the daemon has made about a content.
func (c *Clamd) Judged(content []byte) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.judged[sha256.Sum256(content)]
}

// Scans returns how many streams were judged, and how many were open at a time at most.
func (c *Clamd) Scans() (scans, peak int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scans, c.peak
}

// Open returns how many connections are open.
func (c *Clamd) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

func (c *Clamd) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *Clamd) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		conn.Close()
	}
}

func (c *Clamd) serve() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		hangs, away := c.hangs, c.away
		c.open[conn] = true
		c.mu.Unlock()
		switch {
		case away:
			c.close(conn)
		case hangs:
			go func() { // until the client leaves
				defer c.close(conn)
				_, _ = io.Copy(io.Discard, conn)
			}()
		default:
			go func() {
				defer c.close(conn)
				c.answer(conn)
			}()
		}
	}
}

func (c *Clamd) close(conn net.Conn) {
	c.set(func() { delete(c.open, conn) })
	conn.Close()
}

func (c *Clamd) answer(conn net.Conn) {
	in := bufio.NewReader(conn)
	command, err := in.ReadString(0)
	if err != nil {
		return
	}
	switch command {
	case "zVERSION\x00":
		c.mu.Lock()
		version := c.version
		c.mu.Unlock()
		fmt.Fprintf(conn, "%s\x00", version)
	case "zINSTREAM\x00":
		c.set(func() { c.parallel++; c.peak = max(c.peak, c.parallel) })
		defer c.set(func() { c.parallel-- })
		if reply, err := c.stream(in); err == nil {
			fmt.Fprintf(conn, "%s\x00", reply)
		}
	default:
		fmt.Fprint(conn, "UNKNOWN COMMAND\x00")
	}
}

// stream reads the chunks of a stream and returns the reply about them.
func (c *Clamd) stream(in io.Reader) (string, error) {
	c.mu.Lock()
	most, gate, pace := c.most, c.gate, c.pace
	c.mu.Unlock()
	var content bytes.Buffer
	for {
		var n uint32
		if err := binary.Read(in, binary.BigEndian, &n); err != nil {
			return "", err
		}
		if n == 0 {
			break
		}
		if content.Len()+int(n) > most {
			return "INSTREAM size limit exceeded. ERROR", nil
		}
		if got, err := io.CopyN(&content, in, int64(n)); err != nil {
			return "", errors.Join(err, fmt.Errorf("%d of %d bytes", got, n))
		}
	}
	time.Sleep(pace)
	if gate != nil {
		<-gate
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusal != "" {
		return c.refusal, nil
	}
	c.scans++
	c.judged[sha256.Sum256(content.Bytes())]++
	for text, finding := range c.finds {
		if bytes.Contains(content.Bytes(), []byte(text)) {
			return "stream: " + finding + " FOUND", nil
		}
	}
	return "stream: OK", nil
}
