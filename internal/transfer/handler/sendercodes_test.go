package handler_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// careful makes a server on which Ann's mailbox wants senders to verify their address.
func careful(t *testing.T, options ...testkit.Option) (*testkit.Server, *testkit.Person) {
	t.Helper()
	s, ann := newMailbox(t, options...)
	got := ann.Put(s.Transfer+"/mailbox", object{"vanityLink": "ann", "verifySender": true}).Want(http.StatusOK)
	if got.Value("verifySender") != true {
		t.Fatalf("%s", got.Body)
	}
	s.Clock.Advance(time.Second) // past the microcache
	return s, ann
}

// senderCode returns the code for a sender in the n-th mail with one to an address.
func senderCode(s *testkit.Server, address string, n int) string {
	s.T.Helper()
	return mailedCode(s, address, "Your confirmation code", n)
}

// wrongCode is a code other than the right one.
func wrongCode(right string) string {
	if right == "000000" {
		return "000001"
	}
	return "000000"
}

// TestAttackCodeAsPostcard: the mail with a code, which anybody can have sent to any address, has no name that somebody has chosen.
func TestAttackCodeAsPostcard(t *testing.T) {
	t.Parallel()
	s, ann := careful(t)
	const lure = "Your account is locked! Verify at evil.example"
	ann.Put(s.Identity+"/profile", object{"name": lure}).Want(http.StatusOK)
	ann.Put(s.Transfer+"/mailbox", object{"vanityLink": "ann", "verifySender": true, "name": lure}).Want(http.StatusOK)
	s.Clock.Advance(time.Second)
	d := reserveAs(s.Stranger(), "victim@example.org")
	d.Post(d.path+"/code", nil).Want(http.StatusNoContent)
	m := s.Mail.Wait(t, "victim@example.org", "Your confirmation code", 1)
	if all := fmt.Sprintf("%+v", m); strings.Contains(all, "locked") || strings.Contains(all, "evil") {
		t.Errorf("the mail has texts of a stranger: %s", all)
	}
	if !strings.Contains(m.Text, "ann@example.com") {
		t.Errorf("the mail does not say for which mailbox: %s", m.Text)
	}
}

// TestAttackUploadsInAForeignName: a mailbox that requires verified senders accepts nothing under an address that the uploader has not
// verified: not with another's code, nor with a code for a former address.
func TestAttackUploadsInAForeignName(t *testing.T) {
	t.Parallel()
	s, ann := careful(t)
	if got := s.Stranger().Get(s.Transfer + "/public/mailbox/ann").Want(http.StatusOK); got.Value("verifySender") != true {
		t.Errorf("%s", got.Body)
	}
	d, other := reserveAs(s.Stranger(), "mallory@example.org"), reserveAs(s.Stranger(), "mallory@example.org")
	d.send("a", []byte("hello"))
	refused := func() {
		t.Helper()
		got := d.Post(d.path+"/confirm", nil)
		got.WantError(transfer.ErrUnconfirmable)
		if !strings.HasPrefix(got.Details(), "code: anonEmail must be verified") {
			t.Errorf("%s", got.Details())
		}
		if d.Get(d.path).Value("senderVerified") != false {
			t.Error("senderVerified is not false")
		}
	}
	refused()
	d.Post(d.path+"/verify", object{"code": "000000"}).WantError(transfer.ErrSenderCode) // none was mailed
	other.Post(other.path+"/code", nil).Want(http.StatusNoContent)
	// another reservation's
	d.Post(d.path+"/verify", object{"code": senderCode(s, "mallory@example.org", 1)}).WantError(transfer.ErrSenderCode)

	d.Post(d.path+"/code", nil).Want(http.StatusNoContent)
	early := senderCode(s, "mallory@example.org", 2)
	d.Patch(d.path, object{"anonEmail": "boss@example.org"}).Want(http.StatusOK)
	d.Post(d.path+"/verify", object{"code": early}).WantError(transfer.ErrSenderCode) // for the former address
	refused()
	d.Patch(d.path, object{"anonEmail": "mallory@example.org"}).Want(http.StatusOK)
	d.Post(d.path+"/verify", object{"code": early}).Want(http.StatusNoContent)
	d.Post(d.path+"/verify", object{"code": early}).WantError(transfer.ErrSenderCode) // used
	if d.Get(d.path).Value("senderVerified") != true {
		t.Error("senderVerified is not true")
	}
	d.Patch(d.path, object{"anonEmail": "boss@example.org"}).Want(http.StatusOK)
	refused()
	d.Patch(d.path, object{"anonEmail": "mallory@example.org"}).Want(http.StatusOK)
	done := d.Post(d.path+"/confirm", nil).Want(http.StatusOK)
	if done.Value("sender.verified") != true || ann.Get(s.Transfer+"/transfers/"+done.String("uid")).Value("sender.verified") != true {
		t.Errorf("%s", done.Body)
	}
	if m := s.Mail.Wait(t, "ann@example.com", "/t/", 1); strings.Contains(m.Text, "address not checked") {
		t.Errorf("%s", m.Text)
	}
	s.Mail.Wait(t, "mallory@example.org", "a.bin", 1) // a checked address gets the list
	d.Post(d.path+"/code", nil).WantError(transfer.ErrConfirmed)
	d.Post(d.path+"/verify", object{"code": early}).WantError(transfer.ErrConfirmed)
}

