package handler_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

// elsewhere is a browser that did not begin the login and has posted the form.
type elsewhere struct {
	*testkit.Person        // a page of PUBLIC_URL's host in that browser
	location        string // where the form post led it
}

const (
	confirmationPath = "/oidc/auth/confirmation" // of the page that asks the person
	returnPath       = "/oidc/auth/return/"
)

// postElsewhere posts the form with a Cookie header, from a browser that did not begin the login.
func (l attempt) postElsewhere(email, cookie string) elsewhere {
	l.a.T.Helper()
	resp := l.a.browser().With("Cookie", cookie).Post(l.a.Identity+"/oidc/auth/form",
		formOf("state", l.state, "id_token", l.token(email, nil)).Encode())
	resp.Want(http.StatusSeeOther)
	page := elsewhere{l.a.Stranger().With("Sec-Fetch-Site", "same-origin").With("Origin", l.a.URL), resp.Header.Get("Location")}
	for _, c := range (&http.Response{Header: resp.Header}).Cookies() {
		if c.Name == "confirmation" {
			if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" {
				l.a.T.Errorf("the cookie is %v", c)
			}
			page.Person = page.With("Cookie", "confirmation="+c.Value)
		}
	}
	return page
}

// asks reports whether the browser was led to the page that asks the person.
func (e elsewhere) asks() bool { return e.location == e.Server.URL+"/continue" }

func (e elsewhere) confirm() *testkit.Response {
	e.Server.T.Helper()
	return e.Post(e.Server.Identity+confirmationPath, nil)
}

// TestAttackFederatedSession: the attacker begins a login, the victim's browser posts the provider's form, and the attacker
// claims. Neither the victim's cookies nor those of another login release the login: only the victim does.
func TestAttackFederatedSession(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	own := a.register("/") // a login that the victim's browser began itself
	for name, cookie := range map[string]string{
		"none": "", "of another login": a.cookies[own.state], "empty": "preflight=", "guessed": "preflight=Zk3vN0p8Qm1sXy7tRb2wLg",
	} {
		attack := a.register("/login?x=1")
		victim := attack.postElsewhere("victim@example.com", cookie)
		if !victim.asks() {
			t.Fatalf("cookie %s: the browser goes to %s", name, victim.location)
		}
		attack.claim().WantError(identity.ErrExternalPending)
		waiting := victim.Get(a.Identity + confirmationPath).Want(http.StatusOK)
		if waiting.String("address") != "victim@example.com" || waiting.String("host") != a.Config.PublicURL.Hostname() ||
			waiting.Value("organization") != nil {
			t.Errorf("the page shows %s", waiting.Body)
		}
		victim.Delete(a.Identity + confirmationPath).Want(http.StatusNoContent) // this was not me
		attack.claim().WantError(identity.ErrExternalPending)
		victim.confirm().WantError(identity.ErrConfirmation)
		a.form(formOf("state", attack.state, "id_token", attack.token("victim@example.com", nil))).WantError(identity.ErrExternalState)
	}
}

// TestAttackConfirmation: only a page of the same origin in the browser that posted confirms a login.
func TestAttackConfirmation(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	login := a.register("/login?x=1")
	victim := login.postElsewhere("victim@example.com", "")
	for _, r := range []struct{ method, site, origin string }{
		{"POST", "cross-site", "https://evil.example"}, {"POST", "same-site", "http://evil.localhost"}, {"POST", "same-origin", "null"},
		{"POST", "cross-site", "null"}, {"DELETE", "cross-site", "https://evil.example"}, {"GET", "cross-site", "https://evil.example"},
	} {
		victim.With("Sec-Fetch-Site", r.site).With("Origin", r.origin).Do(r.method, a.Identity+confirmationPath,
			nil).WantError(token.ErrCrossOrigin)
	}
	page := a.Stranger().With("Sec-Fetch-Site", "same-origin").With("Origin", a.URL)
	for _, cookie := range []string{"", "confirmation=", "confirmation=Zk3vN0p8Qm1sXy7tRb2wLg", a.cookies[login.state],
		"confirmation=" + login.state} {
		page.With("Cookie", cookie).Post(a.Identity+confirmationPath, nil).WantError(identity.ErrConfirmation)
	}
	login.claim().WantError(identity.ErrExternalPending)
	for range 2 { // the answer may be lost
		if got := victim.confirm().Want(http.StatusOK).String("redirectUrl"); got != a.URL+"/login?x=1" {
			t.Errorf("the browser goes to %s", got)
		}
	}
	a.personOf("victim@example.com", login.claim())
	login.claim().WantError(identity.ErrExternalClaimed)
	victim.confirm().WantError(identity.ErrConfirmation)
	victim.Delete(a.Identity + confirmationPath).WantError(identity.ErrConfirmation)
	a.browser().With("Host", "other.example.org").Post(a.Identity+"/oidc/auth/form", "state="+login.state).WantError(fault.ErrNotFound)
}

