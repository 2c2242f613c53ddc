package handler_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

// tab is a page of the server's origin in somebody's browser. All tabs of a browser share its cookie.
type tab struct {
	*testkit.Person
	cookie *string
}

// openTab returns a tab of a browser with the session cookie of a person.
func openTab(p *testkit.Person, stay bool) tab {
	p.Server.T.Helper()
	b := tab{p.Server.Stranger().With("Sec-Fetch-Site", "same-origin").With("Origin", p.Server.URL), new(string)}
	b.keep(b.As(p.ID).Post(p.Server.Identity+"/auth/session", map[string]any{"stay": stay}).Want(http.StatusNoContent))
	if *b.cookie == "" {
		p.Server.T.Fatal("POST /auth/session sets no cookie")
	}
	return b
}

// keep stores the session cookie of an answer, and reports whether the answer has one.
func (b tab) keep(resp *testkit.Response) bool {
	if c := sessionCookieOf(resp); c != nil {
		*b.cookie = c.Value
		return true
	}
	return false
}

// post sends a request as the browser does, with an access token or without a token.
func (b tab) post(method, path, access string) *testkit.Response {
	p := b.As(access)
	if *b.cookie != "" {
		p = p.With("Cookie", "id="+*b.cookie)
	}
	return p.Do(method, path, nil)
}

// sessionCookieOf returns the session cookie that an answer sets, nil for none.
func sessionCookieOf(resp *testkit.Response) *http.Cookie {
	for _, c := range (&http.Response{Header: resp.Header}).Cookies() {
		if c.Name == "id" {
			return c
		}
	}
	return nil
}

func TestSessionCookie(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	page := s.Stranger().With("Sec-Fetch-Site", "same-origin").With("Origin", s.URL)
	resp := page.As(ann.ID).Post(s.Identity+"/auth/session", nil).Want(http.StatusNoContent)
	c := sessionCookieOf(resp)
	if c == nil || c.Value != ann.ID || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" ||
		c.MaxAge != 0 || !c.Expires.IsZero() {
		t.Fatalf("cookie %+v", c)
	}
	stays := sessionCookieOf(page.As(ann.ID).Post(s.Identity+"/auth/session", map[string]any{"stay": true}).Want(http.StatusNoContent))
	if until := time.Unix(int64(claimsOf(t, ann.ID)["exp"].(float64)), 0); !stays.Expires.Equal(until) {
		t.Errorf("the cookie stays until %v, the token until %v", stays.Expires, until)
	}
	page.As(ann.Access).Post(s.Identity+"/auth/session", nil).WantError(token.ErrKind)
	page.Post(s.Identity+"/auth/session", nil).WantError(token.ErrMissing)
	page.As(ann.ID).Post(s.Identity+"/auth/session", map[string]any{"stay": "yes"}).Want(http.StatusBadRequest)

	b := openTab(ann, true)
	access := b.post("POST", s.Identity+"/auth/access", "").Want(http.StatusOK)
	if sessionCookieOf(access) != nil || bearer(access) != "" {
		t.Error("access replaced the ID token without need")
	}
	if got := b.post("GET", s.Identity+"/profile", access.String("token")).Want(http.StatusOK).String(
		"emails.0.address"); got != "ann@example.com" {
		t.Errorf("signed in as %s", got)
	}
	if got := b.post("GET", s.Identity+"/auth", "").Want(http.StatusOK).String("tokens.0.jti"); got != claimsOf(t, ann.ID)["jti"] {
		t.Errorf("sessions begin with %s", got)
	}
	upgraded := b.post("POST", s.Identity+"/auth/upgrade", "").Want(http.StatusOK)
	if c := sessionCookieOf(upgraded); c == nil || c.Value != "stay~"+upgraded.String("token") || c.Expires.IsZero() {
		t.Errorf("upgrade sets the cookie to %+v", c)
	}
	b.keep(upgraded)
	ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded) // the header takes no replaced token
	b.post("POST", s.Identity+"/auth/access", "").Want(http.StatusOK)
	b.post("POST", s.Identity+"/auth/uid", "").WantError(token.ErrMissing) // not a call of the cookie
	b.post("GET", s.Identity+"/profile", "").WantError(token.ErrMissing)

	out := b.post("POST", s.Identity+"/auth/logout", "").Want(http.StatusNoContent)
	if c := sessionCookieOf(out); c == nil || c.Value != "" || c.MaxAge >= 0 {
		t.Errorf("logout sets the cookie to %+v", c)
	}
	b.post("POST", s.Identity+"/auth/access", "").WantError(token.ErrEnded)
	b.post("GET", s.Identity+"/auth", "").WantError(token.ErrEnded)
	page.As(ann.ID).Post(s.Identity+"/auth/session", nil).WantError(token.ErrEnded)
}

