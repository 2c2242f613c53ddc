// Tests of the stream against a real TLS listener and a real file: at least once, in order, by one of several servers, after crashes and
// outages.

package stream_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/audit/stream"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

var start = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// certificate returns a certificate for 127.0.0.1 that is its own authority, and the file with it.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "siem"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, name
}

// receiver is a syslog server that keeps the JSON of the messages that it has read.
type receiver struct {
	t    *testing.T
	cert tls.Certificate
	ca   string
	addr string

	mu    sync.Mutex
	lines []string
	cuts  int // so many of the next sessions end as in a crash
	l     net.Listener
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, addr: "127.0.0.1:0"}
	r.cert, r.ca = certificate(t)
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *receiver) start() {
	r.t.Helper()
	l, err := tls.Listen("tcp", r.addr, &tls.Config{Certificates: []tls.Certificate{r.cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		r.t.Fatal(err)
	}
	r.l, r.addr = l, l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.session(c.(*tls.Conn))
		}
	}()
}

func (r *receiver) stop() { _ = r.l.Close() }

func (r *receiver) url() string { return "syslog+tls://" + r.addr + "?ca=" + r.ca }

var header = regexp.MustCompile(`^<110>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z files\.example\.com consign - ([!-~]{1,32}) - (\{.*\})$`)

// session reads messages in the framing of RFC 5425, and answers close_notify with its own.
func (r *receiver) session(c *tls.Conn) {
	defer func() { _ = c.Close() }()
	if c.HandshakeContext(r.t.Context()) != nil {
		return
	}
	r.mu.Lock()
	cut := r.cuts
	r.cuts = max(r.cuts-1, 0)
	r.mu.Unlock()
	switch {
	case cut > 0 && cut%3 == 0: // reads nothing
		_ = c.NetConn().Close()
		return
	case cut%3 == 1: // reads a part
		_, _ = io.ReadFull(c.NetConn(), make([]byte, 5))
		_ = c.NetConn().Close()
		return
	case cut%3 == 2: // reads everything, and its machine dies
		defer func() { _ = c.NetConn().(*net.TCPConn).SetLinger(0); _ = c.NetConn().Close() }()
	}
	in := bufio.NewReader(c)
	for {
		size, err := in.ReadString(' ')
		if err != nil {
			return
		}
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil || n < 1 || n > 8192 {
			r.t.Errorf("size %q", size)
			return
		}
		message := make([]byte, n)
		if _, err := io.ReadFull(in, message); err != nil {
			return
		}
		m := header.FindSubmatch(message)
		if m == nil {
			r.t.Errorf("message %q", message)
			return
		}
		r.mu.Lock()
		r.lines = append(r.lines, string(m[2]))
		r.mu.Unlock()
	}
}

func (r *receiver) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n") + "\n"
}