// TestConfirmationInTime: the five minutes of the pickup begin with the confirmation, which must come within the life of the
// preflight token.
func TestConfirmationInTime(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	late, slow := a.register("/"), a.register("/")
	lateBrowser, slowBrowser := late.postElsewhere("eva@example.com", ""), slow.postElsewhere("ida@example.com", "")
	a.Clock.Advance(9 * time.Minute)
	slowBrowser.confirm().Want(http.StatusOK)
	a.personOf("ida@example.com", slow.claim()) // nine minutes after the post
	a.Clock.Advance(time.Minute)
	lateBrowser.confirm().WantError(identity.ErrConfirmation)
	lateBrowser.Get(a.Identity + confirmationPath).WantError(identity.ErrConfirmation)
	ended := a.register("/")
	browser := ended.postElsewhere("eva@example.com", "")
	must(t, a.App.Identity.EndPersonSessions(t.Context(), testkit.Command, "eva@example.com"))
	browser.confirm().WantError(identity.ErrConfirmation)
}

// twoOrganizations has a provider for everybody, and two organizations with a hostname each: evil, which the attacker leads, and bank,
// of which the victim is a member. retired.example.org is an inactive hostname of evil.
type twoOrganizations struct {
	federatedServer
	bank string // uid
	port string // of PUBLIC_URL, with a colon
}

func newTwoOrganizations(t *testing.T) twoOrganizations {
	t.Helper()
	a := newFederatedServer(t)
	evil := createOrganization(a.SignUp("eve@example.com"), "Evil")
	bank := createOrganization(a.SignUp("ann@example.com"), "Bank")
	for _, h := range []struct{ organization, host string }{
		{evil.uid, "retired.example.org"}, {evil.uid, "evil.example.org"}, {bank.uid, "bank.example.org"},
	} {
		must(t, a.App.Identity.SetHostname(t.Context(), testkit.Command, h.organization, h.host))
	}
	a.login("victim@example.com", nil)
	must(t, a.App.Identity.SetMember(t.Context(), testkit.Command, bank.uid, "victim@example.com", []string{identity.RoleTransferUse}))
	return twoOrganizations{a, bank.uid, ":" + a.Config.PublicURL.Port()}
}

// registerAt begins a login at a host.
func (a twoOrganizations) registerAt(host, redirect string) (l attempt, cookie string) {
	a.T.Helper()
	at := a.Stranger().With("Host", host)
	resp := at.Post(a.Identity+"/oidc/auth", map[string]any{"redirectUrl": redirect}).Want(http.StatusOK)
	for _, c := range (&http.Response{Header: resp.Header}).Cookies() {
		if c.Name == "preflight" {
			cookie = c.Name + "=" + c.Value
		}
	}
	return attempt{a.federatedServer, resp.String("state"), at.As(resp.String("token"))}, cookie
}

// TestAttackFederatedHost: an organization that an attacker leads begins a login at its hostname. The victim, a member of another
// organization, follows the provider's link. Nothing leaves for a hostname of an organization, and the login is picked up only where
// it began.
func TestAttackFederatedHost(t *testing.T) {
	t.Parallel()
	a := newTwoOrganizations(t)
	for _, host := range []string{"evil.example.org", "retired.example.org", "bank.example.org", "unknown.example.org"} {
		for _, target := range []string{"retired.example.org", "bank.example.org"} { // inactive ones are no targets
			if target != host || host == "retired.example.org" {
				a.Stranger().With("Host", host).Post(a.Identity+"/oidc/auth",
					map[string]any{"redirectUrl": "https://" + target + a.port + "/steal"}).WantError(identity.ErrRedirectURI)
			}
		}
	}
	for _, host := range []string{"evil.example.org", "retired.example.org"} {
		attack, _ := a.registerAt(host, "https://evil.example.org"+a.port+"/steal")
		victim := attack.postElsewhere("victim@example.com", "")
		if !victim.asks() {
			t.Fatalf("the victim's browser goes to %s", victim.location)
		}
		if shown := victim.Get(a.Identity + confirmationPath); shown.String("host") != host || shown.String("organization") != "Evil" {
			t.Errorf("the page shows %s", shown.Body)
		}
		attack.claim().WantError(identity.ErrExternalPending)
		victim.confirm().Want(http.StatusOK)
		for _, elsewhere := range []string{"bank.example.org", a.Config.PublicURL.Host, "unknown.example.org"} {
			attack.claimant.With("Host", elsewhere).Get(a.Identity + "/oidc/auth").WantError(identity.ErrExternalPending)
		}
		attack.claim().WantError(identity.ErrWrongHost) // the victim signs in at the hosts of the bank only
	}
	// Begun by the attacker at the victim's own host: the one-time key leads to that host, which asks for the cookie of the beginning.
	attack, _ := a.registerAt("bank.example.org", "https://bank.example.org"+a.port+"/login")
	victim := attack.postElsewhere("victim@example.com", "")
	if !strings.Contains(victim.location, "//bank.example.org"+a.port+a.Identity+returnPath) {
		t.Fatalf("the victim's browser goes to %s", victim.location)
	}
	path := victim.location[strings.Index(victim.location, a.Identity):]
	wantRedirect(t, a.browser().With("Host", "bank.example.org").Get(path), a.URL+"/continue")
	attack.claim().WantError(identity.ErrExternalPending)
	victim.Delete(a.Identity + confirmationPath).Want(http.StatusNoContent)
	attack.claim().WantError(identity.ErrExternalPending)
}

