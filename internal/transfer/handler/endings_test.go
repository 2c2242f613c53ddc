package handler_test

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// hasEvent reports whether a person's feed contains an event of this kind and subject.
func hasEvent(t *testing.T, p *testkit.Person, kind, subject string) bool {
	t.Helper()
	n := count(t, p.Server, `SELECT count(*) FROM events WHERE person = $1`, uidOf(p))
	resp, err := p.With("Last-Event-ID", "0").Open(t.Context(), "GET", p.Server.Identity+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); n > 0 && lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event struct{ Kind, Subject string }
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatal(err)
		}
		if event.Kind == "" { // the position at which the stream begins
			continue
		}
		if event.Kind == kind && event.Subject == subject {
			return true
		}
		if event.Kind != "" { // not the begin of the stream
			n--
		}
	}
	return false
}

// stored counts the objects in the server's disk store.
func stored(t *testing.T, s *testkit.Server) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(s.DataDir, "objects"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && len(d.Name()) >= 36 {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func run(t *testing.T, s *testkit.Server, job string) {
	t.Helper()
	if err := s.App.Jobs.RunOnce(t.Context(), job); err != nil {
		t.Fatal(err)
	}
}

func TestRevoking(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	s.Mail.RefuseTo("cid@example.org", smtp.SMTPError{Code: 450, Message: "later"})
	x := deliver(ann, object{"subject": "Plans", "recipients": []object{to("bob@example.com"), to("cid@example.org")}},
		[2]string{"plan.pdf", "%PDF-1.4"})
	link := linkTo(s, "bob@example.com")
	reader := openLink(s, link, nil)
	if !hasEvent(t, bob, "TRANSFER_RECEIVED", x.uid) || stored(t, s) != 1 {
		t.Error("bob did not hear of the transfer, or there is no file")
	}
	object0 := "/objects/" + bob.Get(x.path).String("objects.0.uid") + "/content"
	reader.Get(link + object0).Want(http.StatusOK)
	if !hasEvent(t, ann, "TRANSFER_ACCESSED", x.uid) {
		t.Error("ann did not hear of the access")
	}
	poll.Until(t, "the mail to Cid was tried", func() bool {
		return count(t, s, `SELECT count(*) FROM mails WHERE recipient = 'cid@example.org' AND attempts > 0 AND state = 'queued'`) == 1
	})
	ann.Delete(x.path).Want(http.StatusNoContent)
	s.Stranger().Get(link).WantError(transfer.ErrNotFound)
	s.Stranger().Post(link+"/access", nil).WantError(transfer.ErrNotFound)
	reader.Get(link).WantError(transfer.ErrNotFound)
	reader.Get(link + object0).WantError(transfer.ErrNotFound)
	bob.Get(x.path + object0).WantError(transfer.ErrNotFound)
	ann.Get(x.path + "/archive").WantError(transfer.ErrNotFound)
	if n := count(t, s, `SELECT count(*) FROM mails WHERE recipient = 'cid@example.org' AND state = 'cancelled' AND secret IS NULL`); n != 1 {
		t.Error("the mail to Cid is still on its way")
	}
	for _, p := range []*testkit.Person{ann, bob} { // ann gets it for her other windows
		if !hasEvent(t, p, "TRANSFER_REVOKED", x.uid) {
			t.Errorf("%s did not hear of the end", p.Email)
		}
	}
	poll.Until(t, "all bytes are purged", func() bool { return stored(t, s) == 0 })
	for _, p := range []*testkit.Person{ann, bob} {
		left := p.Get(x.path).Want(http.StatusOK)
		if left.String("state") != "revoked" || left.Value("subject") != nil || left.Value("objects.0") != nil ||
			left.Value("objectCount") != 1.0 || left.Value("totalBytes") != 8.0 || left.String("recipients.0.email") != "bob@example.com" {
			t.Errorf("%s", left.Body)
		}
	}
	ann.Delete(x.path).Want(http.StatusNoContent) // removes the revoked transfer from the list
	ann.Get(x.path).WantError(transfer.ErrNotFound)
	bob.Get(x.path).Want(http.StatusOK)
	s.Clock.Advance(90*24*time.Hour + time.Minute)
	run(t, s, service.PurgeJob)
	bob = bob.Login()
	bob.Get(x.path).WantError(transfer.ErrNotFound)
	if n := count(t, s, `SELECT (SELECT count(*) FROM transfer.transfers) + (SELECT count(*) FROM transfer.reservations) + (SELECT count(*) FROM transfer.objects) + (SELECT count(*) FROM transfer.deliveries)`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

func TestHidingAReceivedTransfer(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob, cid := s.SignUp("ann@example.com"), s.SignUp("bob@example.com"), s.SignUp("cid@example.com")
	x := deliver(ann, object{"subject": "Plans", "recipients": []object{to("bob@example.com"), to("cid@example.com")}},
		[2]string{"plan.pdf", "%PDF-1.4"})
	link := linkTo(s, "bob@example.com")
	reader := openLink(s, link, nil)
	bob.Delete(x.path).Want(http.StatusNoContent)
	bob.Get(x.path).WantError(transfer.ErrNotFound)
	bob.Delete(x.path).WantError(transfer.ErrNotFound)
	s.Stranger().Get(link).WantError(transfer.ErrNotFound)
	reader.Get(link + "/archive").WantError(transfer.ErrNotFound)
	cid.Get(x.path + "/archive").Want(http.StatusOK)
	if seen := ann.Get(x.path).Want(http.StatusOK); seen.String("subject") != "Plans" || seen.String("state") != "accessed" {
		t.Errorf("%s", seen.Body)
	}
	cid.Delete(x.path).Want(http.StatusNoContent)
	if ann.Get(x.path + "/archive").Want(http.StatusOK); stored(t, s) != 1 {
		t.Error("what its sender still sees was erased")
	}
}

// TestParallelDeletes: of a recipient's parallel deletes one succeeds, as of successive ones.
func TestParallelDeletes(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	var gone, missing atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			switch r, err := bob.Try(t.Context(), "DELETE", x.path, nil); {
			case err != nil:
				t.Error(err)
			case r.Status == http.StatusNoContent:
				gone.Add(1)
			case r.Status == http.StatusNotFound:
				missing.Add(1)
			}
		})
	}
	wg.Wait()
	if gone.Load() != 1 || missing.Load() != 19 {
		t.Errorf("%d deleted it, %d did not find it", gone.Load(), missing.Load())
	}
	if n := count(t, s, `SELECT count(*) FROM audit WHERE action = 'transfer.hide'`); n != 1 {
		t.Errorf("%d audit entries", n)
	}
}

// TestReadingWhileRevoking: a transfer that is revoked between two statements of a reading is shown as revoked, not as unknown.
func TestReadingWhileRevoking(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	for range 8 {
		x := deliver(ann, object{}, [2]string{"plan.pdf", "%PDF-1.4"})
		var revoked atomic.Bool
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for last := false; !last; {
					last = revoked.Load()
					if r, err := ann.Try(t.Context(), "GET", x.path, nil); err != nil || r.Status != http.StatusOK {
						t.Errorf("%v, %s", err, r.Body)
						return
					}
				}
			})
		}
		ann.Delete(x.path).Want(http.StatusNoContent)
		revoked.Store(true)
		wg.Wait()
	}
}

