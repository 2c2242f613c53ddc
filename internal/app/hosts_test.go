package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

// TestHTTPSOnly checks contract 1.3 on the whole server: which peers may report that a request came over TLS.
func TestHTTPSOnly(t *testing.T) {
	t.Parallel()
	trusting := testkit.New(t, testkit.PublicURL("https://consign.test"), loopback())
	wary := testkit.New(t, testkit.PublicURL("https://consign.test"), testkit.Env("CONSIGN_TRUSTED_PROXIES", "10.0.0.0/8"))
	for _, c := range []struct {
		name   string
		server *testkit.Server
		proto  []string
		served bool
	}{
		{"a trusted proxy says https", trusting, []string{"https"}, true},
		{"a trusted proxy says HTTPS", trusting, []string{"HTTPS"}, true},
		{"a trusted proxy says http", trusting, []string{"http"}, false},
		{"a trusted proxy says nothing", trusting, nil, false},
		{"a client claims https to a trusted proxy that saw http", trusting, []string{"https", "http"}, false},
		{"the same in one header", trusting, []string{"https, http"}, false},
		{"an untrusted peer says https", wary, []string{"https"}, false},
		{"an untrusted peer says nothing", wary, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := c.server.Stranger()
			p.Header["X-Forwarded-Proto"] = c.proto
			for _, path := range []string{c.server.Transfer + "/environment", c.server.Identity + "/auth/keys", "/login", "/nowhere"} {
				got := p.Get(path)
				hsts := got.Header.Get("Strict-Transport-Security")
				if c.served {
					if got.Status == http.StatusForbidden || hsts != "max-age=31536000" {
						t.Errorf("%s answered %d with HSTS %q", path, got.Status, hsts)
					}
					continue
				}
				got.WantError(fault.ErrForbidden)
				if !strings.Contains(got.Details(), "CONSIGN_TRUSTED_PROXIES") || hsts != "" {
					t.Errorf("%s answered with HSTS %q and: %s", path, hsts, got.Details())
				}
			}
			for _, path := range []string{"/healthz", "/readyz"} {
				p.Get(path).Want(http.StatusOK)
			}
		})
	}
	t.Cleanup(func() {
		if n := strings.Count(wary.Log(), "CONSIGN_TRUSTED_PROXIES"); n != 1 {
			t.Errorf("the untrusted peer is logged %d times, want once", n)
		}
	})
}

// TestForwardedClient checks that a session is recorded from the address that trusted proxies report, and from no other.
func TestForwardedClient(t *testing.T) {
	t.Parallel()
	trusting := testkit.New(t, testkit.PublicURL("http://consign.test"), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off"),
		testkit.Env("CONSIGN_TRUSTED_PROXIES", "127.0.0.0/8,::1/128,10.0.0.0/8"))
	wary := testkit.New(t, testkit.PublicURL("http://consign.test"), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off"))
	addPerson(t, trusting, "ann@example.com", "")
	addPerson(t, wary, "ann@example.com", "")
	own := "127.0.0.1"
	for _, c := range []struct {
		name   string
		server *testkit.Server
		sent   []string
		want   string
	}{
		{"missing", trusting, nil, own},
		{"one hop", trusting, []string{"198.51.100.7"}, "198.51.100.7"},
		{"a forged one before it", trusting, []string{"203.0.113.66, 198.51.100.7"}, "198.51.100.7"},
		{"through a second proxy of ours", trusting, []string{"203.0.113.66", "198.51.100.7, 10.1.2.3"}, "198.51.100.7"},
		{"with a port", trusting, []string{"[2001:db8::7]:4711"}, "2001:db8::7"},
		{"no address", trusting, []string{"unknown"}, own},
		{"from an untrusted peer", wary, []string{"198.51.100.7"}, own},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.server.Clock.Advance(15e9) // the login bucket drains
			p := c.server.Stranger()
			p.Header["X-Forwarded-For"] = c.sent
			ann := signIn(p, "ann@example.com")
			tokens, _ := ann.As(ann.ID).Get(c.server.Identity + "/auth").Want(http.StatusOK).Value("tokens").([]any)
			found := false
			for _, one := range tokens {
				m, _ := one.(map[string]any)
				found = found || m["ip"] == c.want
			}
			if !found {
				t.Errorf("no session from %s among %v", c.want, tokens)
			}
		})
	}
}

