package handler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// federatedServer is a server with an external provider that is configured in it.
type federatedServer struct {
	*testkit.Server
	idp     *testkit.IDP
	cookies map[string]string // by state: the cookie of the browser that began the login
}

func newFederatedServer(t *testing.T, options ...testkit.Option) federatedServer {
	t.Helper()
	idp := testkit.NewIDP(t)
	return federatedServer{testkit.New(t, append(options, idp.Known())...), idp, map[string]string{}}
}

// token returns an external ID token that the provider issued now, by the server's clock.
func (a federatedServer) token(email string, changes map[string]any) string {
	a.T.Helper()
	return a.idp.Token(a.Clock.Now(), email, changes)
}

// implicit presents an external ID token.
func (a federatedServer) implicit(raw string) *testkit.Response {
	a.T.Helper()
	return a.Stranger().Post(a.Identity+"/oidc/auth/implicit", map[string]any{"token": raw})
}

// login signs a person in with a token of the provider.
func (a federatedServer) login(email string, changes map[string]any) *testkit.Person {
	a.T.Helper()
	return a.personOf(email, a.implicit(a.token(email, changes)))
}

// personOf returns the person of an answer that contains an ID token, in body and header.
func (a federatedServer) personOf(email string, r *testkit.Response) *testkit.Person {
	a.T.Helper()
	r.Want(http.StatusOK)
	p := a.Stranger()
	p.Email, p.ID = email, r.String("token")
	if bearer(r) != p.ID {
		a.T.Fatalf("header and body contain different tokens: %v", r.Header)
	}
	p.Refresh()
	return p
}

func TestExternalFirstLogin(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	resp := a.Stranger().With("Accept-Language", "de").Post(a.Identity+"/oidc/auth/implicit",
		map[string]any{"token": a.token("Eva@Example.com", nil)})
	eva := a.personOf("eva@example.com", resp)
	claims := claimsOf(t, eva.ID)
	if claims["authLevel"] != 1.0 || claims["email"] != "eva@example.com" || claims["email_verified"] != true || claims["scope"] != "idtoken" {
		t.Errorf("the ID token says %v", claims)
	}
	profile := eva.Get(a.Identity + "/profile").Want(http.StatusOK)
	for path, want := range map[string]any{
		"name": "Somebody Elsewhere", "locale": "de_DE", "timeZone": "UTC", "emails.0.address": "eva@example.com", "emails.0.primary": true,
		"emails.0.verified": true, "emails.0.removeAt": nil, "membership": nil,
	} {
		if got := profile.Value(path); got != want {
			t.Errorf("%s of the profile is %v, want %v", path, got, want)
		}
	}
	if profile.String("lastLoginAt") == "" {
		t.Error("lastLoginAt is not set")
	}
	if n := eva.As(eva.ID).Get(a.Identity + "/auth").Want(http.StatusOK).Value("tokens.1"); n != nil {
		t.Errorf("there is a second session: %v", n)
	}
	// No mail asks to confirm what the provider has verified, and no password exists.
	login := map[string]any{"email": eva.Email, "type": "bcrypt", "key": testkit.Password}
	a.Stranger().Post(a.Identity+"/auth/login", login).WantError(identity.ErrCredentials)
	a.Stranger().Post(a.Identity+"/auth/reset", map[string]any{"address": eva.Email}).WantError(identity.ErrResetRefused)
	if got := a.Stranger().Post(a.Identity+"/auth/exists",
		map[string]any{"address": eva.Email}).Want(http.StatusOK).String("provider"); got != a.idp.Issuer {
		t.Errorf("exists names %s, want %s", got, a.idp.Issuer)
	}
}

// TestExternalAddressChanges: a subject is the same person with the same address, also when the provider reports another one.
func TestExternalAddressChanges(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	eva := a.login("eva@example.com", map[string]any{"sub": "17"})
	renamed := a.login("eva.moss@example.com", map[string]any{"sub": "17", "name": "Eva Moss"})
	if uid(t, eva.ID) != uid(t, renamed.ID) {
		t.Fatal("another address made another person")
	}
	profile := renamed.Get(a.Identity + "/profile").Want(http.StatusOK)
	if profile.String("emails.0.address") != "eva@example.com" || profile.Value("emails.1") != nil ||
		profile.String("name") != "Somebody Elsewhere" {
		t.Errorf("the profile has changed: %s", profile.Body)
	}
	other := a.login("eva.moss@example.com", map[string]any{"sub": "18"})
	if uid(t, other.ID) == uid(t, eva.ID) {
		t.Error("another subject is the same person")
	}
	// Another subject cannot use the address of a federated person.
	a.implicit(a.token("eva@example.com", map[string]any{"sub": "19"})).WantError(identity.ErrExternalAddressInUse)
}

