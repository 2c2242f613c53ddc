package blob_test

import (
	"errors"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
)

func TestSegmentKey(t *testing.T) {
	t.Parallel()
	o := id.New[id.Segment]()
	key := blob.SegmentKey(o)
	if err := key.Check(); err != nil || string(key) != o.String() {
		t.Errorf("SegmentKey(%s) = %s, %v", o, key, err)
	}
}

// FuzzKey checks that whatever passes Check is a plain file name.
func FuzzKey(f *testing.F) {
	f.Add("0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11")
	f.Add("../../etc/passwd")
	f.Add("aaaaaaa\x00")
	f.Fuzz(func(t *testing.T, s string) {
		err := blob.Key(s).Check()
		if err != nil {
			if !errors.Is(err, blob.ErrKey) {
				t.Fatalf("Check(%q) = %v, want ErrKey", s, err)
			}
			return
		}
		if len(s) < 8 || len(s) > 128 {
			t.Fatalf("Check accepts %q of %d bytes", s, len(s))
		}
		for _, c := range s {
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				t.Fatalf("Check accepts %q", s)
			}
		}
	})
}
