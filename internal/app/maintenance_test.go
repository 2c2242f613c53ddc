package app_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/operator"
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
	if err := first.App.SetMaintenance(t.Context(), operator.Maintenance{On: true}); err != nil {
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

	if err := second.App.SetMaintenance(t.Context(), operator.Maintenance{}); err != nil {
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

// TestMaintenancePage: a browser sees a page with the end of a maintenance, in its language, and the files of it. A client gets the error.
// Before it begins, the pages announce it, and everything works.
func TestMaintenancePage(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	browser := s.Stranger().With("Accept", "text/html,application/xhtml+xml,*/*;q=0.8").With("Accept-Language", "de")
	begin, end := s.Clock.Now().Add(time.Hour).UTC().Truncate(time.Second), s.Clock.Now().Add(2*time.Hour).UTC().Truncate(time.Second)
	if err := s.App.SetMaintenance(t.Context(), operator.Maintenance{On: true, From: begin, Until: end}); err != nil {
		t.Fatal(err)
	}
	times := func(body []byte) string {
		return strings.Join(regexp.MustCompile(`datetime="[^"]*"`).FindAllString(string(body), -1), " ")
	}
	said := func(at time.Time) string { return `datetime="` + at.Format(time.RFC3339) + `"` }
	poll.Until(t, "the announcement", func() bool {
		return times(browser.Get("/login").Want(http.StatusOK).Body) == said(begin)+" "+said(end)
	})
	s.Clock.Advance(time.Hour)
	page := browser.Get("/m/somebody").Want(http.StatusServiceUnavailable)
	if times(page.Body) != said(end) || !strings.Contains(string(page.Body), "Wartungsarbeiten") || page.Header.Get("Retry-After") != "60" {
		t.Errorf("the page is %s", page.Body)
	}
	file := regexp.MustCompile(`/assets/[^"]+/frame[.]js`).FindString(string(page.Body))
	s.Stranger().Get(file).Want(http.StatusOK)
	checkUnavailable(t, "an API as a page", browser.Get(s.Transfer+"/environment"))
	checkUnavailable(t, "a client", s.Stranger().Get("/m/somebody"))
	checkUnavailable(t, "a post of a browser", browser.Post("/m/somebody", nil))
}
