package sealed_test

import (
	"context"
	"io"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
)

const benchSize = 256 << 20

// BenchmarkAppend compares an upload of 256 MiB in plain and encrypted. Encrypted should be at least 0.85 of plain.
func BenchmarkAppend(b *testing.B) {
	each(b, func(b *testing.B, s blob.Store, buffer []byte) {
		for b.Loop() {
			key := blob.SegmentKey(id.New[id.Segment]())
			fill(b, s, key, buffer)
			if err := s.Delete(context.Background(), key); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRead compares reading 256 MiB from the page cache.
func BenchmarkRead(b *testing.B) {
	each(b, func(b *testing.B, s blob.Store, buffer []byte) {
		key := blob.SegmentKey(id.New[id.Segment]())
		fill(b, s, key, buffer)
		for b.Loop() {
			r, err := s.Open(context.Background(), key)
			if err != nil {
				b.Fatal(err)
			}
			if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, buffer); err != nil || n != benchSize {
				b.Fatal(n, err)
			}
			_ = r.Close()
		}
	})
}

func each(b *testing.B, run func(b *testing.B, s blob.Store, buffer []byte)) {
	b.Helper()
	open, _, _ := setUp(b)
	for name, on := range map[string]bool{"Plain": false, "Encrypted": true} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(benchSize)
			run(b, open(on), make([]byte, 256<<10))
		})
	}
}

func fill(b *testing.B, s blob.Store, key blob.Key, buffer []byte) {
	b.Helper()
	w, err := s.Append(context.Background(), key, 0, benchSize)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	for range benchSize / len(buffer) {
		if _, err := w.Write(buffer); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Sync(); err != nil {
		b.Fatal(err)
	}
	if err := s.Finish(context.Background(), key, benchSize); err != nil {
		b.Fatal(err)
	}
}
