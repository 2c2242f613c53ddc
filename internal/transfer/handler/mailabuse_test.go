package handler_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// recipients returns n addresses, different for each group.
func recipients(group string, n int) []object {
	list := make([]object, n)
	for i := range list {
		list[i] = to(fmt.Sprintf("%s%d@example.org", group, i))
	}
	return list
}

// TestAttackMessagesWithoutFiles: an account cannot send text to many addresses. Without a file, a transfer goes to one recipient
// and has a message or fields.
func TestAttackMessagesWithoutFiles(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	for name, c := range map[string]struct {
		body object
		want *fault.Error
	}{
		"message to two": {object{"recipients": recipients("a", 2), "message": "Buy."}, transfer.ErrMessageToMany},
		"fields to two":  {object{"recipients": recipients("b", 2), "fields": object{"offer": "Buy."}}, transfer.ErrMessageToMany},
		"nothing to one": {object{"recipients": recipients("c", 1)}, transfer.ErrUnconfirmable},
		"subject to one": {object{"recipients": recipients("d", 1), "subject": "Buy."}, transfer.ErrUnconfirmable},
		"white space to one": {object{"recipients": recipients("e", 1), "message": " \n\t", "fields": object{"offer": " "}},
			transfer.ErrUnconfirmable},
		"subject to two":        {object{"recipients": recipients("f", 2), "subject": "Buy."}, transfer.ErrUnconfirmable},
		"message to one":        {object{"recipients": recipients("g", 1), "message": "Hello."}, nil},
		"fields to one":         {object{"recipients": recipients("h", 1), "fields": object{"floor": "3"}}, nil},
		"drop without contents": {object{}, nil},
	} {
		d, _ := begin(ann, c.body)
		got := d.Post(d.path+"/confirm", nil)
		if c.want == nil {
			got.Want(http.StatusOK)
			continue
		}
		got.WantError(c.want)
		if c.want == transfer.ErrUnconfirmable && got.Details() != "objects: at least one that is not empty is required, "+
			"or for a single recipient a message or fields" {
			t.Errorf("%s: %s", name, got.Details())
		}
	}
	d, _ := begin(ann, object{"recipients": recipients("j", 1), "subject": "Buy."})
	d.Put(d.attach("buy-this", 0), nil).Want(http.StatusOK) // an empty file is no file
	d.Post(d.path+"/confirm", nil).WantError(transfer.ErrUnconfirmable)
	d.Patch(d.path, object{"message": "Hello."}).Want(http.StatusOK)
	d.confirm()
	d, _ = begin(ann, object{"recipients": recipients("i", 2), "message": "Both sheets."})
	d.Post(d.path+"/confirm", nil).WantError(transfer.ErrMessageToMany)
	d.Put(d.attach("empty", 0), nil).Want(http.StatusOK)
	d.Post(d.path+"/confirm", nil).WantError(transfer.ErrMessageToMany)
	d.send("a", []byte("hello"))
	d.confirm()
	s.Mail.Wait(t, "i0@example.org", "Both sheets.", 1)
	for _, refused := range []string{"a0", "a1", "b0", "c0", "d0", "e0", "f0"} {
		if mails := s.Mail.To(refused + "@example.org"); len(mails) > 0 {
			t.Errorf("%s got %q", refused, mails[0].Subject)
		}
	}
}

