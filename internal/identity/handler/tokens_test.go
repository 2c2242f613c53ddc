// Tests of access tokens, upgrade, parking, uid tokens and discovery.

package handler_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
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

func TestAccess(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	access := s.Identity + "/auth/access"
	resp := ann.As(ann.ID).Post(access+"?cookie=true", nil).Want(http.StatusOK)
	claims, idClaims := claimsOf(t, resp.String("token")), claimsOf(t, ann.ID)
	if claims["scope"] != "access" || claims["sid"] != idClaims["sid"] || claims["exp"].(float64)-claims["iat"].(float64) != 600 ||
		claims["email"] != "ann@example.com" || claims["epoch"] == nil || claims["https://consign.dev/org_id"] != nil ||
		resp.Header.Get("Authorization") != "" {
		t.Errorf("claims are %v", claims)
	}
	cookie := resp.Header.Get("Set-Cookie")
	for _, part := range []string{"acct=" + resp.String("token") + ";", "HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("cookie %q lacks %s", cookie, part)
		}
	}
	if plain := ann.As(ann.ID).Post(access+"?cookie=false", nil).Want(http.StatusOK); plain.Header.Get("Set-Cookie") != "" {
		t.Error("a cookie was set without a request for it")
	}
	ann.As(ann.ID).Post(access+"?cookie=yes", nil).WantError(fault.ErrInvalid)
	s.Stranger().Post(access, nil).WantError(token.ErrMissing)
	s.Clock.Advance(30*24*time.Hour - time.Minute)
	late := ann.As(ann.ID).Post(access, nil).Want(http.StatusOK)
	if exp := claimsOf(t, late.String("token"))["exp"]; exp != idClaims["exp"] {
		t.Errorf("the access token expires at %v, after its session at %v", exp, idClaims["exp"])
	}
	s.Clock.Advance(time.Minute)
	ann.As(ann.ID).Post(access, nil).WantError(token.ErrExpired)
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	s.Clock.Advance(24 * time.Hour)
	resp := ann.As(ann.ID).Post(s.Identity+"/auth/upgrade", nil).Want(http.StatusOK)
	before, after := claimsOf(t, ann.ID), claimsOf(t, resp.String("token"))
	if after["sid"] != before["sid"] || after["exp"] != before["exp"] || after["jti"] == before["jti"] ||
		after["auth_time"] != before["auth_time"] || bearer(resp) != resp.String("token") {
		t.Errorf("from %v to %v", before, after)
	}
	ann.As(ann.ID).Post(s.Identity+"/auth/upgrade", nil).WantError(token.ErrEnded)
	ann.As(resp.String("token")).Post(s.Identity+"/auth/access", nil).Want(http.StatusOK)
}

// TestRolesReachTheToken: when an operator changes roles, access tokens end at once. The session stays.
func TestRolesReachTheToken(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	if err := s.App.Identity.SetMember(t.Context(), testkit.Command, "free", "ann@example.com",
		[]string{identity.RoleOrganizationAdmin}); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the end of access", func() bool { return ann.Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	ann.As(ann.ID).Get(s.Identity + "/auth").WantError(token.ErrEnded)
	resp := ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).Want(http.StatusOK)
	ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	ann.ID = bearer(resp)
	ann.Access = resp.String("token")
	profile := ann.Get(s.Identity + "/profile").Want(http.StatusOK)
	if profile.String("membership.roles.0") != identity.RoleOrganizationAdmin || profile.Value("membership.organization.selfSignup") != true ||
		profile.String("membership.organization.hostname") != "localhost" {
		t.Errorf("profile is %s", profile.Body)
	}
	ann.Refresh()
	claims := claimsOf(t, ann.Access)
	if claims["https://consign.dev/org_id"] != profile.String("membership.organization.uid") ||
		claims["roles"].([]any)[0] != identity.RoleOrganizationAdmin {
		t.Errorf("claims are %v", claims)
	}
}