// TestOwnHostAsksNothing: a member who begins a login at the active hostname of the organization is not asked, because the cookie of
// that host shows that it is the same browser.
func TestOwnHostAsksNothing(t *testing.T) {
	t.Parallel()
	a := newTwoOrganizations(t)
	target := "https://bank.example.org" + a.port + "/login"
	login, cookie := a.registerAt("bank.example.org", target)
	browser := login.postElsewhere("victim@example.com", "")
	path := browser.location[strings.Index(browser.location, a.Identity):]
	foreign := a.browser().With("Host", "evil.example.org").With("Cookie", cookie)
	foreign.Head(path).Want(http.StatusMethodNotAllowed)
	wantRedirect(t, foreign.Get(path), a.URL+"/continue") // the key is of the other host
	login.claim().WantError(identity.ErrExternalPending)
	at := a.browser().With("Host", "bank.example.org").With("Cookie", cookie)
	wantRedirect(t, at.Get(path), target)
	wantRedirect(t, at.Get(path), a.URL+"/continue") // the key works once
	a.Clock.Advance(5*time.Minute - time.Second)
	login.claim().Want(http.StatusOK)

	stranger, _ := a.registerAt("bank.example.org", target)
	if guest := stranger.postElsewhere("guest@example.com", ""); !guest.asks() { // no member of the bank
		t.Errorf("the guest's browser goes to %s", guest.location)
	}
	moved, _ := a.registerAt("bank.example.org", target)
	must(t, a.App.Identity.SetHostname(t.Context(), testkit.Command, a.bank, "new.example.org"))
	// the target is inactive now
	a.form(formOf("state", moved.state, "id_token", moved.token("victim@example.com", nil))).WantError(identity.ErrExternalState)
}

// TestClaimInParallel: of eight pickups of a confirmed login one succeeds.
func TestClaimInParallel(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	login := a.register("/")
	login.postElsewhere("eva@example.com", "").confirm().Want(http.StatusOK)
	claims := slices.Repeat([]func() (*testkit.Response, error){func() (*testkit.Response, error) {
		return login.claimant.Try(t.Context(), "GET", a.Identity+"/oidc/auth", nil)
	}}, 8)
	if got := parallel(t, claims...); got[http.StatusOK] != 1 || got[http.StatusForbidden] != 7 {
		t.Errorf("eight claims: %v", got)
	}
}

func TestPreflightCookie(t *testing.T) {
	t.Parallel()
	idp := testkit.NewIDP(t)
	begin := func(s *testkit.Server) *http.Cookie {
		t.Helper()
		resp := s.Stranger().With("X-Forwarded-Proto", "https").Post(s.Identity+"/oidc/auth",
			map[string]any{"redirectUrl": s.Config.PublicURL.String() + "/"}).Want(http.StatusOK)
		all := slices.DeleteFunc((&http.Response{Header: resp.Header}).Cookies(),
			func(c *http.Cookie) bool { return c.MaxAge < 0 || len(c.Value) != len(resp.String("state")) })
		if len(all) != 1 {
			t.Fatalf("the cookies are %v", (&http.Response{Header: resp.Header}).Cookies())
		}
		return all[0]
	}
	plain := begin(testkit.New(t, idp.Known()))
	if plain.Name != "preflight" || plain.Secure || !plain.HttpOnly || plain.SameSite != http.SameSiteLaxMode || plain.Path != "/" ||
		plain.Domain != "" {
		t.Errorf("on http://localhost the cookie is %v", plain)
	}
	secure := begin(testkit.New(t, idp.Known(), testkit.PublicURL("https://consign.example.org"), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off")))
	if secure.Name != "__Host-preflight" || !secure.Secure || !secure.HttpOnly || secure.SameSite != http.SameSiteNoneMode ||
		secure.Path != "/" || secure.Domain != "" {
		t.Errorf("on https the cookie is %v", secure)
	}
}

// TestExternalLogoutIssuer: a front-channel logout that names another issuer ends nothing.
func TestExternalLogoutIssuer(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	eva := a.login("eva@example.com", map[string]any{"sid": "s-1"})
	pending := a.register("/")
	wantRedirect(t, a.form(formOf("state", pending.state, "session_state", "s-1", "id_token", pending.token("eva@example.com", nil))),
		a.URL+"/")
	for _, iss := range []string{"https://evil.example", a.idp.Issuer + "/", "x"} {
		a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=s-1&iss=" + url.QueryEscape(iss)).Want(http.StatusOK)
		eva.Refresh()
	}
	a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=s-1&iss=a&iss=b").Want(http.StatusBadRequest)
	a.personOf("eva@example.com", pending.claim())
	a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=s-1&iss=" + url.QueryEscape(a.idp.Issuer)).Want(http.StatusOK)
	eva.As(eva.ID).Post(a.Identity+"/auth/access", nil).Want(http.StatusUnauthorized)
}
