// Tests of suspensions: everything a person has ends at once on every replica, and no answer tells whether a password is right.

package handler_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// linkDelivered delivers one file to an address, and returns the API path of the link in the mail and of the file.
func linkDelivered(t *testing.T, from *testkit.Person, to, subject string, content []byte) (link, file string) {
	t.Helper()
	s := from.Server
	made := from.Post(s.Transfer+"/reservations", map[string]any{
		"subject": subject, "recipients": []map[string]any{{"email": to, "destinationType": "to"}}}).Want(http.StatusCreated)
	at := s.Transfer + "/reservations/" + made.String("uid")
	from.Post(at+"/objects", map[string]any{"clientId": "a", "name": "a.bin", "intendedSize": len(content)}).Want(http.StatusCreated)
	from.Put(at+"/objects/a/content", content).Want(http.StatusOK)
	from.Post(at+"/confirm", nil).Want(http.StatusOK)
	link = s.Transfer + "/public/transfers/" + s.Mail.Wait(t, to, subject, 1).Key(t, "/t/")
	return link, link + "/objects/" + opened(s, link).Get(link).Want(http.StatusOK).String("objects.0.uid") + "/content"
}

// opened returns the holder of a link's download token.
func opened(s *testkit.Server, link string) *testkit.Person {
	return s.Stranger().As(s.Stranger().Post(link+"/access", map[string]any{}).Want(http.StatusOK).String("token"))
}

