// Tests of uploads in parts: parallel writers, crashes and lost bytes.

package service_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

const mib = 1 << 20

// inParts returns a request part with all bytes of a part of an object.
func inParts(number int, data []byte) content.Write {
	in := whole(data)
	in.Number, in.Restart = number, false
	return in
}

// resumed returns a request part with the bytes of a part of an object from an offset on.
func resumed(number int, data []byte, offset int) content.Write {
	in := part(data[offset:], int64(offset), int64(len(data)))
	in.Number = number
	return in
}

// plan makes the object a one of parts of one MiB, with data.
func (w *world) plan(c token.Caller, r id.Reservation, data []byte) {
	w.t.Helper()
	w.attach(c, r, "a", int64(len(data)))
	p, made, err := w.PlanParts(w.t.Context(), c, r, "a", mib)
	if err != nil || !made || p.Count != (len(data)+mib-1)/mib || len(p.Parts) > 0 {
		w.t.Fatalf("PlanParts: %+v, %t, %v", p, made, err)
	}
}

// piece returns the bytes of a part of one MiB.
func piece(data []byte, number int) []byte {
	return data[(number-1)*mib : min(number*mib, len(data))]
}

// wantJoined waits until the object a is complete, and checks its sums and what the store has.
func (w *world) wantJoined(c token.Caller, r id.Reservation, data []byte) {
	w.t.Helper()
	var o transfer.Object
	poll.Until(w.t, "the parts are joined", func() bool {
		w.seal(w.content, c, r)
		var err error
		if o, err = w.Object(w.t.Context(), c, r, "a"); err != nil {
			w.t.Fatal(err)
		}
		return o.Complete()
	})
	if sum := sha256.Sum256(data); !bytes.Equal(o.SHA256, sum[:]) {
		w.t.Errorf("the SHA-256 is %x", o.SHA256)
	}
	if _, err := w.Confirm(w.t.Context(), c, r); err != nil {
		w.t.Fatal(err)
	}
	if err := w.content.PurgeBytes(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	var got []byte
	for _, g := range w.segments(o.UID) {
		poll.Until(w.t, "the segment is finished", func() bool {
			stored, err := w.blobs.Open(w.t.Context(), blob.SegmentKey(g))
			if err != nil {
				return false
			}
			defer stored.Close()
			bytes, err := io.ReadAll(stored)
			if err != nil {
				w.t.Error(err)
			}
			got = append(got, bytes...)
			return true
		})
	}
	if !bytes.Equal(got, data) {
		w.t.Errorf("%d other bytes are stored", len(got))
	}
	w.nothingReserved()
	if held, charged := w.count(`SELECT held FROM transfer.objects`),
		w.count(`SELECT sum(held) FROM transfer.volume_totals`); held+w.metadata() != charged {
		w.t.Errorf("%d bytes are held, %d are charged", held, charged)
	}
}

// seal seals the object a as a request that waits for it, on a replica.
func (w *world) seal(replica *content.Service, c token.Caller, r id.Reservation) {
	w.t.Helper()
	o, err := w.Object(w.t.Context(), c, r, "a")
	if err == nil {
		err = replica.SealSome(w.t.Context(), o.UID)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// segments returns the segments of an object, in order.
func (w *world) segments(o id.Object) (uids []id.Segment) {
	w.t.Helper()
	list, err := postgres.New(w.db).Segments(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, g := range list {
		uids = append(uids, g.UID)
	}
	return uids
}

// TestPartsAtOnce writes all parts at the same time, on two replicas.
func TestPartsAtOnce(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(5*mib + 4321)
	w.plan(c, r, data)
	second, _ := w.serve(w.blobs)
	var all sync.WaitGroup
	for n := 6; n >= 1; n-- {
		all.Go(func() {
			replica := w.Service
			if n%2 == 0 {
				replica = second
			}
			o, err := replica.Upload(t.Context(), c, r, "a", inParts(n, piece(data, n)))
			if err != nil || o.Held != int64(len(piece(data, n))) {
				t.Errorf("part %d: %d held, %v", n, o.Held, err)
			}
		})
	}
	all.Wait()
	w.wantJoined(c, r, data)
}

// TestPartsAtOnceAreBounded: a file has six parts that arrive at the same time. The seventh is refused until one of them has ended.
func TestPartsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(7 * mib)
	w.plan(c, r, data)
	var bodies []*slowBody
	var ended []<-chan error
	for n := 1; n <= 6; n++ {
		in, b := slowly(piece(data, n)[:1000], piece(data, n))
		in.Number, in.Restart = n, false
		bodies, ended = append(bodies, b), append(ended, w.upload(c, r, in))
		<-b.waiting
	}
	if _, err := w.Upload(t.Context(), c, r, "a", inParts(7, piece(data, 7))); !errors.Is(err, transfer.ErrReservationUploads) {
		t.Errorf("the seventh: %v", err)
	}
	end := func(n int) {
		t.Helper()
		bodies[n].next <- io.ErrUnexpectedEOF
		if err := <-ended[n]; !errors.Is(err, transfer.ErrBodyLength) {
			t.Errorf("part %d: %v", n+1, err)
		}
	}
	end(0)
	mustUpload(w, c, r, "a", inParts(7, piece(data, 7)))
	for n := range bodies[1:] {
		end(n + 1)
	}
}

// TestPartsDoNotWaitForEachOther: a part is begun and ended while another transaction updates its object, as those of Seal do, or commits.
func TestPartsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(3 * mib)
	w.plan(c, r, data)
	release := w.hold(`SELECT FROM transfer.objects WHERE client_id = 'a' FOR NO KEY UPDATE`)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	for n := range 2 {
		if _, err := w.Upload(ctx, c, r, "a", inParts(n+1, piece(data, n+1))); err != nil {
			t.Fatal(err)
		}
	}
	release()
	mustUpload(w, c, r, "a", inParts(3, piece(data, 3)))
	w.wantJoined(c, r, data)
}

// TestTwoWritersOfOnePart: the second writer of a part wins, and goes on where the first was. Other parts are not concerned.
func TestTwoWritersOfOnePart(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(2 * mib)
	w.plan(c, r, data)
	other, beside := slowly(data[mib:mib+1000], data[mib:])
	other.Number, other.Restart = 2, false
	untouched := w.upload(c, r, other)
	<-beside.waiting
	first, b := slowly(data[:300_000], data[:mib])
	first.Number, first.Restart = 1, false
	overtaken := w.upload(c, r, first)
	<-b.waiting
	mustUpload(w, c, r, "a", inParts(1, data[:mib]))
	if err := <-overtaken; !errors.Is(err, transfer.ErrOvertaken) {
		t.Errorf("the first writer got %v", err)
	}
	beside.next <- io.ErrUnexpectedEOF
	if err := <-untouched; !errors.Is(err, transfer.ErrBodyLength) {
		t.Errorf("the writer of the other part got %v", err)
	}
	poll.Until(t, "the first part is joined beside the other", func() bool {
		p, err := w.Parts(t.Context(), c, r, "a")
		if err != nil || len(p.Parts) != 2 || p.Parts[0].Held != mib || p.Parts[1].Held != 1000 {
			t.Fatalf("parts: %+v, %v", p, err)
		}
		return p.Joined == mib
	})
	var bad *transfer.OffsetError
	if _, err := w.Upload(t.Context(), c, r, "a", inParts(1, data[:mib])); !errors.As(err, &bad) || bad.Held != mib {
		t.Errorf("a part that is held was written again: %v", err)
	}
	mustUpload(w, c, r, "a", resumed(2, data[mib:], 1000))
	w.wantJoined(c, r, data)
}

// TestManyWritersOfOnePart: of many parallel writers one completes each part, and the bytes are right.
func TestManyWritersOfOnePart(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(2 * mib)
	w.plan(c, r, data)
	second, _ := w.serve(w.blobs)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			replica := w.Service
			if i%2 == 0 {
				replica = second
			}
			n := i%4/2 + 1
			var bad *transfer.OffsetError
			if _, err := replica.Upload(t.Context(), c, r, "a", inParts(n, piece(data, n))); err != nil && !errors.Is(err, transfer.ErrOvertaken) &&
				!errors.As(err, &bad) {
				t.Errorf("part %d: %v", n, err)
			}
		})
	}
	all.Wait()
	for n := 1; n <= 2; n++ { // the last writer may have been overtaken by one that found the part complete
		var bad *transfer.OffsetError
		if _, err := w.Upload(t.Context(), c, r, "a", inParts(n, piece(data, n))); err != nil && !errors.As(err, &bad) {
			t.Error(err)
		}
	}
	w.wantJoined(c, r, data)
}

