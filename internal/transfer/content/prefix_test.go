package content

import (
	"net/netip"
	"testing"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
)

// TestAttackUploadPrefix: somebody with 400 /64 of one /48 leaves a quarter of the uploads to other networks.
func TestAttackUploadPrefix(t *testing.T) {
	t.Parallel()
	var s slots
	l := Limits{NetworkUploads: 32, Uploads: 1024, ReservationUploads: 8}
	from := func(a [16]byte) bool {
		_, err := s.acquire(ratelimit.WithClient(t.Context(), netip.AddrFrom16(a)), id.New[id.Reservation](), l)
		return err == nil
	}
	taken := 0
	for i := range 400 {
		for range 32 {
			if from([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 1, byte(i / 256), byte(i)}) {
				taken++
			}
		}
	}
	if taken != 768 {
		t.Errorf("the prefix took %d of 1024 uploads", taken)
	}
	for i := range 20 {
		if !from([16]byte{0x20, 0x01, 0x0d, 0xb8, 1, byte(i)}) {
			t.Errorf("stranger %d is refused", i)
		}
	}
}