func TestExternalNeverLinks(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	ann := a.SignUp("ann@example.com")
	raw := a.token("ann@example.com", nil)
	refused := a.implicit(raw).WantError(identity.ErrExternalAddressInUse)
	if message := refused.String("error.message"); message != "The data could not be stored." || refused.Status != http.StatusForbidden {
		t.Errorf("answered %d %q", refused.Status, message)
	}
	if again := ann.Login(); uid(t, again.ID) != uid(t, ann.ID) {
		t.Error("the account is another one")
	}
	ann.Delete(a.Identity + "/profile").Want(http.StatusNoContent)
	a.personOf("ann@example.com", a.implicit(raw)) // a token refused for that reason can be used again
}

// TestFederatedLoginTakesUnverifiedAddress: an unverified address moves to the person whose provider has verified it.
func TestFederatedLoginTakesUnverifiedAddress(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	squatter := a.SignUpUnconfirmed("eva@example.com")
	eva := a.login("eva@example.com", nil)
	if uid(t, eva.ID) == uid(t, squatter.ID) {
		t.Fatal("the squatter's account was taken over")
	}
	poll.Until(t, "the end of the squatter's access", func() bool {
		return squatter.Get(a.Identity+"/profile").Status == http.StatusUnauthorized
	})
	squatter.As(squatter.ID).Post(a.Identity+"/auth/access", nil).Want(http.StatusUnauthorized)
	login := map[string]any{"email": eva.Email, "type": "bcrypt", "key": testkit.Password}
	a.Stranger().Post(a.Identity+"/auth/login", login).WantError(identity.ErrCredentials)
	a.Stranger().Post(a.Identity+"/signup", map[string]any{"address": "eva@example.com", "password": testkit.Password}).WantError(
		identity.ErrSignupAddressInUse)
}

// TestExternalInParallel: one token is accepted once, one identity becomes one person.
func TestExternalInParallel(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	send := func(raw string) func() (*testkit.Response, error) {
		return func() (*testkit.Response, error) {
			return a.Stranger().Try(t.Context(), "POST", a.Identity+"/oidc/auth/implicit", map[string]any{"token": raw})
		}
	}
	var same, different []func() (*testkit.Response, error)
	replayed := a.token("eva@example.com", nil)
	for range 8 {
		same = append(same, send(replayed))
		different = append(different, send(a.token("ida@example.com", nil)))
	}
	if got := parallel(t, same...); got[http.StatusOK] != 1 || got[http.StatusBadRequest] != 7 {
		t.Errorf("one token eight times: %v", got)
	}
	if got := parallel(t, different...); got[http.StatusOK] != 8 {
		t.Errorf("eight first logins of one person: %v", got)
	}
	if n, err := a.App.Identity.CountPersons(t.Context()); err != nil || n != 2 {
		t.Errorf("there are %d persons, %v", n, err)
	}
	a.implicit(replayed).WantError(identity.ErrExternalToken)
}

func TestFederatedPersonHasNoAuthenticators(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	eva := a.login("eva@example.com", nil)
	for _, kind := range []string{"totp", "recovery"} {
		if refused := eva.Post(a.Identity+"/profile/authenticators",
			map[string]any{"type": kind}).Want(http.StatusForbidden); refused.Number("error.code") != 403012 {
			t.Errorf("%s: %s", kind, refused.Body)
		}
	}
}

// federatedOrganization is an organization whose members sign in at the provider. The first server creates the organization. A
// second server on the same database is configured with it.
type federatedOrganization struct {
	federatedServer
	admin   *testkit.Person
	company company
}

func newFederatedOrganization(t *testing.T) federatedOrganization {
	t.Helper()
	first := testkit.New(t)
	admin := first.SignUp("ann@example.com")
	c := createOrganization(admin, "Acme")
	idp := testkit.NewIDP(t)
	s := testkit.New(t, testkit.Beside(first), idp.Known(map[string]any{"organizationUid": c.uid}, map[string]any{"clientId": "everybody"}))
	c.s = s
	return federatedOrganization{federatedServer{s, idp, map[string]string{}}, admin.At(s), c}
}

func (w federatedOrganization) limit(users int) {
	w.T.Helper()
	if err := w.App.Identity.SetLimits(w.T.Context(), testkit.Command, w.company.uid,
		identity.LimitsChange{Users: identity.To(users)}); err != nil {
		w.T.Fatal(err)
	}
}

