package content

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/transfer"
)

// failing reads what it has and then fails.
type failing struct {
	*bytes.Reader
	err error
}

func (f failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = f.err
	}
	return n, err
}

func (failing) Close() error { return nil }

// TestVerifiedReader: the last 64 KiB of an object are given out only when all of its bytes have the SHA-256. What the storage does not
// give back is damage; that it is away says nothing.
func TestVerifiedReader(t *testing.T) {
	t.Parallel()
	object := make([]byte, 3*heldBack+77)
	for i := range object {
		object[i] = byte(rand.Uint32()) //nolint:gosec // test data
	}
	sum := sha256.Sum256(object)
	changed := bytes.Clone(object)
	changed[5]++
	away := errors.New("connection reset")
	open := func(stored []byte, ends error) (v *verified, decided *[]bool) {
		decided = new([]bool)
		return &verified{inner: failing{bytes.NewReader(stored), ends}, size: int64(len(object)), want: sum[:], sum: sha256.New(),
			decided: func(fits bool, _ error) { *decided = append(*decided, fits) },
			missing: func(cause error) error { return transfer.ErrNotFound.Because(cause) }}, decided
	}

	v, decided := open(object, io.EOF)
	if err := iotest.TestReader(v, object); err != nil {
		t.Error(err)
	}
	if len(*decided) != 1 || !(*decided)[0] {
		t.Errorf("decided %v", *decided)
	}
	for name, is := range map[string]struct {
		stored  []byte
		ends    error
		given   int
		want    error
		decided int
	}{
		"intact":             {object, io.EOF, len(object), nil, 1},
		"a byte has changed": {changed, io.EOF, len(object) - heldBack, transfer.ErrDamaged, 1},
		"short at the end":   {object[:len(object)-1], io.EOF, len(object) - heldBack, transfer.ErrDamaged, 1},
		"short":              {object[:1000], io.EOF, 1000, transfer.ErrDamaged, 1},
		"away at once":       {nil, away, 0, away, 0},
		"away at the end":    {object[:len(object)-1], away, len(object) - heldBack, away, 0},
		"the network breaks": {object[:1000], fmt.Errorf("%w: %w", blob.ErrAway, io.ErrUnexpectedEOF), 1000, fault.ErrUnavailable, 0},
		"deleted meanwhile":  {object[:1000], blob.ErrNotFound, 1000, transfer.ErrNotFound, 0},
	} {
		v, decided := open(is.stored, is.ends)
		got, err := io.ReadAll(v)
		if len(got) != is.given || is.want == nil && !bytes.Equal(got, object) || !errors.Is(err, is.want) || !errors.Is(v.Trouble(), is.want) {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, is.given)
		}
		if len(*decided) != is.decided || is.decided == 1 && (*decided)[0] != (is.want == nil) {
			t.Errorf("%s: decided %v", name, *decided)
		}
		if _, err := v.Read(make([]byte, 1)); is.want != nil && !errors.Is(err, is.want) {
			t.Errorf("%s, again: %v", name, err)
		}
	}
	v, decided = open(changed, io.EOF)
	if _, err := v.Seek(-1, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	if n, err := v.Read(make([]byte, 1)); n != 0 || !errors.Is(err, transfer.ErrDamaged) || len(*decided) != 1 {
		t.Errorf("the last byte of a changed object: %d, %v", n, err)
	}
}