func TestPark(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	park := func(q url.Values) *testkit.Response {
		return ann.As(ann.ID).Post(s.Identity+"/auth/park?"+q.Encode(), nil)
	}
	home := s.URL + "/arrive"
	verifier := strings.Repeat("v-._~", 10)
	sum := sha256.Sum256([]byte(verifier))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	for name, q := range map[string]url.Values{
		"no redirect":              {},
		"empty redirect":           {"redirect_uri": {""}},
		"state of 0":               {"redirect_uri": {home}, "state": {""}},
		"state of 129":             {"redirect_uri": {home}, "state": {strings.Repeat("ä", 129)}},
		"state with a line feed":   {"redirect_uri": {home}, "state": {"a\nb"}},
		"two states":               {"redirect_uri": {home}, "state": {"a", "b"}},
		"keep_session":             {"redirect_uri": {home}, "keep_session": {"1"}},
		"method without challenge": {"redirect_uri": {home}, "code_challenge_method": {"S256"}},
		"challenge without method": {"redirect_uri": {home}, "code_challenge": {challenge}},
		"plain":                    {"redirect_uri": {home}, "code_challenge": {challenge}, "code_challenge_method": {"plain"}},
		"short challenge":          {"redirect_uri": {home}, "code_challenge": {challenge[1:]}, "code_challenge_method": {"S256"}},
		"padded challenge":         {"redirect_uri": {home}, "code_challenge": {challenge + "="}, "code_challenge_method": {"S256"}},
	} {
		if resp := park(q); resp.Status != 400 || resp.Details() == "" {
			t.Errorf("%s: %d %s", name, resp.Status, resp.Body)
		}
	}
	for _, foreign := range []string{"https://evil.com/", "http://localhost/", "http://evil.com/", "https://ann@localhost/",
		"ftp://localhost/"} {
		park(url.Values{"redirect_uri": {foreign}}).WantError(identity.ErrRedirectURI)
	}

	kept := park(url.Values{"redirect_uri": {home}, "keep_session": {"true"}, "state": {strings.Repeat("ä", 128)}}).Want(http.StatusOK)
	if claims := claimsOf(t, kept.String("token")); claims["scope"] != "park" || claims["nonce"] != strings.Repeat("ä", 128) ||
		claims["exp"].(float64)-claims["iat"].(float64) != 60 {
		t.Errorf("pickup token says %v", claims)
	}
	own := s.Stranger().As(kept.String("token")).Get(s.Identity + "/auth/park").Want(http.StatusOK)
	if c := claimsOf(t, own.String("token")); c["sid"] == claimsOf(t, ann.ID)["sid"] || c["exp"] != claimsOf(t, ann.ID)["exp"] ||
		bearer(own) != own.String("token") {
		t.Errorf("the session of its own is %v", c)
	}
	s.Stranger().As(kept.String("token")).Get(s.Identity + "/auth/park").WantError(identity.ErrNothingParked)
	ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).Want(http.StatusOK)

	moved := park(url.Values{"redirect_uri": {home}, "code_challenge": {challenge}, "code_challenge_method": {"S256"}}).Want(http.StatusOK)
	ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	pickup := s.Stranger().As(moved.String("token"))
	pickup.Get(s.Identity + "/auth/park").WantError(identity.ErrVerifier)
	pickup.Get(s.Identity + "/auth/park?code_verifier=" + verifier + "x").WantError(identity.ErrVerifier)
	if head := pickup.Do("HEAD", s.Identity+"/auth/park?code_verifier="+verifier,
		nil).Want(http.StatusMethodNotAllowed); head.Header.Get("Allow") != "GET, POST" {
		t.Errorf("HEAD, which would use the token up, is answered with Allow: %q", head.Header.Get("Allow"))
	}
	arrived := pickup.Get(s.Identity + "/auth/park?code_verifier=" + verifier).Want(http.StatusOK)
	if c := claimsOf(t, arrived.String("token")); c["sid"] != claimsOf(t, ann.ID)["sid"] {
		t.Errorf("the session moved to %v", c)
	}
	ann.ID = arrived.String("token")

	late := park(url.Values{"redirect_uri": {home}, "keep_session": {"true"}}).Want(http.StatusOK)
	left := park(url.Values{"redirect_uri": {home}, "keep_session": {"true"}}).Want(http.StatusOK)
	ann.As(ann.ID).Post(s.Identity+"/auth/logout", nil).Want(http.StatusNoContent)
	s.Stranger().As(left.String("token")).Get(s.Identity + "/auth/park").WantError(identity.ErrNothingParked)
	s.Clock.Advance(time.Minute)
	s.Stranger().As(late.String("token")).Get(s.Identity + "/auth/park").WantError(token.ErrExpired)
}

// TestKeptSessions: parking with keep_session takes a token of the person's bucket, also from sessions made by
// parking, so that a person cannot create many sessions. Parking that moves a session takes none.
func TestKeptSessions(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	park := s.Identity + "/auth/park?redirect_uri=" + url.QueryEscape(s.URL+"/arrive")
	pickUp := func(parked *testkit.Response) *testkit.Person {
		return s.Stranger().As(s.Stranger().As(parked.String("token")).Get(s.Identity + "/auth/park").Want(http.StatusOK).String("token"))
	}
	session := ann.As(ann.ID)
	for range 60 {
		session = pickUp(session.Post(park+"&keep_session=true", nil).Want(http.StatusOK))
	}
	session.Post(park+"&keep_session=true", nil).WantError(fault.ErrOverloaded)
	session = pickUp(session.Post(park, nil).Want(http.StatusOK))
	s.Clock.Advance(time.Minute)
	session.Post(park+"&keep_session=true", nil).Want(http.StatusOK)
}

// TestBrokenQuery: a malformed query is refused. If it were ignored, a challenge would protect nothing, and a logout
// of another session by jti would end the caller's own.
func TestBrokenQuery(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	session := ann.As(ann.ID)
	park := "/auth/park?redirect_uri=" + url.QueryEscape(s.Config.PublicURL.String())
	for _, path := range []string{park + "&code_challenge=%zz", park + "&state=a;b", "/auth/logout?jti=%zz", "/auth/logout?jti=a;b",
		"/auth/access?cookie=%"} {
		if resp := session.Post(s.Identity+path, nil).WantError(fault.ErrInvalid); !strings.Contains(resp.Details(), "query: ") {
			t.Errorf("%s: %s", path, resp.Body)
		}
	}
	for _, path := range []string{"/profile/avatar?height=%zz", "/oidc/auth/logout?sid=%zz"} {
		ann.Get(s.Identity + path).WantError(fault.ErrInvalid)
	}
	session.Get(s.Identity + "/auth").Want(http.StatusOK)
}

