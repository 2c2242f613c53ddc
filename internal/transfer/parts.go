package transfer

import (
	"fmt"

	"github.com/consign-dev/consign/internal/fault"
)

const (
	partUnit    = 1 << 20  // bytes; the size of parts is a multiple of it
	defaultPart = 16 << 20 // bytes, unless the object would have more than MaxParts
	maxPart     = 1 << 40
)

// Plan is how an object is uploaded in parts, and how far that is. It is the answer of the parts of an object.
type Plan struct {
	PartSize int64 // bytes of all parts but the last one
	Count    int
	Size     int64  // of the object
	Joined   int64  // bytes of parts whose SHA-256 is computed
	SHA256   []byte // of the object; nil while it is incomplete
	Parts    []Part
}

// Part is a part of an object. Numbers begin with 1.
type Part struct {
	Number int
	Offset int64 // in the object
	Size   int64
	Held   int64
}

// PartSize returns the size of the parts of an object of size bytes. want 0 lets it choose.
// Errors: fault.ErrInvalid.
func PartSize(want, size int64) (int64, error) {
	least := (size + MaxParts - 1) / MaxParts
	least = (least + partUnit - 1) / partUnit * partUnit
	switch {
	case want == 0:
		return max(defaultPart, least), nil
	case want < partUnit, want > maxPart, want%partUnit != 0:
		return 0, fault.ErrInvalid.With(fmt.Sprintf("partSize: must be a multiple of %d bytes", partUnit))
	case want < least:
		return 0, fault.ErrInvalid.With(fmt.Sprintf("partSize: must be %d at least, since an object has up to %d parts", least, MaxParts))
	}
	return want, nil
}
