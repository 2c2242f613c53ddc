// The identity provider of the tests of this package.

package oidc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/consign-dev/consign/internal/identity/oidc"
	"github.com/consign-dev/consign/internal/testkit/clock"
	"github.com/consign-dev/consign/internal/testkit/output"
)

const (
	clientID = "consign-client"
	secret   = "s3cr3t-of-the-client"
)

// rsaKey is generated once, since that is slow.
var rsaKey = sync.OnceValue(func() crypto.Signer {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// signer is one key of a provider.
type signer struct {
	kid string
	alg jose.SignatureAlgorithm
	key any
}

func newES256(t testing.TB, kid string) signer {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, jose.ES256, k}
}

func newEdDSA(t testing.TB, kid string) signer {
	t.Helper()
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, jose.EdDSA, k}
}

func (s signer) jwk() map[string]any {
	k := jose.JSONWebKey{Key: s.key.(crypto.Signer).Public(), KeyID: s.kid, Algorithm: string(s.alg), Use: "sig"}
	raw, err := k.MarshalJSON()
	if err != nil {
		panic(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		panic(err)
	}
	return m
}

// sign returns the compact JWS of a payload. extra adds protected headers.
func (s signer) sign(t testing.TB, payload []byte, extra map[jose.HeaderKey]any) string {
	t.Helper()
	o := (&jose.SignerOptions{ExtraHeaders: extra}).WithType("JWT")
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: s.alg, Key: jose.JSONWebKey{Key: s.key, KeyID: s.kid}}, o)
	if err != nil {
		t.Fatal(err)
	}
	jws, err := made.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// idp is an HTTP server that acts as a provider. A test can replace each of its responses.
type idp struct {
	*httptest.Server
	mu     sync.Mutex
	issuer string
	keys   []signer
	extra  map[string]any              // replaces members of the discovery document; nil removes one
	routes map[string]http.HandlerFunc // replaces the response of a path
	hits   map[string]int
}

const (
	discoveryPath = "/.well-known/openid-configuration"
	keysPath      = "/keys"
	tokenPath     = "/token"
)

func newIDP(t testing.TB, keys ...signer) *idp {
	t.Helper()
	p := unstarted(keys...)
	p.Server = httptest.NewServer(p)
	p.issuer = p.URL
	t.Cleanup(p.Close)
	return p
}

func unstarted(keys ...signer) *idp {
	return &idp{keys: keys, extra: map[string]any{}, routes: map[string]http.HandlerFunc{}, hits: map[string]int{}}
}

func (p *idp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.hits[r.URL.Path]++
	special := p.routes[r.URL.Path]
	document := map[string]any{
		"issuer": p.issuer, "jwks_uri": p.issuer + keysPath, "token_endpoint": p.issuer + tokenPath,
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic", "client_secret_post"},
	}
	for name, value := range p.extra {
		if document[name] = value; value == nil {
			delete(document, name)
		}
	}
	set := []map[string]any{{"kty": "oct", "kid": "k1", "k": "AAAA"}, {"kty": "future", "kid": "f"}}
	for _, k := range p.keys {
		set = append(set, k.jwk())
	}
	p.mu.Unlock()
	switch {
	case special != nil:
		special(w, r)
	case r.URL.Path == discoveryPath:
		writeJSON(w, http.StatusOK, document)
	case r.URL.Path == keysPath:
		writeJSON(w, http.StatusOK, map[string]any{"keys": set})
	default:
		http.NotFound(w, r)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// change changes the provider while it serves.
func (p *idp) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *idp) answer(path string, h http.HandlerFunc) { p.change(func() { p.routes[path] = h }) }

func (p *idp) count(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits[path]
}

// claims returns the claims of a valid token. changes replaces some of them; nil removes one.
func (p *idp) claims(now time.Time, changes map[string]any) map[string]any {
	c := map[string]any{
		"iss": p.issuer, "aud": clientID, "sub": "person-1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"email": "Ann@Example.com", "email_verified": true, "nonce": "n-1", "name": "Ann Lee", "sid": "session-9",
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

func (p *idp) token(t testing.TB, now time.Time, changes map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(p.claims(now, changes))
	if err != nil {
		t.Fatal(err)
	}
	return p.keys[0].sign(t, payload, nil)
}

// lab is a provider, the client of it, and the client's log.
type lab struct {
	*idp
	*oidc.Providers
	clock *clock.Manual
	log   *output.Buffer
}

// newLab returns a lab with one Keycloak client. change changes the options first.
func newLab(t testing.TB, p *idp, change func(o *oidc.Options)) lab {
	t.Helper()
	l := lab{idp: p, clock: clock.New(), log: &output.Buffer{}}
	o := oidc.Options{
		Clients: []oidc.Client{{Type: oidc.Keycloak, Issuer: p.issuer, ClientID: clientID, ClientSecret: secret}},
		Now:     l.clock.Now,
		Log:     slog.New(slog.NewTextHandler(l.log, nil)),
	}
	if change != nil {
		change(&o)
	}
	var err error
	if l.Providers, err = oidc.New(o); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l lab) good(t testing.TB) string {
	t.Helper()
	return l.token(t, l.clock.Now(), nil)
}

// want fails the test unless err is reason. A nil reason wants no error.
func want(t testing.TB, err, reason error) {
	t.Helper()
	if reason == nil && err != nil {
		t.Fatalf("got error %v, want none", err)
	}
	if reason != nil && !errors.Is(err, reason) {
		t.Fatalf("got error %v, want %v", err, reason)
	}
}

func nonce(n string) oidc.Expectation { return oidc.Expectation{Nonce: n, MaxAge: 10 * time.Minute} }