func TestLastPartyErasesAtOnce(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	d.send("a", []byte("hello"))
	path := s.Transfer + "/transfers/" + d.confirm()
	ann.Delete(path).Want(http.StatusNoContent)
	poll.Until(t, "all bytes are purged", func() bool { return stored(t, s) == 0 })
	if n := count(t, s, `SELECT count(*) FROM transfer.transfers WHERE state = 'revoked' AND search IS NULL`); n != 1 {
		t.Error("not erased")
	}
}

// TestTransferIsLockedBeforeItsDeliveries: the lock order is transfer, its mails, delivery. A mail that fails changes
// its delivery. In another order, opening a transfer while another recipient hides it could deadlock.
func TestTransferIsLockedBeforeItsDeliveries(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	s.Mail.Wait(t, "bob@example.com", "/t/", 1)
	poll.Until(t, "the mail to Bob is sent", func() bool {
		return count(t, s, `SELECT count(*) FROM mails WHERE template = 'transfer-delivered' AND state = 'sent'`) == 1
	})
	exec(t, s, `UPDATE mails SET state = 'failed' WHERE template = 'transfer-delivered'`)
	file := x.path + "/objects/" + bob.Get(x.path).String("objects.0.uid") + "/content"
	for _, step := range []struct {
		name, held string
		do         func() error
	}{
		{"opening", `SELECT FROM transfer.transfers FOR UPDATE`, func() error {
			_, err := bob.Try(t.Context(), "GET", file, nil)
			return err
		}},
		{"a failed mail and hiding", `SELECT FROM mails FOR UPDATE`, func() error {
			_, err := bob.Try(t.Context(), "DELETE", x.path, nil)
			return err
		}},
		{"deletion of the recipient", `SELECT FROM transfer.transfers FOR UPDATE`, func() error {
			return s.App.Transfer.DeletePersonData(t.Context(), id.Person{UUID: uuid.MustParse(uidOf(bob))})
		}},
	} {
		t.Run(step.name, func(t *testing.T) { locksDeliveriesLast(t, s, step.held, step.do) })
	}
}