// TestPartsAndStreamExclude: an object with a plan refuses a stream, and one with bytes of a stream refuses a plan.
func TestPartsAndStreamExclude(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(mib + 1)
	w.plan(c, r, data)
	for name, in := range map[string]content.Write{"whole": whole(data), "range": part(data, 0, int64(len(data)))} {
		if _, err := w.Upload(t.Context(), c, r, "a", in); !errors.Is(err, transfer.ErrOtherWay) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, made, err := w.PlanParts(t.Context(), c, r, "a", 2*mib); err != nil || made {
		t.Errorf("planned again: %t, %v", made, err)
	}
	w.attach(c, r, "b", 10)
	if _, err := w.Upload(t.Context(), c, r, "b", inParts(1, data)); !errors.Is(err, transfer.ErrNotFound) {
		t.Errorf("a part without a plan: %v", err)
	}
	mustUpload(w, c, r, "b", part(data[:5], 0, 10))
	if _, _, err := w.PlanParts(t.Context(), c, r, "b", mib); !errors.Is(err, transfer.ErrOtherWay) {
		t.Errorf("a plan for a stream: %v", err)
	}
}

// TestPartsBesideDeletion deletes an object while parts are written: nothing stays charged or stored.
func TestPartsBesideDeletion(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(3 * mib)
	w.plan(c, r, data)
	mustUpload(w, c, r, "a", inParts(2, piece(data, 2)))
	in, b := slowly(data[:1000], data[:mib])
	in.Number, in.Restart = 1, false
	cut := w.upload(c, r, in)
	<-b.waiting
	if err := w.DeleteObject(t.Context(), c, r, "a"); err != nil {
		t.Fatal(err)
	}
	if err := w.content.PurgeBytes(t.Context()); err != nil { // stops the writer
		t.Fatal(err)
	}
	b.next <- io.ErrUnexpectedEOF
	if err := <-cut; !errors.Is(err, transfer.ErrNotFound) {
		t.Errorf("the writer got %v", err)
	}
	w.nothingReserved()
	if held := w.count(`SELECT sum(held) FROM transfer.volume_totals`); held != w.metadata() {
		t.Errorf("%d bytes of nothing stay charged", held)
	}
	w.exec(`UPDATE transfer.discarded_objects SET busy_until = NULL`)
	if err := w.content.PurgeBytes(t.Context()); err != nil {
		t.Fatal(err)
	}
	stored := 0
	if err := w.blobs.List(t.Context(), func(blob.Info) error { stored++; return nil }); err != nil || stored > 0 {
		t.Errorf("%d objects stay stored, %v", stored, err)
	}
	if left := w.count(`SELECT count(*) FROM transfer.segments`); left != 0 {
		t.Errorf("%d rows of segments stay", left)
	}
}

// TestPartsOfAVanishedServer: the volume that a writer of a part has reserved is released a minute after its lease.
func TestPartsOfAVanishedServer(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(2 * mib)
	w.plan(c, r, data)
	ctx, die := context.WithCancel(t.Context())
	in, b := slowly(data[:1000], data[:mib])
	in.Number, in.Restart = 1, false
	ended := make(chan error, 1)
	go func() { _, err := w.Upload(ctx, c, r, "a", in); ended <- err }()
	<-b.waiting
	if reserved := w.count(`SELECT sum(reserved) FROM transfer.segments`); reserved != mib {
		t.Errorf("%d bytes are reserved", reserved)
	}
	w.exec(`UPDATE transfer.segments SET epoch = 7, lease_until = clock_timestamp() - interval '61 s'`) // as if this server had died
	die()
	b.next <- io.ErrUnexpectedEOF
	if err := <-ended; err == nil {
		t.Error("the upload of a server that died was answered")
	}
	if err := w.content.ReleaseVolumes(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.nothingReserved()
	if n := w.wrongSums(); n != 0 {
		t.Errorf("%d sums of strangers are wrong", n)
	}
	mustUpload(w, c, r, "a", inParts(1, data[:mib]))
	mustUpload(w, c, r, "a", inParts(2, data[mib:]))
	w.wantJoined(c, r, data)
}

// TestPartsLost: a part whose bytes the store has lost starts over, and with it what is known of the object's bytes. The others stay.
func TestPartsLost(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(3 * mib)
	w.plan(c, r, data)
	mustUpload(w, c, r, "a", inParts(1, piece(data, 1)))
	mustUpload(w, c, r, "a", inParts(2, piece(data, 2)))
	poll.Until(t, "two parts are sealed", func() bool { w.seal(w.content, c, r); return w.held(c, r) == 2*mib })
	in := part(piece(data, 3)[:2000], 0, mib)
	in.Number = 3
	mustUpload(w, c, r, "a", in)
	o, err := w.Object(t.Context(), c, r, "a")
	if err != nil {
		t.Fatal(err)
	}
	lose := func(number int) {
		t.Helper()
		if err := w.blobs.Delete(t.Context(), blob.SegmentKey(o.Segment(number))); err != nil {
			t.Fatal(err)
		}
	}
	lose(3)
	var bad *transfer.OffsetError
	if _, err := w.Upload(t.Context(), c, r, "a", resumed(3, piece(data, 3), 2000)); !errors.As(err, &bad) ||
		bad.Problem != transfer.OffsetLost {
		t.Fatalf("a part that is lost: %v", err)
	}
	if held := w.count(`SELECT sum(held) FROM transfer.volume_totals`); held != 2*mib+w.metadata() {
		t.Errorf("%d bytes are charged", held)
	}
	lose(1)
	if _, err := w.Upload(t.Context(), c, r, "a", inParts(3, piece(data, 3))); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the loss is found", func() bool {
		w.seal(w.content, c, r)
		p, err := w.Parts(t.Context(), c, r, "a")
		return err == nil && len(p.Parts) == 2 && p.Joined == 0
	})
	if held := w.count(`SELECT sum(held) FROM transfer.volume_totals`); held != 2*mib+w.metadata() {
		t.Errorf("%d bytes are charged", held)
	}
	mustUpload(w, c, r, "a", inParts(1, piece(data, 1)))
	w.wantJoined(c, r, data)
}