// TestAttackManyRecipients: parallel confirms of one account reach no more recipients a day than it may have, fewer while the
// account is young. A refused confirm counts nothing and can be repeated.
func TestAttackManyRecipients(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RECIPIENTS_PER_DAY", "9"), testkit.Env("CONSIGN_YOUNG_RECIPIENTS_PER_DAY", "5"),
		testkit.Constants(func(c *config.Constants) { c.YoungAccount = 72 * time.Hour }))
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	drafts := make([]draft, 8)
	for i := range drafts {
		d, made := begin(ann, object{"recipients": recipients(fmt.Sprintf("p%d-", i), 2)})
		if made.Value("maxRecipients") != 9.0 {
			t.Fatalf("maxRecipients %v", made.Value("maxRecipients"))
		}
		d.send("a", []byte("hello"))
		drafts[i] = d
	}
	confirmed := func() []draft { // confirms all at once and returns those that are refused
		var mu sync.Mutex
		var wait sync.WaitGroup
		var refused []draft
		for _, d := range drafts {
			wait.Go(func() {
				got := d.Post(d.path+"/confirm", nil)
				if got.Status == http.StatusOK {
					return
				}
				got.WantError(transfer.ErrTooManyRecipientsToday)
				mu.Lock()
				defer mu.Unlock()
				refused = append(refused, d)
				tomorrow := s.Clock.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
				if after, _ := strconv.Atoi(got.Header.Get("Retry-After")); after != int((tomorrow.Sub(s.Clock.Now())+time.Second-1)/time.Second) {
					t.Errorf("Retry-After %d", after)
				}
			})
		}
		wait.Wait()
		return refused
	}
	if drafts = confirmed(); len(drafts) != 6 {
		t.Fatalf("%d of 8 confirms were refused, with room for 5 recipients", len(drafts))
	}
	one, _ := begin(ann, object{"recipients": recipients("one", 1), "message": "There is room for a fifth."})
	one.confirm()
	if drafts = confirmed(); len(drafts) != 6 {
		t.Fatalf("%d of 6 confirms were refused, with no room left", len(drafts))
	}
	theirs, _ := begin(bob, object{"recipients": recipients("bob", 5), "subject": "another account"})
	theirs.send("a", []byte("a"))
	theirs.confirm()
	drop, _ := begin(ann, nil)
	drop.confirm() // a link has no recipients

	six, _ := begin(ann, object{"recipients": recipients("six", 6)})
	six.send("a", []byte("a"))
	refused := six.Post(six.path+"/confirm", nil)
	refused.WantError(transfer.ErrTooManyRecipientsToday)
	if after, _ := strconv.Atoi(refused.Header.Get("Retry-After")); after < 3*24*3600-60 || after > 3*24*3600 {
		t.Errorf("Retry-After %d of more recipients than a young account may ever have", after)
	}
	s.Clock.Advance(24 * time.Hour) // reservations live 48 hours
	if drafts = confirmed(); len(drafts) != 4 {
		t.Fatalf("%d of 6 confirms were refused on the next day", len(drafts))
	}
	s.Clock.Advance(3 * 24 * time.Hour)
	ann.Refresh()
	nine, _ := begin(ann, object{"recipients": recipients("nine", 9)})
	nine.send("a", []byte("a"))
	nine.confirm()
	ann.Post(s.Transfer+"/reservations", object{"recipients": recipients("ten", 10)}).WantError(transfer.ErrTooManyRecipients.AtMost(9))
}

// TestAttackConfirmationAsPostcard: an upload in the name of a third party mails that party nothing that the
// uploader or the mailbox's owner wrote.
func TestAttackConfirmationAsPostcard(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	ann.Put(s.Identity+"/profile", object{"name": "Offer0 at https://evil.example"}).Want(http.StatusOK)
	victim := "victim@example.org"
	made := s.Stranger().Post(s.Transfer+"/public/mailbox/ann",
		object{"anonSender": "Offer1", "anonEmail": victim, "subject": "Offer2", "message": "Offer3"}).Want(http.StatusCreated)
	d := draft{Person: s.Stranger().As(strings.TrimPrefix(made.Header.Get("Authorization"), "Bearer ")),
		path: s.Transfer + "/reservations/" + made.String("uid")}
	d.Patch(d.path, object{"fields": object{"Offer4": "Offer5"}}).Want(http.StatusOK)
	d.Post(d.path+"/objects", object{"clientId": "Offer6", "name": "Offer7.html", "intendedSize": 5}).Want(http.StatusCreated)
	d.Put(d.path+"/objects/Offer6/content", []byte("Offer")).Want(http.StatusOK)
	d.confirm()
	m := s.Mail.Wait(t, victim, "received your files", 1)
	all := m.Subject + m.Text + m.HTML + fmt.Sprint(m.Header)
	if strings.Contains(all, "Offer") || !strings.Contains(m.Text, "1 file, 5") {
		t.Errorf("the victim reads: %s", all)
	}
}

