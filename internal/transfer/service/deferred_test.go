// Tests of uploads whose size becomes known at their end.

package service_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"testing"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/service"
)

func attachDeferred(w *world, c token.Caller, r id.Reservation) transfer.Object {
	w.t.Helper()
	list, _, err := w.Attach(w.t.Context(), c, r, []service.Attachment{{ClientID: "a", Name: "a.bin", Deferred: true}})
	if err != nil {
		w.t.Fatal(err)
	}
	return list[0]
}

// open returns a request part of as many bytes as data has, which does not say how many.
func openPart(data []byte, offset int64) content.Write {
	return content.Write{Offset: offset, Length: -1, Size: -1, BodyLength: -1, Body: &body{Reader: bytes.NewReader(data)}}
}

// TestDeferredSizeBecomesKnown ends an object of unknown size in each way: with a size before its last bytes, with the last bytes, with
// a request without bytes, and by a whole body.
func TestDeferredSizeBecomesKnown(t *testing.T) {
	t.Parallel()
	data := []byte("0123456789")
	rest := func() content.Write { return openPart(data[4:], 4) }
	last, sized, late, early := rest(), rest(), openPart(nil, 10), openPart(nil, 4)
	last.Last, sized.Size, late.Last, early.Size = true, 10, true, 10
	whole, ranged := content.WholeObject(-1, &body{Reader: bytes.NewReader(data)}), part(data[4:], 4, 10)
	for name, parts := range map[string][]content.Write{
		"last bytes": {last}, "size with bytes": {sized}, "end without bytes": {rest(), late}, "size without bytes": {early, rest()},
		"whole of unknown length": {whole}, "range": {ranged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c, r := newReservation(t)
			if o := attachDeferred(w, c, r); !o.Deferred || o.Complete() {
				t.Fatalf("attached as %+v", o)
			}
			mustUpload(w, c, r, "a", openPart(data[:4], 0))
			if _, err := w.Confirm(t.Context(), c, r); !errors.Is(err, transfer.ErrUnconfirmable) {
				t.Fatalf("confirm of an object of unknown size: %v", err)
			}
			for _, in := range parts {
				if in.Offset == 4 { // a body is read once
					_, _ = in.Body.(*body).Reader.(*bytes.Reader).Seek(0, io.SeekStart)
				}
				mustUpload(w, c, r, "a", in)
			}
			done, err := w.Confirm(t.Context(), c, r)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(data)
			if o := done.Objects[0]; !bytes.Equal(o.SHA256, sum[:]) || o.IntendedSize != 10 || o.Deferred {
				t.Errorf("confirmed as %+v", o)
			}
			if left := w.count(`SELECT coalesce(sum(reserved), 0) FROM transfer.volume_totals`); left != 0 {
				t.Errorf("%d bytes stay reserved", left)
			}
		})
	}
}

func TestDeferredSizeIsBounded(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	o := attachDeferred(w, c, r)
	mustUpload(w, c, r, "a", openPart([]byte("0123"), 0))
	for name, wrong := range map[string]struct {
		size int64
		want transfer.OffsetProblem
	}{"less than held": {3, transfer.SizeMismatch}, "beyond the limit": {o.IntendedSize + 1, transfer.SizeExceeded}} {
		in := openPart(nil, 4)
		in.Size = wrong.size
		_, err := w.Upload(t.Context(), c, r, "a", in)
		var bad *transfer.OffsetError
		if !errors.As(err, &bad) || bad.Problem != wrong.want || bad.Held != 4 {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := content.Write{Offset: 4, Length: o.IntendedSize, Size: -1, BodyLength: o.IntendedSize, Body: &body{Reader: bytes.NewReader(nil)}}
	var bad *transfer.OffsetError
	if _, err := w.Upload(t.Context(), c, r, "a", long); !errors.As(err, &bad) || bad.Problem != transfer.SizeExceeded {
		t.Errorf("a part beyond the limit: %v", err)
	}
	empty := openPart(nil, 4)
	empty.Restart, empty.Offset, empty.Size = true, 0, 0
	mustUpload(w, c, r, "a", empty)
	if o, err := w.Object(t.Context(), c, r, "a"); err != nil || !o.Complete() || o.Held != 0 || len(o.SHA256) == 0 {
		t.Errorf("an object that turned out to be empty: %+v, %v", o, err)
	}
}