func open(t *testing.T) *database.DB {
	t.Helper()
	db, err := database.New(t.Context(), pgtest.URL(t), 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func sender(t *testing.T, db *database.DB, url string) *stream.Stream {
	t.Helper()
	target, err := stream.Parse(url, "files.example.com")
	if err != nil {
		t.Fatal(err)
	}
	return stream.New(db, target, time.Now, slog.New(slog.DiscardHandler))
}

// run runs a sender until the returned function is called.
func run(t *testing.T, s *stream.Stream) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

func write(t *testing.T, db *database.DB, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		e := audit.Entry{Actor: audit.Actor{Kind: audit.Job}, Action: "test.entry", Object: fmt.Sprint(i),
			Details: map[string]string{"text": `"ä" <` + "\u2028"}}
		if err := audit.Append(t.Context(), db.Pool, start, e); err != nil {
			t.Fatal(err)
		}
	}
}

func step(t *testing.T, s *stream.Stream) {
	t.Helper()
	if _, err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// sent waits until nothing waits.
func sent(t *testing.T, s *stream.Stream) {
	t.Helper()
	poll.Until(t, "everything is sent", func() bool {
		state, err := s.State(t.Context())
		return err == nil && state.Waiting == 0
	})
}

// whole checks that the chain is whole up to what the server has sent, and returns it.
func whole(t *testing.T, s *stream.Stream, text string) stream.Checked {
	t.Helper()
	c, err := stream.Verify(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	n, hash, err := s.Head(t.Context())
	if err == nil {
		err = c.Compare(n, hash)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStreamToSyslog: entries arrive once each, in order, while three servers send. Then the receiver is away, and crashes in the middle of
// sessions.
func TestStreamToSyslog(t *testing.T) {
	t.Parallel()
	db, r := open(t), newReceiver(t)
	write(t, db, 0, 3) // before the stream begins: stay in the database
	first := sender(t, db, r.url())
	if err := first.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		run(t, sender(t, db, r.url()))
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { write(t, db, 100*w, 100*w+100) })
	}
	writers.Wait()
	sent(t, first)
	if c := whole(t, first, r.text()); c.Last != 401 || c.Repeated != 0 {
		t.Errorf("%d entries, %d repeated; want 401 with the beginning, each once", c.Last, c.Repeated)
	}

	r.stop()
	write(t, db, 400, 450)
	poll.Until(t, "the trouble is known", func() bool {
		s, err := first.State(t.Context())
		return err == nil && s.Waiting == 50 && strings.Contains(s.Trouble, "connect to")
	})
	r.mu.Lock()
	r.cuts = 2
	r.mu.Unlock()
	r.start()
	sent(t, first)
	if c := whole(t, first, r.text()); c.Last != 451 || c.Repeated < 1 {
		t.Errorf("%d entries, %d repeated; want 451, some again after the crashes", c.Last, c.Repeated)
	}
	if s, err := first.State(t.Context()); err != nil || s.Trouble != "" || s.Sent != 451 {
		t.Errorf("afterwards %+v, %v", s, err)
	}
}

// TestKilledSender: a sender that is killed after any statement or while it sends leaves entries to the next one, which sends the same
// bytes.
func TestKilledSender(t *testing.T) {
	t.Parallel()
	db, r := open(t), newReceiver(t)
	s := sender(t, db, r.url())
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for round := range 40 {
		write(t, db, 10*round, 10*round+10)
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(round)*250*time.Microsecond, cancel)
		_, _ = sender(t, db, r.url()).Step(ctx)
		timer.Stop()
		cancel()
		if _, err := db.Pool.Exec(t.Context(), `UPDATE audit_stream SET leased_until = now()`); err != nil { // the lease of a dead one ends
			t.Fatal(err)
		}
	}
	for {
		if state, err := s.State(t.Context()); err != nil || state.Waiting == 0 {
			break
		}
		step(t, s)
	}
	if c := whole(t, s, r.text()); c.Last != 401 {
		t.Errorf("%d entries, want 401", c.Last)
	}
}

// TestUnconfirmed: a receiver that ends a session before it has read everything has confirmed nothing.
func TestUnconfirmed(t *testing.T) {
	t.Parallel()
	db, r := open(t), newReceiver(t)
	s := sender(t, db, r.url())
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.cuts = 30
	for i := range 30 {
		write(t, db, 10*i, 10*i+10)
		if _, err := s.Step(t.Context()); err == nil {
			t.Fatalf("session %d was cut and counted as sent", i)
		}
	}
	for range 2 { // the first batch is the one that was not confirmed
		step(t, s)
	}
	if c := whole(t, s, r.text()); c.Last != 301 || c.Repeated != 110 {
		t.Errorf("%d entries, %d repeated; want 301 and 110, as often as all was read", c.Last, c.Repeated)
	}
}

// TestStrangeCertificate: entries go to nobody whose certificate is not that of the host.
func TestStrangeCertificate(t *testing.T) {
	t.Parallel()
	db, r := open(t), newReceiver(t)
	_, other := certificate(t)
	s := sender(t, db, "syslog+tls://"+r.addr+"?ca="+other)
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(t.Context()); err == nil || r.text() != "\n" {
		t.Errorf("sent %q, %v", r.text(), err)
	}
	if err := s.Try(t.Context()); err == nil {
		t.Error("a strange certificate is taken")
	}
}

// TestStreamToFile: a line that a crash has cut off is written anew; a renamed file is followed by another one.
func TestStreamToFile(t *testing.T) {
	t.Parallel()
	db, name := open(t), filepath.Join(t.TempDir(), "audit.jsonl")
	s := sender(t, db, "file://"+name)
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, db, 0, 5)
	step(t, s)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(text, `{"sequence":7,"prev`...), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, db, 5, 8)
	step(t, s)
	if text, err = os.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	if c := whole(t, s, string(text)); c.Last != 9 {
		t.Errorf("%d entries, want 9", c.Last)
	}
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, db, 8, 10)
	step(t, s)
	second, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if c := whole(t, s, string(second)); c.First != 10 || c.Last != 11 {
		t.Errorf("the second file has %d to %d, want 10 to 11", c.First, c.Last)
	}
	whole(t, s, string(text)+string(second))
}

