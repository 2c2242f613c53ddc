package content

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// inSegments returns a reader of segments with these contents.
func inSegments(contents ...string) *reader {
	r := &reader{}
	for n, c := range contents {
		r.list = append(r.list, postgres.Segment{Number: n + 1, Size: int64(len(c))})
		r.ends = append(r.ends, r.size()+int64(len(c)))
	}
	r.open = func(g postgres.Segment) (blob.Reader, error) {
		return empty{bytes.NewReader([]byte(contents[g.Number-1]))}, nil
	}
	return r
}

// TestReadSegments: segments read as one object, by Read and Seek, and by SendTo from any offset to any other.
func TestReadSegments(t *testing.T) {
	t.Parallel()
	const object = "abcdefgh"
	if err := iotest.TestReader(inSegments("abc", "de", "fgh"), []byte(object)); err != nil {
		t.Error(err)
	}
	r := inSegments("abc", "de", "fgh")
	for from := range len(object) + 1 {
		for to := from; to <= len(object); to++ {
			if _, err := r.Seek(int64(from-len(object)), io.SeekEnd); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			sent, err := r.SendTo(&got, int64(to-from))
			if got.String() != object[from:to] || int(sent) != to-from || err != nil {
				t.Errorf("from %d to %d: %q, %d sent, %v", from, to, got.String(), sent, err)
			}
		}
	}
}

// TestShortSegment: a segment with fewer bytes than its row says is an error at that segment, and no end of the object.
func TestShortSegment(t *testing.T) {
	t.Parallel()
	short := func() *reader {
		r := inSegments("abc", "de", "fgh")
		r.list[1].Size++
		r.ends = []int64{3, 6, 9}
		return r
	}
	r := short()
	if got, err := io.ReadAll(r); string(got) != "abcde" || !errors.Is(err, io.ErrUnexpectedEOF) || r.position().Number != 2 {
		t.Errorf("read %q, %v at segment %d", got, err, r.position().Number)
	}
	var got bytes.Buffer
	if n, err := short().SendTo(&got, 9); got.String() != "abcde" || n != 5 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("sent %q, %d, %v", got.String(), n, err)
	}
	r = inSegments("abc", "de", "fgh")
	for at, want := range []int{1, 1, 1, 2, 2, 3, 3, 3, 3} {
		if r.at = int64(at); r.position().Number != want {
			t.Errorf("byte %d is in segment %d, not in %d", at, want, r.position().Number)
		}
	}
}
