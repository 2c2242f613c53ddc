// Tests of volumes that many connections charge: an organization without a limit has advances (migrations/0018_volume_advances.sql).

package service_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// firm adds an organization without limits, with a member. The plan has none either.
func (w *world) firm() (o id.Organization, ann token.Caller) {
	w.t.Helper()
	o = w.company(0)
	w.limit(w.free, nil)
	w.limit(o, nil)
	return o, w.member(w.person("ann@example.com"), o, transfer.RoleTransferUse)
}

// limit sets both volumes of an organization; nil: none.
func (w *world) limit(o id.Organization, bytes any) {
	w.t.Helper()
	w.exec(`UPDATE identity.limits SET storage_volume_bytes = $2, transfer_volume_bytes = $2 WHERE organization = $1`, o, bytes)
}

// volumes returns what an organization stores and what it has uploaded this month, with reserved bytes.
func (w *world) volumes(o id.Organization) [2]int64 {
	w.t.Helper()
	return [2]int64{
		w.count(`SELECT coalesce(sum(bytes + reserved), 0)::bigint FROM transfer.stored_totals WHERE organization = $1`, o),
		w.count(`SELECT coalesce(sum(held + reserved), 0)::bigint FROM transfer.volume_totals WHERE subject = $1`, o),
	}
}

// want fails unless both volumes of an organization are of a number of bytes.
func (w *world) want(what string, o id.Organization, bytes int64) {
	w.t.Helper()
	if got := w.volumes(o); got != [2]int64{bytes, bytes} {
		w.t.Errorf("%s: the volumes are %d, want %d", what, got, bytes)
	}
}

func (w *world) advances(o id.Organization) int64 {
	w.t.Helper()
	return w.count(`SELECT count(*) FROM transfer.volume_advances WHERE subject = $1`, o)
}

// uploadAll uploads the n files of a draft at once, of size bytes each. It returns how many were stored; the others were refused for a
// volume.
func (w *world) uploadAll(caller token.Caller, r id.Reservation, n int, size int) (stored int) {
	w.t.Helper()
	var wait sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		wait.Go(func() {
			_, err := w.Upload(w.t.Context(), caller, r, fmt.Sprint("o", i), whole(random(size)))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				stored++
			case !errors.Is(err, transfer.ErrStorageVolume) && !errors.Is(err, transfer.ErrSubscriptionVolume):
				w.t.Errorf("an upload: %v", err)
			}
		})
	}
	wait.Wait()
	return stored
}

// check asks whether one more byte fits below a limit, and fails when one fits above it.
func (w *world) check(o id.Organization, limit int64) {
	tx, err := w.db.Pool.Begin(w.t.Context())
	if err != nil {
		w.t.Error(err)
		return
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(w.t.Context())) }()
	var fits bool
	var stored int64
	if err := tx.QueryRow(w.t.Context(), `SELECT transfer.take_volume($1, '-infinity', 1, 0, 1, $2) IS NOT NULL`, o, limit).Scan(
		&fits); err != nil {
		w.t.Error(err)
		return
	}
	if err := tx.QueryRow(w.t.Context(), `SELECT bytes + reserved FROM transfer.stored_totals WHERE organization = $1`, o).Scan(
		&stored); err != nil || fits && stored > limit {
		w.t.Errorf("a byte fits below %d where %d are stored, %v", limit, stored, err)
	}
}

// TestVolumeIsTheSum: the volumes of an organization without a limit are the bytes that are kept. Many connections upload at once; then
// come half a file, deleted files, a cancelled and an expired transfer. The bytes of a member who has left still count.
func TestVolumeIsTheSum(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o, ann := w.firm()
	bob := w.member(w.person("bob@example.com"), o, transfer.RoleTransferUse)
	const n, size = 40, 1000
	kept, gone := w.draft(ann, n, size), w.draft(bob, n, size)
	var both sync.WaitGroup
	both.Go(func() { w.uploadAll(ann, kept, n, size) })
	both.Go(func() { w.uploadAll(bob, gone, n, size) })
	both.Wait()
	w.want("after uploads", o, 2*n*size+w.metadata())
	if w.advances(o) < 4 {
		t.Errorf("%d advances: the test shows nothing", w.advances(o))
	}
	w.attach(ann, kept, "a", 5000)
	if _, err := w.Upload(t.Context(), ann, kept, "a", part(random(2000), 0, 5000)); err != nil {
		t.Fatal(err)
	}
	w.want("after half a file", o, 2*n*size+2000+w.metadata())
	if err := w.DeleteObject(t.Context(), ann, kept, "o1"); err != nil {
		t.Fatal(err)
	}
	w.exec(`DELETE FROM identity.memberships WHERE person = $1`, bob.Person)
	if err := w.CancelReservation(t.Context(), w.at(token.Caller{Kind: token.KindReservation, Reservation: gone}), gone); err != nil {
		t.Fatal(err)
	}
	w.want("after deletions", o, (n-1)*size+2000+w.metadata())
	w.exec(`UPDATE transfer.reservations SET expires_at = $1`, w.clock.Now())
	if err := w.ExpireReservations(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want("at the end", o, 0)
}

// TestLimitCountsAdvances: a limit that is set later counts every byte that came before, and what is refused below it would not fit: the
// advances end with the first check. Of 200 uploads at once as many are stored as fit.
func TestLimitCountsAdvances(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o, ann := w.firm()
	first, second := w.draft(ann, 20, 1000), w.draft(ann, 200, 1000)
	if stored := w.uploadAll(ann, first, 20, 1000); stored != 20 || w.advances(o) == 0 {
		t.Fatalf("%d files are stored, with %d advances", stored, w.advances(o))
	}
	limit := 27_000 + w.metadata()
	w.limit(o, limit)
	stored := w.uploadAll(ann, second, 200, 1000)
	w.want("at the limit", o, 20_000+int64(stored)*1000+w.metadata())
	if stored != 7 || w.advances(o) != 0 {
		t.Errorf("%d files are stored, want 7; %d advances", stored, w.advances(o))
	}
	w.limit(o, nil)
	if stored := w.uploadAll(ann, second, 200, 1000); stored < 190 || w.advances(o) == 0 {
		t.Errorf("without a limit %d more are stored, with %d advances", stored, w.advances(o))
	}
}

// TestLimitRacesAdvances: while 200 files are uploaded, a limit is set and lifted again and again. A check of the limit never passes what
// the volume does not allow, and at the end the volume is the sum.
func TestLimitRacesAdvances(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o, ann := w.firm()
	r := w.draft(ann, 200, 1000)
	ctx, stop := context.WithCancel(t.Context())
	var changes sync.WaitGroup
	changes.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if i%2 == 0 {
				w.limit(o, 50_000+w.metadata())
			} else {
				w.limit(o, nil)
			}
			w.check(o, 50_000)
		}
	})
	stored := w.uploadAll(ann, r, 200, 1000)
	stop()
	changes.Wait()
	w.want("after the race", o, int64(stored)*1000+w.metadata())
	if n := w.count(`SELECT sum(held) FROM transfer.objects`); n != int64(stored)*1000 {
		t.Errorf("%d bytes are held, of %d files", n, stored)
	}
	w.limit(o, nil)
	r = w.draft(ann, 50, 1000)
	w.limit(o, 1000+w.volumes(o)[0])
	if more := w.uploadAll(ann, r, 50, 1000); more != 1 {
		t.Errorf("%d more files are stored where 1 fits", more)
	}
}

