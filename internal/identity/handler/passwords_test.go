// Tests of changed passwords.

package handler_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

func TestChangePassword(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	other := ann.Login()
	one := passwordPath(t, ann)
	const next = "quiet-heron-17-lagoon"
	if got := ann.Put(one, map[string]any{"pubKey": next}).WantError(identity.ErrKeyChange).Details(); !strings.Contains(got,
		"must be the current password") {
		t.Errorf("details of a request without the old password: %s", got)
	}
	ann.Put(one, map[string]any{"pubKey": next, "authKey": "wrong"}).WantError(identity.ErrKeyChange)
	for _, bad := range []any{"", "short", "password123", 1, strings.Repeat("quiet ", 13)} {
		ann.Put(one, map[string]any{"pubKey": bad, "authKey": testkit.Password}).WantError(fault.ErrInvalid)
	}
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
	key := s.Mail.Wait(t, "ann@example.com", "/reset/", 1).Key(t, "/reset/")
	before := ann.Get(one)
	s.Clock.Advance(time.Minute)
	after := ann.Put(one, map[string]any{"pubKey": next, "authKey": testkit.Password, "name": "New"}).Want(http.StatusOK)
	if after.String("name") != "New" || after.String("updatedAt") == before.String("updatedAt") ||
		after.String("uid") != before.String("uid") {
		t.Errorf("from %s to %s", before.Body, after.Body)
	}
	for _, p := range []*testkit.Person{ann, other} {
		poll.Until(t, "the end of access", func() bool { return p.Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	}
	other.As(other.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	ann.Refresh()
	s.Stranger().Post(s.Identity+"/auth/reset/"+key, nil).WantError(identity.ErrKeyNotFound)
	s.Stranger().Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).WantError(identity.ErrCredentials)
	s.Stranger().Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", next)).Want(http.StatusOK)
	s.Mail.Wait(t, "ann@example.com", "Your password was changed", 1)
	ann.Delete(one).WantError(identity.ErrCannotUnregister)
}

// TestPasswordCharacters: any printable character counts, and nothing is changed or cut.
func TestPasswordCharacters(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	for i, password := range []string{
		` !"#$%&'()*+,-./:;<=>?@[\]^_` + "`{|}~ ", "Übergrößenträger", "пароль от двери", "鍵は机の引き出しの中にある", "🔑 🐧 🌊 🧑‍🚀 🏔️ 🍋 ✏️", "العربية و עברית",
	} {
		address := fmt.Sprintf("p%d@example.com", i)
		s.Stranger().Post(s.Identity+"/signup", map[string]any{"address": address, "password": password}).Want(http.StatusOK)
		signIn(s, "", address, password).Want(http.StatusOK)
		for _, other := range []string{strings.TrimSpace(password) + "x", password[:len(password)-1], password + " "} {
			signIn(s, "", address, other).WantError(identity.ErrCredentials)
			s.Clock.Advance(time.Minute)
		}
	}
}

// TestPasswordsDoNotExpire: a password works after years, and may be kept when it is changed.
func TestPasswordsDoNotExpire(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	s.Clock.Advance(3 * 365 * 24 * time.Hour)
	ann = ann.Login()
	ann.Put(passwordPath(t, ann), map[string]any{"pubKey": testkit.Password, "authKey": testkit.Password}).Want(http.StatusOK)
	signIn(s, "", "ann@example.com", testkit.Password).Want(http.StatusOK)
}

func TestSetPasswordAfterReset(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	one := passwordPath(t, ann)
	reset := func(n int) *testkit.Person {
		s.Clock.Advance(time.Minute)
		s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
		key := s.Mail.Wait(t, "ann@example.com", "/reset/", n).Key(t, "/reset/")
		p := s.Stranger().As("")
		p.Email, p.ID = ann.Email, s.Stranger().Post(s.Identity+"/auth/reset/"+key, nil).Want(http.StatusOK).String("token")
		p.Refresh()
		return p
	}
	p := reset(1)
	if claimsOf(t, p.Access)["setPassword"] != true {
		t.Fatalf("the access token says %v", claimsOf(t, p.Access))
	}
	set := func() (*testkit.Response, error) {
		return p.Try(t.Context(), "PUT", one, map[string]any{"pubKey": "quiet-heron-17-lagoon"})
	}
	if got := parallel(t, slices.Repeat([]func() (*testkit.Response, error){set}, 8)...); got[http.StatusOK] != 1 ||
		got[http.StatusForbidden]+got[http.StatusUnauthorized] != 7 {
		t.Errorf("parallel requests set the password: %v, want one success", got)
	}
	p.Refresh()
	if claimsOf(t, p.Access)["setPassword"] == true {
		t.Error("setPassword is still allowed after its use")
	}
	s.Clock.Advance(time.Minute)
	p.Put(one, map[string]any{"pubKey": "loud-stork-42-harbour"}).WantError(identity.ErrKeyChange)

	// An access token with setPassword may be valid for longer than the time to set the password.
	late := reset(2)
	s.Clock.Advance(9 * time.Minute)
	late.Refresh()
	s.Clock.Advance(6*time.Minute + time.Second)
	if claimsOf(t, late.Access)["setPassword"] != true {
		t.Fatal("the token lacks setPassword")
	}
	late.Put(one, map[string]any{"pubKey": "loud-stork-42-harbour"}).WantError(identity.ErrKeyChange)
	late.Put(one, map[string]any{"pubKey": "loud-stork-42-harbour", "authKey": "quiet-heron-17-lagoon"}).Want(http.StatusOK)
}
