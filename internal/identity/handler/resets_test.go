// Tests of forgotten passwords.

package handler_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

func TestReset(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	s.SignUpUnconfirmed("bob@example.com")
	reset := s.Identity + "/auth/reset"
	ask := func(address string) *testkit.Response {
		return s.Stranger().Post(reset, map[string]any{"address": address})
	}
	ask("nobody@example.com").WantError(identity.ErrResetRefused)
	ask("bob@example.com").WantError(identity.ErrResetRefused)
	ask("x").WantError(fault.ErrInvalid)
	ask("Ann@example.com").Want(http.StatusNoContent)
	key := s.Mail.Wait(t, "ann@example.com", "/reset/", 1).Key(t, "/reset/")
	s.Stranger().Get("/reset/" + key).Want(http.StatusOK)
	s.Stranger().Post(reset+"/nonsense", nil).WantError(identity.ErrKeyNotFound)

	resp := s.Stranger().Post(reset+"/"+key, nil).Want(http.StatusOK)
	if bearer(resp) != resp.String("token") || claimsOf(t, resp.String("token"))["setPassword"] != true {
		t.Errorf("the reset gives %v", claimsOf(t, resp.String("token")))
	}
	s.Stranger().Post(reset+"/"+key, nil).WantError(identity.ErrKeyNotFound)
	ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	poll.Until(t, "the end of access", func() bool { return ann.Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	again := s.Stranger().As(resp.String("token"))
	again.ID = again.Access
	again.Refresh()
	if claimsOf(t, again.Access)["setPassword"] != true {
		t.Error("the access token cannot set the password")
	}
	s.Clock.Advance(15 * time.Minute)
	again.Refresh()
	if claimsOf(t, again.Access)["setPassword"] != nil {
		t.Error("setPassword is still allowed after it expired")
	}

	ask("ann@example.com").Want(http.StatusNoContent)
	late := s.Mail.Wait(t, "ann@example.com", "/reset/", 2).Key(t, "/reset/")
	s.Clock.Advance(time.Hour)
	s.Stranger().Post(reset+"/"+late, nil).WantError(identity.ErrKeyNotFound)
}

// TestResetLocksThePersonFirst: changes of credentials lock the person first. Otherwise two parallel resets of one person could
// deadlock.
func TestResetLocksThePersonFirst(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	s.SignUp("ann@example.com")
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
	key := s.Mail.Wait(t, "ann@example.com", "/reset/", 1).Key(t, "/reset/")
	change := begin(t, s, `SELECT FROM identity.persons FOR NO KEY UPDATE`)
	answer := start(t, s.Stranger(), "POST", s.Identity+"/auth/reset/"+key, nil)
	poll.Until(t, "the reset waits", func() bool { return pgtest.Waiting(t, s.App.DB.Pool) == 1 })
	if _, err := change.Exec(t.Context(), `SELECT FROM identity.reset_keys FOR UPDATE NOWAIT`); err != nil {
		t.Errorf("the reset holds its key while it waits for the person: %v", err)
	}
	if err := change.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	(<-answer).Want(http.StatusOK)
}

// TestResetOfRemovedAddress: no reset key is mailed to an address that its owner removes at the same time.
func TestResetOfRemovedAddress(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	ann.Post(s.Identity+"/profile/emails", map[string]any{"address": "old@example.com"}).Want(http.StatusCreated)
	s.Clock.Advance(time.Minute) // the sign-up took a token of the confirmations' bucket
	ann.Post(s.Identity+"/confirm/"+s.Mail.Wait(t, "old@example.com", "/confirm/", 1).Key(t, "/confirm/"), nil).Want(http.StatusNoContent)
	removal := begin(t, s, `SELECT FROM identity.persons FOR NO KEY UPDATE`)
	for _, sql := range []string{`DELETE FROM identity.reset_keys`, `DELETE FROM identity.addresses WHERE address = 'old@example.com'`} {
		if _, err := removal.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	answer := start(t, s.Stranger(), "POST", s.Identity+"/auth/reset", map[string]any{"address": "old@example.com"})
	poll.Until(t, "the request waits, or is answered", func() bool { return pgtest.Waiting(t, s.App.DB.Pool) == 1 || len(answer) == 1 })
	if err := removal.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	(<-answer).WantError(identity.ErrResetRefused)
}

// begin begins a transaction of another client and runs a statement in it.
func begin(t *testing.T, s *testkit.Server, sql string) database.Tx {
	t.Helper()
	tx, err := s.App.DB.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	if _, err := tx.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	return tx
}

// start sends a request in the background. The channel receives its answer.
func start(t *testing.T, p *testkit.Person, method, path string, body any) <-chan *testkit.Response {
	t.Helper()
	answer := make(chan *testkit.Response, 1)
	go func() {
		r, err := p.Try(t.Context(), method, path, body)
		if err != nil {
			t.Error(err)
		}
		answer <- r
	}()
	return answer
}

func TestResetBucket(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	for range 3 {
		s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "nobody@example.com"}).WantError(identity.ErrResetRefused)
	}
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "NOBODY@example.com"}).WantError(fault.ErrOverloaded)
}

func TestResetNeedsTheSecondFactor(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	code := withTOTP(t, s, ann)
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
	resp := s.Stranger().Post(s.Identity+"/auth/reset/"+s.Mail.Wait(t, "ann@example.com", "/reset/", 1).Key(t, "/reset/"),
		nil).Want(http.StatusOK)
	if c := claimsOf(t, resp.String("token")); c["scope"] != "mfa" || c["setPassword"] != true {
		t.Fatalf("a reset gives %v", c)
	}
	full := s.Stranger().As(resp.String("token")).Post(s.Identity+"/auth/login",
		credentials("ann@example.com", "totp", code())).Want(http.StatusOK)
	if c := claimsOf(t, full.String("token")); c["authLevel"] != 2.0 || c["setPassword"] != true {
		t.Errorf("the second step gives %v", c)
	}
}

func TestStrictEnumeration(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_ENUMERATION", "strict"))
	s.SignUp("ann@example.com")
	var answers []string
	for _, address := range []string{"ann@example.com", "nobody@example.com"} {
		exists := s.Stranger().Post(s.Identity+"/auth/exists", map[string]any{"address": address}).Want(http.StatusOK)
		s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": address}).Want(http.StatusNoContent)
		answers = append(answers, string(exists.Body))
	}
	if answers[0] != answers[1] || !strings.Contains(answers[0], s.Identity) {
		t.Errorf("answers are %q", answers)
	}
	s.Mail.Wait(t, "ann@example.com", "/reset/", 1)
	if n := len(s.Mail.To("nobody@example.com")); n != 0 {
		t.Errorf("%d mails went to unknown addresses", n)
	}
}
