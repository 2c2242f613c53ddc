package service_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/postgres"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// stored uploads data to a confirmed transfer and returns the object.
func (w *world) stored(data []byte) id.Object {
	w.t.Helper()
	c, r := w.reserve()
	w.attach(c, r, "a", int64(len(data)))
	if _, err := w.Upload(w.t.Context(), c, r, "a", whole(data)); err != nil {
		w.t.Fatal(err)
	}
	done, err := w.Confirm(w.t.Context(), c, r)
	if err != nil {
		w.t.Fatal(err)
	}
	return done.Objects[0].UID
}

// TestDownloadUnreadable: a file that cannot be read for a while is not marked as damaged while the store says that it holds it.
func TestDownloadUnreadable(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]*unreadable{
		"not found":         {open: blob.ErrNotFound},
		"not found later":   {read: blob.ErrNotFound},
		"the network broke": {read: fmt.Errorf("%w: %w", blob.ErrAway, io.ErrUnexpectedEOF)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			owner := w.mailbox()
			c, r := w.reserve()
			data := random(1000)
			w.attach(c, r, "a", int64(len(data)))
			mustUpload(w, c, r, "a", whole(data))
			done, err := w.Confirm(t.Context(), c, r)
			if err != nil {
				t.Fatal(err)
			}
			store.Store = w.blobs
			w.Service, w.content = w.serve(store)
			store.now.Store(true)
			_, err = w.OpenDownload(t.Context(), service.DownloadAuth{Caller: owner}, done.UID, done.Objects[0].UID)
			if !errors.Is(err, fault.ErrUnavailable) {
				t.Errorf("while it cannot be read: %v", err)
			}
			store.now.Store(false)
			if !bytes.Equal(w.download(owner, done.UID, done.Objects[0].UID), data) {
				t.Error("the download differs")
			}
		})
	}
}

// put writes bytes to the blob store without a row.
func (w *world) put(o id.Object, data []byte, finish bool) {
	w.t.Helper()
	ctx, key := w.t.Context(), blob.SegmentKey(id.Segment(o))
	writer, err := w.blobs.Append(ctx, key, 0, int64(len(data)))
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = writer.Write(data)
	_, syncErr := writer.Sync()
	if err := errors.Join(err, syncErr, writer.Close()); err != nil {
		w.t.Fatal(err)
	}
	if finish {
		if err := w.blobs.Finish(ctx, key, int64(len(data))); err != nil {
			w.t.Fatal(err)
		}
	}
}

