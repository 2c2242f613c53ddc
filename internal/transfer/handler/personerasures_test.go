// Tests of the certificate of erasure of an account.

package handler_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	holds "github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// finished waits until the rows of n deleted persons are erased, and purges the bytes.
func finished(t *testing.T, s *testkit.Server, n, stored int) {
	t.Helper()
	poll.Until(t, "the rows are erased", func() bool {
		return count(t, s, `SELECT count(*) FROM transfer.person_erasures WHERE finished_at IS NOT NULL`) == n
	})
	purgedTo(t, s, stored)
}

// purgedTo purges until n files are stored and nothing waits: the lease of a writer may take a while.
func purgedTo(t *testing.T, s *testkit.Server, n int) {
	t.Helper()
	poll.Until(t, "the purge is done", func() bool {
		run(t, s, content.PurgeBytesJob)
		return stored(t, s) == n && count(t, s, `SELECT count(*) FROM transfer.discarded_objects d
			WHERE NOT EXISTS (SELECT FROM hold_contents c WHERE c.content = d.object)`) == 0
	})
}

// certified runs the job and returns how many accounts have a certificate.
func certified(t *testing.T, s *testkit.Server) int {
	t.Helper()
	run(t, s, service.CertifyPersonsJob)
	return count(t, s, `SELECT count(*) FROM transfer.person_erasures WHERE body IS NOT NULL`)
}

func uidOfPerson(t *testing.T, p *testkit.Person) id.Person {
	t.Helper()
	uid, err := id.Parse[id.Person](uidOf(p))
	if err != nil {
		t.Fatal(err)
	}
	return uid
}

