package handler_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
)

// deviceMails is how many mails about new devices were queued.
func deviceMails(t testing.TB, s *testkit.Server) (n int) {
	t.Helper()
	must(t, s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM mails WHERE template = 'new-device'`).Scan(&n))
	return n
}

// TestAttackFirstLogin: the first login after the sign-up is mailed when it comes from another device, and only then.
func TestAttackFirstLogin(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	s.SignUp("ann@example.com")
	s.Clock.Advance(time.Minute)
	s.Stranger().With("User-Agent", "evil/1").Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).
		Want(http.StatusOK)
	if mail := s.Mail.Wait(t, "ann@example.com", "New sign-in", 1); !strings.Contains(mail.Text, "evil") {
		t.Errorf("the mail does not name the program: %s", mail.Text)
	}
	s.SignUp("bob@example.com").Login()
	if n := deviceMails(t, s); n != 1 {
		t.Errorf("%d mails, one of them about the device of the sign-up", n)
	}
}

// TestNewDeviceIsMailed: a login in a browser without the device cookie is mailed, with a link that ends the session. One with the cookie
// is not.
func TestNewDeviceIsMailed(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	signUp := s.Stranger().With("Cookie", "theme=dark").Post(s.Identity+"/signup",
		map[string]any{"address": "ann@example.com", "password": testkit.Password}).Want(http.StatusOK)
	ann := &testkit.Person{Server: s, ID: signUp.String("token"), Header: http.Header{}}
	ann.Refresh()
	confirm(ann, s.Mail.Wait(t, "ann@example.com", "/confirm/", 1).Key(t, "/confirm/")).Want(http.StatusNoContent)
	own := deviceOf(t, signUp)
	login := func(cookie string) *testkit.Response {
		t.Helper()
		s.Clock.Advance(time.Minute)
		return signIn(s, cookie, "ann@example.com", testkit.Password).Want(http.StatusOK)
	}
	own = deviceOf(t, login(own))
	login(own)
	if n := deviceMails(t, s); n != 0 {
		t.Fatalf("%d mails about one's own browser", n)
	}
	thief := login("theme=dark")
	mail := s.Mail.Wait(t, "ann@example.com", "New sign-in", 1)
	login(deviceOf(t, thief))
	if n := deviceMails(t, s); n != 1 {
		t.Errorf("%d mails about one device", n)
	}
	if s.Stranger().Post(s.Identity+"/auth/undo/"+mail.Key(t, "/undo/"), nil).Want(http.StatusOK).Value("undone") != true {
		t.Error("the link undoes nothing")
	}
	s.Stranger().As(thief.String("token")).Post(s.Identity+"/auth/access", nil).Want(http.StatusUnauthorized)
	s.Clock.Advance(time.Minute)
	signIn(s, deviceOf(t, thief), "ann@example.com", testkit.Password).WantError(identity.ErrCredentials)
}

// TestNewClientIsMailed: a client without cookies is known by its family and network. An account knows a bounded number
// of them.
func TestNewClientIsMailed(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_TRUSTED_PROXIES", "127.0.0.1,::1"))
	ann := s.SignUp("ann@example.com")
	login := func(agent, address string) {
		t.Helper()
		s.Clock.Advance(time.Minute)
		s.Stranger().With("User-Agent", agent).With("X-Forwarded-For", address).With("X-Forwarded-Proto", "https").
			Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)
	}
	for i, l := range []struct {
		agent, address string
		mails          int
	}{
		{"curl/8.14.1", "192.0.2.1", 1},
		{"curl/8.15.0", "192.0.2.1", 1},
		{"curl/8.15.0", "192.0.2.2", 2},
		{"wget/1.25.0", "192.0.2.2", 3},
		{"wget/1.25.0", "192.0.2.2", 3},
		{"curl/8.15.0", "2001:db8::1", 4},
		{"curl/8.15.0", "2001:db8::ffff:2", 4}, // the same /64
		{"curl/8.15.0", "192.0.2.1", 4},
	} {
		login(l.agent, l.address)
		if n := deviceMails(t, s); n != l.mails {
			t.Fatalf("login %d: %d mails, want %d", i, n, l.mails)
		}
	}
	ann = ann.Login()
	ann.Put(passwordPath(t, ann), map[string]any{"pubKey": "a different horse battery", "authKey": testkit.Password}).Want(http.StatusOK)
	ann.Refresh()
	ann.Put(passwordPath(t, ann), map[string]any{"pubKey": testkit.Password, "authKey": "a different horse battery"}).Want(http.StatusOK)
	before := deviceMails(t, s)
	login("curl/8.15.0", "192.0.2.1") // a changed password ends what was known
	if n := deviceMails(t, s); n != before+1 {
		t.Errorf("%d mails after a change of the password, were %d", n, before)
	}
	for i := range identity.MaxKnownClients + 3 {
		login(fmt.Sprintf("tool%d/1", i), "192.0.2.1")
	}
	var rows int
	must(t, s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM identity.known_clients`).Scan(&rows))
	if rows != identity.MaxKnownClients {
		t.Errorf("%d clients are known, want %d", rows, identity.MaxKnownClients)
	}
}

// TestNewDeviceExternal: logins at a provider are mailed, too.
func TestNewDeviceExternal(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	a.login("eva@example.com", nil)
	a.Clock.Advance(time.Minute)
	a.login("eva@example.com", nil)
	if n := deviceMails(t, a.Server); n != 0 {
		t.Fatalf("%d mails about one client", n)
	}
	a.Clock.Advance(time.Minute)
	a.Stranger().With("User-Agent", "curl/8").Post(a.Identity+"/oidc/auth/implicit",
		map[string]any{"token": a.token("eva@example.com", nil)}).Want(http.StatusOK)
	a.Mail.Wait(t, "eva@example.com", "New sign-in", 1)
}