// locksDeliveriesLast holds the locks of a statement and checks that do, which waits for them, has not locked a
// delivery.
func locksDeliveriesLast(t *testing.T, s *testkit.Server, held string, do func() error) {
	t.Helper()
	exec(t, s, `UPDATE transfer.deliveries SET hidden_at = NULL, accessed_at = NULL`)
	tx := hold(t, s, held)
	done := make(chan error, 1)
	go func() { done <- do() }()
	waiting(t, s)
	if _, err := tx.Exec(t.Context(), `SELECT FROM transfer.deliveries FOR UPDATE NOWAIT`); err != nil {
		t.Errorf("a delivery is locked already: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestUndeliverableMail(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	s.Mail.RefuseTo("gone@example.org", smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"})
	x := deliver(ann, object{"subject": "Plans", "recipients": []object{to("gone@example.org"), to("bob@example.com")}},
		[2]string{"plan.pdf", "%PDF-1.4"})
	told := s.Mail.Wait(t, "ann@example.com", "could not be delivered to gone@example.org", 1)
	if !strings.Contains(told.Text, "no such user") || !strings.Contains(told.Text, "Plans") {
		t.Errorf("%s", told.Text)
	}
	if seen := ann.Get(x.path).Want(http.StatusOK); seen.String("undelivered.0") != "gone@example.org" || seen.Value("undelivered.1") != nil {
		t.Errorf("%s", seen.Body)
	}
	if list := ann.Get(s.Transfer + "/transfers?location=sent").Want(http.StatusOK); list.String(
		"transfers.0.undelivered.0") != "gone@example.org" {
		t.Errorf("%s", list.Body)
	}
	if seen := bob.Get(x.path).Want(http.StatusOK); seen.Value("undelivered") != nil {
		t.Errorf("%s", seen.Body)
	}
}