// TestCheckedSenders: sender.verified is true for accounts, and for an uploader who states a verified address of the account that an
// access token names. A uid token, which lives for ten years, only names the account. Mails mark others.
func TestCheckedSenders(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	bob := s.SignUp("bob@example.org")
	named := bob.As(bob.As(bob.ID).Post(s.Identity+"/auth/uid", nil).Want(http.StatusOK).String("token"))
	unconfirmed := s.SignUpUnconfirmed("cid@example.org")
	for i, c := range []struct {
		by       *testkit.Person
		address  string
		verified bool
	}{
		{s.Stranger(), "bob@example.org", false}, {bob, "Bob@Example.org", true}, {named, "bob@example.org", false},
		{bob, "ann@example.com", false},
		{unconfirmed, "cid@example.org", false},
	} {
		d := reserveAs(c.by, c.address)
		done := d.Post(d.path+"/confirm", nil).Want(http.StatusOK)
		uid := done.String("uid")
		m := s.Mail.Wait(t, "ann@example.com", "/t/", i+1)
		key := m.Key(t, "/t/")
		for what, got := range map[string]any{
			"confirm": done.Value("sender.verified"), "transfer": ann.Get(s.Transfer + "/transfers/" + uid).Value("sender.verified"),
			"inbox": ann.Get(s.Transfer + "/transfers?limit=1").Value("transfers.0.sender.verified"),
			"link":  s.Stranger().Get(s.Transfer + "/public/transfers/" + key).Value("sender.verified"),
			"mail":  !strings.Contains(m.Subject, "address not checked") && !strings.Contains(m.Text, "address not checked"),
		} {
			if got != c.verified {
				t.Errorf("%d: sender.verified is %v in the %s", i, got, what)
			}
		}
	}
	sent := deliver(ann, object{"recipients": []object{to("dan@example.org")}, "message": "Hello."})
	if got := s.Stranger().Get(linkTo(s, "dan@example.org")); got.Value("sender.verified") != true {
		t.Errorf("%s", got.Body)
	}
	if got := ann.Get(sent.path); got.Value("sender.verified") != true {
		t.Errorf("%s", got.Body)
	}
}

// TestAttackDirection: no control that turns text around is in what a stranger shows to an owner.
func TestAttackDirection(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	for _, member := range []string{"subject", "anonSender"} {
		body := object{"anonSender": "Bob", "anonEmail": "bob@example.org", member: "photo\u202egpj.exe"}
		s.Stranger().Post(s.Transfer+"/public/mailbox/ann", body).WantError(fault.ErrInvalid)
	}
}

