package service_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// company adds an organization with a monthly transfer volume.
func (w *world) company(volume int64) id.Organization {
	w.t.Helper()
	o := id.New[id.Organization]()
	w.exec(`INSERT INTO identity.organizations (uid, free, locale, time_zone, created_at, updated_at) VALUES ($1, false, 'en_US', 'Europe/Berlin', now(), now())`, o)
	w.exec(`INSERT INTO identity.limits VALUES ($1, true, 100, $2, 1000000000000, true, false, true, 1000, 1, 100, false, 10, 'noChange')`, o,
		volume)
	return o
}

// member makes a person a member of an organization.
func (w *world) member(caller token.Caller, o id.Organization, roles ...string) token.Caller {
	w.t.Helper()
	w.exec(`INSERT INTO identity.memberships (person, organization, roles, created_at, admin_since)
		VALUES ($1, $2, $3, now(), CASE WHEN 'Organization.Admin' = ANY ($3) THEN now() END)`, caller.Person, o, roles)
	caller.Organization, caller.Roles = o, roles
	return caller
}

// draft creates a person's own drop with n announced files of size bytes each.
func (w *world) draft(caller token.Caller, n int, size int64) id.Reservation {
	w.t.Helper()
	made, err := w.CreateReservation(w.t.Context(), caller, transfer.Metadata{})
	if err != nil {
		w.t.Fatal(err)
	}
	files := make([]service.Attachment, n)
	for i := range files {
		files[i] = service.Attachment{ClientID: fmt.Sprint("o", i), Name: fmt.Sprint("o", i), IntendedSize: size}
	}
	if _, _, err := w.Attach(w.t.Context(), caller, made.Reservation.UID, files); err != nil {
		w.t.Fatal(err)
	}
	return made.Reservation.UID
}

// TestOrganizationVolumeIsExactUnderParallelUploads uploads as two members of an organization in parallel, one of whom has a
// limit of her own.
func TestOrganizationVolumeIsExactUnderParallelUploads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.company(1_000_000)
	ann, bob := w.member(w.person("ann@example.com"), o, transfer.RoleTransferUse),
		w.member(w.person("bob@example.com"), o, transfer.RoleTransferUse)
	callers := map[token.Kind]token.Caller{"ann": ann, "bob": bob}
	drafts := map[token.Kind]id.Reservation{"ann": w.draft(ann, 25, 1000), "bob": w.draft(bob, 25, 1000)}
	names := w.count(`SELECT sum(held) FROM transfer.volume_totals WHERE subject = $1`, ann.Person) // as many as bob's
	w.exec(`UPDATE identity.persons SET upload_volume_bytes = 5000 + $2 WHERE uid = $1`, ann.Person, names)
	w.exec(`UPDATE identity.limits SET transfer_volume_bytes = 20000 + $2 WHERE organization = $1`, o, 2*names)
	var wait sync.WaitGroup
	var mu sync.Mutex
	stored, personal, subscription := map[token.Kind]int{}, 0, 0
	for who, c := range callers {
		for i := range 25 {
			wait.Go(func() {
				_, err := w.Upload(t.Context(), c, drafts[who], fmt.Sprint("o", i), whole(random(1000)))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					stored[who]++
				case errors.Is(err, transfer.ErrPersonalVolume):
					personal++
				case errors.Is(err, transfer.ErrSubscriptionVolume):
					subscription++
				default:
					t.Errorf("got %v", err)
				}
			})
		}
	}
	wait.Wait()
	if stored["ann"] > 5 || stored["ann"]+stored["bob"] != 20 || stored["ann"]+stored["bob"]+personal+subscription != 50 {
		t.Errorf("%v stored, %d and %d refused", stored, personal, subscription)
	}
	if n := w.count(`SELECT sum(held) FROM transfer.volume_totals WHERE subject = $1`, o); n != 20_000+2*names {
		t.Errorf("the organization holds %d bytes", n)
	}
	if n := w.count(`SELECT sum(reserved) FROM transfer.volume_totals`); n != 0 {
		t.Errorf("%d bytes stay reserved", n)
	}
	usage, err := w.Usage(t.Context(), ann)
	if err != nil || usage.UploadBytes != int64(stored["ann"])*1000+names || usage.OrganizationBytes != 20_000+2*names ||
		usage.OrganizationLimit != 20_000+2*names {
		t.Errorf("%+v %v", usage, err)
	}
	for who, c := range callers {
		if err := w.CancelReservation(t.Context(), c, drafts[who]); err != nil {
			t.Error(err)
		}
	}
	if n := w.count(`SELECT sum(held) FROM transfer.volume_totals`); n != 0 {
		t.Errorf("%d bytes stay charged", n)
	}
}

