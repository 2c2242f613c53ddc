package service_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// within restarts the world's service with other limits of uploads.
func (w *world) within(change func(*content.Limits)) {
	w.t.Helper()
	change(&w.limits)
	w.Service, w.content = w.serve(w.blobs)
}

// trickle begins an upload of size bytes that sends data and then nothing until stop, which returns the upload's error.
func (w *world) trickle(caller token.Caller, r id.Reservation, clientID string, data []byte, size int64) (stop func() error) {
	w.t.Helper()
	slow := newSlowBody(data)
	done := make(chan error, 1)
	ctx := w.t.Context()
	go func() {
		_, err := w.Upload(ctx, caller, r, clientID, content.WholeObject(size, slow))
		done <- err
	}()
	slow.mustWait(w.t, done)
	return func() error {
		slow.next <- errors.New("gone")
		return <-done
	}
}

// TestAnnouncedSizesAreNotVolume: strangers who announce 50 GB and send ten bytes leave room for others.
func TestAnnouncedSizesAreNotVolume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.mailbox()
	w.within(func(l *content.Limits) { l.Window = 1000 })
	w.exec(`UPDATE identity.persons SET upload_volume_bytes = $2 WHERE uid = $1`, ann.Person, 10_000+6*transfer.ObjectCost)
	w.exec(`UPDATE identity.limits SET storage_volume_bytes = $2 WHERE organization = $1`, w.free, 10_000+6*transfer.ObjectCost)
	var stops []func() error
	for range 5 {
		stranger, r := w.reserve()
		w.attach(stranger, r, "a", 50*transfer.GB)
		stops = append(stops, w.trickle(stranger, r, "a", random(10), 50*transfer.GB))
	}
	if u, err := w.Usage(t.Context(), ann); err != nil || u.ReservedBytes != 5000 {
		t.Errorf("usage is %+v, %v", u, err)
	}
	bob, r := w.reserve()
	w.attach(bob, r, "a", 4500)
	mustUpload(w, bob, r, "a", whole(random(4500)))
	for _, stop := range stops {
		if err := stop(); !errors.Is(err, transfer.ErrBodyLength) {
			t.Errorf("a broken upload answered %v", err)
		}
	}
	if n := w.count(`SELECT sum(held) FROM transfer.volume_totals`); n != 4550+w.metadata() {
		t.Errorf("%d bytes are charged", n)
	}
	if n := w.count(`SELECT (SELECT sum(reserved) FROM transfer.volume_totals)
				+ (SELECT sum(reserved) FROM transfer.stored_totals)`); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
}

// TestUploadFillsAVolumeExactly: an upload larger than what a limit leaves is cut off at the limit, not before and not after it. What
// arrived stays.
func TestUploadFillsAVolumeExactly(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]struct {
		sql     string
		refusal error
	}{
		"person":  {`UPDATE identity.persons SET upload_volume_bytes = 10100 WHERE uid = $1`, transfer.ErrPersonalVolume},
		"storage": {`UPDATE identity.limits SET storage_volume_bytes = 10100 WHERE $1::uuid IS NOT NULL`, transfer.ErrStorageVolume},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ann := w.mailbox()
			w.within(func(l *content.Limits) { l.Window = 1000 })
			w.exec(limit.sql, ann.Person)
			stranger, r := w.reserve()
			w.attach(stranger, r, "a", 25_000)
			data, room := random(25_000), 10_100-w.metadata()
			for range 2 {
				held := w.held(stranger, r)
				if _, err := w.Upload(t.Context(), stranger, r, "a", part(data[held:], held, 25_000)); !errors.Is(err, limit.refusal) {
					t.Errorf("answered %v", err)
				}
				if held := w.held(stranger, r); held != room {
					t.Errorf("%d bytes are held", held)
				}
			}
			w.exec(strings.ReplaceAll(limit.sql, "10100", "30000"), ann.Person)
			mustUpload(w, stranger, r, "a", part(data[room:], room, 25_000))
			if n := w.count(`SELECT (SELECT sum(reserved) FROM transfer.volume_totals)
				+ (SELECT sum(reserved) FROM transfer.stored_totals)`); n != 0 {
				t.Errorf("%d bytes stay reserved", n)
			}
		})
	}
}

// TestResumeAfterAVanishedServer: the volume that a writer of a server that died had reserved, here all, is free for the request that goes
// on.
func TestResumeAfterAVanishedServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.mailbox()
	stranger, r := w.reserve()
	w.attach(stranger, r, "a", 2000)
	w.exec(`UPDATE identity.persons SET upload_volume_bytes = $2 WHERE uid = $1`, ann.Person, 2000+w.metadata())
	data := random(2000)
	stop := w.trickle(stranger, r, "a", data[:10], 2000)
	w.exec(`UPDATE transfer.segments SET epoch = 7, lease_until = clock_timestamp() - interval '1 s'`) // as if this server had died
	if err := stop(); !errors.Is(err, transfer.ErrOvertaken) {
		t.Errorf("the upload of a server that died was answered %v", err)
	}
	mustUpload(w, stranger, r, "a", part(data, 0, 2000))
	w.nothingReserved()
}