// TestAttackSenderCodes: codes cannot be guessed or used twice by parallel tries, and a stranger floods no address with them.
func TestAttackSenderCodes(t *testing.T) {
	t.Parallel()
	s, _ := careful(t, testkit.Constants(func(c *config.Constants) { c.SenderCodesDay = 4 }))
	s.Clock.Advance(24*time.Hour - s.Clock.Now().Sub(s.Clock.Now().Truncate(24*time.Hour))) // a day begins
	const victim = "victim@example.org"
	d := reserveAs(s.Stranger(), victim)
	d.Post(d.path+"/code", nil).Want(http.StatusNoContent)
	first := senderCode(s, victim, 1)
	for range 5 {
		d.Post(d.path+"/verify", object{"code": wrongCode(first)}).WantError(transfer.ErrSenderCode)
	}
	d.Post(d.path+"/verify", object{"code": first}).WantError(transfer.ErrSenderCode) // no tries left
	d.Post(d.path+"/code", nil).Want(http.StatusNoContent)
	second := senderCode(s, victim, 2)
	s.Clock.Advance(10 * time.Minute)
	d.Post(d.path+"/verify", object{"code": second}).WantError(transfer.ErrSenderCode) // too late
	d.Post(d.path+"/code", nil).Want(http.StatusNoContent)
	third := senderCode(s, victim, 3)
	d.Post(d.path+"/code", nil).WantError(transfer.ErrSenderCodesUsed)

	var right atomic.Int32
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(func() {
			switch got := d.Post(d.path+"/verify", object{"code": third}); got.Status {
			case http.StatusNoContent:
				right.Add(1)
			default:
				got.WantError(transfer.ErrSenderCode)
			}
		})
	}
	wait.Wait()
	if right.Load() != 1 {
		t.Errorf("%d of parallel tries with the right code succeeded", right.Load())
	}

	var mailed atomic.Int32
	for range 6 {
		another := reserveAs(s.Stranger(), "Victim@Example.org")
		wait.Go(func() {
			got := another.Post(another.path+"/code", nil)
			if got.Status == http.StatusNoContent {
				mailed.Add(1)
				return
			}
			if got.WantError(transfer.ErrTooManySenderCodes); got.Header.Get("Retry-After") != "85800" {
				t.Errorf("Retry-After %s", got.Header.Get("Retry-After"))
			}
		})
	}
	wait.Wait()
	if mailed.Load() != 1 {
		t.Errorf("%d more codes were mailed to the address on the day", mailed.Load())
	}
	again := reserveAs(s.Stranger(), victim)
	s.Clock.Advance(24 * time.Hour)
	again.Post(again.path+"/code", nil).Want(http.StatusNoContent)
	senderCode(s, victim, 5)
	for _, m := range s.Mail.To(victim) {
		if strings.Contains(m.Text+m.Subject+m.Header.Get("To"), "Sam") {
			t.Errorf("the mail repeats the uploader's words: %s", m.Text)
		}
	}
}

