// Tests of a provider's documents and keys: rotation, failures and many logins.

package oidc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity/oidc"
)

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	l := newLab(t, newIDP(t, newES256(t, "k1")), nil)
	verify := func(raw string) error {
		_, err := l.Verify(t.Context(), raw, nonce("n-1"))
		return err
	}
	old := l.good(t)
	want(t, verify(old), nil)
	// The key is rotated between two logins within a second.
	l.change(func() { l.keys = []signer{newES256(t, "k2")} })
	want(t, verify(l.good(t)), nil)
	want(t, verify(old), oidc.ErrInvalidToken) // its key is gone from the set
	// Tokens of unknown keys cause one refetch per refetch time.
	forged := newES256(t, "k9")
	for range 20 {
		want(t, verify(forged.sign(t, []byte(`{"iss":"`+l.issuer+`","aud":"`+clientID+`","sub":"x","iat":1,"exp":4102444800}`), nil)),
			oidc.ErrInvalidToken)
	}
	if n := l.count(keysPath); n != 2 {
		t.Errorf("keys were read %d times, want 2", n)
	}
	// A new key with the same kid is found after the refetch time.
	l.change(func() { l.keys = []signer{newEdDSA(t, "k2")} })
	want(t, verify(l.good(t)), oidc.ErrInvalidToken)
	l.clock.Advance(oidc.DefaultRefetch)
	want(t, verify(l.good(t)), nil)
	// A key that the provider withdraws is accepted no longer than the lifetime.
	last := l.token(t, l.clock.Now(), map[string]any{"exp": l.clock.Now().Add(24 * time.Hour).Unix()})
	l.change(func() { l.keys = []signer{newES256(t, "k3")} })
	l.clock.Advance(oidc.DefaultLifetime)
	_, err := l.Verify(t.Context(), last, oidc.Expectation{AnyNonce: true})
	want(t, err, oidc.ErrInvalidToken)
}

func TestOneRequestForMany(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newES256(t, "k1"))
	release, entered := make(chan struct{}), make(chan struct{}, 100)
	p.answer(discoveryPath, func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-release
		writeJSON(w, http.StatusOK, map[string]any{"issuer": p.issuer, "jwks_uri": p.issuer + keysPath})
	})
	l := newLab(t, p, nil)
	raw := l.good(t)
	// The first caller's context ends. The other callers still get their result.
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := l.Verify(ctx, raw, nonce("n-1"))
		gone <- err
	}()
	<-entered
	cancel()
	want(t, <-gone, oidc.ErrCommunicationFailed)
	var group sync.WaitGroup
	errs := make(chan error, 50)
	for range cap(errs) {
		group.Go(func() {
			_, err := l.Verify(t.Context(), raw, nonce("n-1"))
			errs <- err
		})
	}
	close(release)
	group.Wait()
	for range cap(errs) {
		want(t, <-errs, nil)
	}
	if d, k := p.count(discoveryPath), p.count(keysPath); d != 1 || k != 1 {
		t.Errorf("%d requests for the document and %d for the keys, want 1 and 1", d, k)
	}
}

func TestManyLoginsAfterRotation(t *testing.T) {
	t.Parallel()
	l := newLab(t, newIDP(t, newES256(t, "k1")), nil)
	_, err := l.Verify(t.Context(), l.good(t), nonce("n-1"))
	want(t, err, nil)
	l.change(func() { l.keys = []signer{newES256(t, "k2")} })
	raw := l.good(t)
	var group sync.WaitGroup
	errs := make(chan error, 200)
	for range cap(errs) {
		group.Go(func() {
			_, err := l.Verify(t.Context(), raw, nonce("n-1"))
			errs <- err
		})
	}
	group.Wait()
	for range cap(errs) {
		want(t, <-errs, nil)
	}
	if n := l.count(keysPath); n != 2 {
		t.Errorf("keys were read %d times, want 2", n)
	}
}

