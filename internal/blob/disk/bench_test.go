// Benchmarks of the disk store beside plain files.

package disk_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
)

const (
	benchSize   = 256 << 20
	benchBuffer = 256 << 10
)

// body is a request body of benchSize bytes that costs nothing to produce.
type body struct{ left int }

func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

// BenchmarkAppend compares uploads through the store, one and four at a time, with a minimal program that does the same.
// Neither should be below 0.90 of Bare.
func BenchmarkAppend(b *testing.B) {
	for _, parallel := range []int{1, 4} {
		b.Run(fmt.Sprintf("Bare/%d", parallel), func(b *testing.B) {
			dir := b.TempDir()
			name := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
			bench(b, parallel, func(i int, buffer []byte) error { return bareUpload(name(i), buffer) },
				func(i int) error { return os.Remove(name(i)) })
		})
		b.Run(fmt.Sprintf("Store/%d", parallel), func(b *testing.B) {
			s := open(b, b.TempDir(), disk.OS())
			name := func(i int) blob.Key { return blob.Key(fmt.Sprintf("object-%08d", i)) }
			bench(b, parallel, func(i int, buffer []byte) error { return upload(s, name(i), buffer) },
				func(i int) error { return s.Delete(context.Background(), name(i)) })
		})
	}
}

// bench times run for several objects in parallel, and cleans up between rounds.
func bench(b *testing.B, parallel int, run func(i int, buffer []byte) error, clean func(i int) error) {
	b.Helper()
	b.SetBytes(benchSize * int64(parallel))
	for b.Loop() {
		errs := make(chan error)
		for i := range parallel {
			go func() { errs <- run(i, make([]byte, benchBuffer)) }()
		}
		for range parallel {
			if err := <-errs; err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		for i := range parallel {
			if err := clean(i); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
	}
}

func bareUpload(name string, buffer []byte) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.CopyBuffer(struct{ io.Writer }{f}, &body{benchSize}, buffer); err != nil {
		return err
	}
	return f.Sync()
}

func upload(s *disk.Store, key blob.Key, buffer []byte) error {
	w, err := s.Append(context.Background(), key, 0, benchSize)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := io.CopyBuffer(w, &body{benchSize}, buffer); err != nil {
		return err
	}
	if _, err := w.Sync(); err != nil {
		return err
	}
	return s.Finish(context.Background(), key, benchSize)
}

// BenchmarkSmall stores an object of one byte: it measures fsyncs only.
func BenchmarkSmall(b *testing.B) {
	s := open(b, b.TempDir(), disk.OS())
	i := 0
	for b.Loop() {
		put(b, s, blob.Key(fmt.Sprintf("object-%08d", i)), "x")
		i++
	}
}
