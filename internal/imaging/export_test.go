package imaging

import (
	"context"
	"io"
)

// Cost returns the memory in bytes that is reserved for a picture.
func Cost(ctx context.Context, source io.ReadSeeker) (int64, error) {
	h, err := readHeader(&input{ctx: ctx, source: source})
	return h.cost, err
}