// TestStrangersHashNothing: a reservation for a mailbox takes no password. A stranger who sends one makes the server hash
// nothing.
func TestStrangersHashNothing(t *testing.T) {
	t.Parallel()
	w, stranger, r := newReservation(t)
	w.Service, w.content = w.serve(w.blobs, func(o *service.Options) { o.Hasher = nil }) // hashing panics
	password := "sesame"
	if _, _, err := w.PatchReservation(t.Context(), stranger, r, transfer.Metadata{Password: &password}); !errors.Is(err,
		transfer.ErrFixedMember) {
		t.Errorf("a password was answered with %v", err)
	}
}

// TestNewTransfersAreExactInParallel creates 50 reservations of a member and 50 of strangers in parallel where 20 of each are
// allowed.
func TestNewTransfersAreExactInParallel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`UPDATE identity.limits SET new_transfer_limit = 20, new_transfer_drain_rate = 0.0001 WHERE organization = $1`, w.free)
	ann := w.mailbox()
	var wait sync.WaitGroup
	var mu sync.Mutex
	var made [2]int
	for i := range 100 {
		wait.Go(func() {
			var err error
			if i%2 == 0 {
				_, err = w.CreateReservation(t.Context(), ann, transfer.Metadata{})
			} else {
				_, err = w.ReserveMailbox(t.Context(), w.at(token.Caller{}), "ann", transfer.BasicMetadata{})
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made[i%2]++
			} else if !errors.Is(err, transfer.ErrNewTransfers) {
				t.Errorf("got %v", err)
			}
		})
	}
	wait.Wait()
	if made != [2]int{20, 20} {
		t.Errorf("%v were made", made)
	}
}

// TestTenThousandFiles attaches, confirms and reads the maximum number of files of a reservation, in time linear in their
// number.
func TestTenThousandFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.mailbox()
	fill := func(caller token.Caller, r id.Reservation) {
		t.Helper()
		var first, last time.Duration
		for batch := range 10 {
			files := make([]service.Attachment, 1000)
			for i := range files {
				files[i] = service.Attachment{ClientID: fmt.Sprintf("%d-%d", batch, i),
					Name: fmt.Sprintf("some longer name of a file %d-%d.bin", batch, i), IntendedSize: 1}
			}
			began := time.Now()
			if _, _, err := w.Attach(t.Context(), caller, r, files); err != nil {
				t.Fatal(err)
			}
			if last = time.Since(began); batch == 0 {
				first = last
			}
		}
		t.Logf("1,000 files took %v at first and %v at last", first, last)
		if last > 10*first+time.Second {
			t.Errorf("attaching slows down: from %v to %v", first, last)
		}
		w.exec(`UPDATE transfer.objects SET held = 1, sha256 = sha256('x'), mime_type = 'text/plain' WHERE reservation = $1`, r)
		began := time.Now()
		if done, err := w.Confirm(t.Context(), caller, r); err != nil || len(done.Objects) != 10_000 || done.TotalBytes != 10_000 {
			t.Errorf("%d objects, %v", len(done.Objects), err)
		}
		took := time.Since(began)
		t.Logf("the confirm took %v", took)
		if took > confirmWithin {
			t.Errorf("the confirm took %v", took)
		}
	}
	c, r := w.reserve() // with an upload confirmation that lists them all
	fill(c, r)
	recipients := make([]transfer.Recipient, 100)
	for i := range recipients {
		recipients[i] = transfer.Recipient{Email: fmt.Sprintf("r%d@example.org", i), Destination: transfer.To}
	}
	made, err := w.CreateReservation(t.Context(), ann, transfer.Metadata{Recipients: recipients})
	if err != nil {
		t.Fatal(err)
	}
	fill(ann, made.Reservation.UID)
}

// confirmWithin is far above the goal of 2 s (it takes 0.7 s on an idle machine), for the race detector and parallel tests. A
// confirm of quadratic cost would still exceed it.
const confirmWithin = 20 * time.Second

// TestOrganizationsAreForgottenWithTheirMailboxes: a stranger who looks at a mailbox between a change of its organization and
// the notification of it leaves no stale copy in the cache.
func TestOrganizationsAreForgottenWithTheirMailboxes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mailbox()
	for _, want := range []int32{3, 4, 5} { // a slow machine may miss the moment once
		look := func() int32 {
			m, err := w.PublicMailbox(t.Context(), w.at(token.Caller{}), "ann")
			if err != nil {
				t.Fatal(err)
			}
			return m.FileLimit()
		}
		look()
		w.exec(`DELETE FROM transfer.adminunits`)
		w.exec(`INSERT INTO transfer.adminunits (organization, available_ttl, default_ttl, priority_enabled, protection_level, max_files, max_file_size_mb,
			max_recipients, updated_at) VALUES ($1, '{1}', 1, true, 'none', $2, 10, 10, now())`, w.free, want)
		if err := w.db.InTx(t.Context(), func(database.Tx) error { return nil }); err != nil { // counts as a change
			t.Fatal(err)
		}
		look()
		w.ForgetOrganizations()
		if got := look(); got != want {
			t.Errorf("%d files, want %d", got, want)
		}
	}
}
