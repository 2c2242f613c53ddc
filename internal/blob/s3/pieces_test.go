package s3

import (
	"testing"

	"github.com/consign-dev/consign/internal/blob"
)

// TestPieces: S3 takes the pieces of every division, and a part has a whole number of them.
func TestPieces(t *testing.T) {
	t.Parallel()
	s := &Store{minPart: minPartSize}
	const encrypted = mebibyte + 305                                        // as of a run
	for _, test := range []struct{ size, part, wantPiece, wantPart int64 }{ // in units
		{100, 1, 5, 5},
		{100, 5, 5, 5},
		{100, 8, 8, 8},
		{3, 16, 8, 16},
		{16_000, 16, 8, 16},
		{16_000, 17, 17, 17},
		{16_000, 23, 5, 25},
		{1_000_000, 1000, 100, 1000},
		{1_000_000, 1009, 100, 1100},
		{5_000_000, 5003, 500, 5500},
	} {
		for _, unit := range []int64{mebibyte, encrypted} {
			d := blob.Division{Size: test.size * unit, Part: test.part * unit, Unit: unit}
			piece, part := s.pieces(d)
			if piece < minPartSize || (d.Size+piece-1)/piece > maxParts || part%piece != 0 || part < d.Part || piece%unit != 0 {
				t.Errorf("%+v: pieces of %d in parts of %d", d, piece, part)
			}
			if unit == mebibyte && (piece != test.wantPiece*unit || part != test.wantPart*unit) {
				t.Errorf("%+v: pieces of %d units in parts of %d, want %d in %d", test, piece/unit, part/unit, test.wantPiece, test.wantPart)
			}
		}
	}
}
