// Package blobtest is the conformance suite of package blob for every Store. Crashes that are particular to a store are tested
// in the store's package.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
)

// Run tests a store. fresh prepares empty storage for one test and returns a function that opens a store on it; each call of
// that function stands for a new process. except names tests of what the store documents to do otherwise.
func Run(t *testing.T, fresh func(t *testing.T) (open func() blob.Store), except ...string) {
	tests := []struct {
		name string
		run  func(t *testing.T, s *suite)
	}{
		{"AppendFinishOpen", testAppendFinishOpen},
		{"EmptyObject", testEmptyObject},
		{"SeveralAppends", testSeveralAppends},
		{"AppendCutsOff", testAppendCutsOff},
		{"AppendCutsOffAtZero", testAppendCutsOffAtZero},
		{"AppendRefusesGap", testAppendRefusesGap},
		{"AppendToFinished", testAppendToFinished},
		{"FinishChecksSize", testFinishChecksSize},
		{"FinishWithoutSync", testFinishWithoutSync},
		{"FinishAfterCut", testFinishAfterCut},
		{"FinishTwice", testFinishTwice},
		{"FinishInParallel", testFinishInParallel},
		{"OpenUnfinished", testOpenUnfinished},
		{"OpenSeeks", testOpenSeeks},
		{"Delete", testDelete},
		{"DeleteWhileReading", testDeleteWhileReading},
		{"List", testList},
		{"ListStops", testListStops},
		{"ListDeletes", testListDeletes},
		{"Restart", testRestart},
		{"LargeObject", testLargeObject},
		{"ManyAtOnce", testManyAtOnce},
		{"Keys", testKeys},
		{"CancelledContext", testCancelledContext},
	}
	for _, test := range tests {
		if slices.Contains(except, test.name) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			open := fresh(t)
			test.run(t, &suite{Store: open(), open: open})
		})
	}
}

// suite is a store under test, with common checks.
type suite struct {
	blob.Store
	open func() blob.Store
}

// restart opens the store as a new process would.
func (s *suite) restart() { s.Store = s.open() }

// write appends data at offset, syncs and closes.
func (s *suite) write(t testing.TB, key blob.Key, offset, size int64, data []byte) {
	t.Helper()
	w, err := s.Append(context.Background(), key, offset, size)
	if err != nil {
		t.Fatalf("Append at %d: %v", offset, err)
	}
	if n, err := w.Write(data); err != nil || n != len(data) {
		t.Fatalf("Write = %d, %v, want %d", n, err, len(data))
	}
	if held, err := w.Sync(); err != nil || held != offset+int64(len(data)) {
		t.Fatalf("Sync = %d, %v, want %d", held, err, offset+int64(len(data)))
	}
	if err := w.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// finish finishes the object and checks that reading returns data.
func (s *suite) finish(t testing.TB, key blob.Key, data []byte) {
	t.Helper()
	if err := s.Finish(context.Background(), key, int64(len(data))); err != nil {
		t.Fatalf("Finish: %v", err)
	}
	s.wantContent(t, key, data)
}

func (s *suite) wantContent(t testing.TB, key blob.Key, data []byte) {
	t.Helper()
	r, err := s.Open(context.Background(), key)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	if !bytes.Equal(got, data) {
		t.Fatalf("read %d bytes that differ from the %d written", len(got), len(data))
	}
}

func (s *suite) wantHeld(t testing.TB, key blob.Key, want int64) {
	t.Helper()
	if held, err := s.Held(context.Background(), key); err != nil || held != want {
		t.Fatalf("Held = %d, %v, want %d", held, err, want)
	}
}

func (s *suite) wantNothing(t testing.TB, key blob.Key) {
	t.Helper()
	_, err := s.Held(context.Background(), key)
	wantError(t, "Held", err, blob.ErrNotFound)
	_, err = s.Open(context.Background(), key)
	wantError(t, "Open", err, blob.ErrNotFound)
}

// wantList compares the result of List with want, in any order. Modification times must be recent.
func (s *suite) wantList(t testing.TB, want ...blob.Info) {
	t.Helper()
	var got []blob.Info
	err := s.List(context.Background(), func(i blob.Info) error {
		if age := time.Since(i.Modified); age < -time.Minute || age > time.Hour {
			t.Errorf("List: %s was modified at %s", i.Key, i.Modified)
		}
		i.Modified = time.Time{}
		got = append(got, i)
		return nil
	})
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	byKey := cmpopts.SortSlices(func(a, b blob.Info) bool { return a.Key < b.Key })
	if diff := cmp.Diff(want, got, byKey, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("List differs (-want +got):\n%s", diff)
	}
}

func wantError(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want %v", what, err, want)
	}
}

func newKey() blob.Key { return blob.SegmentKey(id.New[id.Segment]()) }

// content returns n bytes that repeat neither within themselves nor between seeds.
func content(seed uint64, n int) []byte {
	b := make([]byte, n)
	var s [32]byte
	s[0], s[1] = byte(seed), byte(seed>>8)
	_, _ = rand.NewChaCha8(s).Read(b) // it never fails
	return b
}
