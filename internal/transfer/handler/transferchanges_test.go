package handler_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// days returns the time some days after the server's now, as the API writes it.
func days(s *testkit.Server, n int) string {
	return s.Clock.Now().Add(time.Duration(n) * 24 * time.Hour).UTC().Format("2006-01-02T15:04:05.000-07:00")
}

// storedBytes returns the volume that all organizations store, by the books and by the objects and texts that are kept.
func storedBytes(t *testing.T, s *testkit.Server) (booked, kept int) {
	t.Helper()
	return count(t, s, `SELECT coalesce(sum(bytes), 0)::int FROM transfer.stored_totals`),
		count(t, s, `SELECT coalesce((SELECT sum(held + metadata) FROM transfer.objects WHERE name IS NOT NULL), 0)::int
			+ coalesce((SELECT sum(metadata) FROM transfer.reservations r JOIN transfer.transfers t ON t.reservation = r.uid
				WHERE t.ended_at IS NULL), 0)::int`)
}

func wantBooked(t *testing.T, s *testkit.Server) {
	t.Helper()
	if booked, kept := storedBytes(t, s); booked != kept {
		t.Errorf("%d bytes are booked, %d are kept", booked, kept)
	}
}

func TestExtending(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	x := deliver(ann, object{"subject": "Plans", "message": "Both.", "recipients": []object{to("bob@example.com")}},
		[2]string{"plan.pdf", "%PDF-1.4"})
	link := linkTo(s, "bob@example.com")
	if got := ann.Patch(x.path, object{"ttl": 14}).Want(http.StatusOK); got.String("expiresAt") != days(s, 14) ||
		got.String("state") != "delivered" || got.Value("extendableUntil") != nil {
		t.Errorf("%s", got.Body)
	}
	if got := ann.Patch(x.path, object{"expiresAt": days(s, 2)}).Want(http.StatusOK); got.String("expiresAt") != days(s, 2) {
		t.Errorf("%s", got.Body)
	}
	for _, p := range []*testkit.Person{ann, bob} {
		if !hasEvent(t, p, "TRANSFER_UPDATED", x.uid) {
			t.Errorf("%s did not hear of the change", p.Email)
		}
	}
	s.Clock.Advance(2 * 24 * time.Hour)
	ann, bob = ann.Login(), bob.Login()
	run(t, s, service.ExpireTransfersJob)
	s.Stranger().Get(link).WantError(transfer.ErrNotFound)
	ann.Get(x.path + "/archive").WantError(transfer.ErrNotFound)
	if got := ann.Get(x.path).Want(http.StatusOK); got.String("state") != "expired" || got.String("extendableUntil") != days(s, 7) ||
		got.String("subject") != "Plans" || got.String("objects.0.name") != "plan.pdf" || got.Value("link") != nil {
		t.Errorf("%s", got.Body)
	}
	for _, path := range []string{x.path, s.Transfer + "/transfers"} {
		got := bob.Get(path).Want(http.StatusOK)
		if body := string(got.Body); !strings.Contains(body, `"state":"expired"`) || strings.Contains(body, "Plans") ||
			strings.Contains(body, "Both.") || strings.Contains(body, "plan.pdf") || strings.Contains(body, "extendable") ||
			strings.Contains(body, "sha256") {
			t.Errorf("%s", body)
		}
	}
	if found := bob.Get(s.Transfer + "/transfers?search=plans").Want(http.StatusOK); len(found.Value("transfers").([]any)) != 0 {
		t.Errorf("%s", found.Body)
	}
	if found := ann.Get(s.Transfer + "/transfers?search=plans").Want(http.StatusOK); found.String("transfers.0.extendableUntil") != days(s,
		7) {
		t.Errorf("%s", found.Body)
	}
	wantBooked(t, s)
	s.Clock.Advance(7*24*time.Hour - time.Second)
	ann = ann.Login()
	run(t, s, service.ExpireTransfersJob)
	if got := ann.Patch(x.path, object{"ttl": 1}).Want(http.StatusOK); got.String("state") != "delivered" ||
		got.String("expiresAt") != days(s, 1) {
		t.Errorf("%s", got.Body)
	}
	if got := openLink(s, link, nil).Get(link + "/archive").Want(http.StatusOK); len(got.Body) == 0 {
		t.Error("an empty archive")
	}
	s.Clock.Advance(8 * 24 * time.Hour)
	ann = ann.Login()
	ann.Patch(x.path, object{"ttl": 1}).WantError(transfer.ErrEnded) // before any job ran
	run(t, s, service.ExpireTransfersJob)
	ann.Patch(x.path, object{"ttl": 1}).WantError(transfer.ErrEnded)
	poll.Until(t, "all bytes are purged", func() bool { return stored(t, s) == 0 })
	if got := ann.Get(x.path).Want(http.StatusOK); got.String("state") != "expired" || got.Value("extendableUntil") != nil ||
		got.Value("subject") != nil {
		t.Errorf("%s", got.Body)
	}
	if n := count(t, s, `SELECT count(*) FROM audit WHERE action = 'transfer.update'`); n != 3 {
		t.Errorf("%d audit entries", n)
	}
	wantBooked(t, s)
}

