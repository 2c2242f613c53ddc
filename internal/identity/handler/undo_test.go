// Tests of the link that undoes a change of an account.

package handler_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	identityservice "github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

const week = 7 * 24 * time.Hour

const annsAddress, evilAddress = "ann@example.com", "evil@example.com"

// takeover is Ann's account in the hands of somebody else, and the mails about it.
type takeover struct {
	*testkit.Server
	t    *testing.T
	hand *testkit.Person // the person who has a session
}

func newTakeover(t *testing.T) *takeover {
	t.Helper()
	s := testkit.New(t)
	ann := s.SignUp(annsAddress)
	s.Clock.Advance(week)
	return &takeover{s, t, ann.Login()}
}

// email is the path of an address.
func (w *takeover) email(address string) string { return w.Identity + "/profile/emails/" + address }

// add adds a verified address.
func (w *takeover) add(address string) {
	w.t.Helper()
	w.hand.Post(w.Identity+"/profile/emails", map[string]any{"address": address}).Want(http.StatusCreated)
	key := w.Mail.Wait(w.t, address, "/confirm/", 1).Key(w.t, "/confirm/")
	w.Clock.Advance(2 * time.Minute) // the bucket of confirmations
	w.hand.Post(w.Identity+"/confirm/"+key, nil).Want(http.StatusNoContent)
}

func (w *takeover) promote(address string) {
	w.t.Helper()
	w.hand.Post(w.email(address)+"/primary", nil).Want(http.StatusNoContent)
}

func (w *takeover) remove(address string) {
	w.t.Helper()
	w.hand.Delete(w.email(address)).Want(http.StatusNoContent)
}

// key is the key of the mail about a change.
func (w *takeover) key(address, subject string) string {
	w.t.Helper()
	return w.Mail.Wait(w.t, address, subject, 1).Key(w.t, "/undo/")
}

func (w *takeover) undo(key string) *testkit.Response {
	w.t.Helper()
	return w.Stranger().Post(w.Identity+"/auth/undo/"+key, nil)
}

// undone uses a key and reports whether it undid a change.
func (w *takeover) undone(key string) bool {
	w.t.Helper()
	return w.undo(key).Want(http.StatusOK).Value("undone") == true
}

// addresses are those of a person, the primary one first.
func addresses(p *testkit.Person) string {
	p.Server.T.Helper()
	list, _ := p.Get(p.Server.Identity + "/profile").Want(http.StatusOK).Value("emails").([]any)
	var all []string
	for _, e := range list {
		m, _ := e.(map[string]any)
		a, _ := m["address"].(string)
		all = append(all, a)
	}
	return strings.Join(all, " ")
}

// reset signs a person in with the n-th reset mail to an address.
func (w *takeover) reset(address string, n int) *testkit.Person {
	w.t.Helper()
	p := w.Stranger()
	p.Email, p.ID = address, w.resetToken(address, n)
	p.Refresh()
	return p
}

func (w *takeover) resetToken(address string, n int) string {
	w.t.Helper()
	key := w.Mail.Wait(w.t, address, "/reset/", n).Key(w.t, "/reset/")
	return w.Stranger().Post(w.Identity+"/auth/reset/"+key, nil).Want(http.StatusOK).String("token")
}

// second presents a second factor of Ann.
func (w *takeover) second(mfa, kind, key string) *testkit.Response {
	w.t.Helper()
	return w.Stranger().As(mfa).Post(w.Identity+"/auth/login", credentials(annsAddress, kind, key))
}

// enter signs Ann in with password and second factor.
func (w *takeover) enter(kind, key string) *testkit.Person {
	w.t.Helper()
	mfa := w.Stranger().Post(w.Identity+"/auth/login",
		credentials(annsAddress, "bcrypt", testkit.Password)).Want(http.StatusOK).String("token")
	p := w.Stranger()
	p.Email, p.ID = annsAddress, w.second(mfa, kind, key).Want(http.StatusOK).String("token")
	p.Refresh()
	return p
}

