package service_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// partials uploads pieces as partial uploads and returns their client ids.
func (w *world) partials(c token.Caller, r id.Reservation, pieces ...[]byte) []string {
	w.t.Helper()
	var names []string
	for i, piece := range pieces {
		name := "p" + strconv.Itoa(i)
		if _, _, err := w.BeginUpload(w.t.Context(), c, r,
			service.Attachment{ClientID: name, Name: "unnamed", IntendedSize: int64(len(piece)), Partial: true}); err != nil {
			w.t.Fatal(err)
		}
		mustUpload(w, c, r, name, whole(piece))
		names = append(names, name)
	}
	return names
}

// concatenate makes the object a of partial uploads, on a replica.
func (w *world) concatenate(replica *service.Service, c token.Caller, r id.Reservation, names []string) transfer.Object {
	w.t.Helper()
	o, err := replica.Concatenate(w.t.Context(), c, r, service.Attachment{ClientID: "a", Name: "a.bin", Concat: "final;x"}, true, names)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// half makes the object a of two partial uploads of one MiB. The replica that seals it can read room bytes, a multiple of 256 KiB.
func (w *world) half(c token.Caller, r id.Reservation, room int64) (data []byte) {
	w.t.Helper()
	data = random(2 * mib)
	names := w.partials(c, r, data[:mib], data[mib:])
	ailing, _ := w.serve(newAiling(w.blobs, room))
	if o := w.concatenate(ailing, c, r, names); o.Held != room || o.Complete() {
		w.t.Fatalf("%d bytes are sealed", o.Held)
	}
	return data
}

// ownBytes checks that the volume has the bytes of the partial uploads once.
func (w *world) ownBytes(want int64) {
	w.t.Helper()
	for _, sum := range []string{`sum(held) FROM transfer.volume_totals`, `bytes FROM transfer.stranger_reservations`,
		`bytes FROM transfer.stored_totals`} {
		if got := w.count(`SELECT ` + sum); got != want+w.metadata() {
			w.t.Errorf("%s is %d, want %d", sum, got, want+w.metadata())
		}
	}
	w.nothingReserved()
}

// ailingStore is a store of which some bytes can be read, and then none any more, like that of a server that dies.
type ailingStore struct {
	blob.Store
	room *atomic.Int64
}

func newAiling(s blob.Store, room int64) ailingStore {
	a := ailingStore{s, new(atomic.Int64)}
	a.room.Store(room)
	return a
}

func (s ailingStore) Open(ctx context.Context, key blob.Key) (blob.Reader, error) {
	r, err := s.Store.Open(ctx, key)
	return ailingReader{r, s.room}, err
}

type ailingReader struct {
	blob.Reader
	room *atomic.Int64
}

func (r ailingReader) Read(p []byte) (int, error) {
	left := r.room.Load()
	if left <= 0 {
		return 0, blob.ErrAway
	}
	n, err := r.Reader.Read(p[:min(int64(len(p)), left)])
	r.room.Add(-int64(n))
	return n, err
}

// TestConcatenationAfterCrashes: servers die while they seal. The job is queued with the object, what is saved counts, and nothing is lost
// or doubled.
func TestConcatenationAfterCrashes(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := w.half(c, r, mib)
	if n := w.count(`SELECT count(*) FROM public.river_job WHERE kind = 'transfer_seal'`); n != 1 {
		t.Errorf("%d jobs are queued", n)
	}
	w.ownBytes(2 * mib)
	_, dying := w.serve(newAiling(w.blobs, 0))
	w.seal(dying, c, r)
	if held := w.held(c, r); held != mib {
		t.Errorf("%d bytes are sealed that nobody has read", held)
	}
	if _, err := w.Confirm(t.Context(), c, r); !errors.Is(err, transfer.ErrJoining) {
		t.Errorf("the confirm got %v", err)
	}
	if n := w.wrongSums(); n != 0 {
		t.Errorf("%d sums of strangers are wrong", n)
	}
	w.ownBytes(2 * mib)
	if found, _ := w.fsck(); len(found) > 0 {
		t.Errorf("fsck found %v", found)
	}
	w.wantJoined(c, r, data)
	w.exec(`UPDATE transfer.discarded_objects SET busy_until = NULL`)
	if err := w.content.PurgeBytes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.blobsLeft(); n != 2 {
		t.Errorf("%d segments are stored", n)
	}
	if n := w.count(`SELECT count(*) FROM transfer.objects`); n != 1 {
		t.Errorf("%d rows stay", n)
	}
}

// TestConcatenationOnReplicas: of parallel requests and jobs of two replicas one seals at a time.
func TestConcatenationOnReplicas(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(3*mib + 77)
	names := w.partials(c, r, data[:mib], data[mib:mib+1], data[mib+1:])
	second, files := w.serve(w.blobs)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			replica := w.Service
			if i%2 == 0 {
				replica = second
			}
			o, err := replica.Concatenate(t.Context(), c, r, service.Attachment{ClientID: "a", Name: "a.bin", Concat: "final;x"}, true, names)
			if err != nil {
				t.Error(err)
			}
			if err := files.SealSome(t.Context(), o.UID); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.wantJoined(c, r, data)
	if n := w.count(`SELECT object_count FROM transfer.transfers`); n != 1 {
		t.Errorf("%d objects are counted", n)
	}
}

// TestConcatenationLosesAPartialUpload: what cannot be read is never delivered. The client deletes the file and sends it again.
func TestConcatenationLosesAPartialUpload(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	w.half(c, r, mib)
	lost, err := w.Object(t.Context(), c, r, "p1")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.blobs.Delete(t.Context(), blob.SegmentKey(id.Segment(lost.UID))); err != nil {
		t.Fatal(err)
	}
	w.seal(w.content, c, r)
	if _, err := w.Confirm(t.Context(), c, r); !errors.Is(err, transfer.ErrUnconfirmable) {
		t.Errorf("the confirm got %v", err)
	}
	w.ownBytes(mib) // of the other one
	if err := w.DeleteObject(t.Context(), c, r, "a"); err != nil {
		t.Fatal(err)
	}
	w.exec(`UPDATE transfer.discarded_objects SET busy_until = NULL`)
	if err := w.content.PurgeBytes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.blobsLeft(); n != 0 {
		t.Errorf("%d objects stay stored", n)
	}
	data := random(2000)
	w.concatenate(w.Service, c, r, w.partials(c, r, data[:500], data[500:]))
	w.wantJoined(c, r, data)
}

// gatedStore is a store whose Readers wait for the gate. It tells when the first one waits.
type gatedStore struct {
	blob.Store
	gate, waiting chan struct{}
	once          *sync.Once
}

func (s gatedStore) Open(ctx context.Context, key blob.Key) (blob.Reader, error) {
	r, err := s.Store.Open(ctx, key)
	return gatedReader{r, s}, err
}

type gatedReader struct {
	blob.Reader
	s gatedStore
}

func (r gatedReader) Read(p []byte) (int, error) {
	r.s.once.Do(func() { close(r.s.waiting) })
	<-r.s.gate
	return r.Reader.Read(p)
}

// TestConcatenationBesideDeletion deletes a final upload while it is sealed: nothing stays charged or stored.
func TestConcatenationBesideDeletion(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(2 * mib)
	names := w.partials(c, r, data[:mib], data[mib:])
	store := gatedStore{w.blobs, make(chan struct{}), make(chan struct{}), new(sync.Once)}
	sealing, files := w.serve(store)
	made := make(chan error, 1)
	go func() {
		_, err := sealing.Concatenate(t.Context(), c, r, service.Attachment{ClientID: "a", Name: "a.bin", Concat: "final;x"}, true, names)
		made <- err
	}()
	<-store.waiting
	for _, used := range names {
		if err := w.DeleteObject(t.Context(), c, r, used); !errors.Is(err, transfer.ErrConcatenated) {
			t.Errorf("a used partial upload was deleted: %v", err)
		}
		if _, err := w.Upload(t.Context(), c, r, used, whole(data)); !errors.Is(err, transfer.ErrConcatenated) {
			t.Errorf("a used partial upload was written: %v", err)
		}
	}
	if err := w.DeleteObject(t.Context(), c, r, "a"); err != nil {
		t.Fatal(err)
	}
	if err := files.PurgeBytes(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(store.gate)
	if err := <-made; !errors.Is(err, transfer.ErrNotFound) {
		t.Errorf("the request got %v", err)
	}
	w.ownBytes(0)
	w.exec(`UPDATE transfer.discarded_objects SET busy_until = NULL`)
	if err := w.content.PurgeBytes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.blobsLeft(); n != 0 {
		t.Errorf("%d objects stay stored", n)
	}
}

// TestConcatenationInAnotherMonth: the bytes of partial uploads stay charged to their months.
func TestConcatenationInAnotherMonth(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(3000)
	first := w.partials(c, r, data[:1000])
	w.exec(`UPDATE transfer.segment_charges SET month = month - interval '1 month'`)
	w.exec(`INSERT INTO transfer.volumes (subject, month, kind, held)
		SELECT subject, month - interval '1 month', kind, 1000 FROM transfer.volume_totals`)
	w.exec(`UPDATE transfer.volumes SET held = held - 1000 WHERE month = (SELECT max(month) FROM transfer.volume_totals)`)
	if _, _, err := w.BeginUpload(t.Context(), c, r, service.Attachment{ClientID: "last", Name: "unnamed", IntendedSize: 2000,
		Partial: true}); err != nil {
		t.Fatal(err)
	}
	mustUpload(w, c, r, "last", whole(data[1000:]))
	o := w.concatenate(w.Service, c, r, append(first, "last"))
	if sum := sha256.Sum256(data); !o.Complete() || !bytes.Equal(o.SHA256, sum[:]) {
		t.Errorf("%+v", o)
	}
	for _, bytes := range []int64{1000, 2000} {
		if n := w.count(`SELECT count(*) FROM transfer.segment_charges c JOIN transfer.segments s ON s.uid = c.segment WHERE s.object = $1 AND c.bytes = $2`, o.UID, bytes); n != 1 {
			t.Errorf("%d charges of %d bytes", n, bytes)
		}
	}
	if err := w.DeleteObject(t.Context(), c, r, "a"); err != nil {
		t.Fatal(err)
	}
	w.ownBytes(0)
}

// TestPartialUploadsRemindNobody: a stranger is reminded of files, not of partial uploads.
func TestPartialUploadsRemindNobody(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	names := w.partials(c, r, random(1000))
	w.clock.Advance(46 * time.Hour)
	reminded := func() int64 {
		t.Helper()
		if err := w.RemindUnfinished(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w.count(`SELECT count(*) FROM transfer.reservations WHERE reminded_at IS NOT NULL`)
	}
	if n := reminded(); n != 0 {
		t.Errorf("%d reminders of a partial upload", n)
	}
	w.concatenate(w.Service, c, r, names)
	if n := reminded(); n != 1 {
		t.Errorf("%d reminders of a file", n)
	}
}