func TestUIDToken(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	resp := ann.As(ann.ID).Post(s.Identity+"/auth/uid", nil).Want(http.StatusOK)
	if c := claimsOf(t, resp.String("token")); c["scope"] != "uidtoken" || c["sub"] != claimsOf(t, ann.ID)["sub"] {
		t.Errorf("claims are %v", c)
	}
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	issuer := s.Config.PublicURL.String() + s.Identity
	elsewhere := s.Stranger().With("Host", "other.example.org")
	for _, path := range []string{s.Identity + "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
		"/.well-known/oauth-authorization-server" + s.Identity} {
		elsewhere.Get(path).WantError(fault.ErrNotFound) // it would name an issuer that is not that host
	}
	s.Stranger().Get("/.well-known/openid-configuration").WantError(fault.ErrNotFound)
	if grant := s.Stranger().Get("/.well-known/oauth-authorization-server" + s.Identity).Want(http.StatusOK); grant.String(
		"issuer") != issuer ||
		grant.String("device_authorization_endpoint") != issuer+"/device/authorization" ||
		grant.String("token_endpoint") != issuer+"/device/token" {
		t.Errorf("%s", grant.Body)
	}
	for _, path := range []string{s.Identity + "/oidc/discovery", s.Identity + "/.well-known/openid-configuration"} {
		resp := s.Stranger().Get(path).Want(http.StatusOK)
		if resp.String("issuer") != issuer || resp.String("jwksUrl") != issuer+"/auth/keys" || resp.String("jwks_uri") != resp.String("jwksUrl") {
			t.Errorf("%s: %s", path, resp.Body)
		}
	}
	keys := s.Stranger().Get(s.Identity + "/auth/keys").Want(http.StatusOK)
	if keys.String("keys.0.kty") != "EC" || keys.String("keys.0.crv") != "P-256" || keys.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("keys are %s, %v", keys.Body, keys.Header)
	}
	if iss := claimsOf(t, s.SignUpUnconfirmed("ann@example.com").ID)["iss"]; iss != issuer {
		t.Errorf("iss is %v", iss)
	}
}

// TestTokenConfusion presents a token of every kind at every route of both APIs: only the kinds that the route declares
// get past authentication.
func TestTokenConfusion(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	c := s.Config
	issuer := token.NewIssuer(s.App.Keys, c.PublicURL.String()+s.Identity, c.ClaimNamespace, token.Lifetimes{
		ID: time.Hour, Signup: time.Hour, MFA: time.Hour, Access: time.Hour, Pickup: time.Hour, Preflight: time.Hour, Reservation: time.Hour,
		Download: time.Hour,
	}, s.Clock.Now)
	claims := token.Claims{
		Person: uid(t, ann.ID), Session: id.New[id.Session](), AuthLevel: 2, Epoch: 99, State: "s",
		Reservation: id.New[id.Reservation](), Delivery: id.New[id.Delivery](),
	}
	kinds := map[token.Kind]string{}
	for _, k := range []token.Kind{token.KindID, token.KindMFA, token.KindAccess, token.KindPickup, token.KindPreflight, token.KindUID,
		token.KindReservation, token.KindDownload} {
		raw, err := issuer.Issue(t.Context(), k, claims)
		if err != nil {
			t.Fatal(err)
		}
		kinds[k] = raw
	}
	tried := 0
	for _, route := range s.App.API.Routes() {
		if route.Auth == token.None {
			continue
		}
		path := strings.NewReplacer("{", "", "}", "", "*", "x").Replace(route.Path)
		for kind, raw := range kinds {
			if route.Auth.Accepts(kind) || route.Auth.IgnoresOthers() || route.Auth == route.Auth.IgnoreUnusable() {
				continue
			}
			tried++
			wantRefused(t, route.Method, s.Stranger().As(raw).Do(route.Method, path, nil), token.ErrKind)
		}
		if !route.Auth.IsOptional() {
			wantRefused(t, route.Method, s.Stranger().Do(route.Method, path, nil), token.ErrMissing)
			for _, garbage := range []string{"x", "a.b.c", kinds[token.KindAccess] + "x"} {
				wantRefused(t, route.Method, s.Stranger().As(garbage).Do(route.Method, path, nil), token.ErrInvalid)
			}
		}
	}
	if tried < 70 {
		t.Errorf("only %d combinations were tried", tried)
	}
}

// wantRefused checks the status, and the error code unless the method is HEAD, whose answer has no body.
func wantRefused(t *testing.T, method string, resp *testkit.Response, want *fault.Error) {
	t.Helper()
	if method == http.MethodHead {
		resp.Want(int(want.Kind))
		return
	}
	resp.WantError(want)
}
