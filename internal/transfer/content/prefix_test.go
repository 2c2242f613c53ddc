package content

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/transfer"
)

// TestAttackUploadPrefix: somebody with 400 /64 of one /48 leaves a quarter of the uploads to other networks.
func TestAttackUploadPrefix(t *testing.T) {
	t.Parallel()
	var s slots
	l := Limits{NetworkUploads: 32, Uploads: 1024, ReservationUploads: 8}
	from := func(a [16]byte) bool {
		_, _, err := s.acquire(ratelimit.WithClient(t.Context(), netip.AddrFrom16(a)), id.New[id.Reservation](), l)
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

// TestAttackSlowUploads: somebody with a /48 and 200 addresses takes all uploads and lets bytes drip. Uploads of others find room: the
// slowest of a network that has many give way, and nobody who has one does.
func TestAttackSlowUploads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s slots
		l := Limits{NetworkUploads: 64, Uploads: 1024, ReservationUploads: 8}
		type upload struct {
			ctx  context.Context
			slot *slot
		}
		from := func(address string) (upload, error) {
			ctx := ratelimit.WithClient(t.Context(), netip.MustParseAddr(address))
			ctx, one, err := s.acquire(ctx, id.New[id.Reservation](), l)
			return upload{ctx, one}, err
		}
		var attackers, fast []upload
		single, err := from("192.0.2.1") // slow, too, but the only one of its network
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; len(s.all) < l.Uploads; i++ {
			address := fmt.Sprintf("203.0.%d.7", i/2%200)
			if i%2 == 0 {
				address = fmt.Sprintf("2001:db8:0:%x::1", i)
			}
			u, err := from(address)
			if err != nil {
				t.Fatal(err)
			}
			attackers = append(attackers, u)
		}
		if _, err := from("198.51.0.9"); !errors.Is(err, transfer.ErrUploads) {
			t.Errorf("an upload of a moment ago gives way: %v", err)
		}
		time.Sleep(10 * time.Second)
		for i, u := range attackers {
			if u.slot.moved.Add(1); i >= len(attackers)/2 {
				u.slot.moved.Add(1 << 20)
				fast = append(fast, u)
			}
		}
		for i := range 20 {
			if _, err := from(fmt.Sprintf("198.51.%d.9", i)); err != nil {
				t.Errorf("stranger %d: %v", i, err)
			}
		}
		if _, err := from("2001:db8:0:ffff::1"); !errors.Is(err, transfer.ErrUploads) {
			t.Errorf("one more of the prefix that has most finds room: %v", err)
		}
		ended := 0
		for _, u := range append(fast, single) {
			if u.ctx.Err() != nil {
				t.Errorf("a fast or single upload gave way: %v", context.Cause(u.ctx))
			}
		}
		for _, u := range attackers {
			if errors.Is(context.Cause(u.ctx), transfer.ErrUploads) {
				ended++
			}
			s.release(u.slot)
		}
		if ended != 20 || s.leaving != 0 || len(s.all) != 21 {
			t.Errorf("%d gave way, %d are leaving, %d remain", ended, s.leaving, len(s.all))
		}
	})
}

// TestSlotsAreGivenBack: what has ended counts for nobody, and nothing of it stays in memory.
func TestSlotsAreGivenBack(t *testing.T) {
	t.Parallel()
	var s slots
	file := Target{Reservation: id.New[id.Reservation](), ClientID: "a"}
	part := func(number int) func() {
		t.Helper()
		release, err := s.acquirePart(file, number)
		if err != nil {
			t.Fatalf("part %d: %v", number, err)
		}
		return release
	}
	for number := range 3 * transfer.PartsAtOnce {
		part(number + 1)()
	}
	var held []func()
	for number := range transfer.PartsAtOnce {
		held = append(held, part(number+1))
	}
	held = append(held, part(1)) // written already
	if _, err := s.acquirePart(file, transfer.PartsAtOnce+1); !errors.Is(err, transfer.ErrReservationUploads) {
		t.Errorf("one more part: %v", err)
	}
	held[0]()
	if _, err := s.acquirePart(file, transfer.PartsAtOnce+1); !errors.Is(err, transfer.ErrReservationUploads) {
		t.Errorf("one more part, while another request writes the first: %v", err)
	}
	for _, release := range held[1:] {
		release()
	}

	ctx := ratelimit.WithClient(t.Context(), netip.MustParseAddr("192.0.2.1"))
	l := Limits{NetworkUploads: 4, Uploads: 8, ReservationUploads: 2}
	var all []*slot
	for range 2 {
		_, one, err := s.acquire(ctx, file.Reservation, l)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if _, _, err := s.acquire(ctx, file.Reservation, l); !errors.Is(err, transfer.ErrReservationUploads) {
		t.Errorf("a third upload of a reservation: %v", err)
	}
	s.release(all[0])
	_, next, err := s.acquire(ctx, file.Reservation, l)
	if err != nil {
		t.Fatal(err)
	}
	all[0] = next
	if _, _, err := s.acquire(ctx, file.Reservation, l); !errors.Is(err, transfer.ErrReservationUploads) {
		t.Errorf("a third upload of a reservation, after one has ended: %v", err)
	}
	for _, one := range all {
		s.release(one)
	}
	if len(s.parts)+len(s.all)+len(s.reservations)+len(s.networks) != 0 {
		t.Errorf("left are %v, %v, %v, %v", s.parts, s.all, s.reservations, s.networks)
	}
}
