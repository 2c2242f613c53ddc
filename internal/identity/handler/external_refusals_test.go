package handler_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
)

// TestImplicitRefusals presents external tokens that must be refused.
func TestImplicitRefusals(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	now := a.Clock.Now()
	for name, c := range map[string]struct {
		changes map[string]any
		want    *fault.Error
	}{
		"wrong aud":             {map[string]any{"aud": "somebody-else"}, identity.ErrExternalToken},
		"several aud, no azp":   {map[string]any{"aud": []string{testkit.IDPClient, "x"}}, identity.ErrExternalToken},
		"wrong iss":             {map[string]any{"iss": "https://accounts.example.com"}, identity.ErrExternalToken},
		"no sub":                {map[string]any{"sub": nil}, identity.ErrExternalToken},
		"expired":               {map[string]any{"exp": now.Add(-time.Minute).Unix()}, identity.ErrExternalToken},
		"older than 10 minutes": {map[string]any{"iat": now.Add(-601 * time.Second).Unix()}, identity.ErrExternalToken},
		"from the future":       {map[string]any{"iat": now.Add(time.Hour).Unix()}, identity.ErrExternalToken},
		"no email":              {map[string]any{"email": nil}, identity.ErrExternalToken},
		"no address":            {map[string]any{"email": "eva"}, identity.ErrExternalToken},
		"not verified":          {map[string]any{"email_verified": false}, identity.ErrExternalEmail},
		"not verified, text":    {map[string]any{"email_verified": "false"}, identity.ErrExternalEmail},
		"nothing about it":      {map[string]any{"email_verified": nil}, identity.ErrExternalEmail},
		"a number":              {map[string]any{"email_verified": 1}, identity.ErrExternalEmail},
	} {
		t.Log(name)
		a.implicit(a.token("eva@example.com", c.changes)).WantError(c.want)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	claims := a.idp.Claims(now, "eva@example.com", nil)
	payload, err := json.Marshal(claims)
	must(t, err)
	part := base64.RawURLEncoding.EncodeToString
	good := a.token("eva@example.com", nil)
	for name, raw := range map[string]string{
		"empty":        "",
		"garbage":      "garbage",
		"three dots":   "a.b.c",
		"alg none":     part([]byte(`{"alg":"none"}`)) + "." + part(payload) + ".",
		"alg HS256":    a.idp.Sign(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat("k", 32))}, claims),
		"forged kid":   a.idp.Sign(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, claims),
		"unknown kid":  a.idp.Sign(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "99"}}, claims),
		"truncated":    good[:len(good)-4],
		"our ID token": a.SignUp("ann@example.com").ID,
		"other claims": good[:strings.IndexByte(good, '.')+1] + part(payload) + good[strings.LastIndexByte(good, '.'):],
	} {
		t.Log(name)
		a.implicit(raw).WantError(identity.ErrExternalToken)
	}
	a.Stranger().Post(a.Identity+"/oidc/auth/implicit", map[string]any{}).WantError(identity.ErrExternalToken)
	a.Stranger().Post(a.Identity+"/oidc/auth/implicit", nil).WantError(fault.ErrInvalid)
	a.Stranger().Post(a.Identity+"/oidc/auth/implicit", map[string]any{"token": 1}).WantError(fault.ErrInvalid)
	if n, err := a.App.Identity.CountPersons(t.Context()); err != nil || n != 1 {
		t.Errorf("there are %d persons, %v", n, err)
	}
	a.login("eva@example.com", map[string]any{"email_verified": "true", "aud": []string{testkit.IDPClient}})
	a.personOf("eva@example.com", a.implicit(good))
}

