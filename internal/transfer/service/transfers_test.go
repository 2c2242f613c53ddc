// Tests of confirms, volumes, expiry and lists.

package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

func TestParallelConfirmsMakeOneTransfer(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	w.attach(c, r, "a", 3)
	mustUpload(w, c, r, "a", whole([]byte("abc")))
	var wg sync.WaitGroup
	var mu sync.Mutex
	var confirmed []id.Transfer
	refused := 0
	for range 20 {
		wg.Go(func() {
			done, err := w.Confirm(t.Context(), c, r)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				confirmed = append(confirmed, done.UID)
			case errors.Is(err, transfer.ErrConfirmed):
				refused++
			default:
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if len(confirmed) != 1 || refused != 19 {
		t.Fatalf("%d confirmed, %d refused", len(confirmed), refused)
	}
	_, err := w.Confirm(t.Context(), c, r)
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Details) != 1 || !bytes.Contains([]byte(f.Details[0]), []byte(confirmed[0].String())) {
		t.Errorf("the refusal does not name the transfer: %v", err)
	}
	if n := w.count(`SELECT count(*) FROM transfer.transfers`); n != 1 {
		t.Errorf("%d transfers", n)
	}
}

func TestVolumeIsExactUnderParallelUploads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.mailbox()
	c, r := w.reserve()
	for i := range 50 {
		w.attach(c, r, fmt.Sprint("o", i), 1000)
	}
	limit := 10_000 + w.metadata()
	w.exec(`UPDATE identity.persons SET upload_volume_bytes = $2 WHERE uid = $1`, owner.Person, limit)
	var wg sync.WaitGroup
	var mu sync.Mutex
	stored, refused := 0, 0
	for i := range 50 {
		wg.Go(func() {
			_, err := w.Upload(t.Context(), c, r, fmt.Sprint("o", i), whole(random(1000)))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				stored++
			case errors.Is(err, transfer.ErrPersonalVolume):
				refused++
			default:
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if stored != 10 || refused != 40 {
		t.Fatalf("%d stored, %d refused", stored, refused)
	}
	volume := func() (int64, int64) {
		return w.count(`SELECT held FROM transfer.volume_totals WHERE subject = $1`, owner.Person),
			w.count(`SELECT reserved FROM transfer.volume_totals WHERE subject = $1`, owner.Person)
	}
	if held, reserved := volume(); held != limit || reserved != 0 {
		t.Fatalf("held %d, reserved %d", held, reserved)
	}
	got, objects, err := w.Reservation(t.Context(), c, r)
	if err != nil || !got.VolumeLimitExceeded {
		t.Fatalf("%v %v", got.VolumeLimitExceeded, err)
	}
	if list, err := all(objects); err != nil || len(list) != 50 {
		t.Errorf("%d objects, %v", len(list), err)
	}
	m, err := w.PublicMailbox(t.Context(), w.at(token.Caller{}), "ann")
	if reason, refusal := m.Unavailable(); err != nil || reason != transfer.VolumeUsedUp || !errors.Is(refusal, transfer.ErrPersonalVolume) {
		t.Errorf("%s %v %v", reason, refusal, err)
	}
	if err := w.CancelReservation(t.Context(), c, r); err != nil {
		t.Fatal(err)
	}
	if held, reserved := volume(); held != 0 || reserved != 0 {
		t.Errorf("after the cancel: held %d, reserved %d", held, reserved)
	}
	if n := w.count(`SELECT coalesce(sum(bytes), 0) FROM transfer.stored_totals`); n != 0 {
		t.Errorf("%d bytes count as stored", n)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.mailbox()
	abandoned, open := w.reserve()
	w.attach(abandoned, open, "a", 5)
	mustUpload(w, abandoned, open, "a", part([]byte("ab"), 0, 5))
	c, r := w.reserve()
	w.attach(c, r, "a", 3)
	w.attach(c, r, "empty", 0)
	mustUpload(w, c, r, "a", whole([]byte("abc")))
	mustUpload(w, c, r, "empty", whole(nil))
	done, err := w.Confirm(t.Context(), c, r)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(48*time.Hour + time.Second)
	if _, err := w.Object(t.Context(), abandoned, open, "a"); !errors.Is(err, transfer.ErrNotFound) {
		t.Errorf("an expired reservation answers %v before the job ran", err)
	}
	run := func(jobs ...func(context.Context) error) {
		for _, job := range jobs {
			if err := job(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(w.ExpireReservations)
	if n := w.count(`SELECT held FROM transfer.volume_totals WHERE subject = $1`, owner.Person); n != 3+w.metadata() {
		t.Errorf("%d bytes charged after the reservation expired", n)
	}
	w.clock.Advance(3 * 24 * time.Hour)
	run(w.WarnExpiring, w.WarnExpiring)
	if n := w.count(`SELECT count(*) FROM mails WHERE template = 'transfer-expiring'`); n != 1 {
		t.Errorf("%d warnings", n)
	}
	w.clock.Advance(3 * 24 * time.Hour)
	if _, err := w.OpenDownload(t.Context(), service.DownloadAuth{Caller: owner}, done.UID, done.Objects[0].UID); !errors.Is(err,
		transfer.ErrNotFound) {
		t.Errorf("an expired transfer answers %v before the job ran", err)
	}
	run(w.ExpireTransfers)
	poll.Until(w.t, "all bytes are purged", func() bool { run(w.content.PurgeBytes); return w.blobsLeft() == 0 })
	left, err := w.seen(owner, done.UID)
	if err != nil || left.State != transfer.Expired || len(left.Objects) != 0 || left.ObjectCount != 2 || left.TotalBytes != 3 {
		t.Errorf("left %+v, %v", left, err)
	}
	if n := w.count(`SELECT (SELECT count(*) FROM transfer.objects) + (SELECT count(*) FROM transfer.segment_charges)`); n != 0 {
		t.Errorf("%d objects and charges are left", n)
	}
	w.clock.Advance(91 * 24 * time.Hour)
	run(w.Purge, w.content.ReleaseVolumes, w.content.SweepOrphans)
	if _, err := w.seen(owner, done.UID); !errors.Is(err, transfer.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestDeletingATransfer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.mailbox()
	c, r := w.reserve()
	w.attach(c, r, "a", 3)
	mustUpload(w, c, r, "a", whole([]byte("abc")))
	done, err := w.Confirm(t.Context(), c, r)
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.OpenDownload(t.Context(), service.DownloadAuth{Caller: owner}, done.UID, done.Objects[0].UID)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Content.Close()
	if err := w.BeginDownload(t.Context(), d, service.Extent{Bytes: 3, Size: 3}); err != nil {
		t.Fatal(err)
	}
	seen, err := w.seen(owner, done.UID)
	if err != nil || seen.State != transfer.Accessed || !seen.AccessedAt.Equal(w.clock.Now()) || seen.Objects[0].Downloads != 1 {
		t.Errorf("%+v, %v", seen, err)
	}
	if err := w.DeleteTransfer(t.Context(), w.person("bob@example.com"), done.UID); !errors.Is(err, transfer.ErrNotFound) {
		t.Errorf("somebody else's delete: %v", err)
	}
	if err := w.DeleteTransfer(t.Context(), owner, done.UID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.seen(owner, done.UID); !errors.Is(err, transfer.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	poll.Until(w.t, "all bytes are purged", func() bool {
		if err := w.content.PurgeBytes(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w.blobsLeft() == 0
	})
}

func TestPagesOfTransfers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.mailbox()
	var want []id.Transfer
	for range 7 {
		c, r := w.reserve()
		done, err := w.Confirm(t.Context(), c, r)
		if err != nil {
			t.Fatal(err)
		}
		want = append([]id.Transfer{done.UID}, want...)
		w.clock.Advance(time.Second)
	}
	var got []id.Transfer
	q := service.TransferQuery{Received: true, Sent: true, Limit: 3}
	for {
		page, next, err := w.page(owner, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page {
			got = append(got, p.UID)
		}
		if q.After = next; next == "" {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for search, n := range map[string]int{"STRANGER": 7, "nobody": 0, "%": 0, "example.org": 7} {
		page, _, err := w.page(owner, service.TransferQuery{Received: true, Sent: true, Limit: 50, Search: search})
		if err != nil || len(page) != n {
			t.Errorf("search %q: %d, %v", search, len(page), err)
		}
	}
	if page, _, err := w.page(owner, service.TransferQuery{Sent: true, Limit: 50}); err != nil || len(page) != 0 {
		t.Errorf("sent: %d, %v", len(page), err)
	}
	if _, _, err := w.page(owner, service.TransferQuery{Received: true, Limit: 50, After: "x"}); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("a wrong cursor: %v", err)
	}
}

// TestTransferEndsWhileItsObjectsAreRead: a list of objects does not look complete when the transfer is revoked meanwhile.
func TestTransferEndsWhileItsObjectsAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.mailbox()
	c, r := w.reserve()
	files := make([]service.Attachment, 600)
	for i := range files {
		files[i] = service.Attachment{ClientID: fmt.Sprint(i), Name: fmt.Sprint(i, ".txt")}
	}
	if _, _, err := w.Attach(t.Context(), c, r, files); err != nil {
		t.Fatal(err)
	}
	done, err := w.Confirm(t.Context(), c, r)
	if err != nil {
		t.Fatal(err)
	}
	_, objects, err := w.Transfer(t.Context(), owner, done.UID)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for o, err := range objects {
		if err != nil {
			if !errors.Is(err, transfer.ErrNotFound) || read == len(files) {
				t.Errorf("after %d objects: %v", read, err)
			}
			return
		}
		if read++; read == 1 {
			if err := w.DeleteTransfer(t.Context(), owner, done.UID); err != nil {
				t.Fatal(err)
			}
		}
		if o.Name == "" {
			t.Fatal("an object without a name")
		}
	}
	t.Errorf("%d objects and no error", read)
}

// TestEndErasesFailedMails: the content of undeliverable mails about a transfer is erased with the transfer (contract 4.9).
func TestEndErasesFailedMails(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	w.attach(c, r, "plans", 3)
	mustUpload(w, c, r, "plans", whole([]byte("abc")))
	if _, err := w.Confirm(t.Context(), c, r); err != nil {
		t.Fatal(err)
	}
	w.exec(`UPDATE mails SET state = 'failed', finished_at = now(), next_attempt_at = NULL, secret = NULL WHERE template = 'upload-confirmation'`)
	named := `SELECT count(*) FROM mails WHERE state = 'failed' AND data::text LIKE '%totalBytes%'`
	if w.count(named) != 1 {
		t.Fatal("the upload confirmation does not tell the size of the files")
	}
	w.clock.Advance(31 * 24 * time.Hour)
	if err := w.ExpireTransfers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.count(named) != 0 {
		t.Error("the transfer has expired, and the size of its files is still stored")
	}
}
