// An external identity provider for tests. It can rotate its keys and fail.

package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The client that Consign is at an IDP unless a test says otherwise.
const (
	IDPClient = "consign"
	IDPSecret = "the-secret-of-consign"
)

// IDP is an external identity provider on loopback: discovery, keys and token endpoint over real HTTP. It
// signs any claims for a test.
type IDP struct {
	Issuer string

	t      testing.TB
	server *setup // the server that uses it as a provider
	mu     sync.Mutex
	key    *ecdsa.PrivateKey
	kid    int
	fail   http.HandlerFunc
	codes  map[string]idpCode
	calls  int
}

// idpCode is an authorization code that waits to be redeemed.
type idpCode struct{ challenge, redirectURI, idToken string }

// NewIDP starts a provider that ends with the test.
func NewIDP(t testing.TB) *IDP {
	t.Helper()
	p := &IDP{t: t, codes: map[string]idpCode{}}
	p.Rotate()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.Issuer = server.URL
	return p
}

// Known makes the server a client of the provider: one of type keycloak with IDPClient for each of changes, which are
// members of its element in CONSIGN_OIDC_CLIENTS.
func (p *IDP) Known(changes ...map[string]any) Option {
	return func(s *setup) {
		p.server = s
		clients := make([]map[string]any, 0, len(changes)+1)
		for _, c := range changes {
			clients = append(clients, p.client(c))
		}
		if len(changes) == 0 {
			clients = append(clients, p.client(nil))
		}
		raw, err := json.Marshal(clients)
		if err != nil {
			p.t.Fatal(err)
		}
		path := filepath.Join(p.t.TempDir(), "clients.json")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			p.t.Fatal(err)
		}
		s.env["CONSIGN_OIDC_CLIENTS"] = path
	}
}

func (p *IDP) client(changes map[string]any) map[string]any {
	c := map[string]any{"type": "keycloak", "issuer": p.Issuer, "clientId": IDPClient, "clientSecret": IDPSecret, "name": "Test provider"}
	maps.Copy(c, changes)
	if c["organizationUid"] != nil && c["domains"] == nil {
		c["domains"] = []string{"example.com"} // of the people in tests
	}
	return c
}

// Rotate gives the provider another key; the one before counts no more.
func (p *IDP) Rotate() {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.kid = key, p.kid+1
}

// Fail lets h answer everything; nil makes the provider well again.
func (p *IDP) Fail(h http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = h
}

// Calls counts the requests that the provider got.
func (p *IDP) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// Claims returns the claims of a valid ID token issued at now. changes replaces claims; nil removes one.
func (p *IDP) Claims(now time.Time, email string, changes map[string]any) map[string]any {
	c := map[string]any{
		"iss": p.Issuer, "aud": IDPClient, "sub": "subject of " + email, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"jti": rand.Text(), "email": email, "email_verified": true, "name": "Somebody Elsewhere",
	}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// Token is Claims, signed.
func (p *IDP) Token(now time.Time, email string, changes map[string]any) string {
	p.t.Helper()
	p.mu.Lock()
	key, kid := p.key, p.kid
	p.mu.Unlock()
	return p.Sign(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: fmt.Sprint(kid)}},
		p.Claims(now, email, changes))
}

// Sign signs claims with any key.
func (p *IDP) Sign(key jose.SigningKey, claims map[string]any) string {
	p.t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		p.t.Fatal(err)
	}
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		p.t.Fatal(err)
	}
	jws, err := signer.Sign(payload)
	if err != nil {
		p.t.Fatal(err)
	}
	raw, err := jws.CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	p.secret(raw)
	return raw
}

// Code makes an authorization code for an ID token, as if somebody had signed in with the PKCE challenge of verifier.
func (p *IDP) Code(verifier, redirectURI, idToken string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	code := rand.Text()
	p.codes[code] = idpCode{challenge: challengeOf(verifier), redirectURI: redirectURI, idToken: idToken}
	p.secret(code)
	return code
}

// secret has the server's log searched for a value when the test ends.
func (p *IDP) secret(value string) {
	if p.server != nil && p.server.secrets != nil {
		p.server.secrets.add(value)
	}
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// ServeHTTP implements http.Handler.
func (p *IDP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.calls++
	fail := p.fail
	public := jose.JSONWebKey{Key: p.key.Public(), KeyID: fmt.Sprint(p.kid), Algorithm: string(jose.ES256), Use: "sig"}
	p.mu.Unlock()
	switch {
	case fail != nil:
		fail(w, r)
	case r.URL.Path == "/.well-known/openid-configuration":
		answerJSON(w, http.StatusOK, map[string]any{"issuer": p.Issuer, "jwks_uri": p.Issuer + "/keys", "token_endpoint": p.Issuer + "/token"})
	case r.URL.Path == "/keys":
		answerJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}})
	case r.URL.Path == "/token" && r.Method == http.MethodPost:
		p.redeem(w, r)
	default:
		http.NotFound(w, r)
	}
}

// redeem is the token endpoint (RFC 6749, section 4.1.3): right client, right redirect_uri, right verifier, once.
func (p *IDP) redeem(w http.ResponseWriter, r *http.Request) {
	user, secret, _ := r.BasicAuth()
	if user != IDPClient || secret != IDPSecret {
		answerJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	code, ok := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	p.mu.Unlock()
	if !ok || code.redirectURI != r.FormValue("redirect_uri") || code.challenge != challengeOf(r.FormValue("code_verifier")) {
		answerJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	answerJSON(w, http.StatusOK, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "id_token": code.idToken})
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