// TestHeaderWinsOverSessionCookie: the header decides who calls, and the cookie of another session stays as it is.
func TestHeaderWinsOverSessionCookie(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	b := openTab(ann, false)
	got := b.post("POST", s.Identity+"/auth/access", bob.ID).Want(http.StatusOK)
	if claimsOf(t, got.String("token"))["sub"] != claimsOf(t, bob.ID)["sub"] {
		t.Error("the cookie won")
	}
	b.post("POST", s.Identity+"/auth/access", "garbage").WantError(token.ErrInvalid)
	upgraded := b.post("POST", s.Identity+"/auth/upgrade", bob.ID).Want(http.StatusOK)
	if sessionCookieOf(upgraded) != nil {
		t.Error("the upgrade of another session replaced the cookie")
	}
	out := b.post("POST", s.Identity+"/auth/logout", upgraded.String("token")).Want(http.StatusNoContent)
	if sessionCookieOf(out) != nil {
		t.Error("the logout of another session removed the cookie")
	}
	b.post("POST", s.Identity+"/auth/access", "").Want(http.StatusOK)
	*b.cookie = ann.Access
	b.post("POST", s.Identity+"/auth/access", "").WantError(token.ErrKind)
	*b.cookie = "garbage"
	b.post("POST", s.Identity+"/auth/access", "").WantError(token.ErrInvalid)
}

// TestAttackSessionCookie: the cookie alone does nothing unless the browser says that a page of the same origin calls.
func TestAttackSessionCookie(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	b := openTab(ann, false)
	here, _ := url.Parse(s.URL)
	sibling := "http://evil.localhost:" + here.Port()
	otherPort := "http://localhost:1"
	for name, headers := range map[string]map[string]string{
		"nothing":                    {},
		"cross-site form":            {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
		"form without referrer":      {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
		"sandboxed frame":            {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
		"sibling subdomain":          {"Sec-Fetch-Site": "same-site", "Origin": sibling},
		"sibling that lies":          {"Sec-Fetch-Site": "same-origin", "Origin": sibling},
		"another port":               {"Sec-Fetch-Site": "same-site", "Origin": otherPort},
		"another port that lies":     {"Sec-Fetch-Site": "same-origin", "Origin": otherPort},
		"another scheme":             {"Sec-Fetch-Site": "same-origin", "Origin": "https://" + here.Host},
		"address bar":                {"Sec-Fetch-Site": "none", "Origin": s.URL},
		"no Sec-Fetch-Site":          {"Origin": s.URL},
		"no Origin":                  {"Sec-Fetch-Site": "same-origin"},
		"Origin with a path":         {"Sec-Fetch-Site": "same-origin", "Origin": s.URL + "/"},
		"Origin with a user":         {"Sec-Fetch-Site": "same-origin", "Origin": "http://a@" + here.Host},
		"same-origin with a remnant": {"Sec-Fetch-Site": "same-origin, cross-site", "Origin": s.URL},
		"the origin as a prefix":     {"Sec-Fetch-Site": "same-origin", "Origin": s.URL + ".evil.example"},
	} {
		p := s.Stranger().With("Cookie", "id="+*b.cookie)
		for header, value := range headers {
			p = p.With(header, value)
		}
		for _, path := range []string{"/auth/access", "/auth/upgrade", "/auth/logout", "/auth/logout?jti=all",
			"/auth/park?redirect_uri=" + url.QueryEscape(s.URL+"/")} {
			if resp := p.Post(s.Identity+path, nil); resp.Status != http.StatusForbidden {
				t.Errorf("%s: %s answers %d", name, path, resp.Status)
			}
		}
		p.Post(s.Identity+"/auth/access", nil).WantError(token.ErrCrossOrigin)
		if got := p.As(ann.ID).Post(s.Identity+"/auth/session", nil); got.Status != http.StatusForbidden || sessionCookieOf(got) != nil {
			t.Errorf("%s: POST /auth/session answers %d", name, got.Status)
		}
		if headers["Sec-Fetch-Site"] != "same-origin" || headers["Origin"] != "" { // a GET of the same origin carries no Origin
			p.Get(s.Identity + "/auth").WantError(token.ErrCrossOrigin)
		}
	}
	for _, override := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		p := s.Stranger().With("Cookie", "id="+*b.cookie).With("Sec-Fetch-Site", "same-origin").With(override, "POST")
		p.Get(s.Identity + "/auth/logout?_method=POST").Want(http.StatusMethodNotAllowed)
	}
	b.post("POST", s.Identity+"/auth/access", "").Want(http.StatusOK) // nobody has ended the session
}

// TestTabsDoNotSignEachOtherOut: tabs that call at the same time with a token that is to be replaced, or that missed the
// replacement, all go on.
func TestTabsDoNotSignEachOtherOut(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	b := openTab(ann, false)
	all := func(path string) (cookies map[string]bool) {
		t.Helper()
		before, cookies := *b.cookie, map[string]bool{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				resp, err := b.With("Cookie", "id="+before).Try(t.Context(), "POST", s.Identity+path, nil)
				mu.Lock()
				defer mu.Unlock()
				if err != nil || resp.Status != http.StatusOK {
					t.Errorf("%s: %v %+v", path, err, resp)
				} else if c := sessionCookieOf(resp); c != nil {
					cookies[claimsOf(t, c.Value)["jti"].(string)] = true
					*b.cookie = c.Value
				}
			})
		}
		wg.Wait()
		return cookies
	}
	if cookies := all("/auth/upgrade"); len(cookies) != 1 {
		t.Errorf("parallel upgrades give %d tokens, want the same for all", len(cookies))
	}
	must(t, s.App.Identity.SetMember(t.Context(), testkit.Command, "free", "ann@example.com", []string{identity.RoleOrganizationAdmin}))
	if cookies := all("/auth/access"); len(cookies) != 1 { // each of them presents the graced token
		t.Errorf("parallel calls of access give %d tokens, want the same for all", len(cookies))
	}

	late, header := *b.cookie, ann.As(*b.cookie)
	for range 3 { // a tab misses several replacements
		b.keep(b.post("POST", s.Identity+"/auth/upgrade", "").Want(http.StatusOK))
	}
	header.Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	stale := tab{b.Person, &late}
	resp := stale.post("POST", s.Identity+"/auth/access", "").Want(http.StatusOK)
	if c := sessionCookieOf(resp); c == nil || claimsOf(t, c.Value)["jti"] != claimsOf(t, *b.cookie)["jti"] {
		t.Errorf("the late tab gets the cookie %+v", c)
	}
	stale.post("GET", s.Identity+"/auth", "").Want(http.StatusOK)
	s.Clock.Advance(time.Minute)
	stale.post("POST", s.Identity+"/auth/access", "").WantError(token.ErrEnded)
	b.post("POST", s.Identity+"/auth/access", "").Want(http.StatusOK)

	late = *b.cookie
	b.keep(b.post("POST", s.Identity+"/auth/upgrade", "").Want(http.StatusOK))
	stale.post("POST", s.Identity+"/auth/logout", "").Want(http.StatusNoContent) // the session, whichever token names it
	b.post("POST", s.Identity+"/auth/access", "").WantError(token.ErrEnded)
	stale.post("POST", s.Identity+"/auth/access", "").WantError(token.ErrEnded)
}

