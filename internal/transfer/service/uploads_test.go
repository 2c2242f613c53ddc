// Tests of uploads: ranges, digests, parallel writers, and full disks.

package service_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/service"
)

func TestUploadInPartsAndDownload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.mailbox()
	c, r := w.reserve()
	data := random(1_000_003)
	w.attach(c, r, "a", int64(len(data)))
	for _, cut := range [][2]int{{0, 10}, {10, 400_000}, {400_000, len(data)}} {
		if _, err := w.Upload(t.Context(), c, r, "a", part(data[cut[0]:cut[1]], int64(cut[0]), int64(len(data)))); err != nil {
			t.Fatalf("%v: %v", cut, err)
		}
		if held := w.held(c, r); held != int64(cut[1]) {
			t.Fatalf("%d bytes held after %v", held, cut)
		}
	}
	done, err := w.Confirm(t.Context(), c, r)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if len(done.Objects) != 1 || !bytes.Equal(done.Objects[0].SHA256, sum[:]) || done.TotalBytes != int64(len(data)) {
		t.Fatalf("confirmed %+v", done)
	}
	got := w.download(owner, done.UID, done.Objects[0].UID)
	if !bytes.Equal(got, data) {
		t.Fatal("the download differs")
	}
}

func (w *world) download(caller token.Caller, t id.Transfer, o id.Object) []byte {
	w.t.Helper()
	d, err := w.OpenDownload(w.t.Context(), service.DownloadAuth{Caller: caller}, t, o)
	if err != nil {
		w.t.Fatal(err)
	}
	defer d.Content.Close()
	got, err := io.ReadAll(d.Content)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

func TestUploadRanges(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	w.attach(c, r, "a", 10)
	data := []byte("0123456789")
	mustUpload(w, c, r, "a", part(data[:4], 0, 10))
	negative := part(data[:4], 0, 10)
	negative.Offset = -1
	for name, in := range map[string]content.Write{
		"again": part(data[:4], 0, 10), "gap": part(data[6:], 6, 10), "other total": part(data[4:8], 4, 9), "negative": negative,
	} {
		_, err := w.Upload(t.Context(), c, r, "a", in)
		var bad *transfer.OffsetError
		if !errors.As(err, &bad) || bad.Held != 4 || !errors.Is(err, transfer.ErrRange) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	long := part(data[4:], 4, 10)
	long.BodyLength = 7
	if _, err := w.Upload(t.Context(), c, r, "a", long); !errors.Is(err, transfer.ErrBodyLength) {
		t.Errorf("contradicting length: got %v", err)
	}
	if held := w.held(c, r); held != 4 {
		t.Errorf("%d bytes held", held)
	}
}

func mustUpload(w *world, caller token.Caller, r id.Reservation, clientID string, in content.Write) {
	w.t.Helper()
	if _, err := w.Upload(w.t.Context(), caller, r, clientID, in); err != nil {
		w.t.Fatal(err)
	}
}

func TestUploadOfWrongLengthKeepsWhatArrived(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	w.attach(c, r, "a", 10)
	short := whole([]byte("0123"))
	if _, err := w.Upload(t.Context(), c, r, "a", short); !errors.Is(err, transfer.ErrBodyLength) {
		t.Fatalf("short: got %v", err)
	}
	if held := w.held(c, r); held != 4 {
		t.Fatalf("%d bytes held after the short body", held)
	}
	long := part([]byte("45678"), 4, 10)
	long.BodyLength = -1
	long.Body = &body{Reader: bytes.NewReader([]byte("456789"))}
	if _, err := w.Upload(t.Context(), c, r, "a", long); !errors.Is(err, transfer.ErrBodyLength) {
		t.Fatalf("long: got %v", err)
	}
	if held := w.held(c, r); held != 9 {
		t.Fatalf("%d bytes held after the long body", held)
	}
	mustUpload(w, c, r, "a", whole([]byte("abcdefghij")))
	done, err := w.Confirm(t.Context(), c, r)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("abcdefghij"))
	if !bytes.Equal(done.Objects[0].SHA256, sum[:]) {
		t.Error("sending the whole object again did not start over")
	}
}

func TestUploadDigest(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	w.attach(c, r, "a", 10)
	sum := func(s string) []byte { b := sha256.Sum256([]byte(s)); return b[:] }
	bad := part([]byte("01234"), 0, 10)
	bad.ContentDigest = sum("other")
	if _, err := w.Upload(t.Context(), c, r, "a", bad); !errors.Is(err, transfer.ErrDigest) {
		t.Fatalf("got %v", err)
	}
	if held := w.held(c, r); held != 0 {
		t.Fatalf("%d bytes held after a wrong digest", held)
	}
	good := part([]byte("01234"), 0, 10)
	good.ContentDigest = sum("01234")
	mustUpload(w, c, r, "a", good)
	wrongWhole := part([]byte("56789"), 5, 10)
	wrongWhole.ContentDigest, wrongWhole.ReprDigest = sum("56789"), sum("56789")
	if _, err := w.Upload(t.Context(), c, r, "a", wrongWhole); !errors.Is(err, transfer.ErrDigest) {
		t.Fatalf("got %v", err)
	}
	if held := w.held(c, r); held != 5 {
		t.Fatalf("%d bytes held", held)
	}
	rest := part([]byte("56789"), 5, 10)
	rest.ContentDigest, rest.ReprDigest = sum("56789"), sum("0123456789")
	mustUpload(w, c, r, "a", rest)
	w.nothingReserved()
}

func TestVanishingClientKeepsWhatArrived(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	data := random(100_000)
	w.attach(c, r, "a", int64(len(data)))
	in, b := slowly(data[:60_000], data)
	b.next <- io.ErrUnexpectedEOF
	if _, err := w.Upload(t.Context(), c, r, "a", in); err == nil {
		t.Fatal("no error")
	}
	if held := w.held(c, r); held != 60_000 {
		t.Fatalf("%d bytes held", held)
	}
	mustUpload(w, c, r, "a", part(data[60_000:], 60_000, 100_000))
	done, err := w.Confirm(t.Context(), c, r)
	sum := sha256.Sum256(data)
	if err != nil || !bytes.Equal(done.Objects[0].SHA256, sum[:]) {
		t.Fatalf("%+v, %v", done, err)
	}
}

func TestShutdownKeepsWhatArrived(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	w.attach(c, r, "a", 100)
	ctx, stop := context.WithCancelCause(t.Context())
	in, b := slowly(random(40), random(100))
	failed := make(chan error, 1)
	go func() {
		_, err := w.Upload(ctx, c, r, "a", in)
		failed <- err
	}()
	<-b.waiting
	stop(fault.ErrUnavailable.With("the server is stopping"))
	if err := <-failed; !errors.Is(err, transfer.ErrStopping) {
		t.Fatalf("got %v", err)
	}
	if held := w.held(c, r); held != 40 {
		t.Fatalf("%d bytes held", held)
	}
}

func TestSecondWriterWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.mailbox()
	c, r := w.reserve()
	first, second := random(50_000), random(50_000)
	w.attach(c, r, "a", 50_000)
	in, b := slowly(first[:30_000], first)
	failed := w.upload(c, r, in)
	<-b.waiting
	mustUpload(w, c, r, "a", whole(second))
	if err := <-failed; !errors.Is(err, transfer.ErrOvertaken) {
		t.Fatalf("the first writer got %v", err)
	}
	done, err := w.Confirm(t.Context(), c, r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(w.download(owner, done.UID, done.Objects[0].UID), second) {
		t.Error("the object is not the second writer's")
	}
	w.nothingReserved()
	if n := w.count(`SELECT sum(held) FROM transfer.volume_totals WHERE kind = 'person'`); n != 50_000+w.metadata() {
		t.Errorf("%d bytes are charged", n)
	}
}

func TestWriterOfAnotherReplicaWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mailbox()
	other, _ := w.serve(w.blobs)
	c, r := w.reserve()
	data := random(1000)
	w.attach(c, r, "a", 1000)
	in, b := slowly(random(300), data)
	failed := w.upload(c, r, in)
	<-b.waiting
	overtaking := make(chan error, 1)
	go func() {
		_, err := other.Upload(t.Context(), c, r, "a", whole(data))
		overtaking <- err
	}()
	poll.Until(w.t, "the second writer has the lease", func() bool { return w.count(`SELECT max(epoch) FROM transfer.segments`) == 2 })
	b.next <- io.ErrUnexpectedEOF // the first writer flushes and learns that its lease is lost
	if err := <-failed; !errors.Is(err, transfer.ErrOvertaken) {
		t.Errorf("the first writer got %v", err)
	}
	if err := <-overtaking; err != nil {
		t.Errorf("the second writer got %v", err)
	}
	if held := w.held(c, r); held != 1000 {
		t.Errorf("%d bytes held", held)
	}
}