// TestCertificateOfErasedAccount: the mail about the deletion has a link to a signed statement, which is there when everything is gone. It
// counts what was erased and names nobody.
func TestCertificateOfErasedAccount(t *testing.T) {
	t.Parallel()
	s, _, _, bob, eve := newOffice(t)
	handPlans(bob)
	d, _ := begin(eve, object{"subject": "Back", "recipients": []object{to("bob@example.com"), to("ann@example.com")}})
	d.send("a", []byte("hello"))
	d.confirm()
	for range 2 {
		sam := reserveAt(s.Stranger(), "bob", "sam@example.com")
		sam.send("x", []byte("x-ray"))
		sam.confirm()
	}
	reserveAt(s.Stranger(), "bob", "sam@example.com").send("y", []byte("never"))
	person := uidOfPerson(t, bob)
	if answer := bob.Delete(s.Identity + "/profile").Want(http.StatusNoContent); len(answer.Body) != 0 {
		t.Errorf("%s", answer.Body)
	}
	link := s.Transfer + "/public/receipts/" + s.Mail.Wait(t, "bob@example.com", "Your account was deleted", 1).Key(t, "/r/")
	stranger := s.Stranger()
	before := stranger.Get(link).Want(http.StatusOK)
	if before.Value("account") != true || before.Value("checked") != true || before.String("mailbox") != "" {
		t.Errorf("%s", before.Body)
	}
	if again := stranger.Post(link, nil).Want(http.StatusOK); !bytes.Equal(again.Body, before.Body) {
		t.Errorf("%s", again.Body)
	}
	stranger.Get(link + "/receipt").WantError(transfer.ErrNotFound)
	stranger.Get(link + "/receipt?of=erased").WantError(transfer.ErrNotFound)
	finished(t, s, 1, 2)
	if n := certified(t, s); n != 1 {
		t.Fatalf("%d accounts have a certificate", n)
	}
	if after := stranger.Get(link).Want(http.StatusOK); after.String("since.0.kind") != "erased" {
		t.Errorf("%s", after.Body)
	}
	file := signed(t, stranger, link+"/receipt?of=erased")
	statement, _, err := proof.Split(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := transfer.ParseStatement(statement)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"person": person.String(), "event": "erased", "reason": "person",
		"mailboxes": "1", "requests": "0", "received": "3", "files": "2", "sent": "1", "receipts": "4"} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
	for _, word := range []string{"@", "Plans", "Bob", "bob", "Eve", "Acme"} {
		if strings.Contains(string(statement), word) {
			t.Errorf("it says %q: %s", word, statement)
		}
	}
	own, err := s.App.Transfer.PersonCertificate(t.Context(), person)
	if err != nil || !bytes.Equal(own.Statement(), statement) {
		t.Errorf("the operator's: %v %s", err, own.Statement())
	}
	for _, key := range []string{"x", strings.Repeat("x", 43)} {
		if r := stranger.Get(s.Transfer + "/public/receipts/" + key); r.Status < 400 || r.Status >= 500 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
}

// TestNoCertificateWithoutAddress: an account whose address nobody has verified leaves none, because there is nobody to give it to.
func TestNoCertificateWithoutAddress(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	s.SignUpUnconfirmed("bob@example.com").Delete(s.Identity + "/profile").Want(http.StatusNoContent)
	ann := s.SignUp("ann@example.com")
	if err := s.App.Identity.DeletePerson(t.Context(), testkit.Command, ann.Email); err != nil {
		t.Fatal(err)
	}
	finished(t, s, 1, 0)
	if n := certified(t, s); n != 1 {
		t.Errorf("%d accounts have a certificate", n)
	}
	if n := count(t, s, `SELECT count(*) FROM transfer.person_erasures WHERE reason = 'operator'`); n != 1 {
		t.Error("the operator's deletion says another reason")
	}
}

// TestHoldsDeferTheCertificate: nothing is stated while a hold keeps the account, a received transfer, or an unfinished upload.
func TestHoldsDeferTheCertificate(t *testing.T) {
	t.Parallel()
	for kind, of := range map[string]func(bob, eve *testkit.Person, sent string) string{
		holds.Person:   func(bob, _ *testkit.Person, _ string) string { return uidOf(bob) },
		holds.Mailbox:  func(bob, _ *testkit.Person, _ string) string { return uidOf(bob) },
		holds.Transfer: func(_, _ *testkit.Person, sent string) string { return sent },
		"of another":   func(_, eve *testkit.Person, _ string) string { return uidOf(eve) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, _, _, bob, eve := newOffice(t)
			d, _ := begin(eve, object{"subject": "Plans", "recipients": []object{to("bob@example.com")}})
			d.send("a", []byte("hello"))
			uid := d.confirm()
			h := holds.Hold{Kind: kind, Name: "Case 7", Reason: "Court order"}
			if kind == "of another" {
				h.Kind = holds.Person
			}
			h.Subject = uuid.MustParse(of(bob, eve, uid))
			held, err := holds.Add(t.Context(), s.App.DB, testkit.Command, h, s.Clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			bob.Delete(s.Identity + "/profile").Want(http.StatusNoContent)
			eve.Delete(s.Transfer + "/transfers/" + uid).Want(http.StatusNoContent)
			poll.Until(t, "the rows are erased", func() bool {
				return count(t, s, `SELECT count(*) FROM transfer.person_erasures WHERE finished_at IS NOT NULL`) == 1
			})
			if n := certified(t, s); n != 0 {
				t.Error("it is certified while a hold keeps it")
			}
			if err := holds.End(t.Context(), s.App.DB, testkit.Command, id.Organization{}, held, s.Clock.Now()); err != nil {
				t.Fatal(err)
			}
			purgedTo(t, s, 0)
			if n := certified(t, s); n != 1 {
				t.Errorf("%d accounts have a certificate after the hold", n)
			}
		})
	}
}

// TestCertificateWaitsForBytes: nothing is stated before the purge. After it one statement is, although the first try is lost and eight run
// at once.
func TestCertificateWaitsForBytes(t *testing.T) {
	t.Parallel()
	s, _, _, bob, _ := newOffice(t)
	sam := reserveAt(s.Stranger(), "bob", "sam@example.com")
	sam.send("x", []byte("x-ray"))
	sam.confirm()
	exec := func(sql string) {
		t.Helper()
		if _, err := s.App.DB.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TABLE kept AS TABLE transfer.discarded_objects; ALTER TABLE kept ADD UNIQUE (object);
		CREATE FUNCTION keep_discarded() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO transfer.discarded_objects SELECT OLD.* ON CONFLICT DO NOTHING; RETURN NULL; END $$;
		CREATE TRIGGER kept AFTER DELETE ON transfer.discarded_objects FOR EACH ROW EXECUTE FUNCTION keep_discarded()`)
	bob.Delete(s.Identity + "/profile").Want(http.StatusNoContent)
	poll.Until(t, "the rows are erased", func() bool {
		return count(t, s, `SELECT count(*) FROM transfer.person_erasures WHERE finished_at IS NOT NULL`) == 1
	})
	if n := certified(t, s); n != 0 {
		t.Error("it is certified before the purge")
	}
	exec(`DROP TRIGGER kept ON transfer.discarded_objects`)
	finished(t, s, 1, 0)
	run(t, s, service.CertifyErasureJob)
	exec(`CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the server is killed'; END $$;
		CREATE TRIGGER lost BEFORE INSERT ON log.pending FOR EACH ROW EXECUTE FUNCTION lose()`)
	if err := s.App.Transfer.CertifyPersons(t.Context()); err == nil {
		t.Error("the log took no entry, and the job succeeded")
	}
	logged := func() int {
		return count(t, s, `SELECT (SELECT count(*) FROM log.entries) + (SELECT count(*) FROM log.pending)`)
	}
	before := logged()
	exec(`DROP TRIGGER lost ON log.pending`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.App.Transfer.CertifyPersons(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := certified(t, s); n != 1 || logged() != before+1 {
		t.Errorf("%d accounts have a certificate, with %d entries of the log", n, logged()-before)
	}
}

// TestReaderErasedWhileStated: a statement that is made while a reader is erased does not keep the reader.
func TestReaderErasedWhileStated(t *testing.T) {
	t.Parallel()
	s, _, _, bob, _ := newOffice(t)
	path, uid := handPlans(bob)
	bob.Delete(path).Want(http.StatusNoContent)
	purgedTo(t, s, 0)
	person := uidOfPerson(t, bob)
	erasing, err := s.App.DB.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = erasing.Rollback(t.Context()) }()
	if _, err := erasing.Exec(t.Context(),
		`UPDATE transfer.receipts SET readers = array_remove(readers, $2), named = array_remove(named, $2)
		WHERE transfer = $1`, uid, person); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.App.Transfer.CertifyErasure(t.Context()) }()
	var stated bool
	poll.Until(t, "it waits or is stated", func() bool {
		select {
		case err := <-done:
			stated = true
			if err != nil {
				t.Error(err)
			}
			return true
		default:
			return count(t, s, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
		}
	})
	if err := erasing.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !stated {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := count(t, s, `SELECT count(*) FROM transfer.receipts WHERE kind = 'erased' AND transfer = $1`, uid); n != 1 {
		t.Fatalf("%d certificates", n)
	}
	if n := count(t, s, `SELECT count(*) FROM transfer.receipts WHERE $2 = ANY (readers) AND transfer = $1`, uid, person); n != 0 {
		t.Errorf("%d statements keep the reader who was erased meanwhile", n)
	}
}

// TestErasureByOldServer: a server of 1.0.0 knows no rules. What it ends is kept until the least, and it erases no certificate.
func TestErasureByOldServer(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, _ := newOffice(t)
	ruled(t, s, ann, object{"transfers": object{"least": 30}, "receipts": object{"least": 30}})
	_, uid := handPlans(bob)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := s.App.DB.Pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	// As EndTransfers of 1.0.0.
	exec(`WITH t AS (
			UPDATE transfer.transfers SET state = 'revoked', ended_at = $2, subject = NULL, message = NULL, fields = NULL, password_hash = NULL,
				search = NULL WHERE uid = $1 AND ended_at IS NULL RETURNING uid, reservation
		), noted AS (
			INSERT INTO transfer.discarded_objects (object, discarded_at, unshared)
			SELECT o.uid, $2, true FROM t JOIN transfer.objects o ON o.reservation = t.reservation
		)
		INSERT INTO transfer.erasing (transfer, contents)
		SELECT t.uid, array_agg(o.uid) FROM t JOIN transfer.objects o ON o.reservation = t.reservation GROUP BY t.uid`, uid, s.Clock.Now())
	exec(`DELETE FROM transfer.objects WHERE reservation = (SELECT reservation FROM transfer.transfers WHERE uid = $1)`, uid)
	purgedTo(t, s, 1)
	if n := count(t, s, `SELECT count(*) FROM hold_rows WHERE source = 'transfer.transfers' AND data ->> 'subject' = 'Plans'`); n != 1 {
		t.Errorf("%d copies of the transfer are kept", n)
	}
	erase := `WITH parts AS (DELETE FROM transfer.receipt_parts WHERE transfer = $1)
		UPDATE transfer.receipts SET body = NULL, readers = '{}', named = '{}', sender_key_hash = NULL, sender_checked_at = NULL
		WHERE transfer = $1` // as EraseReceipts of 1.0.0
	exec(erase, uid)
	if n := count(t, s, `SELECT count(*) FROM hold_rows WHERE source = 'transfer.receipts' AND data ->> 'body' IS NOT NULL
		AND data ->> 'kind' = 'delivered'`); n != 1 {
		t.Errorf("%d receipts are kept", n)
	}
	s.Clock.Advance(32 * 24 * time.Hour)
	if err := holds.Expire(t.Context(), s.App.DB, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	purgedTo(t, s, 0)
	run(t, s, service.CertifyErasureJob)
	exec(erase, uid)
	transferUID := id.Transfer{UUID: uuid.MustParse(uid)}
	poll.Until(t, "it is signed", func() bool {
		_, err := s.App.Transfer.Certificate(t.Context(), transferUID)
		if err != nil && !service.ReceiptPending(err) {
			t.Fatal(err)
		}
		return err == nil
	})
}
