// Tests of a person's addresses and their verification.

package handler_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

func TestConfirmRaisesLevel(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUpUnconfirmed("ann@example.com")
	elsewhere := ann.Login()
	before := claimsOf(t, ann.ID)
	key := s.Mail.Wait(t, "ann@example.com", "/confirm/", 1).Key(t, "/confirm/")

	// Opening the page of the link leaves the key as it is.
	s.Stranger().Get("/confirm/" + key).Want(http.StatusOK)
	resp := ann.Post(s.Identity+"/confirm/"+key, nil).Want(http.StatusNoContent)
	ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).Want(http.StatusUnauthorized)
	ann.ID = strings.TrimPrefix(resp.Header.Get("Authorization"), "Bearer ")
	after := claimsOf(t, ann.ID)
	if after["authLevel"] != 1.0 || after["email_verified"] != true || after["sid"] != before["sid"] ||
		after["auth_time"] != before["auth_time"] {
		t.Errorf("from %v to %v", before, after)
	}
	if life := after["exp"].(float64) - after["iat"].(float64); life != 30*86400 {
		t.Errorf("the full token lives %v s", life)
	}
	ann.Refresh()
	if p := ann.Get(s.Identity + "/profile").Want(http.StatusOK); p.Value("emails.0.verified") != true || p.Value("emails.0.removeAt") != nil {
		t.Errorf("profile is %s", p.Body)
	}
	s.Clock.Advance(time.Minute)
	ann.Post(s.Identity+"/confirm/"+key, nil).WantError(identity.ErrKeyNotFound)

	upgraded := elsewhere.As(elsewhere.ID).Post(s.Identity+"/auth/upgrade", nil).Want(http.StatusOK)
	if c := claimsOf(t, upgraded.String("token")); c["authLevel"] != 1.0 || c["exp"].(float64)-c["iat"].(float64) != 30*86400 {
		t.Errorf("another session was upgraded to %v", c)
	}
}

func TestConfirmRefuses(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUpUnconfirmed("ann@example.com"), s.SignUp("bob@example.com")
	key := s.Mail.Wait(t, "ann@example.com", "/confirm/", 1).Key(t, "/confirm/")
	s.Stranger().Post(s.Identity+"/confirm/"+key, nil).Want(http.StatusUnauthorized)
	ann.As(ann.ID).Post(s.Identity+"/confirm/"+key, nil).Want(http.StatusUnauthorized)
	s.Clock.Advance(time.Minute)
	bob.Post(s.Identity+"/confirm/"+key, nil).WantError(identity.ErrKeyNotFound)
	ann.Post(s.Identity+"/confirm/nonsense", nil).WantError(identity.ErrKeyNotFound)

	refused := ann.Post(s.Identity+"/confirm/"+key, nil).WantError(identity.ErrEmailTooOften)
	if refused.Header.Get("Retry-After") != "60" || !strings.HasSuffix(refused.Details(), "\nretry later") {
		t.Errorf("refused with %v, %s", refused.Header, refused.Body)
	}
	s.Clock.Advance(24 * time.Hour)
	ann = ann.Login()
	ann.Post(s.Identity+"/confirm/"+key, nil).WantError(identity.ErrKeyNotFound)
}

// TestMailsToOneAddressAreLimited: the mails that a person can trigger to one address are limited, across adding, removing
// and inviting it.
func TestMailsToOneAddressAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const victim = "victim@example.com"
	adds, invites := 0, 0
	for range 15 {
		if w.ann.Post(w.s.Identity+"/profile/emails", map[string]any{"address": "Victim@example.com"}).Status == http.StatusCreated {
			adds++
			w.ann.Delete(w.s.Identity + "/profile/emails/" + victim).Want(http.StatusNoContent)
		}
		if w.ann.Post(w.acme.path+"/invitations", map[string]any{"address": victim, "roles": []string{}}).Status == http.StatusCreated {
			invites++
		}
	}
	if adds+invites != 10 {
		t.Errorf("%d additions and %d invitations were mailed, want 10 in all", adds, invites)
	}
	w.ann.Post(w.s.Identity+"/profile/emails", map[string]any{"address": victim}).WantError(fault.ErrOverloaded)
	own := w.ann.Post(w.s.Identity+"/profile/emails", map[string]any{"address": "own@example.com"}).Want(http.StatusCreated)
	if limit := own.Header.Get("X-RateLimit-Limit"); limit != "100" {
		t.Errorf("X-RateLimit-Limit is %s, want that of all addresses", limit)
	}
	w.bob.Post(w.s.Identity+"/profile/emails", map[string]any{"address": victim}).Want(http.StatusCreated)
	w.s.Clock.Advance(time.Minute)
	w.ann.Post(w.acme.path+"/invitations", map[string]any{"address": victim, "roles": []string{}}).Want(http.StatusCreated)
}

