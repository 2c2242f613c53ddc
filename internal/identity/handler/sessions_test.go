// Tests of login, second factors, the list of sessions, and logout.

package handler_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

func credentials(email, kind, key string) map[string]any {
	return map[string]any{"email": email, "type": kind, "key": key}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	if p := ann.Get(s.Identity + "/profile"); p.Value("lastLoginAt") != nil {
		t.Errorf("signing up counts as a login: %s", p.Body)
	}
	s.Clock.Advance(time.Hour)
	login := s.Identity + "/auth/login"
	resp := s.Stranger().Post(login, credentials("Ann@Example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)
	claims := claimsOf(t, resp.String("token"))
	if bearer(resp) != resp.String("token") || claims["authLevel"] != 1.0 || claims["scope"] != "idtoken" ||
		claims["sid"] == claimsOf(t, ann.ID)["sid"] {
		t.Errorf("logged in with %v", claims)
	}
	again := s.Stranger().As(resp.String("token"))
	again.ID = again.Access
	again.Refresh()
	if p := again.Get(s.Identity + "/profile"); p.Value("lastLoginAt") == nil {
		t.Errorf("lastLoginAt did not change: %s", p.Body)
	}
	s.Stranger().Post(login, credentials("ann@example.com", "bcrypt", testkit.Password+"x")).WantError(identity.ErrCredentials)
	s.Stranger().Post(login, credentials("nobody@example.com", "bcrypt", testkit.Password)).WantError(identity.ErrCredentials)
	for _, kind := range []string{"sms", "u2f", "BCRYPT", "x"} {
		s.Stranger().Post(login, credentials("ann@example.com", kind, "1")).WantError(identity.ErrUnsupportedType)
	}
	resp = s.Stranger().Post(login, map[string]any{}).WantError(fault.ErrInvalid)
	if resp.Details() != "email: is required\ntype: is required\nkey: is required" {
		t.Errorf("details are %q", resp.Details())
	}
	s.Stranger().Post(login, credentials("not an address", "bcrypt", "x")).WantError(fault.ErrInvalid)
	s.Stranger().Post(login, `{"email":1,"type":true,"key":[]}`).Want(http.StatusUnsupportedMediaType)
	s.Stranger().Post(login, map[string]any{"email": 1, "type": true, "key": []int{}}).WantError(fault.ErrInvalid)
	// A token that the route does not accept is ignored.
	s.Clock.Advance(time.Minute)
	ann.Post(login, credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)
}

func TestLoginBucket(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	s.SignUp("ann@example.com")
	login := s.Identity + "/auth/login"
	var calls []func() (*testkit.Response, error)
	for i := range 40 {
		email, kind := "ann@example.com", "bcrypt"
		if i%2 == 0 {
			email, kind = "ANN@example.com", "totp"
		}
		calls = append(calls, func() (*testkit.Response, error) {
			return s.Stranger().Try(t.Context(), "POST", login, credentials(email, kind, "wrong"))
		})
	}
	if statuses := parallel(t, calls...); statuses[http.StatusUnauthorized]+statuses[http.StatusBadRequest] != 3 || statuses[509] != 37 {
		t.Errorf("answers are %v, want 3 other than 509", statuses)
	}
	resp := s.Stranger().Post(login, credentials("ann@example.com", "bcrypt", testkit.Password)).WantError(fault.ErrOverloaded)
	if resp.Header.Get("Retry-After") != "15" || resp.Header.Get("X-RateLimit-Limit") != "3" {
		t.Errorf("headers are %v", resp.Header)
	}
	if !strings.Contains(resp.Details(), "Retry-After") {
		t.Errorf("the refusal does not say what to do: %s", resp.Body)
	}
	s.Stranger().Post(login, credentials("bob@example.com", "bcrypt", testkit.Password)).WantError(identity.ErrCredentials)
	s.Clock.Advance(15 * time.Second)
	s.Stranger().Post(login, credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	code := withTOTP(t, s, ann)
	login := s.Identity + "/auth/login"
	first := s.Stranger().Post(login, credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)
	claims := claimsOf(t, first.String("token"))
	if claims["scope"] != "mfa" || claims["authenticators"].([]any)[0] != "totp" || claims["exp"].(float64)-claims["iat"].(float64) != 300 {
		t.Errorf("the first factor gives %v", claims)
	}
	mfa := s.Stranger().As(first.String("token"))
	s.Clock.Advance(30 * time.Second)
	s.Stranger().Post(login, credentials("ann@example.com", "totp", code())).WantError(identity.ErrMFAToken)
	ann.Post(login, credentials("ann@example.com", "totp", code())).WantError(identity.ErrMFAToken)
	s.Stranger().As("nonsense").Post(login, credentials("ann@example.com", "totp", code())).WantError(identity.ErrMFAToken)
	s.Clock.Advance(time.Minute)
	mfa.Post(login, credentials("ann@example.com", "totp", "000000")).WantError(identity.ErrCredentials)
	mfa.Post(login, credentials("ann@example.com", "recovery", "AAAAAAAAAA")).WantError(identity.ErrFactorNotVerified)
	full := mfa.Post(login, credentials("ann@example.com", "totp", code())).Want(http.StatusOK)
	if c := claimsOf(t, full.String("token")); c["authLevel"] != 2.0 || c["scope"] != "idtoken" || bearer(full) != full.String("token") {
		t.Errorf("the second factor gives %v", c)
	}
	s.Clock.Advance(5 * time.Minute)
	mfa.Post(login, credentials("ann@example.com", "totp", code())).WantError(identity.ErrMFAToken)
}

// TestSecondFactorGuesses: guesses at the second factor share one bucket, however many addresses the person has.
func TestSecondFactorGuesses(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	confirm(ann, addEmail(t, ann, "archer@example.com")).Want(http.StatusNoContent)
	ann = ann.Login()
	code := withTOTP(t, s, ann)
	login := s.Identity + "/auth/login"
	s.Clock.Advance(time.Minute)
	eve := s.Stranger().As(s.Stranger().Post(login, credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK).String(
		"token"))
	admitted := 0
	for range 3 {
		for _, address := range []string{"ann@example.com", "archer@example.com"} {
			if eve.Post(login, credentials(address, "totp", "000000")).Status == http.StatusUnauthorized {
				admitted++
			}
		}
	}
	if admitted != 3 {
		t.Errorf("%d guesses were admitted, want 3", admitted)
	}
	full := eve.Post(login, credentials("archer@example.com", "totp", code())).WantError(fault.ErrOverloaded)
	if full.Header.Get("Retry-After") != "15" {
		t.Errorf("headers are %v", full.Header)
	}
	s.Clock.Advance(15 * time.Second)
	eve.Post(login, credentials("archer@example.com", "totp", code())).Want(http.StatusOK)
}

// TestFailedLoginsOfAnAddress: guessing at many accounts from one client address is refused before a password is
// compared. Successful logins take no token of that address.
func TestFailedLoginsOfAnAddress(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "on"), testkit.Env("CONSIGN_TRUSTED_PROXIES", "127.0.0.0/8"))
	s.SignUp("ann@example.com")
	login := s.Identity + "/auth/login"
	eve, bob := s.Stranger().With("X-Forwarded-For", "2001:db8::1"), s.Stranger().With("X-Forwarded-For", "2001:db8:0:1::1")
	for i := range 60 {
		eve.Post(login, credentials(fmt.Sprintf("p%d@example.com", i), "bcrypt", "summer in the city")).WantError(identity.ErrCredentials)
	}
	full := eve.With("X-Forwarded-For", "2001:db8::2").Post(login,
		credentials("ann@example.com", "bcrypt", testkit.Password)).WantError(fault.ErrOverloaded)
	if full.Header.Get("Retry-After") != "1" {
		t.Errorf("headers are %v", full.Header)
	}
	for range 3 {
		if ok := bob.Post(login, credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK); ok.Header.Get(
			"X-RateLimit-Limit") != "3" {
			t.Errorf("headers are %v", ok.Header)
		}
	}
	s.Clock.Advance(15 * time.Second)
	for range 20 {
		eve.Post(login, credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)
		s.Clock.Advance(15 * time.Second)
	}
}

// TestParallelFailedLogins: of parallel guesses from one client address no more are checked than its bucket has
// tokens. A guess takes its token before it is checked: otherwise all waiting guesses would be admitted, and other
// logins would answer 503.
func TestParallelFailedLogins(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "on"))
	var calls []func() (*testkit.Response, error)
	for i := range 200 {
		calls = append(calls, func() (*testkit.Response, error) {
			return s.Stranger().Try(t.Context(), "POST", s.Identity+"/auth/login",
				credentials(fmt.Sprintf("p%d@example.com", i), "bcrypt", "summer in the city"))
		})
	}
	if got := parallel(t, calls...); got[http.StatusUnauthorized] != 60 || got[int(fault.Overloaded)] != 140 {
		t.Errorf("answers are %v, want 60 guesses checked and 140 refused", got)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	s.Clock.Advance(time.Second)
	laptop := ann.With("User-Agent", "Läptop\x01 "+strings.Repeat("é", 200)).Login()
	if laptop.ID == "" {
		t.Fatal("no token")
	}
	list := ann.As(ann.ID).Get(s.Identity + "/auth").Want(http.StatusOK)
	if tokens := list.Value("tokens").([]any); len(tokens) != 2 {
		t.Fatalf("sessions are %s", list.Body)
	}
	if list.String("tokens.0.jti") != claimsOf(t, laptop.ID)["jti"] || list.String("tokens.1.jti") != claimsOf(t, ann.ID)["jti"] ||
		list.String("tokens.0.ip") != "127.0.0.1" {
		t.Errorf("sessions are %s", list.Body)
	}
	logout := s.Identity + "/auth/logout"
	jti := list.String("tokens.0.jti")
	bob.As(bob.ID).Post(logout+"?jti="+jti, nil).WantError(identity.ErrForeignToken)
	bob.As(bob.ID).Post(logout+"?jti="+id.New[id.Token]().String(), nil).WantError(identity.ErrTokenNotFound)
	for _, bad := range []string{"?jti=", "?jti=x", "?jti=ALL", "?jti=all&jti=all"} {
		bob.As(bob.ID).Post(logout+bad, nil).WantError(fault.ErrInvalid)
	}
	ann.As(ann.ID).Post(logout+"?jti="+jti, nil).Want(http.StatusNoContent)
	ann.As(ann.ID).Post(logout+"?jti="+jti, nil).Want(http.StatusNoContent)
	laptop.As(laptop.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	poll.Until(t, "the end of the laptop's access", func() bool {
		return laptop.Get(s.Identity+"/profile").Status == http.StatusUnauthorized
	})
	ann.Get(s.Identity + "/profile").Want(http.StatusOK)
	bob.Get(s.Identity + "/profile").Want(http.StatusOK)

	out := ann.As(ann.ID).Post(logout, nil).Want(http.StatusNoContent)
	if c := out.Header.Get("Set-Cookie"); !strings.HasPrefix(c, "acct=;") {
		t.Errorf("the cookie is not deleted: %q", c)
	}
	ann.As(ann.ID).Post(logout, nil).WantError(token.ErrEnded)
	ann.As(ann.ID).Get(s.Identity + "/auth").WantError(token.ErrEnded)
}

func TestLogoutAll(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	other := ann.Login()
	ann.As(ann.ID).Post(s.Identity+"/auth/logout?jti=all", nil).Want(http.StatusNoContent)
	for _, p := range []*testkit.Person{ann, other} {
		p.As(p.ID).Post(s.Identity+"/auth/upgrade", nil).WantError(token.ErrEnded)
		poll.Until(t, "the end of access", func() bool { return p.Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	}
	ann.Login().Get(s.Identity + "/profile").Want(http.StatusOK)
}

func TestLoginAtTheWrongHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.s
	must(t, s.App.Identity.SetHostname(t.Context(), testkit.Command, w.acme.uid, "acme.example.com"))
	must(t, s.App.Identity.SetHostname(t.Context(), testkit.Command, w.bolt.uid, "other.example.com"))
	other := s.Stranger().With("Host", "other.example.com")
	resp := other.Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).WantError(identity.ErrWrongHost)
	if link := resp.Header.Get("Link"); !strings.Contains(link, "//acme.example.com") ||
		!strings.HasSuffix(link, s.Identity+`/auth/login>; rel="alternate"`) {
		t.Errorf("Link is %q", link)
	}
	resp = other.Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", "wrong password")).WantError(identity.ErrCredentials)
	if resp.Header.Get("Link") != "" {
		t.Error("the answer to a wrong password reveals the person's home host")
	}
	other.Post(s.Identity+"/auth/exists", map[string]any{"address": "ann@example.com"}).WantError(identity.ErrPersonNotFound)
	other.Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).WantError(identity.ErrResetRefused)
	// The host of PUBLIC_URL knows everybody, and the reset leads to the home host.
	public := s.Stranger()
	public.Post(s.Identity+"/auth/exists", map[string]any{"address": "ann@example.com"}).Want(http.StatusOK)
	public.Post(s.Identity+"/auth/reset", map[string]any{"address": "ann@example.com"}).Want(http.StatusNoContent)
	if link := s.Mail.Wait(t, "ann@example.com", "/reset/", 1).Link(t, "/reset/"); !strings.Contains(link, "//acme.example.com") {
		t.Errorf("the mail links to %s, want the home host", link)
	}
	public.Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).WantError(identity.ErrWrongHost)
	// Tokens are not bound to a host.
	for _, host := range []string{"acme.example.com", "other.example.com", "localhost"} {
		at := w.ann.With("Host", host)
		at.Get(s.Identity + "/profile").Want(http.StatusOK)
		access := at.As(w.ann.ID).Post(s.Identity+"/auth/access", nil).Want(http.StatusOK).String("token")
		if iss := claimsOf(t, access)["iss"]; iss != s.Config.PublicURL.String()+s.Identity {
			t.Errorf("a token from %s has the issuer %v", host, iss)
		}
	}
	// People who are at home at the free organization's host sign in everywhere: dan, and cid of an organization without a host.
	for _, address := range []string{"dan@example.com", "cid@example.com"} {
		other.Post(s.Identity+"/auth/login", credentials(address, "bcrypt", testkit.Password)).Want(http.StatusOK)
		other.Post(s.Identity+"/auth/exists", map[string]any{"address": address}).Want(http.StatusOK)
		other.Post(s.Identity+"/auth/reset", map[string]any{"address": address}).Want(http.StatusNoContent)
		if link := s.Mail.Wait(t, address, "/reset/", 1).Link(t, "/reset/"); !strings.HasPrefix(link, s.URL+"/reset/") {
			t.Errorf("the mail links to %s, want the home host", link)
		}
	}
}