// fullStore returns ErrFull after room bytes.
type fullStore struct {
	blob.Store
	room int64
}

func (s fullStore) Append(ctx context.Context, key blob.Key, offset, size int64) (blob.Writer, error) {
	w, err := s.Store.Append(ctx, key, offset, size)
	return &fullWriter{Writer: w, room: s.room - offset}, err
}

type fullWriter struct {
	blob.Writer
	room int64
}

func (w *fullWriter) Write(p []byte) (int, error) {
	take := min(int64(len(p)), w.room)
	n, err := w.Writer.Write(p[:take])
	w.room -= int64(n)
	if err == nil && n < len(p) {
		err = blob.ErrFull
	}
	return n, err
}

func TestFullDiskKeepsWhatFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mailbox()
	full, _ := w.serve(fullStore{Store: w.blobs, room: 600})
	c, r := w.reserve()
	data := random(1000)
	w.attach(c, r, "a", 1000)
	_, err := full.Upload(t.Context(), c, r, "a", whole(data))
	var f *fault.Error
	if !errors.Is(err, transfer.ErrStorageFull) || !errors.As(err, &f) || f.RetryAfter == 0 {
		t.Fatalf("got %v", err)
	}
	if held := w.held(c, r); held != 600 {
		t.Fatalf("%d bytes held", held)
	}
	mustUpload(w, c, r, "a", part(data[600:], 600, 1000))
}