// TestAttackTakeoverIsUndone: somebody with a session moves the account to another address, removes the owner's and changes
// the password. The link of a mail that the owner got gives the account back.
func TestAttackTakeoverIsUndone(t *testing.T) {
	t.Parallel()
	const chosen = "the attacker has chosen this"
	w := newTakeover(t)
	w.add(evilAddress)
	w.promote(evilAddress)
	w.remove(annsAddress)
	w.hand.Put(passwordPath(t, w.hand), map[string]any{"pubKey": chosen, "authKey": testkit.Password}).Want(http.StatusOK)
	w.hand.Refresh()
	w.hand.Email = evilAddress
	totp := registerTOTP(t, w.hand)
	if got := addresses(w.hand); got != evilAddress {
		t.Fatalf("the attacker has %s", got)
	}
	later := w.key(evilAddress, "password was changed")
	key := w.key(annsAddress, "main address of your account")
	if !w.undone(key) {
		t.Error("the link to the former primary address undoes nothing")
	}
	w.hand.As(w.hand.ID).Post(w.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	for _, p := range []string{testkit.Password, chosen} { // the attacker may have known the old one, too
		w.Clock.Advance(time.Minute)
		w.Stranger().Post(w.Identity+"/auth/login", credentials(annsAddress, "bcrypt", p)).WantError(identity.ErrCredentials)
	}
	w.undo(key).WantError(identity.ErrKeyNotFound)
	w.undo(later).WantError(identity.ErrKeyNotFound)
	w.Mail.Wait(t, evilAddress, "was undone", 1)
	ann := w.reset(annsAddress, 1)
	if got := addresses(ann); got != annsAddress+" "+evilAddress { // the second was there before this change
		t.Errorf("the owner has %s", got)
	}
	ann.Get(totp).WantError(identity.ErrAuthenticatorNotFound)
	if !w.undone(w.key(annsAddress, "was added")) {
		t.Error("the link about the first change undoes nothing")
	}
	if got := addresses(w.reset(annsAddress, 2)); got != annsAddress {
		t.Errorf("the owner has %s", got)
	}
}

// TestAttackUndoByANewAddress: a link that was mailed to an address that was just added, or to one that was removed, only
// ends the sessions. Changes of one kind within a minute cause one mail.
func TestAttackUndoByANewAddress(t *testing.T) {
	t.Parallel()
	w := newTakeover(t)
	w.add(evilAddress)
	w.promote(evilAddress)
	mail := w.Mail.Wait(t, evilAddress, "main address of your account", 1)
	if strings.Contains(mail.Text, "undoes this change") || !strings.Contains(mail.Text, "to sign out every device") {
		t.Errorf("the mail says %s", mail.Text)
	}
	w.promote(annsAddress) // the owner is back
	w.remove(evilAddress)
	told := 0
	for _, key := range []string{mail.Key(t, "/undo/"), w.key(evilAddress, "was removed")} {
		if w.undone(key) {
			t.Error("the attacker's link undoes the owner's change")
		}
		w.hand.As(w.hand.ID).Post(w.Identity+"/auth/access", nil).WantError(token.ErrEnded)
		w.undo(key).WantError(identity.ErrKeyNotFound)
		told++
		if m := w.Mail.Wait(t, annsAddress, "signed out on every device", told); strings.Contains(m.Text, "/undo/") {
			t.Errorf("the mail about the end of all sessions has a link: %s", m.Text)
		}
		w.Clock.Advance(time.Minute)
		w.hand = w.hand.Login()
		if got := addresses(w.hand); got != annsAddress {
			t.Errorf("the owner has %s", got)
		}
	}
	about := slices.DeleteFunc(w.Mail.To(evilAddress), func(m testkit.Mail) bool { return !strings.Contains(m.Subject, "main address") })
	if len(about) != 1 {
		t.Errorf("%d mails about the changes of a minute", len(about))
	}
}

// TestUndoRestoresFactors: the factors are those of before the change. Codes that were used since stay used.
func TestUndoRestoresFactors(t *testing.T) {
	t.Parallel()
	w := newTakeover(t)
	code := withTOTP(t, w.Server, w.hand)
	w.hand = w.enter("totp", code())
	codes := strings.Fields(w.hand.Post(w.Identity+"/profile/authenticators",
		map[string]any{"type": "recovery", "name": "Paper"}).Want(http.StatusCreated).String("key"))
	w.hand.Refresh()
	list := func(p *testkit.Person) (uids []string) {
		all, _ := p.Get(w.Identity + "/profile/authenticators").Want(http.StatusOK).Value("authenticators").([]any)
		for _, a := range all {
			m, _ := a.(map[string]any)
			uid, _ := m["uid"].(string)
			uids = append(uids, uid)
		}
		return uids
	}
	before := list(w.hand)
	w.add("later@example.com") // the change; a recovery code is used after it
	w.Clock.Advance(time.Minute)
	w.hand = w.enter("recovery", codes[0])
	for _, uid := range slices.Backward(before[1:]) {
		w.hand.Delete(w.Identity + "/profile/authenticators/" + uid).Want(http.StatusNoContent)
		w.hand.Refresh()
	}
	w.Clock.Advance(time.Minute) // the login bucket
	present := code()            // may have been used since
	if !w.undone(w.key(annsAddress, "was added")) {
		t.Error("the link undoes nothing")
	}
	mfa := w.resetToken(annsAddress, 1)
	w.second(mfa, credential.TypeTOTP, present).WantError(identity.ErrCredentials)
	w.second(mfa, credential.TypeRecovery, codes[0]).WantError(identity.ErrCredentials)
	w.Clock.Advance(90 * time.Second) // steps after the tolerance of before
	w.hand.ID = w.second(mfa, credential.TypeTOTP, code()).Want(http.StatusOK).String("token")
	w.hand.Refresh()
	if after := list(w.hand); !slices.Equal(before, after) {
		t.Errorf("the authenticators were %v and are %v", before, after)
	}
	w.hand.Put(passwordPath(t, w.hand), map[string]any{"pubKey": testkit.Password}).Want(http.StatusOK)
	w.Clock.Advance(time.Minute)
	w.enter(credential.TypeRecovery, codes[1])
}

// TestUndoRace: of parallel uses of one link one succeeds.
func TestUndoRace(t *testing.T) {
	t.Parallel()
	w := newTakeover(t)
	w.add(evilAddress)
	for _, address := range []string{evilAddress, annsAddress} { // the second undoes the change, with the first link
		key := w.key(address, "was confirmed")
		use := func() (*testkit.Response, error) {
			return w.Stranger().Try(t.Context(), "POST", w.Identity+"/auth/undo/"+key, nil)
		}
		if got := parallel(t, use, use, use, use); got[http.StatusOK] != 1 || got[http.StatusNotFound] != 3 {
			t.Errorf("four uses of the link to %s: %v", address, got)
		}
	}
}

// TestUndoExpires: a link works for seven days. Then a job deletes what it would restore.
func TestUndoExpires(t *testing.T) {
	t.Parallel()
	w := newTakeover(t)
	w.add(evilAddress)
	key := w.key(annsAddress, "was added")
	w.Stranger().Get("/undo/" + key).Want(http.StatusOK)
	w.Clock.Advance(week)
	w.undo(key).WantError(identity.ErrKeyNotFound)
	w.undo("nonsense").WantError(identity.ErrKeyNotFound)
	must(t, w.App.Jobs.RunOnce(t.Context(), identityservice.CleanJob))
	var rows int
	must(t, w.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM identity.security_changes`).Scan(&rows))
	if rows != 0 {
		t.Errorf("%d changes are kept", rows)
	}
}

// TestUndoOfATakenAddress: an address that another person has verified since stays with that person. One that is held unverified
// returns.
func TestUndoOfATakenAddress(t *testing.T) {
	t.Parallel()
	w := newTakeover(t)
	w.add("new@example.com")
	w.add("third@example.com")
	w.Clock.Advance(week)
	w.hand = w.hand.Login()
	w.promote("new@example.com")
	w.remove(annsAddress)
	w.remove("third@example.com")
	w.Stranger().Post(w.Identity+"/signup", map[string]any{"address": annsAddress, "password": testkit.Password}).Want(http.StatusOK)
	other := w.SignUpUnconfirmed("third@example.com")
	confirm := w.Mail.Wait(t, "third@example.com", "/confirm/", 2).Key(t, "/confirm/")
	other.Post(w.Identity+"/confirm/"+confirm, nil).Want(http.StatusNoContent)
	if !w.undone(w.key("new@example.com", "main address of your account")) {
		t.Error("the link undoes nothing")
	}
	if got := addresses(w.reset(annsAddress, 1)); got != annsAddress+" new@example.com" {
		t.Errorf("the person has %s", got)
	}
}

// TestUndoWithoutAnAddress: if another person has verified the only address of before, the account stays as it is, and the link works.
func TestUndoWithoutAnAddress(t *testing.T) {
	t.Parallel()
	w := newTakeover(t)
	w.add("new@example.com")
	w.promote("new@example.com")
	w.remove(annsAddress)
	other := w.SignUpUnconfirmed(annsAddress)
	confirm := w.Mail.Wait(t, annsAddress, "/confirm/", 2).Key(t, "/confirm/")
	other.Post(w.Identity+"/confirm/"+confirm, nil).Want(http.StatusNoContent)
	key := w.key(annsAddress, "was added")
	for range 2 {
		w.undo(key).WantError(identity.ErrAddressInUse)
		if got := addresses(w.hand); got != "new@example.com" {
			t.Errorf("the person has %s", got)
		}
	}
	other.Delete(w.Identity + "/profile").Want(http.StatusNoContent)
	if !w.undone(key) {
		t.Error("the link undoes nothing")
	}
}

// TestUndoOfAFederatedPerson: a person without a password gets the addresses back, no reset, and signs in at the provider again.
func TestUndoOfAFederatedPerson(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	const address = "eva@example.com"
	a.login(address, nil)
	a.Clock.Advance(week)
	w := &takeover{a.Server, t, a.login(address, nil)}
	w.add(evilAddress)
	w.promote(evilAddress)
	w.remove(address)
	if !w.undone(w.key(address, "was added")) {
		t.Error("the link undoes nothing")
	}
	w.hand.As(w.hand.ID).Post(w.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	if m := w.Mail.Wait(t, address, "was undone", 1); strings.Contains(m.Text, "password") {
		t.Errorf("the mail says %s", m.Text)
	}
	if got := addresses(a.login(address, nil)); got != address {
		t.Errorf("the person has %s", got)
	}
	var resets int
	must(t, w.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM mails WHERE template = 'reset-password'`).Scan(&resets))
	if resets != 0 {
		t.Errorf("%d reset mails to a person without password", resets)
	}
}

