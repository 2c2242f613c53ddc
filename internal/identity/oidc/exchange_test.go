// Tests of the exchange of authorization codes.

package oidc_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity/oidc"
)

const (
	code        = "the-authorization-code-0815"
	verifier    = "verifier-verifier-verifier-verifier-verifier"
	redirectURI = "https://consign.example.com/signed-in"
)

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// redeems makes the token endpoint return a token with changed claims, and calls got with each request.
func (p *idp) redeems(t *testing.T, now time.Time, changes map[string]any, got func(*http.Request)) {
	t.Helper()
	raw := p.token(t, now, changes)
	p.answer(tokenPath, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		if got != nil {
			got(r)
		}
		writeJSON(w, http.StatusOK, map[string]any{"access_token": "at", "token_type": "Bearer", "expires_in": 60, "id_token": raw})
	})
}

func TestExchange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret  string
		methods any
		basic   bool
	}{
		"public client":       {"", nil, false},
		"secret in the body":  {secret, []string{"client_secret_basic", "client_secret_post"}, false},
		"secret in a header":  {secret, []string{"client_secret_basic"}, true},
		"nothing said: basic": {secret, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, newIDP(t, newES256(t, "k1")), func(o *oidc.Options) { o.Clients[0].ClientSecret = c.secret })
			l.change(func() { l.extra["token_endpoint_auth_methods_supported"] = c.methods })
			l.redeems(t, l.clock.Now(), map[string]any{"nonce": challengeOf(verifier)}, func(r *http.Request) {
				form := url.Values{
					"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {redirectURI},
				}
				id, password, basic := r.BasicAuth()
				if !basic {
					form.Set("client_id", clientID)
					if c.secret != "" {
						form.Set("client_secret", c.secret)
					}
				}
				if r.Method != http.MethodPost || r.PostForm.Encode() != form.Encode() || basic != c.basic || basic &&
					(id != clientID || password != c.secret) {
					t.Errorf("%s %s, basic %v", r.Method, r.PostForm.Encode(), basic)
				}
			})
			got, err := l.Exchange(t.Context(), l.issuer, clientID, code, verifier, redirectURI)
			want(t, err, nil)
			if got.Subject != "person-1" || got.Email != "ann@example.com" || !got.EmailVerified {
				t.Errorf("identity %+v", got)
			}
			if n := l.count(tokenPath); n != 1 {
				t.Errorf("the code was sent %d times", n)
			}
		})
	}
}

func TestExchangeTokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verifier string
		changes  map[string]any
		reason   error
	}{
		"nonce of the verifier":     {verifier, map[string]any{"nonce": challengeOf(verifier)}, nil},
		"no nonce":                  {verifier, map[string]any{"nonce": nil}, nil},
		"neither":                   {"", map[string]any{"nonce": nil}, nil},
		"another nonce":             {verifier, map[string]any{"nonce": challengeOf("x")}, oidc.ErrInteractionFailed},
		"nonce without verifier":    {"", map[string]any{"nonce": "n-1"}, oidc.ErrInteractionFailed},
		"token of another issuer":   {verifier, map[string]any{"iss": "https://evil.example"}, oidc.ErrInteractionFailed},
		"token for another client":  {verifier, map[string]any{"aud": "second"}, oidc.ErrInteractionFailed},
		"token for a stranger":      {verifier, map[string]any{"aud": "third"}, oidc.ErrInteractionFailed},
		"expired token":             {verifier, map[string]any{"exp": 1}, oidc.ErrInteractionFailed},
		"email not verified":        {verifier, map[string]any{"nonce": nil, "email_verified": "false"}, oidc.ErrEmailNotVerified},
		"no email":                  {verifier, map[string]any{"nonce": nil, "email": nil}, oidc.ErrEmailMissing},
		"claims of the wrong types": {verifier, map[string]any{"sub": 7}, oidc.ErrInteractionFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, newIDP(t, newES256(t, "k1")), func(o *oidc.Options) {
				o.Clients = append(o.Clients, oidc.Client{Type: oidc.Keycloak, Issuer: o.Clients[0].Issuer, ClientID: "second"})
			})
			l.redeems(t, l.clock.Now(), c.changes, nil)
			_, err := l.Exchange(t.Context(), l.issuer, clientID, code, c.verifier, redirectURI)
			want(t, err, c.reason)
		})
	}
}