func TestExternalJoinsOrganization(t *testing.T) {
	t.Parallel()
	w := newFederatedOrganization(t)
	eva := w.login("eva@example.com", nil)
	if got := roles(eva); got != identity.RoleTransferUse {
		t.Errorf("eva has the roles %q", got)
	}
	member := w.admin.Get(w.company.member(eva)).Want(http.StatusOK)
	if member.String("externalIdentityProvider") != w.idp.Issuer || member.String("externalUid") != "subject of eva@example.com" {
		t.Errorf("the member entry is %s", member.Body)
	}
	// Somebody who exists without organization joins at the next login through its client, and other sessions follow.
	ida := w.login("ida@example.com", map[string]any{"aud": "everybody"})
	if got := ida.Get(w.Identity + "/profile").Want(http.StatusOK).Value("membership"); got != nil {
		t.Fatalf("a client without organization makes members: %v", got)
	}
	joined := w.login("ida@example.com", nil)
	if uid(t, joined.ID) != uid(t, ida.ID) || roles(joined) != identity.RoleTransferUse {
		t.Error("ida did not join")
	}
	ida.Refresh() // the old ID token is replaced once, within its grace time
	if roles(ida) != identity.RoleTransferUse {
		t.Error("the other session lacks the new role")
	}
	// Roles given by an administrator stay, and a member of another organization stays there.
	w.admin.Put(w.company.member(eva), map[string]any{"roles": []string{identity.RoleContractRead}}).Want(http.StatusOK)
	if got := roles(w.login("eva@example.com", nil)); got != identity.RoleContractRead {
		t.Errorf("the next login gives the roles %q", got)
	}
	bob := w.login("bob@example.com", map[string]any{"aud": "everybody"})
	bolt := createOrganization(bob, "Bolt")
	if again := w.login("bob@example.com", nil); again.Get(w.Identity+"/profile").String("membership.organization.uid") != bolt.uid {
		t.Error("bob has changed organizations")
	}
}

func TestExternalMemberLimit(t *testing.T) {
	t.Parallel()
	w := newFederatedOrganization(t)
	w.limit(1)
	raw := w.token("eva@example.com", nil)
	if refused := w.implicit(raw).WantError(identity.ErrExternalMember); refused.Status != http.StatusUnauthorized {
		t.Errorf("answered %d", refused.Status)
	}
	a := w.federatedServer
	if n, err := a.App.Identity.CountPersons(t.Context()); err != nil || n != 1 {
		t.Errorf("there are %d persons, %v, want 1: a refused login creates nobody", n, err)
	}
	w.limit(3)
	var calls []func() (*testkit.Response, error)
	for _, name := range strings.Fields("eva ida kim lea mia") {
		raw := w.token(name+"@example.com", nil)
		calls = append(calls, func() (*testkit.Response, error) {
			return w.Stranger().Try(t.Context(), "POST", w.Identity+"/oidc/auth/implicit", map[string]any{"token": raw})
		})
	}
	if got := parallel(t, calls...); got[http.StatusOK] != 2 || got[http.StatusUnauthorized] != 3 {
		t.Errorf("five logins for two places: %v", got)
	}
}

// TestExternalSatisfiesFactor: a login at the provider counts as two factors in an organization that requires them.
func TestExternalSatisfiesFactor(t *testing.T) {
	t.Parallel()
	w := newFederatedOrganization(t)
	must(t, w.App.Identity.SetOrganization(t.Context(), testkit.Command, w.company.uid, identity.OrganizationChange{MFARequired: new(true)}))
	eva := w.login("eva@example.com", nil)
	eva.Get(w.Transfer + "/mailbox").Want(http.StatusNotFound) // and not 403: only there is none
	upgraded := eva.As(eva.ID).Post(w.Identity+"/auth/upgrade", nil).Want(http.StatusOK).String("token")
	eva.ID = upgraded
	eva.Refresh()
	eva.Get(w.company.path).Want(http.StatusOK)
	local := w.admin.Login()
	local.Get(w.Transfer + "/mailbox").Want(http.StatusForbidden)
}

// TestExternalWrongHost: a valid login at another organization's host is refused. The token is then accepted at the right host.
func TestExternalWrongHost(t *testing.T) {
	t.Parallel()
	w := newFederatedOrganization(t)
	must(t, w.App.Identity.SetHostname(t.Context(), testkit.Command, w.company.uid, "acme.example.org"))
	raw := w.token("eva@example.com", nil)
	refused := w.implicit(raw).WantError(identity.ErrWrongHost)
	if link := refused.Header.Get("Link"); !strings.Contains(link, "//acme.example.org") ||
		!strings.HasSuffix(link, `/oidc/auth/implicit>; rel="alternate"`) {
		t.Errorf("Link is %q", link)
	}
	if n, err := w.App.Identity.CountPersons(t.Context()); err != nil || n != 1 {
		t.Errorf("there are %d persons, %v", n, err)
	}
	w.Stranger().With("Host", "acme.example.org").Post(w.Identity+"/oidc/auth/implicit", map[string]any{"token": raw}).Want(http.StatusOK)
}