// TestOperatorsFactorResetIsMailed: with a link that restores the factors.
func TestOperatorsFactorResetIsMailed(t *testing.T) {
	t.Parallel()
	w := newTakeover(t)
	code := withTOTP(t, w.Server, w.hand)
	must(t, w.App.Identity.ResetFactors(t.Context(), testkit.Command, annsAddress))
	if !w.undone(w.key(annsAddress, "app was removed")) {
		t.Error("the link undoes nothing")
	}
	mfa := w.resetToken(annsAddress, 1)
	w.Clock.Advance(90 * time.Second) // steps after the tolerance of before
	w.second(mfa, credential.TypeTOTP, code()).Want(http.StatusOK)
}

// TestResetIsMailed: the use of a reset link is mailed to every address, with a link that undoes it.
func TestResetIsMailed(t *testing.T) {
	t.Parallel()
	w := newTakeover(t)
	w.add("second@example.com")
	w.Stranger().Post(w.Identity+"/auth/reset", map[string]any{"address": annsAddress}).Want(http.StatusNoContent)
	thief := w.reset(annsAddress, 1)
	w.Mail.Wait(t, "second@example.com", "password was reset", 1)
	if !w.undone(w.key(annsAddress, "password was reset")) {
		t.Error("the link undoes nothing")
	}
	thief.As(thief.ID).Post(w.Identity+"/auth/access", nil).WantError(token.ErrEnded)
}