// TestCodesAreNotStored: a row holds a MAC under the secret key, so a copy of the database opens nothing.
func TestCodesAreNotStored(t *testing.T) {
	t.Parallel()
	s, ann := careful(t)
	d := reserveAs(s.Stranger(), "sam@example.org")
	d.Post(d.path+"/code", nil).Want(http.StatusNoContent)
	deliver(ann, object{"message": "Hello.", "protection": "recipientAuthentication", "recipients": []object{to("bob@example.org")}})
	s.Stranger().Post(linkTo(s, "bob@example.org")+"/code", nil).Want(http.StatusNoContent)
	for table, code := range map[string]string{"sender_codes": senderCode(s, "sam@example.org", 1),
		"deliveries": mailedCode(s, "bob@example.org", "access code", 1)} {
		var hash []byte
		var row string
		if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT code_hash, x::text FROM transfer.`+table+` x WHERE code_hash IS NOT NULL`).Scan(
			&hash, &row); err != nil {
			t.Fatal(err)
		}
		if plain := sha256.Sum256([]byte(code)); len(hash) != sha256.Size || bytes.Equal(hash, plain[:]) || strings.Contains(row, code) &&
			!strings.Contains(fmt.Sprintf("%x", hash), code) {
			t.Errorf("%s holds %s for the code %s", table, row, code)
		}
	}
}

// TestAttackCodesOfAVictim: one client network cannot use up the codes that an uploader with the same address needs.
func TestAttackCodesOfAVictim(t *testing.T) {
	t.Parallel()
	s, _ := careful(t, behindProxy()...)
	const victim = "victim@example.org"
	code := func(client string) *testkit.Response {
		d := reserveAs(strangerAt(s, client), victim)
		return d.Post(d.path+"/code", nil)
	}
	for range 3 {
		code("203.0.113.7").Want(http.StatusNoContent)
	}
	for range 2 {
		code("203.0.113.7").WantError(transfer.ErrTooManySenderCodes)
	}
	code("198.51.100.4").Want(http.StatusNoContent)
}

// TestSenderCodes: only a stranger's reservation with an address, at a mailbox that requires verified senders, gets a code. A verified
// address of the uploader's account needs none.
func TestSenderCodes(t *testing.T) {
	t.Parallel()
	s, ann := careful(t)
	bob := s.SignUp("bob@example.org")
	made := bob.Post(s.Transfer+"/public/mailbox/ann", object{"anonSender": "Bob", "anonEmail": "bob@example.org"}).Want(http.StatusCreated)
	if made.Value("senderVerified") != true {
		t.Errorf("%s", made.Body)
	}
	d := draft{Person: s.Stranger().As(strings.TrimPrefix(made.Header.Get("Authorization"), "Bearer ")),
		path: s.Transfer + "/reservations/" + made.String("uid")}
	d.Post(d.path+"/code", nil).WantError(transfer.ErrNoCode)
	d.confirm()

	nameless := s.Stranger().Post(s.Transfer+"/public/mailbox/ann", nil).Want(http.StatusCreated)
	if nameless.Value("senderVerified") != false {
		t.Errorf("%s", nameless.Body)
	}
	n := draft{Person: s.Stranger().As(strings.TrimPrefix(nameless.Header.Get("Authorization"), "Bearer ")),
		path: s.Transfer + "/reservations/" + nameless.String("uid")}
	n.Post(n.path+"/code", nil).WantError(fault.ErrInvalid)
	n.Post(n.path+"/verify", object{"code": 7}).WantError(fault.ErrInvalid)
	ann.Post(n.path+"/code", nil).WantError(token.ErrKind)
	d.Post(n.path+"/code", nil).WantError(transfer.ErrNotFound)
	d.Post(n.path+"/verify", object{"code": "000000"}).WantError(transfer.ErrNotFound)

	own, mine := begin(bob, object{"recipients": []object{to("ann@example.com")}})
	if own.Post(own.path+"/code", nil).WantError(transfer.ErrNoCode); mine.Value("senderVerified") != nil {
		t.Errorf("%s", mine.Body)
	}
	waiting := reserve(s)
	if got := ann.Put(s.Transfer+"/mailbox", object{"vanityLink": "ann"}).Want(http.StatusOK); got.Value("verifySender") != false {
		t.Errorf("%s", got.Body)
	}
	waiting.Post(waiting.path+"/code", nil).WantError(transfer.ErrNoCode)
	waiting.confirm() // as the mailbox is set now
}