// fsck returns what Fsck finds, by object.
func (w *world) fsck() (map[id.Object]string, content.FsckResult) {
	w.t.Helper()
	found := map[id.Object]string{}
	result, err := w.content.Fsck(w.t.Context(), content.FsckOptions{}, func(f content.Finding) error {
		found[f.Object] = f.Kind
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found, result
}

func TestFsck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mailbox()
	good, lost, damaged, short := w.stored(random(100_000)), w.stored(random(100)), w.stored(random(1000)), w.stored(random(2000))
	c, r := w.reserve()
	w.attach(c, r, "a", 1000)
	if _, err := w.Upload(t.Context(), c, r, "a", part(random(400), 0, 1000)); err != nil {
		t.Fatal(err)
	}
	w.exec(`UPDATE transfer.segments SET lease_until = NULL`) // else the lease counts as held for another second
	if found, result := w.fsck(); len(found) != 0 || result.Objects != 5 || result.Bytes != 103_100 || result.SweepOff {
		t.Errorf("findings in an intact store: %v %+v", found, result)
	}
	for _, o := range []id.Object{lost, damaged, short} {
		if err := w.blobs.Delete(t.Context(), blob.SegmentKey(id.Segment(o))); err != nil {
			t.Fatal(err)
		}
	}
	w.put(damaged, random(1000), true)
	w.put(short, random(1999), true)
	half := w.count(`SELECT held FROM transfer.objects WHERE reservation = $1`, r)
	if half != 400 {
		t.Fatalf("%d bytes held", half)
	}
	var partial id.Object
	if err := w.db.Pool.QueryRow(t.Context(), `SELECT uid FROM transfer.objects WHERE reservation = $1`, r).Scan(&partial); err != nil {
		t.Fatal(err)
	}
	if err := w.blobs.Delete(t.Context(), blob.SegmentKey(id.Segment(partial))); err != nil {
		t.Fatal(err)
	}
	w.put(partial, random(399), false)
	orphan := id.New[id.Object]()
	w.put(orphan, random(10), false)
	found, result := w.fsck()
	want := map[id.Object]string{lost: "lost", damaged: "damaged", short: "lost", partial: "lost", orphan: "orphan"}
	if len(found) != len(want) || result.Findings != len(want) {
		t.Errorf("%v %+v", found, result)
	}
	for o, kind := range want {
		if found[o] != kind {
			t.Errorf("%s is %q, want %q", o, found[o], kind)
		}
	}
	if _, bad := found[good]; bad {
		t.Error("a finding about the intact object")
	}
}

// TestUnfinished: fsck and a download finish an object whose server stopped between the row and the store's Finish.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mailbox()
	data := random(5000)
	unfinished := func() id.Object {
		o := w.stored(data)
		if err := w.blobs.Delete(t.Context(), blob.SegmentKey(id.Segment(o))); err != nil {
			t.Fatal(err)
		}
		w.put(o, data, false)
		return o
	}
	wantRead := func(what string, open func() (io.ReadCloser, error)) {
		reader, err := open()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer reader.Close()
		if got, err := io.ReadAll(reader); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
	o := unfinished()
	wantRead("a download", func() (io.ReadCloser, error) {
		sum := sha256.Sum256(data)
		return w.content.Open(t.Context(), transfer.Object{UID: o, Content: o, IntendedSize: 5000, SHA256: sum[:]}, transfer.Gate{})
	})
	o = unfinished()
	w.exec(`UPDATE transfer.segments SET lease_until = NULL`)
	if found, _ := w.fsck(); len(found) != 0 {
		t.Errorf("%v", found)
	}
	wantRead("after fsck", func() (io.ReadCloser, error) { return w.blobs.Open(t.Context(), blob.SegmentKey(id.Segment(o))) })
}

// TestSweepStaysOffAfterARestore restores an older database beside the present store, and an older store.
func TestSweepStaysOffAfterARestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.advanceToReal()
	ctx := t.Context()
	held := func(o id.Object) bool {
		t.Helper()
		_, err := w.blobs.Held(ctx, blob.SegmentKey(id.Segment(o)))
		if err != nil && !errors.Is(err, blob.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	orphan := func(finished bool) id.Object {
		o := id.New[id.Object]()
		w.put(o, random(10), finished)
		return o
	}
	sweep := func() {
		t.Helper()
		if err := w.content.SweepOrphans(ctx); err != nil {
			t.Fatal(err)
		}
	}
	rubbish := orphan(false)
	sweep()
	if !held(rubbish) {
		t.Error("a young orphan was removed")
	}
	w.clock.Advance(8 * 24 * time.Hour)
	sweep()
	if held(rubbish) {
		t.Error("an old orphan was left")
	}
	var before string
	if err := w.db.Pool.QueryRow(ctx, `SELECT value FROM settings WHERE name = 'transfer-storage'`).Scan(&before); err != nil {
		t.Fatal(err)
	}
	sweep()
	restored := orphan(false)
	w.clock.Advance(8 * 24 * time.Hour)
	for name, undo := range map[string]func(){
		"an older database":       func() { w.exec(`UPDATE settings SET value = $1 WHERE name = 'transfer-storage'`, before) },
		"a database from nothing": func() { w.exec(`DELETE FROM settings WHERE name = 'transfer-storage'`) },
		"an empty store": func() {
			if err := w.blobs.Delete(ctx, "consign-installation"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		undo()
		sweep()
		if !held(restored) {
			t.Fatalf("%s: an orphan was removed", name)
		}
		if found, result := w.fsck(); !result.SweepOff || found[restored] != "orphan" {
			t.Errorf("%s: %v %+v", name, found, result)
		}
		if err := w.content.AcceptStorage(ctx); err != nil {
			t.Fatal(err)
		}
		if _, result := w.fsck(); result.SweepOff {
			t.Errorf("%s: still off once accepted", name)
		}
	}
	sweep()
	if held(restored) {
		t.Error("an orphan was left once all was accepted")
	}
	// Restored to a time after the last sweep: only the rows of complete objects are missing.
	whole := orphan(true)
	w.clock.Advance(8 * 24 * time.Hour)
	other := orphan(false)
	sweep()
	if _, result := w.fsck(); !held(whole) || !held(other) || !result.SweepOff {
		t.Errorf("bytes of lost rows were swept: %+v", result)
	}
	if err := w.content.AcceptStorage(ctx); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(8 * 24 * time.Hour)
	sweep()
	if held(whole) || held(other) {
		t.Error("orphans were left once all was accepted")
	}
}

// readOnly is a store that refuses writes, as a bucket with read-only keys does.
type readOnly struct{ blob.Store }

func (readOnly) Append(context.Context, blob.Key, int64, int64) (blob.Writer, error) {
	return nil, blob.ErrAway
}

// TestStorageIsUsedOnceItHoldsTheMark: a new server that cannot write to its bucket leaves it empty. The database must not
// treat that as a store that lost its files, or nobody could start the server again with the right keys.
func TestStorageIsUsedOnceItHoldsTheMark(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, step := range []struct {
		store blob.Store
		used  bool
	}{{readOnly{w.blobs}, false}, {w.blobs, true}, {readOnly{w.blobs}, false}} { // at last only the mark is lost
		_, files := w.serve(step.store)
		if err := files.SweepOrphans(t.Context()); (err == nil) != step.used {
			t.Errorf("the sweep ended with %v", err)
		}
		if used, err := content.StorageUsed(t.Context(), postgres.New(w.db)); err != nil || used != step.used {
			t.Errorf("used: %t, %v", used, err)
		}
	}
	w.mailbox()
	w.stored([]byte("abc"))
	if used, err := content.StorageUsed(t.Context(), postgres.New(w.db)); err != nil || !used {
		t.Errorf("with a file in it: %t, %v", used, err)
	}
}

// TestSweepAfterACrashInBetween interrupts the replacement of the mark.
func TestSweepAfterACrashInBetween(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.content.SweepOrphans(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, crash := range map[string]func(){
		"before the store":  func() {},
		"without a mark":    func() { _ = w.blobs.Delete(context.Background(), "consign-installation") },
		"before the second": func() {},
	} {
		w.exec(`UPDATE settings SET value = value || jsonb_build_object('next', 'something else') WHERE name = 'transfer-storage'`)
		crash()
		if err := w.content.SweepOrphans(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, result := w.fsck(); result.SweepOff || w.count(`SELECT count(*) FROM settings WHERE value ? 'next'`) != 0 {
			t.Errorf("%s: %+v", name, result)
		}
	}
	w.exec(`UPDATE settings SET value = jsonb_build_object('current', 'old', 'next', value->>'current') WHERE name = 'transfer-storage'`)
	if err := w.content.SweepOrphans(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, result := w.fsck(); result.SweepOff {
		t.Error(fmt.Sprint("before the last note: ", result))
	}
}

// advanceToReal sets the world's clock to real time, which modification times of files have.
func (w *world) advanceToReal() { w.clock.Advance(time.Until(w.clock.Now()) * -1) }

// TestUploadStartsOverAfterARestore: after a restore an incomplete upload may be gone from the store, or finished in it. Its
// client is told to send everything again, the volume is released, and the upload succeeds.
func TestUploadStartsOverAfterARestore(t *testing.T) {
	t.Parallel()
	for name, finished := range map[string]bool{"lost": false, "finished": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mailbox()
			data := random(1000)
			c, r := w.reserve()
			w.attach(c, r, "a", 1000)
			if _, err := w.Upload(t.Context(), c, r, "a", part(data[:400], 0, 1000)); err != nil {
				t.Fatal(err)
			}
			var o id.Object
			if err := w.db.Pool.QueryRow(t.Context(), `SELECT uid FROM transfer.objects WHERE reservation = $1`, r).Scan(&o); err != nil {
				t.Fatal(err)
			}
			if err := w.blobs.Delete(t.Context(), blob.SegmentKey(id.Segment(o))); err != nil {
				t.Fatal(err)
			}
			if finished {
				w.put(o, data, true)
			}
			var gap *transfer.OffsetError
			if _, err := w.Upload(t.Context(), c, r, "a", part(data[400:], 400, 1000)); !errors.As(err, &gap) || gap.Held != 0 {
				t.Fatalf("going on: %v, want to be told to start over", err)
			}
			if n := w.count(`SELECT o.held + s.held + s.reserved FROM transfer.objects o JOIN transfer.segments s ON s.object = o.uid WHERE o.reservation = $1`, r); n != 0 {
				t.Errorf("%d bytes held or reserved", n)
			}
			if n := w.count(`SELECT coalesce(sum(held + reserved), 0) FROM transfer.volume_totals`); n != w.metadata() {
				t.Errorf("%d bytes of volume not released", n)
			}
			if _, err := w.Upload(t.Context(), c, r, "a", part(data[:700], 0, 1000)); err != nil {
				t.Fatal(err)
			}
			got, err := w.Upload(t.Context(), c, r, "a", part(data[700:], 700, 1000))
			if sum := sha256.Sum256(data); err != nil || !bytes.Equal(got.SHA256, sum[:]) {
				t.Errorf("after starting over: %x, %v", got.SHA256, err)
			}
			if n := w.count(`SELECT sum(held) FROM transfer.volume_totals`); n != 1000+w.metadata() {
				t.Errorf("%d bytes of volume used", n)
			}
		})
	}
}