// TestStreamEnds: without the setting entries wait for a week. Then the stream ends, and a later one begins with an entry of its own.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	db, name := open(t), filepath.Join(t.TempDir(), "audit.jsonl")
	s := sender(t, db, "file://"+name)
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	step(t, s)
	if _, err := db.Pool.Exec(t.Context(), `UPDATE audit_stream SET leased_until = $1`, start); err != nil {
		t.Fatal(err)
	}
	write(t, db, 0, 5)
	off := func(after time.Duration) *stream.Stream {
		return stream.New(db, nil, func() time.Time { return start.Add(after) }, slog.New(slog.DiscardHandler))
	}
	for _, c := range []struct {
		days    int
		waiting int64
		active  bool
	}{{6, 5, true}, {8, 0, false}} {
		after := time.Duration(c.days) * 24 * time.Hour
		if err := off(after).End(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := off(after).State(t.Context()); err != nil || got.Waiting != c.waiting || got.Active != c.active {
			t.Errorf("after %d days: %+v, %v", c.days, got, err)
		}
	}
	write(t, db, 5, 7)
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	step(t, s)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if c := whole(t, s, string(text)); c.Last != 2 || bytes.Count(text, []byte(`"action":"audit.stream"`)) != 2 {
		t.Errorf("%s", text)
	}
}

// TestMissingEntry: an entry that the audit deleted before it was sent leaves a line without content.
func TestMissingEntry(t *testing.T) {
	t.Parallel()
	db, name := open(t), filepath.Join(t.TempDir(), "audit.jsonl")
	s := sender(t, db, "file://"+name)
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, db, 0, 3)
	if _, err := db.Pool.Exec(t.Context(), `DELETE FROM audit WHERE object = '1'`); err != nil {
		t.Fatal(err)
	}
	step(t, s)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if c := whole(t, s, string(text)); c.Last != 4 || bytes.Count(text, []byte(`"missing":true`)) != 1 {
		t.Errorf("%s", text)
	}
}

// TestLongEntry: a line fits a syslog message, however much an entry says.
func TestLongEntry(t *testing.T) {
	t.Parallel()
	db, r := open(t), newReceiver(t)
	s := sender(t, db, r.url())
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	details := map[string]string{}
	for i := range 60 {
		details[fmt.Sprint("name", i)] = strings.Repeat("\"ä", 200)
	}
	long := audit.Entry{Actor: audit.Actor{Kind: audit.Job}, Action: "test.long", Details: details}
	if err := audit.Append(t.Context(), db.Pool, start, long); err != nil {
		t.Fatal(err)
	}
	step(t, s)
	if whole(t, s, r.text()); !strings.Contains(r.text(), `"(cut)"`) {
		t.Error("nothing is cut")
	}
}
