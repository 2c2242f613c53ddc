package handler_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	identityservice "github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
)

// attempt is a federated login by form post that has begun.
type attempt struct {
	a        federatedServer
	state    string
	claimant *testkit.Person // presents the preflight token
}

// register begins a login that redirects to the path back at its end.
func (a federatedServer) register(back string) attempt {
	a.T.Helper()
	resp := a.Stranger().Post(a.Identity+"/oidc/auth", map[string]any{"redirectUrl": a.URL + back}).Want(http.StatusOK)
	for _, c := range (&http.Response{Header: resp.Header}).Cookies() {
		if c.Name == "preflight" || c.Name == "__Host-preflight" {
			a.cookies[resp.String("state")] = c.Name + "=" + c.Value
		}
	}
	return attempt{a, resp.String("state"), a.Stranger().As(resp.String("token"))}
}

// formOf returns a form of alternating names and values.
func formOf(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return form
}

// form posts a provider's form from the browser that began the login.
func (a federatedServer) form(form url.Values) *testkit.Response {
	a.T.Helper()
	return a.browser().With("Cookie", a.cookies[form.Get("state")]).Post(a.Identity+"/oidc/auth/form", form.Encode())
}

func (a federatedServer) browser() *testkit.Person {
	return a.Stranger().With("Content-Type", "application/x-www-form-urlencoded").With("Origin", "null").
		With("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
}

// token returns the provider's ID token for the attempt.
func (l attempt) token(email string, changes map[string]any) string {
	l.a.T.Helper()
	claims := map[string]any{"nonce": l.state}
	for name, value := range changes {
		claims[name] = value
	}
	return l.a.token(email, claims)
}

// wantRedirect checks the redirect of a form post.
func wantRedirect(t *testing.T, r *testkit.Response, want string) {
	t.Helper()
	r.Want(http.StatusSeeOther)
	if got := r.Header.Get("Location"); got != want {
		t.Errorf("the browser goes to %s, want %s", got, want)
	}
	if bearer(r) != "" || len(r.Body) > 0 {
		t.Errorf("the form post hands something out: %v %q", r.Header, r.Body)
	}
}

func (l attempt) claim() *testkit.Response {
	l.a.T.Helper()
	return l.claimant.Get(l.a.Identity + "/oidc/auth")
}

func TestFormPost(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	login := a.register("/login?next=%2Finbox")
	if len(login.state) < 22 {
		t.Errorf("the state %q is too short", login.state)
	}
	if claims := claimsOf(t, login.claimant.Access); claims["scope"] != "preflight" || claims["state"] != login.state {
		t.Errorf("the preflight token says %v", claims)
	}
	login.claim().WantError(identity.ErrExternalPending)
	raw := login.token("eva@example.com", map[string]any{"name": nil})
	user := `{"name":{"firstName":"Eva","lastName":"Moss"},"email":"other@example.com"}`
	wantRedirect(t, a.form(formOf("state", login.state, "id_token", raw, "user", user)), a.URL+"/login?next=%2Finbox")
	eva := a.personOf("eva@example.com", login.claim())
	profile := eva.Get(a.Identity + "/profile").Want(http.StatusOK)
	if profile.String("name") != "Eva Moss" || profile.String("emails.0.address") != "eva@example.com" {
		t.Errorf("the profile is %s", profile.Body)
	}
	login.claim().WantError(identity.ErrExternalClaimed)
	a.form(formOf("state", login.state, "id_token", login.token("eva@example.com", nil))).WantError(identity.ErrExternalState)
	a.implicit(raw).WantError(identity.ErrExternalToken) // what the browser posted cannot be used otherwise
	for kind, raw := range map[string]string{"ID": eva.ID, "access": eva.Access, "none": ""} {
		if got := a.Stranger().As(raw).Get(a.Identity + "/oidc/auth").Status; got != http.StatusUnauthorized {
			t.Errorf("an %s token claims with %d", kind, got)
		}
	}
	// A header holds ASCII: what else an address has is sent as browsers would write it.
	foreign := a.register("/größe?q=ü#ä")
	wantRedirect(t, a.form(formOf("state", foreign.state, "error", "x")), a.URL+"/gr%C3%B6%C3%9Fe?q=%c3%bc&error=x#%C3%A4")
	wantRedirect(t, a.form(formOf("state", foreign.state, "id_token", foreign.token("eva@example.com", nil))),
		a.URL+"/gr%c3%b6%c3%9fe?q=%c3%bc#%c3%a4")

	// The name of the first login stays without user at the second one.
	again := a.register("/login")
	wantRedirect(t, a.form(formOf("state", again.state, "id_token", again.token("eva@example.com", map[string]any{"name": nil}))),
		a.URL+"/login")
	if p := a.personOf(eva.Email, again.claim()); uid(t, p.ID) != uid(t, eva.ID) || p.Get(a.Identity+"/profile").String("name") != "Eva Moss" {
		t.Error("the second login is another person, or has lost the name")
	}
}

func TestFormPostRefusals(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	a.SignUp("ann@example.com")
	login := a.register("/login?a=b#top")
	good := func() string { return login.token("eva@example.com", nil) }
	for name, c := range map[string]struct {
		form url.Values
		want *fault.Error
	}{
		"unknown state":   {formOf("state", "Zk3vN0p8Qm1sXy7tRb2wLg", "id_token", good()), identity.ErrExternalState},
		"unknown, error":  {formOf("state", "nobody's", "error", "access_denied"), identity.ErrExternalState},
		"no state":        {formOf("id_token", good()), fault.ErrInvalid},
		"nothing":         {url.Values{}, fault.ErrInvalid},
		"no token":        {formOf("state", login.state), fault.ErrInvalid},
		"state twice":     {formOf("state", login.state, "state", login.state, "id_token", good()), fault.ErrInvalid},
		"bytes for state": {formOf("state", "\xff\x00", "id_token", good()), identity.ErrExternalState},
	} {
		t.Log(name)
		a.form(c.form).WantError(c.want)
	}
	for name, c := range map[string]struct {
		form url.Values
		want string
	}{
		"provider's error":    {formOf("error", "access_denied"), "access_denied"},
		"error beside token":  {formOf("error", "user_cancelled", "id_token", good()), "user_cancelled"},
		"error to be escaped": {formOf("error", "a&b=c#d \r\nSet-Cookie: x"), "a%26b%3Dc%23d+Set-Cookie%3A+x"},
		"garbage":             {formOf("id_token", "garbage"), "invalid_token"},
		"wrong nonce":         {formOf("id_token", login.token("eva@example.com", map[string]any{"nonce": "other"})), "invalid_token"},
		"no nonce":            {formOf("id_token", login.token("eva@example.com", map[string]any{"nonce": nil})), "invalid_token"},
		"expired": {formOf("id_token", login.token("eva@example.com", map[string]any{"exp": a.Clock.Now().Add(-time.Minute).Unix()})),
			"invalid_token"},
		"wrong audience": {formOf("id_token", login.token("eva@example.com", map[string]any{"aud": "other"})), "invalid_token"},
		"no address":     {formOf("id_token", login.token("eva@example.com", map[string]any{"email": nil})), "invalid_token"},
		"unverified": {formOf("id_token", login.token("eva@example.com", map[string]any{"email_verified": "false"})),
			"email_not_verified"},
		"somebody's address": {formOf("id_token", login.token("ann@example.com", nil)), "email_in_use"},
	} {
		t.Log(name)
		c.form.Set("state", login.state)
		wantRedirect(t, a.form(c.form), a.URL+"/login?a=b&error="+c.want+"#top")
	}
	login.claim().WantError(identity.ErrExternalPending)
	a.browser().With("Content-Type", "application/json").Post(a.Identity+"/oidc/auth/form", `{"state":"x"}`).WantError(fault.ErrUnsupported)
	a.browser().Post(a.Identity+"/oidc/auth/form", "state=%zz").WantError(fault.ErrInvalid)
	a.browser().Post(a.Identity+"/oidc/auth/form", "state="+strings.Repeat("x", 1<<20)).WantError(fault.ErrTooLarge)
	a.browser().Get(a.Identity + "/oidc/auth/form").WantError(fault.ErrMethodNotAllowed)
	a.idp.Rotate()
	a.idp.Fail(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	raw := good()
	a.Clock.Advance(6 * time.Second) // when the keys may be asked for again
	wantRedirect(t, a.form(formOf("state", login.state, "id_token", raw)), a.URL+"/login?a=b&error=temporarily_unavailable#top")
	a.idp.Fail(nil)
	wantRedirect(t, a.form(formOf("state", login.state, "id_token", raw)), a.URL+"/login?a=b#top") // after all that, it works
	a.personOf("eva@example.com", login.claim())
}

func TestFormPostRedirects(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t, testkit.Env("CONSIGN_REDIRECT_ORIGINS", "https://app.example.net"))
	port := a.Config.PublicURL.Port()
	for target, ok := range map[string]bool{
		a.URL + "/login": true, "https://app.example.net/back?x=y": true, "https://localhost:" + port + "/": true,
		"": false, "/login": false, "http://app.example.net/": false, "https://app.example.net:8443/": false, "https://evil.example/": false,
		"http://localhost:1/": false, "https://me@app.example.net/": false, "javascript:alert(1)": false,
		"https://app.example.net\\@evil.example/": false,
		"https://app.example.net.evil.example/":   false, "//app.example.net/": false,
	} {
		resp := a.Stranger().Post(a.Identity+"/oidc/auth", map[string]any{"redirectUrl": target})
		if want := map[bool]int{true: http.StatusOK, false: http.StatusBadRequest}[ok]; resp.Status != want {
			t.Errorf("%q answered %d, want %d: %s", target, resp.Status, want, resp.Body)
		}
	}
	a.Stranger().Post(a.Identity+"/oidc/auth", map[string]any{}).WantError(fault.ErrInvalid)
	a.Stranger().Post(a.Identity+"/oidc/auth", map[string]any{"redirectUrl": 1}).WantError(fault.ErrInvalid)
}

// TestFormPostInTime: the form post must come within the life of the preflight token, and the claim within 5 minutes.
func TestFormPostInTime(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	late, slow, justInTime := a.register("/"), a.register("/"), a.register("/")
	for _, l := range []attempt{slow, justInTime} {
		wantRedirect(t, a.form(formOf("state", l.state, "id_token", l.token("eva@example.com", nil))), a.URL+"/")
	}
	a.Clock.Advance(5*time.Minute - time.Second)
	a.personOf("eva@example.com", justInTime.claim())
	a.Clock.Advance(time.Second)
	slow.claim().WantError(identity.ErrExternalPending)
	justInTime.claim().WantError(identity.ErrExternalClaimed)
	a.Clock.Advance(5 * time.Minute)
	a.form(formOf("state", late.state, "id_token", late.token("eva@example.com", nil))).WantError(identity.ErrExternalState)
	slow.claim().Want(http.StatusUnauthorized)

	must(t, a.App.Jobs.RunOnce(t.Context(), identityservice.CleanJob))
	count := func(table string) (n int) {
		must(t, a.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM identity.`+table).Scan(&n))
		return n
	}
	if n := count("external_logins"); n != 0 {
		t.Errorf("%d expired states are not deleted", n)
	}
	if n := count("external_tokens"); n != 2 {
		t.Errorf("%d accepted tokens are stored, want 2", n)
	}
	a.Clock.Advance(time.Hour)
	must(t, a.App.Jobs.RunOnce(t.Context(), identityservice.CleanJob))
	if n := count("external_tokens"); n != 0 {
		t.Errorf("%d expired fingerprints are not deleted", n)
	}
}

func TestFormPostInParallel(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	login := a.register("/")
	var posts, claims []func() (*testkit.Response, error)
	for range 8 {
		body := formOf("state", login.state, "id_token", login.token("eva@example.com", nil)).Encode()
		posts = append(posts, func() (*testkit.Response, error) {
			return a.browser().With("Cookie", a.cookies[login.state]).Try(t.Context(), "POST", a.Identity+"/oidc/auth/form", body)
		})
		claims = append(claims, func() (*testkit.Response, error) {
			return login.claimant.Try(t.Context(), "GET", a.Identity+"/oidc/auth", nil)
		})
	}
	if got := parallel(t, posts...); got[http.StatusSeeOther] != 1 || got[http.StatusBadRequest] != 7 {
		t.Errorf("eight posts to one state: %v", got)
	}
	if got := parallel(t, claims...); got[http.StatusOK] != 1 || got[http.StatusForbidden] != 7 {
		t.Errorf("eight claims: %v", got)
	}
}

// TestUnclaimedEnds: the end of a person's sessions, here or at the provider, also ends a login that was not claimed yet.
func TestUnclaimedEnds(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	post := func(more ...string) attempt {
		t.Helper()
		l := a.register("/")
		form := formOf(append(more, "state", l.state, "id_token", l.token("eva@example.com", nil))...)
		wantRedirect(t, a.form(form), a.URL+"/")
		return l
	}
	ended, kept := post("session_state", "s-1"), post("session_state", "s-2")
	a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=s-1").Want(http.StatusOK)
	ended.claim().WantError(identity.ErrExternalPending)
	eva := a.personOf("eva@example.com", kept.claim())
	a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=s-2").Want(http.StatusOK) // session_state stands in for sid
	eva.As(eva.ID).Post(a.Identity+"/auth/access", nil).Want(http.StatusUnauthorized)

	all := post()
	must(t, a.App.Identity.EndPersonSessions(t.Context(), testkit.Command, eva.Email))
	all.claim().WantError(identity.ErrExternalPending)

	gone := post()
	fresh := a.login("eva@example.com", nil)
	fresh.Delete(a.Identity + "/profile").Want(http.StatusNoContent)
	gone.claim().WantError(identity.ErrExternalPending)
	if again := a.login("eva@example.com", nil); uid(t, again.ID) == uid(t, eva.ID) {
		t.Error("a new login restored the deleted person")
	}
}