func TestExpiryWarnings(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_EXPIRY_WARNING", "2d"))
	ann := s.SignUp("ann@example.com")
	open := deliver(ann, object{"subject": "Plans", "recipients": []object{to("bob@example.org")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	link := linkTo(s, "bob@example.org")
	deliver(ann, object{"subject": "Merger", "message": "hush", "protection": "password", "password": "Geheimnis!",
		"recipients": []object{to("cid@example.org")}}, [2]string{"deal.pdf", "%PDF-1.4"})
	// shorter than the warning time: no warning
	deliver(ann, object{"ttl": 1, "message": "Hello.", "recipients": []object{to("bob@example.org")}})
	s.Clock.Advance(5*24*time.Hour - time.Second)
	run(t, s, service.WarnExpiringJob)
	s.Clock.Advance(time.Second)
	run(t, s, service.WarnExpiringJob)
	run(t, s, service.WarnExpiringJob)
	warned := s.Mail.Wait(t, "bob@example.org", "expire soon", 1)
	if s.Transfer+"/public/transfers/"+warned.Key(t, "/t/") != link || !strings.Contains(warned.Text, "Plans") {
		t.Errorf("%s", warned.Text)
	}
	m := s.Mail.Wait(t, "cid@example.org", "expire soon", 1)
	checkHidden(t, "the warning", []byte(m.Subject+m.Text+m.HTML))
	s.Mail.Wait(t, "ann@example.com", "Your transfer expires soon", 2)
	if n := count(t, s, `SELECT count(*) FROM mails WHERE template = 'transfer-expiring'`); n != 4 {
		t.Errorf("%d warnings", n)
	}
	s.Clock.Advance(2*24*time.Hour - time.Second)
	s.Stranger().Get(link).Want(http.StatusOK)
	s.Clock.Advance(time.Second)
	s.Stranger().Get(link).WantError(transfer.ErrNotFound) // before any job ran
	s.Clock.Advance(7 * 24 * time.Hour)                    // the grace
	run(t, s, service.ExpireTransfersJob)
	poll.Until(t, "all bytes are purged", func() bool { return stored(t, s) == 0 })
	ann = ann.Login()
	if left := ann.Get(open.path).Want(http.StatusOK); left.String("state") != "expired" || left.Value("subject") != nil {
		t.Errorf("%s", left.Body)
	}
}

// TestDeletingAPerson follows contract 4.13 from DELETE /profile to the purge of the bytes.
func TestDeletingAPerson(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	bob := s.SignUp("bob@example.com")
	deliver(ann, object{"subject": "Plans", "recipients": []object{to("cid@example.org")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	toBob := deliver(ann, object{"subject": "Sheets", "recipients": []object{to("bob@example.com")}}, [2]string{"sheet.pdf", "%PDF-1.4"})
	received := deliver(bob, object{"recipients": []object{to("ann@example.com")}}, [2]string{"answer.txt", "yes"})
	inMailbox := reserve(s)
	inMailbox.send("a", []byte("hello"))
	inMailbox.confirm()
	open := reserve(s)
	open.send("b", []byte("unfinished"))
	own, _ := begin(ann, nil)
	own.send("c", []byte("unfinished too"))
	annUID := uidOf(ann)
	if stored(t, s) != 6 {
		t.Fatalf("%d files", stored(t, s))
	}
	link, herLink := linkTo(s, "cid@example.org"), linkTo(s, "ann@example.com")
	ann.Delete(s.Identity + "/profile").Want(http.StatusNoContent)
	s.Stranger().Get(s.Transfer + "/public/mailbox/ann").WantError(transfer.ErrNotFound) // at once
	open.Get(open.path).WantError(transfer.ErrNotFound)
	own.Get(own.path).WantError(transfer.ErrNotFound)
	// transfers to Cid, to Bob and by Bob stay; the purge waits for the lease of the last writer
	poll.Until(t, "only three blobs are left", func() bool {
		run(t, s, content.PurgeBytesJob)
		return stored(t, s) == 3
	})
	s.Stranger().Get(herLink).WantError(transfer.ErrNotFound)
	for path, p := range map[string]*testkit.Person{link: s.Stranger(), toBob.path: bob} {
		got := p.Get(path).Want(http.StatusOK)
		if got.String("sender.name") != "Ann" || got.String("sender.email") != "" || got.Value("sender.uid") != nil ||
			strings.Contains(string(got.Body), annUID) {
			t.Errorf("%s", got.Body)
		}
	}
	openLink(s, link, nil).Get(link + "/archive").Want(http.StatusOK)
	bob.Get(toBob.path + "/archive").Want(http.StatusOK)
	if sent := bob.Get(received.path).Want(http.StatusOK); sent.String("state") != "delivered" {
		t.Errorf("%s", sent.Body)
	}
	if n := count(t, s, `SELECT count(*) FROM transfer.mailboxes`) +
		count(t, s, `SELECT count(*) FROM transfer.reservations WHERE state = 'open'`); n != 0 {
		t.Errorf("%d things of hers are left", n)
	}
	bob.Delete(toBob.path).Want(http.StatusNoContent)
	s.Clock.Advance(14 * 24 * time.Hour) // with the grace of what Bob sent
	run(t, s, service.ExpireTransfersJob)
	poll.Until(t, "all bytes are purged", func() bool { return stored(t, s) == 0 })
}

// TestUnfinishedUploads: a stranger who left an address and files is mailed once, a day before the reservation expires. The mail has no
// word of the stranger, and counts as an upload confirmation.
func TestUnfinishedUploads(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t, testkit.Constants(func(c *config.Constants) { c.UploadConfirmationsDay = 2 }))
	sam, done, empty, nobody := reserveAs(s.Stranger(), "sam@example.org"), reserveAs(s.Stranger(), "done@example.org"),
		reserveAs(s.Stranger(), "empty@example.org"), reserve(s)
	for _, d := range []draft{sam, done, nobody} {
		d.send("secret-plan", []byte("hello"))
	}
	nobody.Patch(nobody.path, object{"anonEmail": ""}).Want(http.StatusOK)
	empty.attach("nothing", 10)
	done.confirm()
	for range 3 {
		reserveAs(s.Stranger(), "often@example.org").send("a", []byte("a"))
	}
	s.Clock.Advance(24*time.Hour - time.Second)
	run(t, s, service.RemindUnfinishedJob)
	if n := count(t, s, `SELECT count(*) FROM mails WHERE template = 'upload-unfinished'`); n != 0 {
		t.Fatalf("%d mails too early", n)
	}
	s.Clock.Advance(time.Second)
	var all sync.WaitGroup
	for range 4 { // replicas
		all.Go(func() {
			if err := s.App.Transfer.RemindUnfinished(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.Clock.Advance(time.Hour)
	run(t, s, service.RemindUnfinishedJob)
	m := s.Mail.Wait(t, "sam@example.org", "not delivered yet", 1)
	if !strings.Contains(m.Text, "/m/ann#unfinished") || strings.Contains(m.Text+m.HTML, "Sam") ||
		strings.Contains(m.Text+m.HTML, "secret-plan") {
		t.Errorf("%s", m.Text)
	}
	s.Mail.Wait(t, "often@example.org", "not delivered yet", 2)
	if n := count(t, s, `SELECT count(*) FROM mails WHERE template = 'upload-unfinished'`); n != 3 {
		t.Errorf("%d mails, %d of them to an address that was withdrawn", n, len(s.Mail.To("sam@example.com")))
	}
}