func TestRemovedObjectStopsItsWriter(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	w.attach(c, r, "a", 1000)
	in, b := slowly(random(300), random(1000))
	failed := w.upload(c, r, in)
	<-b.waiting
	if err := w.CancelReservation(t.Context(), c, r); err != nil {
		t.Fatal(err)
	}
	b.next <- io.ErrUnexpectedEOF
	if err := <-failed; !errors.Is(err, transfer.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	if n := w.blobsLeft(); n != 0 {
		t.Errorf("%d blobs are left", n)
	}
}

// TestDeletionsPurgeSoon: each way to give files up asks for their purge at once, not only by the job that runs from time to time.
func TestDeletionsPurgeSoon(t *testing.T) {
	t.Parallel()
	for name, gives := range map[string]func(*world, token.Caller, id.Reservation) error{
		"an object": func(w *world, c token.Caller, r id.Reservation) error { return w.DeleteObject(t.Context(), c, r, "a") },
		"all":       func(w *world, c token.Caller, r id.Reservation) error { return w.CancelReservation(t.Context(), c, r) },
		"partial uploads at the confirm": func(w *world, c token.Caller, r id.Reservation) error {
			w.partials(c, r, random(1000))
			_, err := w.Confirm(t.Context(), c, r)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c, r := newReservation(t)
			w.attach(c, r, "a", 1000)
			mustUpload(w, c, r, "a", whole(random(1000)))
			if err := gives(w, c, r); err != nil {
				t.Fatal(err)
			}
			if n := w.count(`SELECT count(*) FROM river_job WHERE kind = 'transfer_remove_bytes'`); n != 1 {
				t.Errorf("%d purges are asked for", n)
			}
		})
	}
}

func (w *world) blobsLeft() int {
	w.t.Helper()
	n := 0
	if err := w.blobs.List(w.t.Context(), func(blob.Info) error { n++; return nil }); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestFilterDeletesOtherContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.mailbox()
	_, _, err := w.PutMailbox(t.Context(), owner, transfer.Mailbox{VanityLink: "ann", MIMETypeFilter: []string{"image/*"}})
	if err != nil {
		t.Fatal(err)
	}
	c, r := w.reserve()
	_, _, err = w.Attach(t.Context(), c, r, []service.Attachment{{ClientID: "a", Name: "a.pdf", IntendedSize: 4}})
	if !errors.Is(err, transfer.ErrMIMEType) {
		t.Errorf("a name of another type: got %v", err)
	}
	png := append([]byte("\x89PNG\r\n\x1a\n"), random(5000)...)
	_, _, err = w.Attach(t.Context(), c, r, []service.Attachment{{ClientID: "a", Name: "a.png", IntendedSize: int64(len(png))},
		{ClientID: "b", Name: "b.png", IntendedSize: 9}, {ClientID: "c", Name: "c.png", IntendedSize: 9}})
	if err != nil {
		t.Fatal(err)
	}
	mustUpload(w, c, r, "a", part(png[:5], 0, int64(len(png)))) // too few bytes to sniff
	mustUpload(w, c, r, "a", part(png[5:], 5, int64(len(png))))
	document := []byte("%PDF-1.4\n")
	sum := sha256.Sum256(document)
	for name, digest := range map[string][]byte{"b": nil, "c": sum[:]} {
		in := whole(document)
		in.ContentDigest = digest
		if _, err := w.Upload(t.Context(), c, r, name, in); !errors.Is(err, transfer.ErrMIMEType) {
			t.Errorf("%s, content of another type: got %v", name, err)
		}
		if _, err := w.Object(t.Context(), c, r, name); !errors.Is(err, transfer.ErrNotFound) {
			t.Errorf("%s, the object was not deleted: %v", name, err)
		}
	}
	if n := w.count(`SELECT sum(held) FROM transfer.volume_totals WHERE kind = 'person'`); n != int64(len(png))+w.metadata() {
		t.Errorf("%d bytes are charged", n)
	}
}
