//go:build s3

// Tests of writers in a bucket: taking over from a dead one, leftovers, spools, and refused requests.

package s3_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/s3"
)

// begun opens a writer at offset and writes and syncs data, unless data is empty.
func begun(t *testing.T, s *s3.Store, key blob.Key, offset int, data []byte) blob.Writer {
	t.Helper()
	w, err := s.Append(t.Context(), key, int64(offset), 0)
	if err != nil {
		t.Fatal(err)
	}
	take(t, w, data)
	if held, err := w.Sync(); err != nil || held != int64(offset+len(data)) {
		t.Fatalf("Sync = %d, %v", held, err)
	}
	return w
}

func take(t *testing.T, w blob.Writer, data []byte) {
	t.Helper()
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
}

// TestDeadWriterWakes lets a stalled writer continue after another replica has taken over.
func TestDeadWriterWakes(t *testing.T) {
	t.Parallel()
	data := random(2, 13*mib)
	for _, test := range []struct {
		name  string
		late  []byte // what the first writer writes after its 6 MiB
		whole bool
	}{
		{"with its record", data[6*mib : 8*mib], true},
		{"with a part of the same bytes", data[6*mib : 11*mib], true},
		{"with a part of other bytes", random(3, 5*mib), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o, key, ctx := options(t), newKey(), context.Background()
			first, second := open(t, o), open(t, o)
			dead := begun(t, first, key, 0, data[:6*mib])
			alive := begun(t, second, key, 6*mib, data[6*mib:12*mib])
			take(t, dead, test.late)
			if err := dead.Close(); err != nil {
				t.Fatal(err)
			}
			if held, err := second.Held(ctx, key); err != nil || held != 12*mib {
				t.Fatalf("Held = %d, %v", held, err)
			}
			take(t, alive, data[12*mib:])
			if err := alive.Close(); err != nil {
				t.Fatal(err)
			}
			c := &caller{key: key}
			err := second.Finish(ctx, key, int64(len(data)))
			if test.whole {
				if err != nil {
					t.Fatal(err)
				}
				if err := c.check(second, data); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrAway) {
				t.Fatalf("an object of mixed bytes was finished: %v", err)
			}
			if _, err := second.Open(ctx, key); !errors.Is(err, blob.ErrNotFound) {
				t.Fatalf("Open: %v", err)
			}
			if err := second.Delete(ctx, key); err != nil {
				t.Fatal(err)
			}
			if left := list(second); len(left) > 0 {
				t.Fatalf("left after Delete: %+v", left)
			}
		})
	}
}

// TestBackOneSync goes back to the Sync before the last, as a caller does that crashed between Sync and its row. Nothing is
// copied for it.
func TestBackOneSync(t *testing.T) {
	t.Parallel()
	o, key := options(t), newKey()
	data := random(4, 13*mib)
	proxy := httputil.NewSingleHostReverseProxy(o.Endpoint)
	var completed atomic.Int64
	counter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
			completed.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(counter.Close)
	direct := open(t, o)
	o.Endpoint, _ = url.Parse(counter.URL)
	s := open(t, o)
	for _, piece := range [][]byte{data[:6*mib], data[6*mib : 7*mib], random(5, 6*mib), data[6*mib:]} {
		offset := 6 * mib
		if &piece[0] == &data[0] {
			offset = 0
		}
		begun(t, s, key, offset, piece) // and ends without Close
	}
	if n := completed.Load(); n != 0 {
		t.Errorf("%d uploads were completed to go back", n)
	}
	if err := s.Finish(t.Context(), key, int64(len(data))); err != nil {
		t.Fatal(err)
	}
	if err := (&caller{key: key}).check(direct, data); err != nil {
		t.Fatal(err)
	}
}

// TestLeftovers lists and deletes what a process leaves that died between creating an upload and its first record.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	for n := 1; n < 12; n++ {
		o, c := options(t), &caller{key: newKey()}
		behind := o
		behind.Endpoint = newWall(t, o.Endpoint, n, true)
		if err := c.append(open(t, behind), random(6, 6*mib), true); err == nil {
			break
		}
		s := open(t, o)
		for _, left := range list(s) {
			if left.Finished || left.Key != c.key || left.Modified.IsZero() {
				t.Fatalf("after %d requests: %+v", n, left)
			}
			if err := s.Delete(t.Context(), left.Key); err != nil {
				t.Fatal(err)
			}
		}
		if left := list(s); len(left) > 0 {
			t.Fatalf("after %d requests, left after Delete: %+v", n, left)
		}
	}
}