// Every failure of a provider is ErrCommunicationFailed, and a retry succeeds once the failure is over.
func TestTroubleAndRecovery(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed to another host") }))
	t.Cleanup(other.Close)
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	body := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s) }
	}
	usable, err := json.Marshal(newES256(t, "k1").jwk())
	want(t, err, nil)
	troubles := map[string]http.HandlerFunc{
		"slow to answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"slow in its body": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"issuer":`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"huge, announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000000")
			w.WriteHeader(http.StatusOK)
		},
		"huge, endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		},
		"huge header": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) },
		"redirecting": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) },
		"redirecting to itself": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		},
		"hanging up":        func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"failing":           status(http.StatusInternalServerError),
		"gone":              status(http.StatusNotFound),
		"empty":             status(http.StatusOK),
		"no JSON":           body("<html>maintenance</html>"),
		"null":              body("null"),
		"list":              body("[]"),
		"empty object":      body("{}"),
		"deep":              body(strings.Repeat("[", 200<<10)),
		"no usable key":     body(`{"issuer":"x","keys":[{"kty":"oct","k":"AAAA"},{"kty":"RSA","n":"AQAB","e":"AQAB"},7,null]}`),
		"too many keys":     body(`{"keys":[` + strings.Repeat(string(usable)+",", 100) + string(usable) + `]}`),
		"members twice":     body(`{"issuer":"x","issuer":"y","keys":[],"keys":[]}`),
		"keys of no list":   body(`{"keys":{"a":1},"issuer":1}`),
		"of another issuer": body(`{"issuer":"https://accounts.example","jwks_uri":"https://accounts.example/keys"}`),
	}
	for name, trouble := range troubles {
		for _, path := range []string{discoveryPath, keysPath} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, newIDP(t, newES256(t, "k1")), func(o *oidc.Options) {
					o.Timeout = time.Minute
					if strings.HasPrefix(name, "slow") {
						o.Timeout = 1500 * time.Millisecond // long enough for good responses on a busy machine
					}
				})
				l.answer(path, trouble)
				_, err := l.Verify(t.Context(), l.good(t), nonce("n-1"))
				want(t, err, oidc.ErrCommunicationFailed)
				if !strings.Contains(l.log.String(), "identity provider cannot be read") {
					t.Error("the failure is not logged")
				}
				l.answer(path, nil)
				_, err = l.Verify(t.Context(), l.good(t), nonce("n-1"))
				want(t, err, nil)
				// The same with cached keys and a token of a new key.
				l.answer(path, trouble)
				_, err = l.Verify(t.Context(), l.good(t), nonce("n-1"))
				want(t, err, nil)
				l.change(func() { l.keys = []signer{newES256(t, "k2")} })
				_, err = l.Verify(t.Context(), l.good(t), nonce("n-1"))
				want(t, err, oidc.ErrCommunicationFailed)
				l.answer(path, nil)
				_, err = l.Verify(t.Context(), l.good(t), nonce("n-1"))
				want(t, err, nil)
			})
		}
	}
}

func TestProviderDown(t *testing.T) {
	t.Parallel()
	p := newIDP(t, newES256(t, "k1"))
	address := p.Listener.Addr().String()
	p.Close()
	l := newLab(t, p, nil)
	_, err := l.Verify(t.Context(), l.good(t), nonce("n-1"))
	want(t, err, oidc.ErrCommunicationFailed)
	serve(t, address, p)
	_, err = l.Verify(t.Context(), l.good(t), nonce("n-1"))
	want(t, err, nil)
}

func TestDiscoveryRedirectsOnItsHost(t *testing.T) {
	t.Parallel()
	l := newLab(t, newIDP(t, newES256(t, "k1")), nil)
	l.answer(discoveryPath, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/real", http.StatusFound) })
	l.answer("/real", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"issuer": l.issuer, "jwks_uri": l.issuer + keysPath})
	})
	_, err := l.Verify(t.Context(), l.good(t), nonce("n-1"))
	want(t, err, nil)
}

func TestDiscoveredEndpoints(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]map[string]any{
		"no keys":               {"jwks_uri": nil},
		"plain http elsewhere":  {"jwks_uri": "http://keys.example.com/"},
		"a file":                {"jwks_uri": "file:///etc/passwd"},
		"no host":               {"jwks_uri": "https:///keys"},
		"relative":              {"jwks_uri": "/keys"},
		"user information":      {"jwks_uri": "http://a:b@127.0.0.1/keys"},
		"token over http":       {"token_endpoint": "http://login.example.com/token"},
		"cloud metadata":        {"jwks_uri": "https://169.254.169.254/latest/meta-data"},
		"cloud metadata mapped": {"jwks_uri": "https://[::ffff:169.254.169.254]/latest/meta-data"},
		"any address":           {"jwks_uri": "https://0.0.0.0:1/keys"},
		"keys as number":        {"jwks_uri": 7},
		"issuer in other case":  {"issuer": nil, "Issuer": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, newIDP(t, newES256(t, "k1")), nil)
			l.change(func() { l.extra = extra })
			_, err := l.Verify(t.Context(), l.good(t), nonce("n-1"))
			want(t, err, oidc.ErrCommunicationFailed)
			l.change(func() { l.extra = nil })
			_, err = l.Verify(t.Context(), l.good(t), nonce("n-1"))
			want(t, err, nil)
		})
	}
}