// TestUnconfirmedBytesAreBounded: the unconfirmed bytes of all strangers, and of one client network, at a mailbox are limited.
func TestUnconfirmedBytesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mailbox()
	w.within(func(l *content.Limits) {
		l.Window, l.UnconfirmedBytes, l.NetworkShare = 700, 6000+4*transfer.ObjectCost, 50
	})
	wants := []struct {
		address string
		refusal error
		held    int64
	}{{"192.0.2.1", transfer.ErrClientUnconfirmed, 3000}, {"192.0.2.1", transfer.ErrClientUnconfirmed, 0},
		{"198.51.100.2", transfer.ErrMailboxUnconfirmed, 3000}, {"203.0.113.3", transfer.ErrMailboxUnconfirmed, 0}}
	callers, open := make([]token.Caller, len(wants)), make([]id.Reservation, len(wants))
	for i, want := range wants {
		callers[i], open[i] = w.strange("ann", want.address)
	}
	for i, want := range wants {
		stranger, r := callers[i], open[i]
		w.wantRefusal(stranger, r, want.refusal, want.held)
		if i == 3 {
			w.exec(`DELETE FROM transfer.stranger_reservations WHERE client = '192.0.2.1'`) // as a confirm does
			mustUpload(w, stranger, r, "a", part(random(3000), 0, 10_000))
		}
	}
}

// TestRoomForThoseWithLittle: at a mailbox whose bound is used up, a network that has little there may hold a thousandth of it, as long as
// a quarter above it is free.
func TestRoomForThoseWithLittle(t *testing.T) {
	t.Parallel()
	const bound = 20_000_000
	for name, is := range map[string]struct{ others, own, fits int64 }{
		"up to a thousandth":    {bound, 15_000, 5000},
		"up to a quarter above": {bound + bound/4 - 5000 - 3000, 5000, 3000},
		"the quarter is taken":  {bound + bound/4, 5000, 0},
		"it has more than that": {bound, 20_001, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mailbox()
			w.within(func(l *content.Limits) { l.Window, l.UnconfirmedBytes, l.NetworkShare = 700, bound, 100 })
			w.strange("ann", "192.0.2.1")
			stranger, r := w.strange("ann", "198.51.100.2")
			w.exec(`UPDATE transfer.stranger_reservations SET bytes = CASE reservation WHEN $1 THEN $2::bigint ELSE $3 END`, r, is.own, is.others)
			w.wantRefusal(stranger, r, transfer.ErrMailboxUnconfirmed, is.fits)
		})
	}
}

// TestSlowUploadsAreCutOff: an upload that brings less than the minimum rate ends, and what arrived is kept.
func TestSlowUploadsAreCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mailbox()
	w.within(func(l *content.Limits) { l.MinimumRate, l.RatePeriod = 1<<20, 50*time.Millisecond })
	stranger, r := w.reserve()
	w.attach(stranger, r, "a", 1<<20)
	_, err := w.Upload(t.Context(), stranger, r, "a", content.WholeObject(1<<20, newSlowBody(random(10))))
	if !errors.Is(err, transfer.ErrBodyLength) || !strings.Contains(err.Error(), "fewer than 1048576 bytes a second") {
		t.Errorf("answered %v", err)
	}
	if held := w.held(stranger, r); held != 10 {
		t.Errorf("%d bytes are held", held)
	}
}

// TestParallelUploadsAreBounded: the parallel uploads of a reservation, of a client network and of the server are limited. A refused
// one is answered at once, and one that ended makes room.
func TestParallelUploadsAreBounded(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]struct {
		change  func(*content.Limits)
		refusal error
	}{
		"reservation": {func(l *content.Limits) { l.ReservationUploads = 2 }, transfer.ErrReservationUploads},
		"client":      {func(l *content.Limits) { l.NetworkUploads = 2 }, transfer.ErrClientUploads},
		"all":         {func(l *content.Limits) { l.Uploads = 2 }, transfer.ErrUploads},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mailbox()
			w.within(limit.change)
			stranger, r := w.reserve()
			for i := range 3 {
				w.attach(stranger, r, fmt.Sprint("o", i), 100)
			}
			ctx := ratelimit.WithClient(t.Context(), netip.MustParseAddr("192.0.2.1"))
			var stops []func() error
			for i := range 2 {
				slow := newSlowBody(random(10))
				done := make(chan error, 1)
				go func() {
					_, err := w.Upload(ctx, stranger, r, fmt.Sprint("o", i), content.WholeObject(100, slow))
					done <- err
				}()
				<-slow.waiting
				stops = append(stops, func() error { slow.next <- errors.New("gone"); return <-done })
			}
			if _, err := w.Upload(ctx, stranger, r, "o2", whole(random(100))); !errors.Is(err, limit.refusal) {
				t.Errorf("answered %v", err)
			}
			if err := stops[0](); !errors.Is(err, transfer.ErrBodyLength) {
				t.Error(err)
			}
			if _, err := w.Upload(ctx, stranger, r, "o2", whole(random(100))); err != nil {
				t.Error(err)
			}
			_ = stops[1]()
		})
	}
}
