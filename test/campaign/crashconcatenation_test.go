//go:build campaign

// Kills the server while a file is sent in partial uploads of tus, and while they become one file.

package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestCrashConcatenation kills the server with SIGKILL at random moments of partial uploads, and again while the final one is made. What
// was acknowledged of a partial upload must be held after the restart.
func TestCrashConcatenation(t *testing.T) {
	crashUploads(t, func(s *server, n int) received { return s.concatenationRound(n, randomBytes(12<<20+n)) })
}

// piece is one partial upload.
type piece struct {
	c     client
	path  string
	data  []byte
	acked atomic.Int64
}

// tus sends a request of tus and returns the answer without its body.
func (c client) tus(method, path string, body io.Reader, header map[string]string) (*http.Response, error) {
	h := http.Header{"Tus-Resumable": {"1.0.0"}}
	for name, value := range header {
		h.Set(name, value)
	}
	resp, err := c.do(context.Background(), method, path, body, h)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return resp, err
}

// held returns the offset that HEAD tells.
func (p *piece) held() (int64, error) {
	resp, err := p.c.tus("HEAD", p.path, nil, nil) //nolint:bodyclose // tus closes it
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(resp.Header.Get("Upload-Offset"), 10, 64)
}

// send sends the rest in steps of 1 MiB.
func (p *piece) send(pace time.Duration, sent *atomic.Int64) error {
	for at := p.acked.Load(); at < int64(len(p.data)); at = p.acked.Load() {
		end := min(at+chunk, int64(len(p.data)))
		body := &slow{r: bytes.NewReader(p.data[at:end]), pace: pace, sent: sent}
		header := map[string]string{"Upload-Offset": strconv.FormatInt(at, 10), "Content-Type": "application/offset+octet-stream"}
		resp, err := p.c.tus("PATCH", p.path, body, header) //nolint:bodyclose // tus closes it
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusNoContent {
			return fmt.Errorf("PATCH answered %d", resp.StatusCode)
		}
		p.acked.Store(end)
	}
	return nil
}

func sendAll(pieces []*piece, pace time.Duration, sent *atomic.Int64) error {
	errs := make([]error, len(pieces))
	var all sync.WaitGroup
	for i, p := range pieces {
		all.Go(func() { errs[i] = p.send(pace, sent) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// concatenationRound sends one file in three partial uploads through two crashes and confirms it.
func (s *server) concatenationRound(n int, data []byte) received {
	s.t.Helper()
	c, reservation, object, err := s.reserve(int64(len(data)))
	if err == nil {
		_, err = c.call("DELETE", object, nil, nil)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	third := len(data) / 3
	var pieces []*piece
	var paths []string
	for i := range 3 {
		p := &piece{c: c, data: data[i*third : (i+1)*third]}
		if i == 2 {
			p.data = data[i*third:]
		}
		header := map[string]string{"Upload-Concat": "partial", "Upload-Length": strconv.Itoa(len(p.data))}
		resp, err := c.tus("POST", reservation+"/tus", nil, header) //nolint:bodyclose // tus closes it
		if err != nil || resp.StatusCode != http.StatusCreated {
			s.t.Fatal(resp, err)
		}
		p.path = strings.TrimPrefix(resp.Header.Get("Location"), s.url)
		pieces, paths = append(pieces, p), append(paths, p.path)
	}
	var sent atomic.Int64
	moment := rand.Int64N(int64(len(data)))
	ended := make(chan struct{})
	go func() { defer close(ended); _ = sendAll(pieces, 3*time.Millisecond, &sent) }()
	for sent.Load() < moment && !closed(ended) {
		time.Sleep(time.Millisecond)
	}
	s.kill(ended)
	for i, p := range pieces {
		held, err := p.held()
		if ack := p.acked.Load(); err != nil || held < ack {
			s.t.Fatalf("%d bytes of partial upload %d were acknowledged, %d are held, %v", ack, i, held, err)
		}
		p.acked.Store(held)
	}
	if err := sendAll(pieces, 0, &sent); err != nil {
		s.t.Fatal(err)
	}
	final := func() (*http.Response, error) {
		return c.tus("POST", reservation+"/tus", nil, map[string]string{"Upload-Concat": "final;" + strings.Join(paths, " "),
			"Upload-Metadata": "filename YS5iaW4="})
	}
	made := make(chan struct{})
	go func() { defer close(made); _, _ = final() }() //nolint:bodyclose // tus closes it
	time.Sleep(rand.N(40 * time.Millisecond))
	s.kill(made)
	resp, err := final() //nolint:bodyclose // tus closes it; also when the one before was made
	if err != nil || resp.StatusCode != http.StatusCreated {
		s.t.Fatal(resp, err)
	}
	j := &job{c: c, reservation: reservation}
	for err = j.confirm(); err != nil && strings.Contains(err.Error(), "409022"); err = j.confirm() {
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("round %2d: killed after %8d of %d bytes, and at the final upload", n, moment, len(data))
	whole := sha256.Sum256(data)
	return received{j.transfer, hex.EncodeToString(whole[:])}
}

// kill kills the server, waits until requests have ended, and starts it again.
func (s *server) kill(ended <-chan struct{}) {
	s.t.Helper()
	s.signal(syscall.SIGKILL)
	_ = s.wait()
	<-ended
	s.start()
}