// TestHostSelectsOrganization checks contract 1.2: an organization's data is served at its hosts only, whichever
// header names the host, and links never come from a header.
func TestHostSelectsOrganization(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.PublicURL("http://consign.test:8443"), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off"))
	proxied := testkit.New(t, testkit.Beside(s), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off"), loopback())
	addOrganization(t, s, "acme.test", "old.acme.test")
	addOrganization(t, s, "other.test")
	addPerson(t, s, "ann@example.com", "acme.test", identity.RoleTransferUse)

	ann := signIn(s.Stranger().With("Host", "acme.test"), "ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "dr-ann"}).Want(http.StatusCreated)
	mailbox := s.Transfer + "/public/mailbox/dr-ann"
	for _, c := range []struct {
		host string
		want int
	}{
		{"acme.test", http.StatusOK}, {"ACME.test:9999", http.StatusOK}, {"acme.test.", http.StatusOK}, {"old.acme.test", http.StatusOK},
		{"other.test", http.StatusNotFound}, {"consign.test", http.StatusNotFound}, {"whoever.example", http.StatusNotFound},
		{"acme.test.evil.example", http.StatusNotFound}, {"acme.test@evil.example", http.StatusNotFound},
	} {
		if got := s.Stranger().With("Host", c.host).Get(mailbox); got.Status != c.want {
			t.Errorf("at host %s the mailbox answers %d, want %d: %s", c.host, got.Status, c.want, got.Body)
		}
	}
	// A header that names the host counts when a trusted proxy sends it, and then the last value.
	for _, c := range []struct {
		server    *testkit.Server
		forwarded string
		want      int
	}{
		{proxied, "acme.test", http.StatusOK}, {proxied, "other.test, acme.test", http.StatusOK},
		{proxied, "acme.test, other.test", http.StatusNotFound}, {proxied, "", http.StatusNotFound}, {s, "acme.test", http.StatusNotFound},
	} {
		got := c.server.Stranger().With("Host", "consign.test").With("X-Forwarded-Host", c.forwarded).Get(mailbox)
		if got.Status != c.want {
			t.Errorf("with X-Forwarded-Host %q the mailbox answers %d, want %d", c.forwarded, got.Status, c.want)
		}
	}

	// At the wrong host a correct login is told the right host, and a wrong password is told nothing.
	login := map[string]any{"email": "ann@example.com", "type": "bcrypt", "key": testkit.Password}
	wrong := s.Stranger().With("Host", "other.test").Post(s.Identity+"/auth/login", login).WantError(identity.ErrWrongHost)
	if got := wrong.Header.Get("Link"); got != `<http://acme.test:8443/id/v3/auth/login>; rel="alternate"` {
		t.Errorf("Link: %s", got)
	}
	login["key"] = "something else entirely"
	if got := s.Stranger().With("Host", "other.test").Post(s.Identity+"/auth/login",
		login).WantError(identity.ErrCredentials); got.Header.Get("Link") != "" {
		t.Errorf("a wrong password is told Link: %s", got.Header.Get("Link"))
	}

	// Links: the configured name of the host, with the public URL's scheme and port.
	made := s.Stranger().With("Host", "old.acme.test:1").Post(mailbox,
		map[string]any{"anonSender": "Sam", "anonEmail": "sam@example.com"}).Want(http.StatusCreated)
	if got, want := made.Header.Get("Location"), "http://acme.test:8443"+s.Transfer+"/reservations/"+made.String("uid"); got != want {
		t.Errorf("Location: %s, want %s", got, want)
	}
	s.Stranger().With("Host", "evil.example").With("X-Forwarded-Host", "evil.example").
		Post(s.Identity+"/signup", map[string]any{"address": "bob@example.com", "password": testkit.Password}).Want(http.StatusOK)
	if link := s.Mail.Wait(t, "bob@example.com", "/confirm/", 1).Link(t, "/confirm/"); !strings.HasPrefix(link,
		"http://consign.test:8443/confirm/") {
		t.Errorf("the mail links to %s", link)
	}

	// A reservation, too, is served at the home host of its mailbox.
	sam := s.Stranger().As(bearer(made))
	sam.With("Host", "acme.test").Get(s.Transfer + "/reservations/" + made.String("uid")).Want(http.StatusOK)
	sam.With("Host", "other.test").Get(s.Transfer + "/reservations/" + made.String("uid")).WantError(transfer.ErrNotFound)
}

// TestWithoutFreeOrganization: a host that belongs to no organization then answers an error.
func TestWithoutFreeOrganization(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	addOrganization(t, s, "acme.test")
	if _, err := s.App.DB.Pool.Exec(t.Context(), `UPDATE identity.organizations SET free = false WHERE free`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(),
		`DELETE FROM identity.hosts WHERE host = 'localhost'; SELECT pg_notify('directory', '')`); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the host is nobody's", func() bool { return s.Stranger().Get(s.Transfer+"/environment").Status == http.StatusNotFound })
	got := s.Stranger().Get(s.Identity + "/auth/keys").WantError(identity.ErrNoHost)
	checkError(t, "GET keys", got)
	s.Stranger().With("Host", "acme.test").Get(s.Identity + "/auth/keys").Want(http.StatusOK)
}

// TestPublicURLMoves: with another PUBLIC_URL the free organization is at the new host and still found at the old one.
func TestPublicURLMoves(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	ann := first.SignUp("ann@example.com")
	ann.Put(first.Transfer+"/mailbox", map[string]any{"vanityLink": "dr-ann"}).Want(http.StatusCreated)
	first.Stop()

	s := testkit.New(t, testkit.Beside(first), testkit.PublicURL("http://files.example.com"), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off"))
	if !strings.Contains(s.Log(), "files.example.com") || !strings.Contains(s.Log(), "localhost") {
		t.Error("the log does not name the two hosts")
	}
	for _, host := range []string{"files.example.com", "localhost"} {
		made := s.Stranger().With("Host", host).Post(s.Transfer+"/public/mailbox/dr-ann", nil).Want(http.StatusCreated)
		if got := made.Header.Get("Location"); !strings.HasPrefix(got, "http://files.example.com/") {
			t.Errorf("asked at %s, Location: %s", host, got)
		}
	}
	rows, err := s.App.DB.Pool.Query(t.Context(), `SELECT host FROM identity.hosts WHERE NOT active`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var inactive string
	for rows.Next() {
		if err := rows.Scan(&inactive); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil || inactive != "localhost" {
		t.Errorf("the inactive hostname is %q (%v), want localhost", inactive, err)
	}
	// The issuer follows the public URL, so sessions of the old one have to sign in again.
	ann.At(s).Get(s.Identity + "/profile").Want(http.StatusUnauthorized)
	signIn(s.Stranger(), "ann@example.com").Get(s.Identity + "/profile").Want(http.StatusOK)
}

// TestDroppedVersions: paths of older versions answer 410 (contract 1.1).
func TestDroppedVersions(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	for _, path := range []string{"/id/v1", "/id/v1/", "/id/v1/auth/login", "/id/v2/profile", "/transfer/v1",
		"/transfer/v1/public/mailbox/x"} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			got := s.Stranger().Do(method, path, nil).Want(http.StatusGone)
			checkError(t, method+" "+path, got)
		}
	}
	for _, path := range []string{"/id/v4/profile", "/transfer/v11/environment", "/id", "/transfer"} {
		checkError(t, path, s.Stranger().Get(path).WantError(fault.ErrNotFound))
	}
}

// TestUnknownPathInABrowser: a browser gets a page, and an API client gets an error body whatever it accepts.
func TestUnknownPathInABrowser(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	for _, c := range []struct{ path, accept, contentType string }{
		{"/nowhere", browser, "text/html; charset=utf-8"},
		{"/m/", browser, "text/html; charset=utf-8"},
		{"/nowhere", "*/*", "application/json"},
		{s.Identity + "/nowhere", browser, "application/json"},
		{s.Transfer + "/nowhere", browser, "application/json"},
	} {
		got := s.Stranger().With("Accept", c.accept).Get(c.path).Want(http.StatusNotFound)
		if contentType := got.Header.Get("Content-Type"); contentType != c.contentType {
			t.Errorf("%s for %s: %s", c.path, c.accept, contentType)
		}
	}
}
