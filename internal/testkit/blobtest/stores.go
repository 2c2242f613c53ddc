// The conformance tests of a whole store: lists, restarts, large objects, parallel use, malformed keys.

package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
)

func testList(t *testing.T, s *suite) {
	s.wantList(t)
	var want []blob.Info
	for i := range 30 {
		key, data := newKey(), content(19, i*10)
		s.write(t, key, 0, 0, data)
		if i%2 == 0 {
			s.finish(t, key, data)
		}
		want = append(want, blob.Info{Key: key, Size: int64(len(data)), Finished: i%2 == 0})
	}
	s.wantList(t, want...)
	s.restart()
	s.wantList(t, want...)
}

func testListStops(t *testing.T, s *suite) {
	for i := range 4 {
		key := newKey()
		s.write(t, key, 0, 0, nil)
		if i%2 == 0 {
			s.finish(t, key, nil)
		}
	}
	stop := errors.New("stop")
	for n := 1; n <= 4; n++ {
		calls := 0
		err := s.List(context.Background(), func(blob.Info) error {
			if calls++; calls == n {
				return stop
			}
			return nil
		})
		if wantError(t, "List", err, stop); calls != n {
			t.Fatalf("%d calls, want %d", calls, n)
		}
	}
}

func testListDeletes(t *testing.T, s *suite) {
	for i := range 20 {
		key := newKey()
		s.write(t, key, 0, 0, content(20, 10))
		if i%2 == 0 {
			s.finish(t, key, content(20, 10))
		}
	}
	err := s.List(context.Background(), func(i blob.Info) error { return s.Delete(context.Background(), i.Key) })
	if err != nil {
		t.Fatal(err)
	}
	s.wantList(t)
}

func testRestart(t *testing.T, s *suite) {
	key, data := newKey(), content(21, 1000)
	s.write(t, key, 0, 1000, data[:700])
	s.restart()
	held, err := s.Held(context.Background(), key)
	if err != nil || held < 700 {
		t.Fatalf("Held = %d, %v, want at least 700", held, err)
	}
	s.write(t, key, 700, 1000, data[700:])
	s.restart()
	s.finish(t, key, data)
	s.restart()
	s.wantContent(t, key, data)
	s.write(t, key, 1000, 1000, nil)
}

// testLargeObject spans several parts of a bucket store, and cuts in the middle of one.
func testLargeObject(t *testing.T, s *suite) {
	const size = 17 << 20
	key, data := newKey(), content(22, size)
	s.write(t, key, 0, size, data[:6<<20+1])
	s.write(t, key, 6<<20+1, size, data[:7<<20])
	s.restart()
	s.write(t, key, 6<<20+1, size, data[6<<20+1:12<<20])
	s.write(t, key, 9<<20+3, size, nil)
	s.wantHeld(t, key, 9<<20+3)
	w, err := s.Append(context.Background(), key, 9<<20+3, size)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	from := bytes.NewReader(data[9<<20+3:])
	if _, err := io.CopyBuffer(w, struct{ io.Reader }{from}, make([]byte, 256<<10)); err != nil {
		t.Fatal(err)
	}
	if held, err := w.Sync(); err != nil || held != size {
		t.Fatalf("Sync = %d, %v", held, err)
	}
	s.finish(t, key, data)
}

func testManyAtOnce(t *testing.T, s *suite) {
	const n = 16
	errs := make(chan error)
	for i := range n {
		go func() { errs <- oneOfMany(s.Store, content(uint64(100+i), 50_000+i)) }()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func oneOfMany(s blob.Store, data []byte) error {
	ctx, key, half := context.Background(), newKey(), len(data)/2
	for _, part := range [][2]int{{0, half}, {half, len(data)}} {
		w, err := s.Append(ctx, key, int64(part[0]), int64(len(data)))
		if err != nil {
			return err
		}
		_, err = w.Write(data[part[0]:part[1]])
		_, syncErr := w.Sync()
		if err := errors.Join(err, syncErr, w.Close()); err != nil {
			return err
		}
	}
	if err := s.Finish(ctx, key, int64(len(data))); err != nil {
		return err
	}
	r, err := s.Open(ctx, key)
	if err != nil {
		return err
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		return fmt.Errorf("read %d bytes that differ: %w", len(got), err)
	}
	return s.Delete(ctx, key)
}

func testKeys(t *testing.T, s *suite) {
	ctx := context.Background()
	for _, key := range []blob.Key{
		"", ".", "..", "short", "/etc/passwd", "../../../../tmp/escape", "aaaaaaaa/../../b", "aaaa/aaaa", "aaaa\\aaaa",
		"aaaaaaa\x00", "aaaaaaa\n", "AAAAAAAA", "aaaaaaa.", ".aaaaaaa", "-aaaaaaa", "aaaaaaa-", "aaaaaaaä", "aaaa aaaa",
		"aaaa%2faaaa", blob.Key(strings.Repeat("a", 129)), blob.Key(strings.ToUpper(id.New[id.Object]().String())),
	} {
		_, err := s.Append(ctx, key, 0, 0)
		wantError(t, "Append", err, blob.ErrKey)
		wantError(t, "Finish", s.Finish(ctx, key, 0), blob.ErrKey)
		_, err = s.Open(ctx, key)
		wantError(t, "Open", err, blob.ErrKey)
		_, err = s.Held(ctx, key)
		wantError(t, "Held", err, blob.ErrKey)
		wantError(t, "Delete", s.Delete(ctx, key), blob.ErrKey)
	}
	s.wantList(t)
	for _, key := range []blob.Key{"aaaaaaaa", "00000000", "a------a", blob.Key(strings.Repeat("z", 128))} {
		s.write(t, key, 0, 3, []byte("abc"))
		s.finish(t, key, []byte("abc"))
	}
}

func testCancelledContext(t *testing.T, s *suite) {
	key, data := newKey(), content(23, 100)
	ctx, cancel := context.WithCancel(context.Background())
	w, err := s.Append(ctx, key, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cancel()
	// A client that disconnects cancels its request's context. The bytes it sent are kept.
	if _, err := w.Write(data); err != nil {
		t.Fatalf("Write: %v", err)
	}
	if held, err := w.Sync(); err != nil || held != 100 {
		t.Fatalf("Sync = %d, %v", held, err)
	}
	_, err = s.Append(ctx, newKey(), 0, 100)
	wantError(t, "Append", err, context.Canceled)
	wantError(t, "Finish", s.Finish(ctx, key, 100), context.Canceled)
	wantError(t, "Delete", s.Delete(ctx, key), context.Canceled)
	wantError(t, "List", s.List(ctx, func(blob.Info) error { return nil }), context.Canceled)
	s.finish(t, key, data)
}