// TestConfirmationLeadsBack: people without an organization's host of their own sign up and confirm at any host, and the
// link leads back there.
func TestConfirmationLeadsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.s
	must(t, s.App.Identity.SetHostname(t.Context(), testkit.Command, w.acme.uid, "acme.example.com"))
	leads := func(address string, n int, host string) string {
		t.Helper()
		m := s.Mail.Wait(t, address, "/confirm/", n)
		if link := m.Link(t, "/confirm/"); !strings.Contains(link, "//"+host) {
			t.Errorf("the mail %d to %s links to %s, want %s", n, address, link, host)
		}
		return m.Key(t, "/confirm/")
	}
	eve := s.Stranger().With("Host", "acme.example.com")
	useTokens(eve, eve.Post(s.Identity+"/signup", map[string]any{"address": "eve@example.com", "password": testkit.Password}).Want(
		http.StatusOK))
	leads("eve@example.com", 1, "acme.example.com")
	unknown := eve.With("Host", "unknown.example.com") // of the free organization
	unknown.Post(s.Identity+"/profile/emails/eve@example.com/verify", map[string]any{"next": "/account"}).Want(http.StatusNoContent)
	key := leads("eve@example.com", 2, "localhost")
	eve.Post(s.Identity+"/confirm/"+key, nil).Want(http.StatusNoContent)
	// A member of an organization with a host is at home there only.
	w.ann.Post(s.Identity+"/profile/emails", map[string]any{"address": "ann2@example.com"}).Want(http.StatusCreated)
	leads("ann2@example.com", 1, "acme.example.com")
	w.dan.With("Host", "acme.example.com").Post(s.Identity+"/profile/emails",
		map[string]any{"address": "dan2@example.com"}).Want(http.StatusCreated)
	leads("dan2@example.com", 1, "acme.example.com")
}