// TestSpools checks that a large object leaves nothing on the local disk and takes little memory.
func TestSpools(t *testing.T) {
	o, key := options(t), newKey() // not parallel: it measures the memory of the process
	s := open(t, o)
	w, err := s.Append(t.Context(), key, 0, 200*mib)
	if err != nil {
		t.Fatal(err)
	}
	piece := random(7, mib)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 200 {
		take(t, w, piece)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 3*mib {
		t.Errorf("200 MiB in flight take %d KiB of memory", grown>>10)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(t.Context(), key, 200*mib); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(o.SpoolDir, "*"))
	if len(files) > 0 {
		t.Errorf("spools stay: %v", files)
	}
	r, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Seek(150*mib, 0); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, mib)
	if _, err := r.Read(got[:1]); err != nil || !bytes.Equal(got[:1], piece[:1]) {
		t.Errorf("read at 150 MiB: %v", err)
	}
}

// TestSpoolDirectory checks that an unusable directory is refused by New, not by the first upload.
func TestSpoolDirectory(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.SpoolDir = filepath.Join(t.TempDir(), "spool", "below")
	open(t, o)
	if info, err := os.Stat(o.SpoolDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is made as %v, %v", info, err)
	}
	o.SpoolDir = os.DevNull
	if _, err := s3.New(t.Context(), o); err == nil {
		t.Error("spools in a place where no file can be made")
	}
}

// refusing returns a proxy before the service that answers some requests itself with a status.
func refusing(t *testing.T, status int, refuses func(*http.Request) bool) s3.Options {
	t.Helper()
	o := options(t)
	proxy := httputil.NewSingleHostReverseProxy(o.Endpoint)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuses(r) {
			w.WriteHeader(status)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	o.Endpoint, _ = url.Parse(server.URL)
	return o
}

// TestAway checks that an unreachable service is reported as ErrAway.
func TestAway(t *testing.T) {
	t.Parallel()
	var down, gone atomic.Bool
	o := refusing(t, http.StatusServiceUnavailable, func(*http.Request) bool {
		if gone.Load() { // a closed server would free its port for others
			panic(http.ErrAbortHandler)
		}
		return down.Load()
	})
	s, key := open(t, o), newKey()
	w := begun(t, s, key, 0, []byte("abc"))
	take(t, w, []byte("def"))
	down.Store(true)
	if held, err := w.Sync(); !errors.Is(err, blob.ErrAway) || held != 3 {
		t.Errorf("Sync = %d, %v", held, err)
	}
	if _, err := s.Held(t.Context(), key); !errors.Is(err, blob.ErrAway) {
		t.Errorf("Held: %v", err)
	}
	down.Store(false)
	if _, err := w.Sync(); !errors.Is(err, blob.ErrAway) {
		t.Errorf("Sync after a failed one: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	begun(t, s, key, 3, []byte("def"))
	gone.Store(true)
	if _, err := s.Open(t.Context(), key); !errors.Is(err, blob.ErrAway) {
		t.Errorf("Open of a server that is gone: %v", err)
	}
}

// TestNotLetIn checks that rejected keys and an unusable spool directory interrupt an upload and do not end it.
func TestNotLetIn(t *testing.T) {
	t.Parallel()
	var out atomic.Bool
	o := refusing(t, http.StatusForbidden, func(*http.Request) bool { return out.Load() })
	s, key := open(t, o), newKey()
	w := begun(t, s, key, 0, []byte("abc"))
	take(t, w, []byte("def"))
	out.Store(true)
	if held, err := w.Sync(); !errors.Is(err, blob.ErrAway) || held != 3 {
		t.Errorf("Sync = %d, %v", held, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), key); !errors.Is(err, blob.ErrAway) {
		t.Errorf("Open: %v", err)
	}
	out.Store(false)
	if err := os.Remove(o.SpoolDir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), key, 3, 6); !errors.Is(err, blob.ErrAway) {
		t.Errorf("Append without a place for spools: %v", err)
	}
	if err := os.Mkdir(o.SpoolDir, 0o700); err != nil {
		t.Fatal(err)
	}
	begun(t, s, key, 3, []byte("def"))
}

// TestConflict checks that a request is retried some times when a parallel one was in the way.
func TestConflict(t *testing.T) {
	t.Parallel()
	var refusals atomic.Int64
	o := refusing(t, http.StatusConflict, func(r *http.Request) bool { return r.Method == http.MethodPut && refusals.Add(-1) >= 0 })
	s, key := open(t, o), newKey()
	w := begun(t, s, key, 0, []byte("abc"))
	take(t, w, []byte("def"))
	refusals.Store(2)
	if held, err := w.Sync(); err != nil || held != 6 {
		t.Errorf("Sync between others = %d, %v", held, err)
	}
	take(t, w, []byte("ghi"))
	refusals.Store(1000)
	if held, err := w.Sync(); !errors.Is(err, blob.ErrAway) || held != 6 {
		t.Errorf("Sync that never gets through = %d, %v", held, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