// TestProviderUnreachable: a login answers 409 while the provider is unreachable. The same token works afterwards.
func TestProviderUnreachable(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	raw := a.token("eva@example.com", nil)
	for name, fail := range map[string]http.HandlerFunc{
		"down":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"aborts":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"redirects": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"no JSON":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"` + strings.Repeat("x", 1<<20)))
		},
	} {
		t.Log(name)
		a.idp.Fail(fail)
		refused := a.implicit(raw).WantError(identity.ErrExternalUnreachable)
		if refused.Status != http.StatusConflict || refused.String("error.message") != fault.MessageNotStored {
			t.Errorf("%s: answered %s", name, refused.Body)
		}
	}
	a.idp.Fail(nil)
	a.personOf("eva@example.com", a.implicit(raw))
	a.idp.Rotate()
	a.login("eva@example.com", nil)
}

// exchange presents an authorization code.
func (a federatedServer) exchange(code, verifier string) *testkit.Response {
	a.T.Helper()
	body := map[string]any{"code": code, "issuer": a.idp.Issuer, "clientId": testkit.IDPClient}
	if verifier != "" {
		body["code_verifier"] = verifier
	}
	return a.Stranger().Post(a.Identity+"/oidc/auth/code", body)
}

func TestCode(t *testing.T) {
	t.Parallel()
	const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" // RFC 7636, appendix B
	a := newFederatedServer(t)
	redirect := a.Stranger().Get(a.Identity + "/environment").Want(http.StatusOK).String("oidcSettings.redirectUrl")
	code := func(changes map[string]any) string {
		return a.idp.Code(verifier, redirect, a.token("eva@example.com", changes))
	}
	used := code(map[string]any{"nonce": challenge, "sid": "s-1"})
	eva := a.personOf("eva@example.com", a.exchange(used, verifier))
	a.exchange(used, verifier).WantError(identity.ErrExternalCode)
	a.personOf("eva@example.com", a.exchange(code(nil), verifier)) // the nonce may miss
	a.exchange(code(nil), "another-verifier-another-verifier-another-verif").WantError(identity.ErrExternalCode)
	a.exchange(a.idp.Code(verifier, "https://elsewhere.example", a.token("eva@example.com", nil)),
		verifier).WantError(identity.ErrExternalCode)
	a.exchange("unknown", verifier).WantError(identity.ErrExternalCode)
	a.exchange(code(map[string]any{"nonce": "another"}), verifier).WantError(identity.ErrExternalProvider)
	a.exchange(code(map[string]any{"aud": "another"}), verifier).WantError(identity.ErrExternalProvider)
	a.exchange(code(map[string]any{"email": nil}), verifier).WantError(identity.ErrExternalToken)
	a.exchange(code(map[string]any{"email_verified": "false"}), verifier).WantError(identity.ErrExternalEmail)
	a.SignUp("ann@example.com")
	a.exchange(a.idp.Code(verifier, redirect, a.token("ann@example.com", nil)), verifier).WantError(identity.ErrExternalAddressInUse)
	a.exchange(a.idp.Code("", redirect, a.token("eva@example.com", nil)), "x").WantError(identity.ErrExternalCode)

	before := a.idp.Calls()
	for _, body := range []map[string]any{
		{"code": "x", "issuer": "https://evil.example", "clientId": testkit.IDPClient},
		{"code": "x", "issuer": a.idp.Issuer, "clientId": "another"},
		{"code": "x", "issuer": a.idp.Issuer + "/", "clientId": testkit.IDPClient},
	} {
		a.Stranger().Post(a.Identity+"/oidc/auth/code", body).WantError(identity.ErrExternalProvider)
	}
	missing := a.Stranger().Post(a.Identity+"/oidc/auth/code", map[string]any{}).WantError(fault.ErrInvalid)
	if missing.Details() != "code: is required\nissuer: is required\nclientId: is required" {
		t.Errorf("details are %s", missing.Body)
	}
	if n := a.idp.Calls() - before; n != 0 {
		t.Errorf("the provider was called %d times, want none for invalid requests", n)
	}
	later := code(nil)
	a.idp.Fail(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	a.exchange(later, verifier).WantError(identity.ErrExternalUnreachable)
	a.idp.Fail(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":"invalid_client"}`))
	})
	a.exchange(later, verifier).WantError(identity.ErrExternalProvider)
	a.idp.Fail(nil)
	a.personOf("eva@example.com", a.exchange(later, verifier))

	a.Stranger().Get(a.Identity + "/oidc/auth/logout?sid=s-1").Want(http.StatusOK)
	eva.As(eva.ID).Post(a.Identity+"/auth/access", nil).Want(http.StatusUnauthorized)
}

