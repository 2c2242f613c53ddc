// Tests of second factors: changes, requirement, and guesses.

package handler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

func TestDeleteFactor(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	totp := registerTOTP(t, ann)
	ann.Put(totp, map[string]any{"name": "Phone"}).Want(http.StatusOK)
	s.SignUp("bob@example.com").Delete(totp).WantError(identity.ErrAuthenticatorNotFound)
	if claimsOf(t, ann.Access)["authLevel"] != 2.0 {
		t.Errorf("access is %v", claimsOf(t, ann.Access))
	}
	ann.Delete(totp).Want(http.StatusNoContent)
	poll.Until(t, "the end of access", func() bool { return ann.Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	ann.Refresh()
	if claimsOf(t, ann.Access)["authLevel"] != 1.0 {
		t.Errorf("without the factor access is %v", claimsOf(t, ann.Access))
	}
	ann.Get(totp).WantError(identity.ErrAuthenticatorNotFound)
	s.Mail.Wait(t, "ann@example.com", "authenticator app was removed", 1)
	if c := claimsOf(t, ann.Login().ID); c["scope"] != "idtoken" {
		t.Errorf("a login gives %v", c)
	}
	recovery := ann.Post(s.Identity+"/profile/authenticators", map[string]any{"type": "recovery"}).Want(http.StatusCreated)
	ann.Refresh()
	ann.Delete(s.Identity + "/profile/authenticators/" + recovery.String("uid")).Want(http.StatusNoContent)
	s.Mail.Wait(t, "ann@example.com", "recovery codes of your account were removed", 1)
}

// TestFactorChangesNeedBothFactors: a session that began with the password only, before TOTP was registered, can neither
// delete the factor nor create recovery codes.
func TestFactorChangesNeedBothFactors(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	eve := ann.Login() // somebody else who knows the password
	all := s.Identity + "/profile/authenticators"
	recovery := all + "/" + ann.Post(all, map[string]any{"type": "recovery"}).Want(http.StatusCreated).String("uid")
	ann.Refresh()
	totp := registerTOTP(t, ann)
	eve.Refresh()
	for _, factor := range []string{totp, recovery} {
		eve.Delete(factor).WantError(identity.ErrFactorFirst)
	}
	eve.Post(all, map[string]any{"type": "recovery"}).WantError(identity.ErrFactorFirst)
	eve.Put(totp, map[string]any{"name": "Phone"}).Want(http.StatusOK)
	ann.Post(all, map[string]any{"type": "recovery"}).Want(http.StatusCreated)
	ann.Refresh()
	ann.Delete(totp).Want(http.StatusNoContent)
	eve.Refresh()
	eve.Post(all, map[string]any{"type": "recovery"}).Want(http.StatusCreated)
}

// TestFactorRegisteredMeanwhile: a request for recovery codes with the password alone is refused when a second factor is
// registered while it runs.
func TestFactorRegisteredMeanwhile(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	eve := ann.Login()
	all := s.Identity + "/profile/authenticators"
	ann.Post(all, map[string]any{"type": "totp"}).Want(http.StatusCreated)
	verification := begin(t, s, `SELECT FROM identity.persons FOR NO KEY UPDATE`)
	answer := start(t, eve, "POST", all, map[string]any{"type": "recovery"})
	poll.Until(t, "the registration waits", func() bool { return pgtest.Waiting(t, s.App.DB.Pool) == 1 })
	if _, err := verification.Exec(t.Context(), `UPDATE identity.authenticators SET verified = true`); err != nil {
		t.Fatal(err)
	}
	if err := verification.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	(<-answer).WantError(identity.ErrFactorFirst)
}

// TestFactorRequired: a member without a second factor, in an organization that requires one, can only register one.
func TestFactorRequired(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	createOrganization(ann, "Vault")
	if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE identity.organizations SET mfa_required = true WHERE NOT free`); err != nil {
		t.Fatal(err)
	}
	ann.Refresh()
	ann.Get(s.Identity + "/profile").Want(http.StatusOK)
	for _, path := range []string{"/profile/emails", "/profile/avatar", "/invitations"} {
		ann.Get(s.Identity + path).WantError(token.ErrFactorRequired)
	}
	ann.Put(s.Identity+"/profile", map[string]any{}).WantError(token.ErrFactorRequired)
	ann.Delete(s.Identity + "/profile").WantError(token.ErrFactorRequired)
	totp := registerTOTP(t, ann)
	ann.Get(s.Identity + "/profile/emails").Want(http.StatusOK)
	ann.Delete(totp).Want(http.StatusNoContent)
	ann.Refresh()
	ann.Get(s.Identity + "/profile/emails").WantError(token.ErrFactorRequired)
}

func TestFactorMailLocale(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Identity+"/profile", map[string]any{"locale": "fr_FR"}).Want(http.StatusOK)
	registerTOTP(t, ann)
	if m := s.Mail.Wait(t, "ann@example.com", "authentification", 1); strings.Contains(m.Subject, "added") {
		t.Errorf("the subject is %q", m.Subject)
	}
}

// TestAttackFactorGuesses: somebody who knows the password guesses codes. The delays grow, the owner gets a mail after ten
// wrong codes, and a browser in which the owner has signed in before is not delayed.
func TestAttackFactorGuesses(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	code := withTOTP(t, s, ann)
	login := s.Identity + "/auth/login"
	try := func(cookie, mfa, key string) *testkit.Response {
		t.Helper()
		return s.Stranger().As(mfa).With("Cookie", cookie).Post(login, credentials("ann@example.com", "totp", key))
	}
	first := signIn(s, "", "ann@example.com", testkit.Password).Want(http.StatusOK).String("token")
	own := deviceOf(t, try("", first, code()).Want(http.StatusOK))
	mfa := func() string {
		return signIn(s, own, "ann@example.com", testkit.Password).Want(http.StatusOK).String("token")
	}
	guesses, mails := 0, func() int { return len(s.Mail.To("ann@example.com")) - 1 } // without the one of the signup
	for _, delay := range identity.FactorDelays {
		s.Clock.Advance(2 * time.Minute) // more than the buckets need
		try("", mfa(), "000000").WantError(identity.ErrCredentials)
		if guesses++; guesses < identity.FactorWarning && mails() > 0 {
			t.Fatalf("a mail after %d wrong codes", guesses)
		}
		if delay <= 2*time.Minute {
			continue
		}
		s.Clock.Advance(delay - time.Second)
		refused := try("", mfa(), code()).WantError(fault.ErrOverloaded)
		if after := refused.Header.Get("Retry-After"); after != "1" || !strings.Contains(refused.Details(), "too many wrong codes") {
			t.Errorf("%d wrong codes: Retry-After %s, %s", guesses, after, refused.Details())
		}
	}
	s.Mail.Wait(t, "ann@example.com", "ten wrong codes", 1)
	try(own, mfa(), code()).Want(http.StatusOK)
	s.Clock.Advance(time.Minute)
	try("", mfa(), code()).Want(http.StatusOK)
	for range 3 { // a right code ends the count
		s.Clock.Advance(time.Minute)
		try("", mfa(), "000000").WantError(identity.ErrCredentials)
	}
	if mails() != 1 {
		t.Errorf("%d mails", mails())
	}
}

// TestFactorGuessesAfterReset: somebody who knows the password cannot keep the owner from a reset.
func TestFactorGuessesAfterReset(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	code := withTOTP(t, s, ann)
	login := s.Identity + "/auth/login"
	eve := s.Stranger().As(signIn(s, "", "ann@example.com", testkit.Password).Want(http.StatusOK).String("token"))
	for range 5 {
		s.Clock.Advance(40 * time.Second)
		eve.Post(login, credentials("ann@example.com", "totp", "000000")).WantError(identity.ErrCredentials)
	}
	if r := eve.Post(login, credentials("ann@example.com", "totp", code())).WantError(fault.ErrOverloaded); r.Header.Get(
		"Retry-After") != "60" {
		t.Errorf("headers are %v", r.Header)
	}
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
	key := s.Mail.Wait(t, "ann@example.com", "/reset/", 1).Key(t, "/reset/")
	mfa := s.Stranger().Post(s.Identity+"/auth/reset/"+key, nil).Want(http.StatusOK).String("token")
	s.Stranger().As(mfa).Post(login, credentials("ann@example.com", "totp", code())).Want(http.StatusOK)
}