// TestExternalLogout ends everything that is tied to the provider's session, everywhere, and nothing else.
func TestExternalLogout(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	second := testkit.New(t, testkit.Beside(a.Server))
	sid := map[string]any{"sid": "at the provider 1"}
	here, there := a.login("eva@example.com", sid), a.login("eva@example.com", sid)
	other := a.login("eva@example.com", map[string]any{"sid": "at the provider 2"})
	upgraded := here.As(here.ID).Post(a.Identity+"/auth/upgrade", nil).Want(http.StatusOK).String("token")
	pickup := there.As(there.ID).Post(a.Identity+"/auth/park?keep_session=true&redirect_uri="+a.URL+"/login",
		nil).Want(http.StatusOK).String("token")
	for _, p := range []*testkit.Person{here, there, other} {
		p.At(second).Get(second.Identity + "/profile").Want(http.StatusOK)
	}
	out := time.Now()
	a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=at+the+provider+1").Want(http.StatusOK)
	for _, p := range []*testkit.Person{here, there} {
		for _, s := range []*testkit.Server{a.Server, second} {
			poll.Until(t, "the end of access", func() bool {
				return p.At(s).Get(s.Identity+"/profile").Status == http.StatusUnauthorized &&
					p.At(s).Get(s.Transfer+"/mailbox").Status == http.StatusUnauthorized
			})
		}
	}
	if took := time.Since(out); took > revocationLimit {
		t.Errorf("it took %v", took)
	}
	here.As(upgraded).Post(a.Identity+"/auth/access", nil).Want(http.StatusUnauthorized)
	there.As(there.ID).Post(a.Identity+"/auth/access", nil).Want(http.StatusUnauthorized)
	there.As(pickup).Get(a.Identity + "/auth/park").WantError(identity.ErrNothingParked)
	other.At(second).Get(second.Identity + "/profile").Want(http.StatusOK)
	other.Refresh()
	a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=at+the+provider+1").Want(http.StatusOK)
	a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=unknown").Want(http.StatusOK)
	for _, query := range []string{"", "?sid=", "?sid=a&sid=b", "?sid=" + strings.Repeat("x", 256), "?sid=a%00b"} {
		a.Stranger().Get(a.Identity + "/oidc/auth/logout" + query).Want(http.StatusBadRequest)
	}
	framed := a.Stranger().With("Accept", "text/html").Get(a.Identity + "/oidc/auth/logout?sid=at+the+provider+2").Want(http.StatusOK)
	if framed.Header.Get("Cache-Control") != "no-store" || framed.Header.Get("X-Frame-Options") != "" {
		t.Errorf("a frame would get %v", framed.Header)
	}
}

// TestExternalAtAnOrganizationsHost: a new person signs in at an organization's host. The organization's own provider is
// offered at its host only and makes a member. A provider for everybody makes a person without membership, who stays there.
func TestExternalAtAnOrganizationsHost(t *testing.T) {
	t.Parallel()
	offered := func(p *testkit.Person) int {
		t.Helper()
		list, _ := p.Get(p.Server.Identity + "/environment").Want(http.StatusOK).Value("oidcSettings.clients").([]any)
		return len(list)
	}
	enter := func(at *testkit.Person, raw string) *testkit.Response {
		t.Helper()
		useTokens(at, at.Post(at.Server.Identity+"/oidc/auth/implicit", map[string]any{"token": raw}).Want(http.StatusOK))
		return at.Get(at.Server.Identity + "/profile").Want(http.StatusOK)
	}
	w := newFederatedOrganization(t)
	must(t, w.App.Identity.SetHostname(t.Context(), testkit.Command, w.company.uid, "acme.example.org"))
	at := w.Stranger().With("Host", "acme.example.org")
	if own, public := offered(at), offered(w.Stranger()); own != 2 || public != 1 { // one is for everybody
		t.Errorf("%d providers are offered at the organization's host and %d elsewhere", own, public)
	}
	if got := enter(at, w.token("new@example.com", nil)).String("membership.organization.uid"); got != w.company.uid {
		t.Errorf("a member of %s", got)
	}

	a := newFederatedServer(t)
	acme := createOrganization(a.SignUp("ann@example.com"), "Acme")
	must(t, a.App.Identity.SetHostname(t.Context(), testkit.Command, acme.uid, "acme.example.org"))
	guest := a.Stranger().With("Host", "acme.example.org")
	if n := offered(guest); n != 1 {
		t.Errorf("%d providers are offered", n)
	}
	if got := enter(guest, a.token("guest@example.com", nil)); got.Value("membership") != nil {
		t.Errorf("profile %s", got.Body)
	}
}