// TestParkedSessionCookie: parking without keep_session moves the session away from the browser, at once.
func TestParkedSessionCookie(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	b := openTab(ann, false)
	late := *b.cookie
	b.keep(b.post("POST", s.Identity+"/auth/upgrade", "").Want(http.StatusOK))
	park := s.Identity + "/auth/park?redirect_uri=" + url.QueryEscape(s.URL+"/")
	kept := b.post("POST", park+"&keep_session=true", "").Want(http.StatusOK)
	if sessionCookieOf(kept) != nil {
		t.Error("keep_session changes the cookie")
	}
	parked := b.post("POST", park, "").Want(http.StatusOK)
	if c := sessionCookieOf(parked); c == nil || c.MaxAge >= 0 {
		t.Errorf("parking leaves the cookie: %+v", c)
	}
	moved := s.Stranger().As(parked.String("token")).Get(s.Identity + "/auth/park").Want(http.StatusOK)
	for _, cookie := range []string{*b.cookie, late} {
		tab{b.Person, &cookie}.post("POST", s.Identity+"/auth/access", "").WantError(token.ErrEnded)
	}
	s.Stranger().As(moved.String("token")).Post(s.Identity+"/auth/access", nil).Want(http.StatusOK)
}

// TestConfirmationReachesAllTabs is journey 4 by API: one tab confirms, the others go on with their next access.
func TestConfirmationReachesAllTabs(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUpUnconfirmed("ann@example.com")
	first := openTab(ann, true)
	second := tab{first.Person, new(string)} // another tab whose request is on its way during the confirmation
	*second.cookie = *first.cookie
	level := func(b tab) any {
		t.Helper()
		resp := b.post("POST", s.Identity+"/auth/access", "").Want(http.StatusOK)
		b.keep(resp)
		return claimsOf(t, resp.String("token"))["authLevel"]
	}
	if level(first) != 0.0 {
		t.Error("a signup has a level")
	}
	key := s.Mail.Wait(t, "ann@example.com", "/confirm/", 1).Key(t, "/confirm/")
	confirmed := first.post("POST", s.Identity+"/confirm/"+key, ann.Access).Want(http.StatusNoContent)
	if c := sessionCookieOf(confirmed); c == nil || c.Value != "stay~"+bearer(confirmed) || !c.Expires.After(s.Clock.Now().Add(24*time.Hour)) {
		t.Fatalf("the confirmation sets the cookie to %+v", c)
	}
	first.keep(confirmed)
	if level(first) != 1.0 || level(second) != 1.0 {
		t.Error("a tab stays at level 0")
	}
	if claimsOf(t, strings.TrimPrefix(*second.cookie, "stay~"))["jti"] != claimsOf(t, bearer(confirmed))["jti"] {
		t.Error("the tabs have different tokens")
	}
}