func TestRequestVerification(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUpUnconfirmed("ann@example.com"), s.SignUp("bob@example.com")
	verify := s.Identity + "/profile/emails/ann%40example.com/verify"
	first := s.Mail.Wait(t, "ann@example.com", "/confirm/", 1).Key(t, "/confirm/")
	ann.Post(verify, nil).Want(http.StatusNoContent)
	second := s.Mail.Wait(t, "ann@example.com", "/confirm/", 2).Key(t, "/confirm/")
	refused := ann.Post(verify, nil).WantError(identity.ErrEmailTooOften)
	if refused.Header.Get("Retry-After") != "60" || refused.Header.Get("X-RateLimit-Limit") != "1" {
		t.Errorf("headers are %v", refused.Header)
	}
	bob.Post(verify, nil).WantError(identity.ErrAddressNotFound)
	ann.Post(s.Identity+"/confirm/"+first, nil).WantError(identity.ErrKeyNotFound)
	s.Clock.Advance(time.Minute)
	ann.Post(s.Identity+"/confirm/"+second, nil).Want(http.StatusNoContent)
	ann.Post(strings.Replace(verify, "ann", "ANN", 1), nil).Want(http.StatusNoContent)
	s.Clock.Advance(time.Minute)
	ann.Post(s.Identity+"/profile/emails/nonsense/verify", nil).WantError(identity.ErrAddressNotFound)
	if n := len(s.Mail.To("ann@example.com")); n != 2 {
		t.Errorf("%d mails were sent, want none to the verified address", n)
	}
}

// addEmail adds an address. It returns the key in the mail to it.
func addEmail(t testing.TB, p *testkit.Person, address string) (key string) {
	t.Helper()
	s := p.Server
	before := 0
	for _, m := range s.Mail.To(address) {
		if strings.Contains(m.Text, "/confirm/") {
			before++
		}
	}
	p.Post(s.Identity+"/profile/emails", map[string]any{"address": address}).Want(http.StatusCreated)
	return s.Mail.Wait(t, address, "/confirm/", before+1).Key(t, "/confirm/")
}

// confirm confirms an address with the key of its mail.
func confirm(p *testkit.Person, key string) *testkit.Response {
	p.Server.Clock.Advance(time.Minute)
	return p.Post(p.Server.Identity+"/confirm/"+key, nil)
}