// TestAttackForeignDomain: the provider of an organization does not make a verified account with an address of another domain. Such a
// person joins unverified, and verifies the address with our own mail.
func TestAttackForeignDomain(t *testing.T) {
	t.Parallel()
	w := newFederatedOrganization(t) // its domain is example.com
	profile := func(p *testkit.Person) *testkit.Response { return p.Get(w.Identity + "/profile").Want(http.StatusOK) }
	for _, address := range []string{"ceo@rival.example", "ceo@sub.example.com", "ceo@notexample.com", "example.com@rival.example"} {
		raw := w.token(address, nil)
		p := &testkit.Person{Server: w.Server, Email: address, Header: http.Header{}, ID: w.implicit(raw).Want(http.StatusOK).String("token")}
		p.Refresh()
		if got := profile(p); got.Value("emails.0.verified") != false || got.String("membership.organization.uid") != w.company.uid {
			t.Errorf("%s: %s", address, got.Body)
		}
		confirm(p, w.Mail.Wait(t, address, "/confirm/", 1).Key(t, "/confirm/")).Want(http.StatusNoContent)
	}
	eva := w.login("Eva@EXAMPLE.com", nil)
	if got := profile(eva); got.Value("emails.0.verified") != true {
		t.Errorf("%s", got.Body)
	}
	w.implicit(w.token("ceo@rival.example", map[string]any{"sub": "another"})).WantError(identity.ErrExternalAddressInUse)
}

// TestAttackForeignAddressMails: a first login with somebody else's address takes a token of the bucket for mails to it, as a sign-up does.
func TestAttackForeignAddressMails(t *testing.T) {
	t.Parallel()
	w := newFederatedOrganization(t)
	const victim = "victim@rival.example"
	everybody := []*testkit.Person{w.SignUp("mallory@example.org"), w.SignUp("eve@example.org"), w.SignUp("trudy@example.org")}
	for i := range 19 {
		p := everybody[i%len(everybody)]
		p.Post(w.Identity+"/profile/emails", map[string]any{"address": victim}).Want(http.StatusCreated)
		p.Delete(w.Identity + "/profile/emails/" + victim).Want(http.StatusNoContent)
	}
	first := w.token(victim, nil)
	w.implicit(first).Want(http.StatusOK) // the last one
	if _, err := w.App.DB.Pool.Exec(t.Context(), `DELETE FROM identity.persons WHERE federated_subject IS NOT NULL`); err != nil {
		t.Fatal(err)
	}
	w.implicit(w.token(victim, map[string]any{"sub": "another"})).WantError(fault.ErrOverloaded)
	w.implicit(w.token("victim@example.com", nil)).Want(http.StatusOK) // our domain: no mail
	w.Mail.Wait(t, victim, "/confirm/", 20)
}

// TestAttackFloorByProvider: below the lower floor a first login makes no account. Who has one signs in.
func TestAttackFloorByProvider(t *testing.T) {
	t.Parallel()
	var low atomic.Bool
	a := newFederatedServer(t, testkit.Space(func(string) (int64, int64, error) {
		if low.Load() {
			return 1 << 29, 100 << 30, nil
		}
		return 50 << 30, 100 << 30, nil
	}))
	a.login("ann@example.com", nil)
	a.SignUp("sam@example.com")
	low.Store(true)
	a.implicit(a.token("eva@example.com", nil)).WantError(fault.ErrUnavailable)
	if page := a.register("/").postElsewhere("eva@example.com", ""); !strings.HasSuffix(page.location, "?error=temporarily_unavailable") {
		t.Errorf("the form post leads to %s", page.location)
	}
	a.login("ann@example.com", nil)
	low.Store(false)
	a.login("eva@example.com", nil)
}