// TestAdvanceBegunMeanwhile: a server that knows of no limit yet begins an advance while another one checks the limit. The check waits, and
// counts what was charged, not what the row counts ahead.
func TestAdvanceBegunMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o, _ := w.firm()
	const take = `SELECT transfer.take_volume($1, '-infinity', 1000, 0, 1000, $2) IS NOT NULL`
	for _, of := range []struct {
		limit int64
		fits  bool
	}{{2000, true}, {2999, false}, {5000, true}} {
		tx, err := w.db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), take, o, -1); err != nil {
			t.Fatal(err)
		}
		checked := make(chan error, 1)
		go func() {
			var fits bool
			err := w.db.Pool.QueryRow(context.WithoutCancel(t.Context()), take, o, of.limit).Scan(&fits)
			if err == nil && fits != of.fits {
				err = fmt.Errorf("1000 bytes fit below %d: %t", of.limit, fits)
			}
			checked <- err
		}()
		w.waiting(1)
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-checked; err != nil {
			t.Error(err)
		}
	}
	if got := w.volumes(o)[0]; got != 5000 || w.advances(o) != 0 {
		t.Errorf("%d bytes are stored, with %d advances", got, w.advances(o))
	}
}

// TestOlderServersKnowTheRow: a server of version 1.0.0, which knows the rows only, gives back what others have charged to advances.
// Nothing of it is lost.
func TestOlderServersKnowTheRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o, ann := w.firm()
	r := w.draft(ann, 20, 1000)
	if stored := w.uploadAll(ann, r, 20, 1000); stored != 20 || w.advances(o) == 0 {
		t.Fatalf("%d files are stored, with %d advances", stored, w.advances(o))
	}
	sum := 20_000 + w.metadata()
	for left := sum; left > 0; left -= min(left, 6000) {
		for _, sql := range []string{ // as 1.0.0 has them
			`UPDATE transfer.stored_volumes v SET bytes = greatest(v.bytes - $2, 0), reserved = greatest(v.reserved - 0, 0)
			WHERE v.organization = $1`,
			`UPDATE transfer.volumes v SET held = greatest(v.held - $2, 0), reserved = greatest(v.reserved - 0, 0) WHERE v.subject = $1`,
		} {
			w.exec(sql, o, min(left, 6000))
		}
	}
	w.want("after an older server gave everything back", o, 0)
	w.exec(`SELECT transfer.settle_volume(subject, month) FROM (SELECT DISTINCT subject, month FROM transfer.volume_advances) a`)
	if n := w.count(`SELECT sum(bytes) + (SELECT sum(held) FROM transfer.volumes WHERE kind = 'organization')
		FROM transfer.stored_volumes`); n != 0 {
		t.Errorf("the rows count %d bytes", n)
	}
}

// TestAdvancesEnd: the advances of past months and of organizations that are gone end, and then the row of such an organization.
func TestAdvancesEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o, _ := w.firm()
	gone := id.New[id.Organization]()
	for _, of := range []id.Organization{o, gone} {
		w.exec(`SELECT transfer.take_volume($1, m, 7, 0, 7, -1)
			FROM date_trunc('month', $2::timestamptz at time zone 'UTC') now, unnest(ARRAY['-infinity', now, now - interval '2 months']::date[]) m`,
			of, w.clock.Now())
	}
	w.exec(`SELECT transfer.take_volume($1, '-infinity', -7, 0, 0, -1)`, gone)
	if err := w.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, b := w.advances(o), w.advances(gone); a != 2 || b != 1 {
		t.Errorf("%d and %d advances are left, want those of this month, and of what is stored", a, b)
	}
	if got := w.volumes(o); got != [2]int64{7, 14} {
		t.Errorf("the volumes are %d", got)
	}
	if n := w.count(`SELECT count(*) FROM transfer.stored_volumes WHERE organization = $1`, gone); n != 0 {
		t.Error("what a deleted organization stores is still counted")
	}
}