// TestAccessRaisesTheLevel: the address is confirmed in another browser. The first one gets its level with the next access,
// also when it calls several times at once, or missed the answer.
func TestAccessRaisesTheLevel(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUpUnconfirmed("ann@example.com")
	elsewhere := ann.Login()
	key := s.Mail.Wait(t, "ann@example.com", "/confirm/", 1).Key(t, "/confirm/")
	elsewhere.Post(s.Identity+"/confirm/"+key, nil).Want(http.StatusNoContent)
	var wg sync.WaitGroup
	var mu sync.Mutex
	renewed := map[any]string{}
	for range 8 {
		wg.Go(func() {
			resp, err := ann.As(ann.ID).Try(t.Context(), "POST", s.Identity+"/auth/access", nil)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || resp.Status != http.StatusOK || claimsOf(t, resp.String("token"))["authLevel"] != 1.0 {
				t.Errorf("access answers %v %+v", err, resp)
				return
			}
			renewed[claimsOf(t, bearer(resp))["jti"]] = bearer(resp)
		})
	}
	wg.Wait()
	if len(renewed) != 1 {
		t.Errorf("parallel calls give %d ID tokens", len(renewed))
	}
	ann.As(ann.ID).Post(s.Identity+"/auth/upgrade", nil).WantError(token.ErrEnded) // replaced, and accepted by access only
	for _, raw := range renewed {
		before, after := claimsOf(t, ann.ID), claimsOf(t, raw)
		if after["authLevel"] != 1.0 || after["sid"] != before["sid"] || after["exp"].(float64) <= before["exp"].(float64) {
			t.Errorf("from %v to %v", before, after)
		}
		s.Clock.Advance(time.Minute)
		ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
		ann.As(raw).Post(s.Identity+"/auth/access", nil).Want(http.StatusOK)
	}
}

// TestSessionCookieEnds: what ends a session ends that of the cookie, on each replica.
func TestSessionCookieEnds(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	other := ann.Login()
	b := openTab(ann, false)
	access := b.post("POST", s.Identity+"/auth/access", "").Want(http.StatusOK).String("token")
	other.As(other.ID).Post(s.Identity+"/auth/logout?jti=all", nil).Want(http.StatusNoContent)
	b.post("POST", s.Identity+"/auth/access", "").WantError(token.ErrEnded)
	poll.Until(t, "the end of the access token", func() bool { // the other session's revocation reaches the set within 1 s (contract 2.4)
		return b.post("GET", s.Identity+"/profile", access).Status == http.StatusUnauthorized
	})

	b = openTab(ann.Login(), false)
	access = b.post("POST", s.Identity+"/auth/access", "").Want(http.StatusOK).String("token")
	gone := b.post("DELETE", s.Identity+"/profile", access).Want(http.StatusNoContent)
	if c := sessionCookieOf(gone); c == nil || c.MaxAge >= 0 {
		t.Errorf("deletion leaves the cookie: %+v", c)
	}
	b.post("POST", s.Identity+"/auth/access", "").WantError(token.ErrEnded)
}

// TestSessionCookieOverHTTPS: at an https address the cookie has the prefix that keeps sibling hosts from setting it. A
// proxy may leave the port out of the host.
func TestSessionCookieOverHTTPS(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.PublicURL("https://localhost:8443"), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off"))
	ann := s.SignUp("ann@example.com")
	page := s.Stranger().With("Sec-Fetch-Site", "same-origin").With("Origin", "https://localhost:8443").With("Host", "localhost")
	resp := page.As(ann.ID).Post(s.Identity+"/auth/session", nil).Want(http.StatusNoContent)
	if set := resp.Header.Get("Set-Cookie"); !strings.HasPrefix(set, "__Host-id=") ||
		!strings.HasSuffix(set, "; Path=/; HttpOnly; Secure; SameSite=Strict") {
		t.Errorf("cookie %s", set)
	}
	page.With("Cookie", "id="+ann.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrMissing)
	page.With("Cookie", "__Host-id="+ann.ID).Post(s.Identity+"/auth/access", nil).Want(http.StatusOK)
}