func TestChangingATransfer(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	bob := s.SignUp("bob@example.com")
	x := deliver(ann, object{"subject": "Plans", "recipients": []object{to("bob@example.com")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	received := s.Transfer + "/transfers/" + reserve(s).confirm()
	merge := func(body string) *testkit.Response {
		return ann.With("Content-Type", "application/merge-patch+json").Patch(x.path, body)
	}
	got := merge(`{"subject": "Drawings of the bridge", "deliveryNotification": true}`).Want(http.StatusOK)
	if got.String("subject") != "Drawings of the bridge" || got.Value("deliveryNotification") != true {
		t.Errorf("%s", got.Body)
	}
	for search, n := range map[string]int{"drawings": 1, "PLAN.PDF": 1, "Plans": 0} {
		if list := bob.Get(s.Transfer + "/transfers?search=" + search).Want(http.StatusOK); len(list.Value("transfers").([]any)) != n {
			t.Errorf("%s: %s", search, list.Body)
		}
	}
	wantBooked(t, s)
	if got := merge(`{"subject": null, "ttl": null}`).Want(http.StatusOK); got.Value("subject") != nil ||
		got.String("expiresAt") != days(s, 7) {
		t.Errorf("%s", got.Body)
	}
	wantBooked(t, s)
	before := count(t, s, `SELECT count(*) FROM audit WHERE action = 'transfer.update'`)
	merge(`{"protection": "none", "message": "ignored"}`).Want(http.StatusOK)
	if after := count(t, s, `SELECT count(*) FROM audit WHERE action = 'transfer.update'`); after != before {
		t.Error("a change of nothing was recorded")
	}
	for body, want := range map[string]*fault.Error{
		`{"ttl": 2}`: transfer.ErrTTL,
		`{"ttl": 7, "expiresAt": "` + days(s, 1) + `"}`: fault.ErrInvalid,
		`{"expiresAt": "` + days(s, 31) + `"}`:          transfer.ErrTTL,
		`{"expiresAt": "` + days(s, -1) + `"}`:          fault.ErrInvalid,
		`{"expiresAt": null}`:                           fault.ErrInvalid,
		`{"protection": "password"}`:                    fault.ErrInvalid,
		`{"protection": "secret"}`:                      fault.ErrInvalid,
		`{"password": "Geheimnis!"}`:                    fault.ErrInvalid,
		`{"subject": "two\nlines"}`:                     fault.ErrInvalid,
	} {
		if got := merge(body); got.Status == http.StatusOK {
			t.Errorf("%s: %s", body, got.Body)
		} else {
			got.WantError(want)
		}
	}
	bob.Patch(x.path, object{"ttl": 1}).WantError(transfer.ErrSenderOnly)
	ann.Patch(received, object{"ttl": 1}).WantError(transfer.ErrSenderOnly) // its sender has no account
	s.SignUp("cid@example.com").Patch(x.path, object{"ttl": 1}).WantError(transfer.ErrNotFound)
	ann.Delete(x.path).Want(http.StatusNoContent)
	ann.Patch(x.path, object{"ttl": 1}).WantError(transfer.ErrEnded)
	bob.Patch(x.path, object{"ttl": 1}).WantError(transfer.ErrSenderOnly)
}

// TestAttackOldUnlock: who has opened a transfer with a password that leaked cannot download with it once the sender has changed it.
func TestAttackOldUnlock(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"subject": "Plans", "protection": "password", "password": "leaked",
		"recipients": []object{to("bob@example.org")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	link := linkTo(s, "bob@example.org")
	thief := openLink(s, link, object{"password": "leaked"})
	otk := oneTime(thief, link+"/otk", object{})
	own := oneTime(ann, s.Transfer+"/auth/otk", object{"transferUid": x.uid})
	ann.Patch(x.path, object{"password": "Geheimnis!"}).Want(http.StatusOK)
	if got := thief.Get(link).Want(http.StatusOK); got.Value("locked") != true || strings.Contains(string(got.Body), "Plans") {
		t.Errorf("%s", got.Body)
	}
	thief.Get(link + "/archive").WantError(token.ErrEnded)
	thief.Post(link+"/otk", object{}).WantError(token.ErrEnded)
	s.Stranger().Get(link + "/archive" + otk).WantError(transfer.ErrOneTimeKey)
	s.Stranger().Get(x.path + "/archive" + own).Want(http.StatusOK)
	s.Stranger().Post(link+"/access", object{"password": "leaked"}).WantError(transfer.ErrPassword)
	openLink(s, link, object{"password": "Geheimnis!"}).Get(link + "/archive").Want(http.StatusOK)
	ann.Patch(x.path, object{"protection": "recipientAuthentication"}).Want(http.StatusOK)
	if n := count(t, s, `SELECT count(*) FROM transfer.transfers WHERE password_hash IS NULL AND protection_epoch = 2`); n != 1 {
		t.Error("the password is still stored")
	}
	ann.Patch(x.path, object{"protection": "none"}).Want(http.StatusOK)
	exec(t, s, `INSERT INTO transfer.adminunits (organization, available_ttl, default_ttl, priority_enabled, protection_level, max_files, max_file_size_mb, max_recipients, updated_at)
		SELECT organization, '{1}', 1, true, 'password', 9, 9, 9, now() FROM directory.organizations WHERE free`)
	s.App.Transfer.ForgetOrganizations()
	strict := ann.Patch(x.path, object{"subject": "Still as it was"}).Want(http.StatusOK)
	if strict.String("protection") != "none" {
		t.Errorf("%s", strict.Body)
	}
	ann.Patch(x.path, object{"protection": "password", "password": "Geheimnis!"}).Want(http.StatusOK)
	ann.Patch(x.path, object{"protection": "none"}).WantError(transfer.ErrProtection)
}

// TestExpiredAndDeleted: in the grace, the sender's DELETE erases the transfer and hides it. Without a sender there is no grace.
func TestExpiredAndDeleted(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	bob := s.SignUp("bob@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	d := reserve(s)
	d.send("a", []byte("hello"))
	d.confirm()
	s.Clock.Advance(7 * 24 * time.Hour)
	ann, bob = ann.Login(), bob.Login()
	run(t, s, service.ExpireTransfersJob)
	poll.Until(t, "the delivery to the mailbox is purged", func() bool { return stored(t, s) == 1 })
	ann.Delete(x.path).Want(http.StatusNoContent)
	ann.Get(x.path).WantError(transfer.ErrNotFound)
	poll.Until(t, "all bytes are purged", func() bool { return stored(t, s) == 0 })
	if got := bob.Get(x.path).Want(http.StatusOK); got.String("state") != "expired" {
		t.Errorf("%s", got.Body)
	}
	wantBooked(t, s)
}

// TestExtendAgainstExpiry: the last moment of the grace, 50 rounds. Either the extension wins, and everything is there, or the expiry,
// and everything is erased.
func TestExtendAgainstExpiry(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_NEW_TRANSFER_BUCKET", "200,1/1s"))
	ann := s.SignUp("ann@example.com")
	const rounds = 50
	var sends []sent
	for range rounds {
		sends = append(sends, deliver(ann, object{"ttl": 1, "subject": "Plans"}, [2]string{"plan.pdf", "%PDF-1.4"}))
	}
	s.Clock.Advance(8*24*time.Hour - time.Second)
	ann = ann.Login()
	var extended atomic.Int32
	var wg sync.WaitGroup
	for i, x := range sends {
		wg.Go(func() {
			switch r, err := ann.Try(t.Context(), "PATCH", x.path, object{"ttl": 7}); {
			case err != nil:
				t.Error(err)
			case r.Status == http.StatusOK:
				extended.Add(1)
			case r.Status != http.StatusConflict:
				t.Errorf("%d %s", r.Status, r.Body)
			}
		})
		if i == rounds/2 {
			wg.Go(func() {
				s.Clock.Advance(time.Second)
				run(t, s, service.ExpireTransfersJob)
			})
		}
	}
	wg.Wait()
	run(t, s, service.ExpireTransfersJob)
	poll.Until(t, "the bytes of the others are purged", func() bool { return stored(t, s) == int(extended.Load()) })
	whole := 0
	for _, x := range sends {
		got := ann.Get(x.path).Want(http.StatusOK)
		if got.String("state") != "expired" {
			whole++
			ann.Get(x.path + "/objects/" + got.String("objects.0.uid") + "/content").Want(http.StatusOK)
		} else if got.Value("objects.0.name") != nil || got.Value("subject") != nil {
			t.Errorf("half erased: %s", got.Body)
		}
	}
	if whole != int(extended.Load()) {
		t.Errorf("%d extended, %d there", extended.Load(), whole)
	}
	t.Logf("%d of %d extensions won", whole, rounds)
	wantBooked(t, s)
}

// TestWarnedAgain: another expiry is announced, too, but people get one warning a day at most.
func TestWarnedAgain(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.org")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	warnings := func() int {
		return count(t, s, `SELECT count(*) FROM mails WHERE template = 'transfer-expiring' AND recipient = 'bob@example.org'`)
	}
	s.Clock.Advance(5 * 24 * time.Hour)
	ann = ann.Login()
	run(t, s, service.WarnExpiringJob)
	ann.Patch(x.path, object{"ttl": 3}).Want(http.StatusOK)
	ann.Patch(x.path, object{"expiresAt": days(s, 2)}).Want(http.StatusOK)
	run(t, s, service.WarnExpiringJob)
	if n := warnings(); n != 1 {
		t.Errorf("%d warnings at once", n)
	}
	s.Clock.Advance(24 * time.Hour)
	run(t, s, service.WarnExpiringJob)
	run(t, s, service.WarnExpiringJob)
	if n := warnings(); n != 2 {
		t.Errorf("%d warnings, want one for each expiry", n)
	}
}