// unreadable is a store whose blobs cannot be opened or read for a while, though it holds them.
type unreadable struct {
	blob.Store
	open, read error
	now        atomic.Bool
}

func (u *unreadable) Open(ctx context.Context, key blob.Key) (blob.Reader, error) {
	if u.now.Load() && u.open != nil {
		return nil, u.open
	}
	r, err := u.Store.Open(ctx, key)
	if u.now.Load() && err == nil {
		r = unreadableBlob{r, u.read}
	}
	return r, err
}

type unreadableBlob struct {
	blob.Reader
	err error
}

func (u unreadableBlob) Read([]byte) (int, error) { return 0, u.err }

// TestPartsUnreadable: parts that cannot be read for a while are kept while the store says that it holds them.
func TestPartsUnreadable(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]*unreadable{
		"not found":         {open: blob.ErrNotFound},
		"not found later":   {read: blob.ErrNotFound},
		"ended early":       {read: io.ErrUnexpectedEOF},
		"the network broke": {read: fmt.Errorf("%w: %w", blob.ErrAway, io.ErrUnexpectedEOF)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c, r := newReservation(t)
			store.Store = w.blobs
			w.Service, w.content = w.serve(store)
			data := random(3 * mib)
			w.plan(c, r, data)
			store.now.Store(true)
			for number := range 3 {
				mustUpload(w, c, r, "a", inParts(number+1, piece(data, number+1)))
			}
			w.seal(w.content, c, r)
			if p, err := w.Parts(t.Context(), c, r, "a"); err != nil || len(p.Parts) != 3 || p.Joined != 0 {
				t.Errorf("parts are %+v (%v)", p, err)
			}
			store.now.Store(false)
			w.wantJoined(c, r, data)
		})
	}
}

// TestPartsCountForStrangers: the sums of strangers count the bytes of parts.
func TestPartsCountForStrangers(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(3 * mib)
	w.plan(c, r, data)
	mustUpload(w, c, r, "a", inParts(3, piece(data, 3)))
	if counted := w.count(`SELECT bytes FROM transfer.stranger_reservations`); counted != mib+w.metadata() {
		t.Errorf("%d bytes are counted", counted)
	}
}
