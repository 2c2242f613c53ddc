package handler_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
)

// postElsewhere posts the form with a Cookie header, from a browser that did not begin the login. It returns the claim in the
// redirect.
func (l attempt) postElsewhere(email, cookie string) string {
	l.a.T.Helper()
	resp := l.a.browser().With("Cookie", cookie).Post(l.a.Identity+"/oidc/auth/form", formOf("state", l.state, "id_token", l.token(email, nil)).Encode())
	resp.Want(http.StatusSeeOther)
	if resp.Header.Get("Referrer-Policy") != "no-referrer" {
		l.a.T.Errorf("the redirect leaks its claim as a referrer: %v", resp.Header)
	}
	u, err := url.Parse(resp.Header.Get("Location"))
	must(l.a.T, err)
	return u.Query().Get("claim")
}

func (l attempt) claimWith(claim string) *testkit.Response {
	l.a.T.Helper()
	return l.claimant.Get(l.a.Identity + "/oidc/auth?claim=" + url.QueryEscape(claim))
}

// TestAttackFederatedSession: the attacker begins a login, the victim's browser posts the provider's form, and the attacker
// claims. Neither the victim's cookies nor those of another login help.
func TestAttackFederatedSession(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	own := a.register("/") // a login that the victim's browser began itself
	for name, cookie := range map[string]string{
		"none": "", "of another login": a.cookies[own.state], "empty": "preflight=", "guessed": "preflight=Zk3vN0p8Qm1sXy7tRb2wLg",
	} {
		attack := a.register("/login?x=1")
		claim := attack.postElsewhere("victim@example.com", cookie)
		if len(claim) < 22 {
			t.Fatalf("cookie %s: the redirect has the claim %q", name, claim)
		}
		attack.claim().WantError(identity.ErrExternalClaim)
		for _, wrong := range []string{"", "x", own.state, claim[1:], claim + "x"} {
			attack.claimWith(wrong).WantError(identity.ErrExternalClaim)
		}
		attack.claimant.Get(a.Identity + "/oidc/auth?claim=a&claim=" + claim).Want(http.StatusBadRequest)
		a.personOf("victim@example.com", attack.claimWith(claim)) // the wrong ones have consumed nothing
		attack.claimWith(claim).WantError(identity.ErrExternalClaimed)
	}
}

// TestClaimInParallel: of eight right claims one succeeds.
func TestClaimInParallel(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	login := a.register("/")
	claim := login.postElsewhere("eva@example.com", "")
	claims := slices.Repeat([]func() (*testkit.Response, error){func() (*testkit.Response, error) {
		return login.claimant.Try(t.Context(), "GET", a.Identity+"/oidc/auth?claim="+claim, nil)
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
		resp := s.Stranger().With("X-Forwarded-Proto", "https").Post(s.Identity+"/oidc/auth", map[string]any{"redirectUrl": s.Config.PublicURL.String() + "/"}).Want(http.StatusOK)
		all := slices.DeleteFunc((&http.Response{Header: resp.Header}).Cookies(), func(c *http.Cookie) bool { return c.MaxAge < 0 || len(c.Value) != len(resp.String("state")) })
		if len(all) != 1 {
			t.Fatalf("the cookies are %v", (&http.Response{Header: resp.Header}).Cookies())
		}
		return all[0]
	}
	plain := begin(testkit.New(t, idp.Known()))
	if plain.Name != "preflight" || plain.Secure || !plain.HttpOnly || plain.SameSite != http.SameSiteLaxMode || plain.Path != "/" || plain.Domain != "" {
		t.Errorf("on http://localhost the cookie is %v", plain)
	}
	secure := begin(testkit.New(t, idp.Known(), testkit.PublicURL("https://consign.example.org"), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off")))
	if secure.Name != "__Host-preflight" || !secure.Secure || !secure.HttpOnly || secure.SameSite != http.SameSiteNoneMode || secure.Path != "/" || secure.Domain != "" {
		t.Errorf("on https the cookie is %v", secure)
	}
}

// TestBindingOff: with the binding off, clients without the cookie and the claim can sign in.
func TestBindingOff(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t, testkit.Env("CONSIGN_OIDC_BINDING", "off"))
	login := a.register("/")
	if claim := login.postElsewhere("eva@example.com", ""); claim != "" {
		t.Errorf("the redirect has the claim %s", claim)
	}
	a.personOf("eva@example.com", login.claim())
}

// TestExternalLogoutIssuer: a front-channel logout that names another issuer ends nothing.
func TestExternalLogoutIssuer(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	eva := a.login("eva@example.com", map[string]any{"sid": "s-1"})
	pending := a.register("/")
	wantRedirect(t, a.form(formOf("state", pending.state, "session_state", "s-1", "id_token", pending.token("eva@example.com", nil))), a.URL+"/")
	for _, iss := range []string{"https://evil.example", a.idp.Issuer + "/", "x"} {
		a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=s-1&iss=" + url.QueryEscape(iss)).Want(http.StatusOK)
		eva.Refresh()
	}
	a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=s-1&iss=a&iss=b").Want(http.StatusBadRequest)
	a.personOf("eva@example.com", pending.claim())
	a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=s-1&iss=" + url.QueryEscape(a.idp.Issuer)).Want(http.StatusOK)
	eva.As(eva.ID).Post(a.Identity+"/auth/access", nil).Want(http.StatusUnauthorized)
}