func TestExchangeRefused(t *testing.T) {
	t.Parallel()
	refuse := func(status int, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			writeJSON(w, status, map[string]any{"error": code, "error_description": "refused " + r.PostForm.Encode()})
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		reason error
	}{
		"code used or wrong":      {refuse(http.StatusBadRequest, "invalid_grant"), oidc.ErrInvalidCode},
		"code used, odd status":   {refuse(http.StatusOK, "invalid_grant"), oidc.ErrInvalidCode},
		"client refused":          {refuse(http.StatusUnauthorized, "invalid_client"), oidc.ErrInteractionFailed},
		"request refused":         {refuse(http.StatusBadRequest, "invalid_request"), oidc.ErrInteractionFailed},
		"unknown error":           {refuse(http.StatusBadRequest, strings.Repeat("e", 1<<10)), oidc.ErrInteractionFailed},
		"overloaded":              {refuse(http.StatusTooManyRequests, ""), oidc.ErrCommunicationFailed},
		"unavailable for a while": {refuse(http.StatusBadRequest, "temporarily_unavailable"), oidc.ErrCommunicationFailed},
		"failing":                 {refuse(http.StatusBadGateway, ""), oidc.ErrCommunicationFailed},
		"redirecting": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, oidc.ErrCommunicationFailed},
		"slow": {func(_ http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm() // the server notices that the client is gone only after it has read the body
			<-r.Context().Done()
		}, oidc.ErrCommunicationFailed},
		"hanging up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, oidc.ErrCommunicationFailed},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"access_token":"` + strings.Repeat("x", 600<<10) + `"}`))
		}, oidc.ErrCommunicationFailed},
		"no ID token": {func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, map[string]any{"access_token": "at", "token_type": "Bearer"})
		}, oidc.ErrInteractionFailed},
		"ID token no token": {func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, map[string]any{"access_token": "at", "token_type": "Bearer", "id_token": "eyJub25lIjoxfQ.e30."})
		}, oidc.ErrInteractionFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, newIDP(t, newES256(t, "k1")), func(o *oidc.Options) {
				o.Timeout = time.Minute
				if name == "slow" {
					o.Timeout = 1500 * time.Millisecond
				}
			})
			l.answer(tokenPath, c.answer)
			_, err := l.Exchange(t.Context(), l.issuer, clientID, code, verifier, redirectURI)
			want(t, err, c.reason)
			if n := l.count(tokenPath); n != 1 && name != "slow" {
				t.Errorf("the code was sent %d times", n)
			}
			if n := l.count("/elsewhere"); n != 0 {
				t.Error("a redirect was followed with the code")
			}
			for _, private := range []string{code, verifier, secret} {
				if all := err.Error() + l.log.String(); strings.Contains(all, private) {
					t.Errorf("the error or the log contains a secret: %s", all)
				}
			}
			l.redeems(t, l.clock.Now(), map[string]any{"nonce": nil}, nil)
			_, err = l.Exchange(t.Context(), l.issuer, clientID, code, verifier, redirectURI)
			want(t, err, nil)
		})
	}
}

func TestExchangeBeforeAnyCall(t *testing.T) {
	t.Parallel()
	l := newLab(t, newIDP(t, newES256(t, "k1")), nil)
	for _, c := range []struct {
		issuer, client, code, verifier string
		reason                         error
	}{
		{"https://evil.example", clientID, code, verifier, oidc.ErrUnknownProvider},
		{l.issuer + "/", clientID, code, verifier, oidc.ErrUnknownProvider},
		{l.issuer, "another", code, verifier, oidc.ErrUnknownProvider},
		{"", "", code, verifier, oidc.ErrUnknownProvider},
		{l.issuer, clientID, "", verifier, oidc.ErrInvalidCode},
		{l.issuer, clientID, "a\nb", verifier, oidc.ErrInvalidCode},
		{l.issuer, clientID, strings.Repeat("c", 5<<10), verifier, oidc.ErrInvalidCode},
		{l.issuer, clientID, code, "v\x00", oidc.ErrInvalidCode},
	} {
		_, err := l.Exchange(t.Context(), c.issuer, c.client, c.code, c.verifier, redirectURI)
		want(t, err, c.reason)
	}
	if n := l.count(discoveryPath) + l.count(tokenPath); n != 0 {
		t.Errorf("%d requests", n)
	}
	// When the keys cannot be read, the code is not sent and a retry can use it.
	l.answer(keysPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	_, err := l.Exchange(t.Context(), l.issuer, clientID, code, verifier, redirectURI)
	want(t, err, oidc.ErrCommunicationFailed)
	if n := l.count(tokenPath); n != 0 {
		t.Error("the code was sent")
	}
	// A provider without token endpoint does not exchange codes.
	l.answer(keysPath, nil)
	l.change(func() { l.extra["token_endpoint"] = nil })
	_, err = l.Exchange(t.Context(), l.issuer, clientID, code, verifier, redirectURI)
	want(t, err, oidc.ErrInteractionFailed)
}