func TestEmails(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	emails := s.Identity + "/profile/emails"
	resp := ann.Post(emails, map[string]any{"address": "Ann+2@Example.ORG", "primary": true, "verified": true}).Want(http.StatusCreated)
	removeAt := strings.Replace(s.Clock.Now().Add(7*24*time.Hour).Format("2006-01-02T15:04:05.000-07:00"), "Z", "+00:00", 1)
	if resp.String("address") != "ann+2@example.org" || resp.Value("primary") != false || resp.Value("verified") != false ||
		resp.String("removeAt") != removeAt {
		t.Errorf("the address is %s", resp.Body)
	}
	if got := resp.Header.Get("Location"); got != s.URL+emails+"/ann+2@example.org" {
		t.Errorf("Location is %q", got)
	}
	told := s.Mail.Wait(t, "ann@example.com", "ann+2@example.org", 1)
	if !strings.Contains(told.Subject, "address was added") || strings.Contains(told.Text, "/confirm/") {
		t.Errorf("the mail to the primary address is %q:\n%s", told.Subject, told.Text)
	}
	second := emails + "/ann%2B2%40example.org"
	ann.Post(second+"/primary", nil).WantError(identity.ErrAddressNotVerified)
	confirm(bob, s.Mail.Wait(t, "ann+2@example.org", "/confirm/", 1).Key(t, "/confirm/")).WantError(identity.ErrKeyNotFound)
	resp = confirm(ann, s.Mail.Wait(t, "ann+2@example.org", "/confirm/", 1).Key(t, "/confirm/")).Want(http.StatusNoContent)
	if bearer(resp) != "" {
		t.Error("confirming a secondary address returned a new token")
	}
	ann.Post(second+"/primary", nil).Want(http.StatusNoContent)
	ann.Post(second+"/primary", nil).Want(http.StatusNoContent)
	list := ann.Get(emails).Want(http.StatusOK)
	if list.String("emails.0.address") != "ann+2@example.org" || list.Value("emails.0.primary") != true ||
		list.Value("emails.0.removeAt") != nil ||
		list.Value("emails.1.primary") != false || list.Value("emails.1.verified") != true || len(list.Value("emails").([]any)) != 2 {
		t.Errorf("addresses are %s", list.Body)
	}
	ann.Delete(second).WantError(identity.ErrPrimaryAddress)
	ann.Delete(emails + "/ANN@example.com").Want(http.StatusNoContent)
	ann.Delete(emails + "/ann@example.com").WantError(identity.ErrAddressNotFound)
	s.Stranger().Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).WantError(identity.ErrCredentials)
	s.Stranger().Post(s.Identity+"/auth/login", credentials("ann+2@example.org", "bcrypt", testkit.Password)).Want(http.StatusOK)

	for _, call := range []func(path string) *testkit.Response{ann.Delete,
		func(path string) *testkit.Response { return ann.Post(path+"/primary", nil) }} {
		call(emails + "/bob@example.com").WantError(identity.ErrForeignAddress)
		call(emails + "/nobody@example.com").WantError(identity.ErrAddressNotFound)
		call(emails + "/nonsense").WantError(identity.ErrAddressNotFound)
	}
	for _, body := range []map[string]any{{}, {"address": nil}, {"address": 1}, {"address": ""}, {"address": "x"},
		{"address": "a@b@example.com"}} {
		ann.With("Content-Type", "application/json").Post(emails, body).WantError(fault.ErrInvalid)
	}
	refused := ann.Post(emails, map[string]any{"address": "BOB@example.com"}).WantError(identity.ErrAddressInUse)
	if refused.String("error.message") != "The data could not be stored." {
		t.Errorf("refused with %s", refused.Body)
	}
	ann.Post(emails, map[string]any{"address": "ann+2@example.org"}).WantError(identity.ErrAddressInUse)
	open := s.SignUpUnconfirmed("eve@example.com")
	open.Get(emails).Want(http.StatusOK)
	open.Post(emails, map[string]any{"address": "eve2@example.com"}).WantError(token.ErrUnverified)
}

// TestAttackPendingAddress: an address that somebody has added without verifying it keeps its owner from nothing. The first who verifies it
// wins.
func TestAttackPendingAddress(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	mallory, ann := s.SignUp("mallory@example.com"), s.SignUp("ann@example.com")
	held := s.Identity + "/profile/emails"
	for _, victim := range []string{"vic@example.com", "ann@example.org"} {
		mallory.Post(held, map[string]any{"address": victim}).Want(http.StatusCreated)
	}
	thief := s.Mail.Wait(t, "ann@example.org", "/confirm/", 1).Key(t, "/confirm/") // as if she could read it
	vic := s.Stranger().Post(s.Identity+"/signup", map[string]any{"address": "vic@example.com", "password": testkit.Password}).
		Want(http.StatusOK)
	if vic.String("token") == "" {
		t.Error("no session")
	}
	confirm(ann, addEmail(t, ann, "ann@example.org")).Want(http.StatusNoContent)
	confirm(mallory, thief).WantError(identity.ErrKeyNotFound)
	ann.Post(held, map[string]any{"address": "ann@example.org"}).WantError(identity.ErrAddressInUse)
	if list := string(mallory.Get(held).Body); strings.Contains(list, "ann@example.org") {
		t.Errorf("mallory holds %s", list)
	}
	key := s.Mail.Wait(t, "vic@example.com", "/confirm/", 2).Key(t, "/confirm/")
	owner := &testkit.Person{Server: s, ID: vic.String("token"), Header: http.Header{}}
	owner.Refresh()
	confirm(owner, key).Want(http.StatusNoContent)
	mallory.Refresh()
	if list := string(mallory.Get(held).Body); strings.Contains(list, "vic@example.com") {
		t.Errorf("mallory holds %s", list)
	}
}

