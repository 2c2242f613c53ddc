// The conformance tests of one object: append, finish, open and delete.

package blobtest

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
)

func testAppendFinishOpen(t *testing.T, s *suite) {
	key, data := newKey(), content(1, 100_000)
	s.write(t, key, 0, int64(len(data)), data)
	s.wantHeld(t, key, int64(len(data)))
	s.finish(t, key, data)
	s.wantHeld(t, key, int64(len(data)))
}

func testEmptyObject(t *testing.T, s *suite) {
	key := newKey()
	s.write(t, key, 0, 0, nil)
	s.wantHeld(t, key, 0)
	s.finish(t, key, nil)
	s.wantHeld(t, key, 0)
	s.write(t, key, 0, 0, nil)
	s.finish(t, key, nil)
}

func testSeveralAppends(t *testing.T, s *suite) {
	key, data := newKey(), content(2, 1000)
	s.write(t, key, 0, 1000, data[:1])
	s.write(t, key, 1, 1000, data[1:400])
	s.write(t, key, 400, 1000, nil)
	s.wantHeld(t, key, 400)
	w, err := s.Append(context.Background(), key, 400, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for at := 400; at < 1000; at += 100 {
		if _, err := w.Write(data[at : at+100]); err != nil {
			t.Fatal(err)
		}
		if held, err := w.Sync(); err != nil || held != int64(at+100) {
			t.Fatalf("Sync = %d, %v, want %d", held, err, at+100)
		}
	}
	if held, err := w.Sync(); err != nil || held != 1000 {
		t.Fatalf("second Sync = %d, %v", held, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.finish(t, key, data)
}

func testAppendCutsOff(t *testing.T, s *suite) {
	key, data := newKey(), content(3, 1000)
	s.write(t, key, 0, 0, append(bytes.Clone(data[:300]), content(4, 600)...))
	s.write(t, key, 300, 0, data[300:500])
	s.wantHeld(t, key, 500)
	s.write(t, key, 500, 0, data[500:])
	s.finish(t, key, data)
}

func testAppendCutsOffAtZero(t *testing.T, s *suite) {
	key, data := newKey(), content(5, 10)
	s.write(t, key, 0, 0, content(6, 1000))
	s.write(t, key, 0, 0, nil)
	s.wantHeld(t, key, 0)
	s.write(t, key, 0, 10, data)
	s.finish(t, key, data)
}

func testAppendRefusesGap(t *testing.T, s *suite) {
	key := newKey()
	_, err := s.Append(context.Background(), key, 1, 10)
	wantError(t, "Append to nothing", err, blob.ErrGap)
	s.wantNothing(t, key)
	s.write(t, key, 0, 10, content(7, 5))
	_, err = s.Append(context.Background(), key, 6, 10)
	wantError(t, "Append behind the end", err, blob.ErrGap)
	s.wantHeld(t, key, 5)
	if _, err := s.Append(context.Background(), key, -1, 10); err == nil {
		t.Fatal("Append at -1 succeeded")
	}
}

func testAppendToFinished(t *testing.T, s *suite) {
	key, data := newKey(), content(8, 100)
	s.write(t, key, 0, 100, data)
	s.finish(t, key, data)
	_, err := s.Append(context.Background(), key, 99, 100)
	wantError(t, "Append inside", err, blob.ErrFinished)
	_, err = s.Append(context.Background(), key, 0, 100)
	wantError(t, "Append at 0", err, blob.ErrFinished)
	_, err = s.Append(context.Background(), key, 101, 200)
	wantError(t, "Append behind the end", err, blob.ErrGap)

	s.write(t, key, 100, 100, nil)
	w, err := s.Append(context.Background(), key, 100, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	n, err := w.Write([]byte{1})
	if wantError(t, "Write", err, blob.ErrFinished); n != 0 {
		t.Fatalf("Write took %d bytes", n)
	}
	if held, err := w.Sync(); err != nil || held != 100 {
		t.Fatalf("Sync = %d, %v, want 100", held, err)
	}
	s.finish(t, key, data)
	s.wantList(t, blob.Info{Key: key, Size: 100, Finished: true})
}

func testFinishChecksSize(t *testing.T, s *suite) {
	key, data := newKey(), content(9, 100)
	wantError(t, "Finish of nothing", s.Finish(context.Background(), key, 0), blob.ErrNotFound)
	s.write(t, key, 0, 100, data[:60])
	for _, size := range []int64{0, 59, 61, 100} {
		wantError(t, "Finish", s.Finish(context.Background(), key, size), blob.ErrSize)
	}
	_, err := s.Open(context.Background(), key)
	wantError(t, "Open", err, blob.ErrNotFound)
	s.write(t, key, 60, 100, data[60:])
	s.finish(t, key, data)
	wantError(t, "Finish with another size", s.Finish(context.Background(), key, 99), blob.ErrSize)
	s.wantContent(t, key, data)
}

func testFinishWithoutSync(t *testing.T, s *suite) {
	key, data := newKey(), content(10, 1000)
	w, err := s.Append(context.Background(), key, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.finish(t, key, data)
}

// testFinishAfterCut finishes an object whose last request was rolled back.
func testFinishAfterCut(t *testing.T, s *suite) {
	key, data := newKey(), content(11, 500)
	s.write(t, key, 0, 0, data)
	s.write(t, key, 500, 0, content(12, 500))
	w, err := s.Append(context.Background(), key, 500, 500)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.finish(t, key, data)
}

func testFinishTwice(t *testing.T, s *suite) {
	key, data := newKey(), content(13, 100)
	s.write(t, key, 0, 100, data)
	s.finish(t, key, data)
	s.finish(t, key, data)
	s.restart()
	s.finish(t, key, data)
	s.wantList(t, blob.Info{Key: key, Size: 100, Finished: true})
}

func testFinishInParallel(t *testing.T, s *suite) {
	key, data := newKey(), content(14, 100)
	s.write(t, key, 0, 100, data)
	errs := make(chan error)
	const n = 16
	for range n {
		go func() { errs <- s.Finish(context.Background(), key, 100) }()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Errorf("Finish: %v", err)
		}
	}
	s.finish(t, key, data)
}

func testOpenUnfinished(t *testing.T, s *suite) {
	key := newKey()
	s.wantNothing(t, key)
	s.write(t, key, 0, 100, content(15, 100))
	_, err := s.Open(context.Background(), key)
	wantError(t, "Open", err, blob.ErrNotFound)
}

// reader stores data as a finished object and opens it until the test ends.
func (s *suite) reader(t *testing.T, key blob.Key, data []byte) blob.Reader {
	t.Helper()
	s.write(t, key, 0, int64(len(data)), data)
	s.finish(t, key, data)
	r, err := s.Open(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func testOpenSeeks(t *testing.T, s *suite) {
	key, data := newKey(), content(16, 300_000)
	r := s.reader(t, key, data)
	for _, at := range []struct {
		offset int64
		whence int
		want   int64
	}{{250_000, io.SeekStart, 250_000}, {-10, io.SeekEnd, 299_990}, {0, io.SeekStart, 0}, {0, io.SeekEnd, 300_000}} {
		got, err := r.Seek(at.offset, at.whence)
		if err != nil || got != at.want {
			t.Fatalf("Seek(%d, %d) = %d, %v, want %d", at.offset, at.whence, got, err, at.want)
		}
		rest, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(rest, data[at.want:]) {
			t.Fatalf("read %d bytes from %d: %v", len(rest), at.want, err)
		}
	}
	if _, err := r.Seek(-1, io.SeekStart); err == nil {
		t.Fatal("Seek before the start succeeded")
	}
}

func testDelete(t *testing.T, s *suite) {
	ctx := context.Background()
	unfinished, finished, data := newKey(), newKey(), content(17, 100)
	s.write(t, unfinished, 0, 200, data)
	s.write(t, finished, 0, 100, data)
	s.finish(t, finished, data)
	for _, key := range []blob.Key{unfinished, finished, newKey()} {
		for range 2 {
			if err := s.Delete(ctx, key); err != nil {
				t.Fatalf("Delete: %v", err)
			}
			s.wantNothing(t, key)
		}
		wantError(t, "Finish", s.Finish(ctx, key, 100), blob.ErrNotFound)
	}
	s.wantList(t)
	s.write(t, finished, 0, 50, data[:50])
	s.finish(t, finished, data[:50])
}

func testDeleteWhileReading(t *testing.T, s *suite) {
	key, data := newKey(), content(18, 300_000)
	r := s.reader(t, key, data)
	head := make([]byte, 1000)
	if _, err := io.ReadFull(r, head); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(context.Background(), key); err != nil {
		t.Fatal(err)
	}
	s.wantNothing(t, key)
	// A bucket may end the reader here instead, but it must not return other bytes.
	rest, err := io.ReadAll(r)
	if err == nil && !bytes.Equal(append(head, rest...), data) {
		t.Fatalf("read %d wrong bytes after Delete", len(rest))
	}
}
