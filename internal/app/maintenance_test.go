package app_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestMaintenance: once maintenance is set on one replica, every replica answers 503 within a second. Once it is
// unset, they serve again as quickly (contract 1.9). Health checks still answer.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	second := testkit.New(t, testkit.Beside(first))
	ann := first.SignUp("ann@example.com")
	within := func(what string, holds func(*testkit.Server) bool) {
		t.Helper()
		began := time.Now()
		for _, s := range []*testkit.Server{first, second} {
			poll.Until(t, what, func() bool { return holds(s) })
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s after %v, want a second at most", what, took)
		}
	}
	if err := first.App.SetMaintenance(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	within("maintenance begins", func(s *testkit.Server) bool {
		return s.Stranger().Get(s.Transfer+"/environment").Status == http.StatusServiceUnavailable
	})
	for _, s := range []*testkit.Server{first, second} {
		for _, path := range []string{s.Identity + "/profile", s.Transfer + "/transfers", s.Identity + "/auth/keys", "/signup", "/nowhere"} {
			checkUnavailable(t, "GET "+path, ann.At(s).Get(path))
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			s.Stranger().Get(path).Want(http.StatusOK)
		}
	}
	// A replica that starts meanwhile is under maintenance from its first request.
	third := testkit.New(t, testkit.Beside(first))
	checkUnavailable(t, "a new replica", third.Stranger().Get(third.Transfer+"/environment"))

	if err := second.App.SetMaintenance(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	within("maintenance ends", func(s *testkit.Server) bool {
		return s.Stranger().Get(s.Transfer+"/environment").Status == http.StatusOK
	})
	ann.Get(first.Identity + "/profile").Want(http.StatusOK)
}

// TestMaintenanceConsole: at the public address an operator signs in during maintenance and ends it. Everything else answers 503, also to
// operators. Where the console is not, signing in is closed, too.
func TestMaintenanceConsole(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	closed := testkit.New(t, testkit.Beside(s), testkit.Env("CONSIGN_ADMIN_CONSOLE", "listener"))
	addOrganization(t, s, "org.test")
	olga, code := s.SignUpOperator("olga@example.com")
	olga.Put(httpapi.OperatorBase+"/maintenance", map[string]any{"on": true}).Want(http.StatusNoContent)
	for _, at := range []*testkit.Server{s, closed} {
		poll.Until(t, "maintenance begins", func() bool {
			return at.Stranger().Get(at.Transfer+"/environment").Status == http.StatusServiceUnavailable
		})
	}
	browser := s.Stranger().With("Accept", "text/html")
	s.Clock.Advance(time.Minute) // the next code
	page := browser.Get("/login").Want(http.StatusOK)
	browser.Get("/admin/settings").Want(http.StatusOK)
	browser.With("Accept", "*/*").Get(regexp.MustCompile(`/assets/[^"]+\.js`).FindString(string(page.Body))).Want(http.StatusOK)
	s.Stranger().Get(s.Identity + "/environment").Want(http.StatusOK)
	login := func(at *testkit.Person, body map[string]any) *testkit.Response {
		body["email"] = "olga@example.com"
		return at.Post(s.Identity+"/auth/login", body)
	}
	password := map[string]any{"type": "bcrypt", "key": testkit.Password}
	mfa := login(s.Stranger(), password).Want(http.StatusOK).String("token")
	raw := login(s.Stranger().As(mfa), map[string]any{"type": "totp", "key": code()}).Want(http.StatusOK).String("token")
	operator := s.Stranger().As(s.Stranger().As(raw).Post(s.Identity+"/auth/access", nil).Want(http.StatusOK).String("token"))
	operator.Get(overview).Want(http.StatusOK)
	for _, path := range []string{s.Identity + "/profile", s.Transfer + "/transfers", "/signup", "/inbox", "/admin/nowhere"} {
		checkUnavailable(t, "GET "+path, operator.Get(path))
	}
	checkUnavailable(t, "signing up", s.Stranger().Post(s.Identity+"/signup", map[string]any{}))
	for what, at := range map[string]*testkit.Person{"another organization": s.Stranger().With("Host", "org.test"),
		"without the console": closed.Stranger()} {
		checkUnavailable(t, what+", login", login(at, password))
		checkUnavailable(t, what+", page", at.Get("/login"))
		checkUnavailable(t, what+", console", at.As(olga.Access).Get(overview))
	}
	operator.Put(httpapi.OperatorBase+"/maintenance", map[string]any{"on": false}).Want(http.StatusNoContent)
	poll.Until(t, "maintenance ends", func() bool { return s.Stranger().Get(s.Transfer+"/environment").Status == http.StatusOK })
}