func TestStrictEnumerationHidesAddresses(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_ENUMERATION", "strict"))
	ann := s.SignUp("ann@example.com")
	s.SignUp("bob@example.com")
	ann.Delete(s.Identity + "/profile/emails/bob@example.com").WantError(identity.ErrAddressNotFound)
	ann.Post(s.Identity+"/profile/emails/bob@example.com/primary", nil).WantError(identity.ErrAddressNotFound)
}

func TestTenAddresses(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	emails := s.Identity + "/profile/emails"
	var calls []func() (*testkit.Response, error)
	for i := range 30 {
		calls = append(calls, func() (*testkit.Response, error) {
			return ann.Try(t.Context(), "POST", emails, map[string]any{"address": fmt.Sprintf("ann%d@example.org", i)})
		})
	}
	statuses := parallel(t, calls...)
	if n := len(ann.Get(emails).Value("emails").([]any)); statuses[http.StatusCreated] != 9 || statuses[http.StatusForbidden] != 21 ||
		n != 10 {
		t.Errorf("answers are %v, %d are there", statuses, n)
	}
	ann.Post(emails, map[string]any{"address": "more@example.org"}).WantError(identity.ErrTooManyAddresses)
}

// TestOnePrimary: while addresses are made primary and deleted in parallel, every list has one primary address.
func TestOnePrimary(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "off"))
	ann := s.SignUp("ann@example.com")
	emails := s.Identity + "/profile/emails"
	addresses := []string{"ann@example.com", "ann1@example.com", "ann2@example.com"}
	for _, a := range addresses[1:] {
		confirm(ann, addEmail(t, ann, a)).Want(http.StatusNoContent)
		ann.Refresh()
	}
	done := make(chan struct{})
	for i := range 50 {
		go func() {
			defer func() { done <- struct{}{} }()
			address := addresses[i%3]
			resp, err := ann.Try(t.Context(), "POST", emails+"/"+address+"/primary", nil)
			if err != nil || resp.Status != http.StatusNoContent {
				t.Errorf("primary: %v, %v", resp, err)
			}
			list, err := ann.Try(t.Context(), "GET", emails, nil)
			if err != nil || strings.Count(string(list.Body), `"primary":true`) != 1 {
				t.Errorf("addresses are %s, %v", list.Body, err)
			}
		}()
	}
	for range 50 {
		<-done
	}
	if n := strings.Count(string(ann.Get(emails).Body), `"primary":true`); n != 1 {
		t.Errorf("%d addresses are primary", n)
	}
}

// TestPrimaryRemovalRace: when an address is made primary and removed in parallel, one of the two succeeds.
func TestPrimaryRemovalRace(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	emails := s.Identity + "/profile/emails"
	for i := range 5 {
		address := fmt.Sprintf("ann%d@example.com", i)
		confirm(ann, addEmail(t, ann, address)).Want(http.StatusNoContent)
		statuses := parallel(t,
			func() (*testkit.Response, error) {
				return ann.Try(t.Context(), "POST", emails+"/"+address+"/primary", nil)
			},
			func() (*testkit.Response, error) { return ann.Try(t.Context(), "DELETE", emails+"/"+address, nil) },
		)
		if statuses[http.StatusNoContent] != 1 || statuses[http.StatusForbidden]+statuses[http.StatusNotFound] != 1 {
			t.Errorf("statuses are %v", statuses)
		}
		if list := ann.Get(emails).Want(http.StatusOK); strings.Count(string(list.Body), `"primary":true`) != 1 {
			t.Errorf("addresses are %s", list.Body)
		}
		ann.Refresh()
	}
}