// ending reports when an answer's body ends. With slow, it is read in small parts.
func ending(t *testing.T, p *testkit.Person, path string, slow bool) <-chan time.Time {
	t.Helper()
	answer, err := p.Open(t.Context(), "GET", path, nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v, %v", path, answer, err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	ended := make(chan time.Time, 1)
	go func() {
		var err error
		for part := make([]byte, 16<<10); err == nil; {
			if _, err = answer.Body.Read(part); slow {
				<-time.After(10 * time.Millisecond)
			}
		}
		if slow && err == io.EOF {
			return // it went on to the end
		}
		ended <- time.Now()
	}()
	return ended
}

// TestSuspensionEndsEverything: of a person who is suspended at one replica, sessions, API tokens, a stream, downloads, uploads, links and
// the mailbox end at another one within a second. Reactivated, the person has the account, links and mailbox back.
func TestSuspensionEndsEverything(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	second := testkit.New(t, testkit.Beside(first))
	ann, bob := first.SignUp("ann@example.com"), first.SignUp("bob@example.com")
	mailbox := first.Transfer + "/public/mailbox/ann"
	ann.Put(first.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	program, _ := apiToken(ann, map[string]any{"name": "reads", "scopes": []string{"transfers:read"}})
	big := bytes.Repeat([]byte("x-ray "), 12<<20)
	sent, file := linkDelivered(t, ann, "cid@example.org", "Of Ann", big)
	received, _ := linkDelivered(t, bob, "ann@example.com", "For Ann", []byte("hello"))
	other, _ := linkDelivered(t, bob, "cid@example.org", "Of Bob", []byte("hello"))

	cid := opened(second, sent).At(second)
	streamed := ending(t, ann.At(second), first.Identity+"/events", false)
	downloaded := ending(t, cid, file, true)
	uploads := make(chan upload, 2)
	stranger := second.Stranger().Post(mailbox, map[string]any{"anonSender": "Sam"}).Want(http.StatusCreated)
	own := ann.At(second).Post(first.Transfer+"/reservations", map[string]any{"subject": "x"}).Want(http.StatusCreated)
	paths := []string{first.Transfer + "/reservations/" + stranger.String("uid"), first.Transfer + "/reservations/" + own.String("uid")}
	sam := second.Stranger().As(bearer(stranger))
	stalledUpload(t, sam, paths[0], "of-sam", uploads)
	stalledUpload(t, second.Stranger().As(bearer(own)), paths[1], "of-ann", uploads)

	out := time.Now()
	if err := first.App.Identity.SuspendPerson(t.Context(), testkit.Command, "ann@example.com"); err != nil {
		t.Fatal(err)
	}
	for what, ended := range map[string]<-chan time.Time{"stream": streamed, "download": downloaded} {
		select {
		case at := <-ended:
			if took := at.Sub(out); took > 2*revocationLimit && what == "stream" { // buffers on the way hold seconds of the download
				t.Errorf("the %s ended after %v", what, took)
			}
		case <-time.After(20 * time.Second): // all of the download takes 45
			t.Errorf("the %s was not ended", what)
		}
	}
	for range 2 {
		select {
		case u := <-uploads:
			if took := u.at.Sub(out); took > 2*revocationLimit || u.status != http.StatusNotFound {
				t.Errorf("an upload ended after %v with %d, %v", took, u.status, u.err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("an upload was not ended")
		}
	}
	gone := func(what string, p *testkit.Person, path string, status int) {
		t.Helper()
		poll.Until(t, what, func() bool { return p.At(second).Get(path).Status == status })
	}
	gone("the access token ends", ann, first.Transfer+"/transfers", http.StatusUnauthorized)
	gone("the API token ends", program, first.Transfer+"/transfers", http.StatusUnauthorized)
	gone("the sent link ends", cid, sent, http.StatusNotFound)
	gone("the received link ends", second.Stranger(), received, http.StatusNotFound)
	gone("the reservation ends", sam, paths[0], http.StatusNotFound)
	poll.Until(t, "the mailbox closes", func() bool {
		return second.Stranger().Get(mailbox).String("unavailableReason") == "notAvailable"
	})
	if took := time.Since(out); took > 10*revocationLimit { // many requests one after the other; test-cluster measures the second
		t.Errorf("all of it took %v", took)
	}
	second.Stranger().Post(mailbox, map[string]any{"anonSender": "Sam"}).WantError(transfer.ErrServiceDisabled)
	second.Stranger().Post(sent+"/access", map[string]any{}).Want(http.StatusNotFound)
	cid.Get(file).Want(http.StatusNotFound)
	sam.Post(paths[0]+"/confirm", nil).WantError(transfer.ErrNotFound)
	ann.As(ann.ID).Post(first.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	ann.As(ann.ID).Post(first.Identity+"/auth/upgrade", nil).WantError(token.ErrEnded)
	opened(second, other).Get(other).Want(http.StatusOK)
	bob.At(second).Get(first.Transfer + "/transfers").Want(http.StatusOK)

	for range 2 { // the second time it changes nothing
		if err := second.App.Identity.ReactivatePerson(t.Context(), testkit.Command, "ann@example.com"); err != nil {
			t.Fatal(err)
		}
	}
	ann.Login().At(second).Get(first.Transfer + "/transfers").Want(http.StatusOK)
	ann.As(ann.ID).Post(first.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	program.Get(first.Transfer + "/transfers").WantError(token.ErrInvalid)
	opened(first, sent).Get(file).Want(http.StatusOK)
	opened(first, received).Get(received).Want(http.StatusOK)
	poll.Until(t, "the mailbox opens", func() bool { return second.Stranger().Get(mailbox).Value("available") == true })
	sam.Get(paths[0]).Want(http.StatusOK)
	for _, action := range []string{"person.suspend", "person.reactivate"} {
		entries, err := audit.List(t.Context(), first.App.DB.Pool, audit.Filter{Action: action})
		if err != nil || len(entries) != 1 || entries[0].Target != uid(t, ann.ID) {
			t.Errorf("%s: %+v, %v", action, entries, err)
		}
	}
}

// TestAttackSuspendedPassword: right and wrong password of a suspended person are answered alike, whatever the person signs in with, and
// nothing that was begun before or is mailed since leads to a session.
func TestAttackSuspendedPassword(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	code := withTOTP(t, s, bob)
	key := newKey(s)
	eve := s.SignUp("eve@example.com")
	addPasskey(t, eve, key, "Laptop")
	parked := ann.Login()
	pickup := parked.As(parked.ID).Post(s.Identity+"/auth/park?redirect_uri="+url.QueryEscape(s.URL+"/"), nil).Want(http.StatusOK)
	pending := firstStep(s, "bob@example.com")
	d := beginDevice(s)
	ann.Post(s.Identity+"/device/"+d.user+"/approve", nil).Want(http.StatusNoContent)
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
	before := s.Mail.Wait(t, "ann@example.com", "/reset/", 1).Key(t, "/reset/")
	name := ann.As(ann.ID).Post(s.Identity+"/auth/uid", nil).Want(http.StatusOK).String("token")
	signed := key.Get(t, passkeyOptions(s.Stranger()))
	for _, who := range []string{"ann", "bob", "eve"} {
		if err := s.App.Identity.SuspendPerson(t.Context(), testkit.Command, who+"@example.com"); err != nil {
			t.Fatal(err)
		}
	}
	pending.Post(s.Identity+"/auth/login", credentials("bob@example.com", "totp", code())).WantError(identity.ErrMFAToken)
	passkeyLogin(s.Stranger(), signed).WantError(identity.ErrCredentials)
	s.Stranger().As(pickup.String("token")).Get(s.Identity + "/auth/park").WantError(identity.ErrNothingParked)
	s.Clock.Advance(identity.DeviceLoginPoll)
	if e, got := d.poll(); e != "access_denied" {
		t.Errorf("the program got %s %s", e, got.Body)
	}
	login := func(email, password string) *testkit.Response {
		s.Clock.Advance(time.Minute) // fills the bucket of logins
		return s.Stranger().Post(s.Identity+"/auth/login", credentials(email, "bcrypt", password))
	}
	for _, email := range []string{"ann@example.com", "bob@example.com", "eve@example.com"} {
		right, wrong := login(email, testkit.Password), login(email, "nothing like it")
		right.WantError(identity.ErrCredentials)
		if !bytes.Equal(right.Body, wrong.Body) || right.Status != wrong.Status {
			t.Errorf("%s: the right password answers %s, a wrong one %s", email, right.Body, wrong.Body)
		}
	}
	s.Stranger().Post(s.Identity+"/auth/reset/"+before, nil).WantError(identity.ErrKeyNotFound)
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
	after := s.Mail.Wait(t, "ann@example.com", "/reset/", 2).Key(t, "/reset/")
	s.Stranger().Post(s.Identity+"/auth/reset/"+after, nil).WantError(identity.ErrKeyNotFound)
	bobs := s.SignUp("cid@example.com")
	bobs.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "cid"}).Want(http.StatusCreated)
	made := s.Stranger().As(name).Post(s.Transfer+"/public/mailbox/cid", map[string]any{"anonSender": "Ann"}).Want(http.StatusCreated)
	var named bool
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT sender IS NOT NULL FROM transfer.reservations WHERE uid = $1`,
		made.String("uid")).Scan(&named); err != nil || named {
		t.Errorf("the uid token names a suspended person: %t, %v", named, err)
	}
	exists := func(email string) string {
		return string(s.Stranger().Post(s.Identity+"/auth/exists", map[string]any{"address": email}).Body)
	}
	if exists("ann@example.com") != exists("cid@example.com") {
		t.Errorf("exists tells: %s", exists("ann@example.com"))
	}
}

// TestAttackSuspendedFederation: a person of an external provider gets no session while suspended.
func TestAttackSuspendedFederation(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	ann := a.login("ann@example.com", nil)
	if err := a.App.Identity.SuspendPerson(t.Context(), testkit.Command, uid(t, ann.ID).String()); err != nil {
		t.Fatal(err)
	}
	a.implicit(a.token("ann@example.com", nil)).WantError(identity.ErrExternalToken)
	if err := a.App.Identity.ReactivatePerson(t.Context(), testkit.Command, uid(t, ann.ID).String()); err != nil {
		t.Fatal(err)
	}
	a.login("ann@example.com", nil).Get(a.Identity + "/profile").Want(http.StatusOK)
}

// TestAttackSuspendedInParallel: of logins beside a suspension none leaves a session.
func TestAttackSuspendedInParallel(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	for range 5 {
		s.Clock.Advance(time.Hour) // fills the bucket of logins
		var all sync.WaitGroup
		tokens := make([]string, 2)
		for i := range tokens {
			all.Go(func() {
				got, err := s.Stranger().Try(t.Context(), "POST", s.Identity+"/auth/login", credentials(ann.Email, "bcrypt", testkit.Password))
				switch {
				case err != nil:
					t.Error(err)
				case got.Status == http.StatusOK:
					tokens[i] = got.String("token")
				case got.Status != http.StatusUnauthorized:
					t.Errorf("a login answers %d: %s", got.Status, got.Body)
				}
			})
		}
		if err := s.App.Identity.SuspendPerson(t.Context(), testkit.Command, ann.Email); err != nil {
			t.Error(err)
		}
		all.Wait()
		for _, raw := range tokens {
			if raw != "" {
				s.Stranger().As(raw).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
			}
		}
		if err := s.App.Identity.ReactivatePerson(t.Context(), testkit.Command, ann.Email); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSuspendedMailbox: a suspended mailbox takes nothing, also when its owner makes it anew; the owner keeps session and transfers.
func TestSuspendedMailbox(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	second := testkit.New(t, testkit.Beside(first))
	ann := first.SignUp("ann@example.com")
	owner := uid(t, ann.ID)
	mailbox := first.Transfer + "/public/mailbox/ann"
	put := func() { ann.Put(first.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}) }
	put()
	made := second.Stranger().Post(mailbox, map[string]any{"anonSender": "Sam"}).Want(http.StatusCreated)
	path, sam := first.Transfer+"/reservations/"+made.String("uid"), second.Stranger().As(bearer(made))
	uploads := make(chan upload, 1)
	stalledUpload(t, sam, path, "a", uploads)
	out := time.Now()
	change := func(do func(context.Context) error) {
		t.Helper()
		if err := do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	suspend := func(ctx context.Context) error { return first.App.Transfer.SuspendMailbox(ctx, testkit.Command, owner) }
	change(suspend)
	change(suspend)
	select {
	case u := <-uploads:
		if took := u.at.Sub(out); took > 2*revocationLimit || u.status != http.StatusNotFound {
			t.Errorf("the upload ended after %v with %d, %v", took, u.status, u.err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the upload was not ended")
	}
	closed := func() bool { return second.Stranger().Get(mailbox).String("unavailableReason") == "notAvailable" }
	poll.Until(t, "the mailbox closes", closed)
	sam.Get(path).WantError(transfer.ErrNotFound)
	sam.Post(path+"/confirm", nil).WantError(transfer.ErrNotFound)
	ann.Get(first.Transfer + "/transfers").Want(http.StatusOK)
	if got := ann.Get(first.Transfer + "/mailbox").Want(http.StatusOK); got.String("unavailableReason") != "notAvailable" {
		t.Errorf("the owner sees %s", got.Body)
	}
	ann.Delete(first.Transfer + "/mailbox").Want(http.StatusNoContent)
	put()
	poll.Until(t, "the new mailbox is closed", closed)
	change(func(ctx context.Context) error {
		return second.App.Transfer.ReactivateMailbox(ctx, testkit.Command, owner)
	})
	poll.Until(t, "the mailbox opens", func() bool { return second.Stranger().Get(mailbox).Value("available") == true })
	second.Stranger().Post(mailbox, map[string]any{"anonSender": "Sam"}).Want(http.StatusCreated)
}
