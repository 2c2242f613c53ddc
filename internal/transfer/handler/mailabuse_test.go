package handler_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
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
		want error
	}{
		"message to two":        {object{"recipients": recipients("a", 2), "message": "Buy."}, transfer.ErrMessageToMany},
		"fields to two":         {object{"recipients": recipients("b", 2), "fields": object{"offer": "Buy."}}, transfer.ErrMessageToMany},
		"nothing to one":        {object{"recipients": recipients("c", 1)}, transfer.ErrUnconfirmable},
		"subject to one":        {object{"recipients": recipients("d", 1), "subject": "Buy."}, transfer.ErrUnconfirmable},
		"white space to one":    {object{"recipients": recipients("e", 1), "message": " \n\t", "fields": object{"offer": " "}}, transfer.ErrUnconfirmable},
		"subject to two":        {object{"recipients": recipients("f", 2), "subject": "Buy."}, transfer.ErrUnconfirmable},
		"message to one":        {object{"recipients": recipients("g", 1), "message": "Hello."}, nil},
		"fields to one":         {object{"recipients": recipients("h", 1), "fields": object{"floor": "3"}}, nil},
		"drop without contents": {object{}, nil},
	} {
		d, _ := begin(ann, c.body)
		got := d.Post(d.path+"/confirm", nil)
		switch c.want {
		case transfer.ErrMessageToMany:
			got.WantError(transfer.ErrMessageToMany)
		case transfer.ErrUnconfirmable:
			got.WantError(transfer.ErrUnconfirmable)
			if got.Details() != "objects: at least one is required, or for a single recipient a message or fields" {
				t.Errorf("%s: %s", name, got.Details())
			}
		default:
			got.Want(http.StatusOK)
		}
	}
	d, _ := begin(ann, object{"recipients": recipients("i", 2), "message": "Both sheets."})
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
	s := testkit.New(t, testkit.Env("CONSIGN_RECIPIENTS_PER_DAY", "9"), testkit.Env("CONSIGN_YOUNG_RECIPIENTS_PER_DAY", "5"), testkit.Env("CONSIGN_YOUNG_ACCOUNT", "3d"))
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
	theirs.send("a", nil)
	theirs.confirm()
	drop, _ := begin(ann, nil)
	drop.confirm() // a link has no recipients

	six, _ := begin(ann, object{"recipients": recipients("six", 6)})
	six.send("a", nil)
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
	nine.send("a", nil)
	nine.confirm()
	ann.Post(s.Transfer+"/reservations", object{"recipients": recipients("ten", 10)}).WantError(transfer.ErrTooManyRecipients)
}
