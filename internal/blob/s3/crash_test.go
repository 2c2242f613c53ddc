//go:build s3

// Tests of the bucket store whose process dies between two requests.

package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/s3"
	"github.com/consign-dev/consign/internal/id"
)

const mib = 1 << 20

// random returns n bytes that differ from seed to seed.
func random(seed byte, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b) // it never fails
	return b
}

func newKey() blob.Key { return blob.SegmentKey(id.New[id.Segment]()) }

// wall is a proxy before the service that blocks after some requests. What the store has done then is what remains of a
// process that died. The last request may or may not have reached the service.
type wall struct {
	proxy   *httputil.ReverseProxy
	left    atomic.Int64
	reached bool
}

// newWall returns the URL of a wall before the service at to.
func newWall(t testing.TB, to *url.URL, requests int, reached bool) *url.URL {
	w := &wall{proxy: httputil.NewSingleHostReverseProxy(to), reached: reached}
	w.left.Store(int64(requests))
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	u, _ := url.Parse(server.URL)
	return u
}

func (w *wall) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	n := w.left.Add(-1)
	if n >= 0 || n == -1 && w.reached {
		if n == -1 {
			w.proxy.ServeHTTP(httptest.NewRecorder(), r)
		} else {
			w.proxy.ServeHTTP(out, r)
			return
		}
	}
	out.WriteHeader(http.StatusForbidden) // a status without retries
}

// caller is what a database row knows of one object.
type caller struct {
	key   blob.Key
	acked int // bytes that a Sync reported and the row recorded
	done  bool
}

// append sends data at the acknowledged offset, in pieces of one Write each.
func (c *caller) append(s *s3.Store, data []byte, noted bool) error {
	w, err := s.Append(context.Background(), c.key, int64(c.acked), 0)
	if err != nil {
		return err
	}
	defer w.Close()
	for len(data) > 0 {
		n, err := w.Write(data[:min(len(data), 700_000)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	held, err := w.Sync()
	if err == nil && noted {
		c.acked = int(held)
	}
	return err
}

// upload is the life of an object: two requests, one that is not acknowledged, one that goes back into a part that was already
// sent, and the finish.
func (c *caller) upload(s *s3.Store, data []byte) error {
	steps := []func() error{
		func() error { return c.append(s, data[:6*mib], true) },
		func() error { return c.append(s, random(99, 6*mib), false) }, // not acknowledged
		func() error { return c.append(s, data[6*mib:12*mib], true) },
		func() error { // an older row than the last two Syncs, as of a restored backup
			c.acked = 9*mib + 1
			return c.append(s, nil, true)
		},
		func() error { return c.append(s, data[c.acked:], true) },
		func() error { return s.Finish(context.Background(), c.key, int64(len(data))) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	c.done = true
	return nil
}

// resume does what the next process does for the same caller.
func (c *caller) resume(s *s3.Store, data []byte) error {
	held, err := s.Held(context.Background(), c.key)
	if err != nil && (c.acked > 0 || !errors.Is(err, blob.ErrNotFound)) || held < int64(c.acked) {
		return fmt.Errorf("%d bytes were acknowledged, %d are held: %w", c.acked, held, err)
	}
	if err := c.append(s, data[c.acked:], true); err != nil && !errors.Is(err, blob.ErrFinished) {
		return err
	}
	return s.Finish(context.Background(), c.key, int64(len(data)))
}

// check checks the object, and that nothing else is stored.
func (c *caller) check(s *s3.Store, data []byte) error {
	r, err := s.Open(context.Background(), c.key)
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, data) {
		return fmt.Errorf("%d bytes read that are not the %d sent: %w", len(got), len(data), err)
	}
	if left := list(s); len(left) != 1 || !left[0].Finished {
		return fmt.Errorf("left behind: %+v", left)
	}
	if err := s.Delete(context.Background(), c.key); err != nil {
		return err
	}
	if left := list(s); len(left) != 0 {
		return fmt.Errorf("left after Delete: %+v", left)
	}
	return nil
}

func list(s *s3.Store) (all []blob.Info) {
	if err := s.List(context.Background(), func(i blob.Info) error { all = append(all, i); return nil }); err != nil {
		panic(err)
	}
	return all
}

// TestCrash ends the process after each request of an upload, answered and unanswered, and continues with another process.
func TestCrash(t *testing.T) {
	t.Parallel()
	data := random(1, 13*mib+17)
	for _, reached := range []bool{false, true} {
		t.Run(fmt.Sprintf("reached=%t", reached), func(t *testing.T) {
			t.Parallel()
			for n, done := 1, false; !done; n++ { // one request is that of New
				o := options(t)
				behind := o
				behind.Endpoint = newWall(t, o.Endpoint, n, reached)
				first := open(t, behind)
				c := &caller{key: newKey()}
				err := c.upload(first, data)
				if done = c.done; err == nil != done {
					t.Fatalf("after %d requests: %v", n, err)
				}
				next := open(t, o)
				if err := c.resume(next, data); err != nil {
					t.Fatalf("after %d requests (%v), resumed: %v", n, err, err)
				}
				if err := c.check(next, data); err != nil {
					t.Fatalf("after %d requests, finished: %v", n, err)
				}
				if n > 400 {
					t.Fatal("an upload never ends")
				}
			}
		})
	}
}