// TestAttackUIDToken: a uid token lives for ten years. It makes no sender checked, and after a reset of the password it names nobody.
// A token that cannot be used counts as none, as for GET.
func TestAttackUIDToken(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	bob := s.SignUp("bob@example.org")
	thief := bob.As(bob.As(bob.ID).Post(s.Identity+"/auth/uid", nil).Want(http.StatusOK).String("token"))
	sender := func(by *testkit.Person) (uid, verified any) {
		t.Helper()
		done := reserveAs(by, "bob@example.org")
		got := ann.Get(s.Transfer + "/transfers/" + done.Post(done.path+"/confirm", nil).Want(http.StatusOK).String("uid"))
		return got.Value("sender.uid"), got.Value("sender.verified")
	}
	if uid, verified := sender(thief); uid == nil || verified != false {
		t.Errorf("before the reset: %v, %v", uid, verified)
	}
	s.Stranger().Post(s.Identity+"/auth/reset", object{"address": "bob@example.org"}).Want(http.StatusNoContent)
	s.Stranger().Post(s.Identity+"/auth/reset/"+s.Mail.Wait(t, "bob@example.org", "/reset/", 1).Key(t, "/reset/"), nil).Want(http.StatusOK)
	if err := s.App.Identity.EndPersonSessions(t.Context(), testkit.Command, "bob@example.org"); err != nil {
		t.Fatal(err)
	}
	for name, by := range map[string]*testkit.Person{"uid token": thief, "access token": bob, "garbage": s.Stranger().As("garbage"),
		"wrong kind": bob.As(bob.ID)} {
		if uid, verified := sender(by); uid != nil || verified != false {
			t.Errorf("%s, afterwards: %v, %v", name, uid, verified)
		}
	}
}

// TestAttackMailsToAMailbox: strangers cause a bounded number of mails a day to the owner of a mailbox, and one client network a
// quarter of it. The last mail says so. Later deliveries are in the inbox, marked, and their expiry is not mailed.
func TestAttackMailsToAMailbox(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t, behindProxy(testkit.Env("CONSIGN_STRANGER_MAILS_PER_DAY", "8"))...)
	s.Clock.Advance(24*time.Hour - s.Clock.Now().Sub(s.Clock.Now().Truncate(24*time.Hour))) // a day begins
	ann.Refresh()
	mails := func(template string) (n int) {
		if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM mails WHERE recipient = $1 AND template = $2`, ann.Email,
			template).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	hand := func(client string, n int) {
		t.Helper()
		for range n {
			d := reserveAs(strangerAt(s, client), "sam@example.org")
			if got := d.Post(d.path+"/confirm", nil).Want(http.StatusOK); got.Value("unmailed") != nil {
				t.Errorf("the uploader learns of it: %s", got.Body)
			}
		}
	}
	inbox := func() (n, unmailed int) {
		list, _ := ann.Get(s.Transfer + "/transfers?location=received").Want(http.StatusOK).Value("transfers").([]any)
		for _, entry := range list {
			if one, _ := entry.(map[string]any); one["unmailed"] == true {
				unmailed++
			}
		}
		return len(list), unmailed
	}
	hand("203.0.113.7", 5)
	if n, unmailed := inbox(); n != 5 || unmailed != 3 {
		t.Errorf("%d deliveries of one client network, %d of them not mailed", n, unmailed)
	}
	for i := range 8 {
		hand(fmt.Sprintf("198.51.%d.7", i+1), 1)
	}
	if n, unmailed := inbox(); n != 13 || unmailed != 5 {
		t.Errorf("%d deliveries, %d of them not mailed", n, unmailed)
	}
	s.Mail.Wait(t, ann.Email, "sent you files", 8)
	last := slices.DeleteFunc(s.Mail.To(ann.Email), func(m testkit.Mail) bool {
		return !strings.Contains(m.Text, "may not email you about further ones")
	})
	if all := mails("transfer-delivered"); all != 8 || len(last) != 2 {
		t.Errorf("%d mails, %d of them say that they are the last", all, len(last))
	}
	s.Clock.Advance(24 * time.Hour)
	ann.Refresh()
	hand("203.0.113.7", 1)
	if n, unmailed := inbox(); n != 14 || unmailed != 5 {
		t.Errorf("on the next day: %d deliveries, %d of them not mailed", n, unmailed)
	}
	s.Clock.Advance(3*24*time.Hour + time.Minute)
	run(t, s, service.WarnExpiringJob)
	if warned := mails("transfer-expiring"); warned != 8 {
		t.Errorf("%d warnings about 13 transfers of which 8 were mailed", warned)
	}
}