// TestSameAddressInParallel: of many people who verify one address in parallel, one succeeds, and the others lose it.
func TestSameAddressInParallel(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	const people = 8
	var calls []func() (*testkit.Response, error)
	crowd := make([]*testkit.Person, people)
	for i := range crowd {
		crowd[i] = s.SignUp(fmt.Sprintf("p%d@example.com", i))
		key := addEmail(t, crowd[i], "shared@example.com")
		calls = append(calls, func() (*testkit.Response, error) {
			return crowd[i].Try(t.Context(), "POST", s.Identity+"/confirm/"+key, nil)
		})
	}
	s.Clock.Advance(time.Minute)
	if statuses := parallel(t, calls...); statuses[http.StatusNoContent] != 1 || statuses[http.StatusNotFound] != people-1 {
		t.Errorf("answers are %v", statuses)
	}
	holders := 0
	for _, p := range crowd {
		if strings.Contains(string(p.Get(s.Identity+"/profile/emails").Body), "shared@example.com") {
			holders++
		}
	}
	if holders != 1 {
		t.Errorf("%d people have the address", holders)
	}
}

// TestAddressGoesToVerifier: of two people with one unverified address, the one who verifies it first gets it.
func TestAddressGoesToVerifier(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	mallory := s.SignUpUnconfirmed("ann@example.org")
	theirs := s.Mail.Wait(t, "ann@example.org", "/confirm/", 1).Key(t, "/confirm/")
	mine := addEmail(t, ann, "ann@example.org")
	confirm(ann, mine).Want(http.StatusNoContent)
	poll.Until(t, "the end of who had not proved it",
		func() bool { return mallory.Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	mallory.As(mallory.ID).Post(s.Identity+"/auth/access", nil).Want(http.StatusUnauthorized)
	confirm(ann, theirs).WantError(identity.ErrKeyNotFound)
	s.Stranger().Post(s.Identity+"/auth/login", credentials("ann@example.org", "bcrypt", testkit.Password)).Want(http.StatusOK)

	// The other way round: who signed up proves it first, and the address that was only added goes.
	late := addEmail(t, ann, "new@example.org")
	s.Clock.Advance(2 * time.Hour)
	ann = ann.Login()
	owner := s.SignUpUnconfirmed("new@example.org")
	confirm(owner, s.Mail.Wait(t, "new@example.org", "/confirm/", 2).Key(t, "/confirm/")).Want(http.StatusNoContent)
	confirm(ann, late).WantError(identity.ErrKeyNotFound)
	if list := ann.Get(s.Identity + "/profile/emails"); strings.Contains(string(list.Body), "new@example.org") {
		t.Errorf("addresses are %s", list.Body)
	}
	s.Stranger().Post(s.Identity+"/auth/login", credentials("new@example.org", "bcrypt", testkit.Password)).Want(http.StatusOK)
}

func TestUnverifiedAddressIsRemoved(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	addEmail(t, ann, "ann@example.org")
	s.Clock.Advance(7*24*time.Hour - time.Minute)
	run := func() int {
		if err := s.App.Jobs.RunOnce(t.Context(), service.AddressesJob); err != nil {
			t.Fatal(err)
		}
		ann.Refresh()
		return len(ann.Get(s.Identity + "/profile/emails").Want(http.StatusOK).Value("emails").([]any))
	}
	if n := run(); n != 2 {
		t.Errorf("a minute before, %d addresses are there", n)
	}
	s.Clock.Advance(time.Minute)
	if n := run(); n != 1 {
		t.Errorf("at removeAt, %d addresses are there", n)
	}
	addEmail(t, s.SignUp("bob@example.com"), "ann@example.org")
}

func TestAddressMailLocale(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Identity+"/profile", map[string]any{"locale": "de_DE"}).Want(http.StatusOK)
	addEmail(t, ann, "ann@example.org")
	if m := s.Mail.Wait(t, "ann@example.com", "ann@example.org", 1); !strings.Contains(m.Subject, "E-Mail") {
		t.Errorf("the subject is %q", m.Subject)
	}
	if m := s.Mail.Wait(t, "ann@example.org", "/confirm/", 1); !strings.Contains(m.Subject, "E-Mail") {
		t.Errorf("the subject is %q", m.Subject)
	}
}
