// Signs in with a password and a second factor, keeps the session and replaces its access tokens in time.

package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/client/identityapi"
)

// Session is a login. Keep it secret: it is a password until it ends.
type Session struct {
	IDToken string `json:"idToken"`
}

// claims are the members of a token that a client reads. It cannot verify them and need not: it got the token from the server.
type claims struct {
	Scope          string   `json:"scope"`
	IssuedAt       int64    `json:"iat"`
	ExpiresAt      int64    `json:"exp"`
	Authenticators []string `json:"authenticators"`
}

func parseClaims(token string) (c claims, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, errors.New("the server sent a token that is none")
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	return c, err
}

// A SecondFactor asks the person for a code. kinds are the possible types, totp or recovery; it returns one of them and the code.
type SecondFactor func(ctx context.Context, kinds []string) (kind, code string, err error)

// Login begins a session with a password. factor is called for a person with a second factor, and may be nil for others.
//
// Errors: *Error with 401002 (wrong) or 401003 (another host: see Error.Details).
func (c *Client) Login(ctx context.Context, email, password string, factor SecondFactor) error {
	token, err := c.logIn(ctx, "", identityapi.Credentials{Email: email, Type: "bcrypt", Key: password})
	if err != nil {
		return err
	}
	read, err := parseClaims(token)
	if err != nil {
		return err
	}
	if read.Scope == "mfa" {
		if factor == nil {
			return errors.New("this account has a second factor")
		}
		kinds := slices.DeleteFunc(read.Authenticators, func(k string) bool { return k != "totp" && k != "recovery" })
		if len(kinds) == 0 {
			return errors.New("the second factor of this account is a passkey, which only a browser can use; sign in through a browser")
		}
		kind, code, err := factor(ctx, kinds)
		if err != nil {
			return err
		}
		if token, err = c.logIn(ctx, token, identityapi.Credentials{Email: email, Type: identityapi.AuthenticatorType(kind),
			Key: code}); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.access = ""
	return c.keep(token)
}

// logIn makes one step of a login.
func (c *Client) logIn(ctx context.Context, mfa string, with identityapi.Credentials) (string, error) {
	token, err := c.plain.LogIn(ctx, with, bearer(mfa))
	if err != nil {
		return "", err
	}
	return token.Token, nil
}

// bearer authorizes a request with token, unless it is empty.
func bearer(token string) func(context.Context, *http.Request) error {
	return func(_ context.Context, r *http.Request) error {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	}
}

// IDToken authorizes a call with the ID token of the session, for operations that take no access token, as those of API tokens.
func (c *Client) IDToken(ctx context.Context, r *http.Request) error {
	c.mu.Lock()
	token := c.session.IDToken
	c.mu.Unlock()
	return bearer(token)(ctx, r)
}

// keep makes token the ID token of the session. The caller holds mu.
func (c *Client) keep(token string) error {
	c.session.IDToken = token
	if c.onSession == nil {
		return nil
	}
	return c.onSession(c.session)
}

// token returns the token of calls: the API token, or an access token of the session, or none. It replaces an access token that
// expires soon or is stale.
func (c *Client) token(ctx context.Context, stale string) (string, error) {
	if c.apiToken != "" {
		return c.apiToken, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session.IDToken == "" {
		return "", nil
	}
	if c.access != "" && c.access != stale && time.Now().Before(c.until) {
		return c.access, nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.identityURL+"/auth/access", http.NoBody)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+c.session.IDToken)
	resp, err := doer{c, nil}.Do(r)
	if err != nil {
		if HasStatus(err, http.StatusUnauthorized) {
			err = fmt.Errorf("%w: %w", ErrSessionEnded, err)
		}
		return "", err
	}
	defer resp.Body.Close()
	var body identityapi.Token
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return "", err
	}
	read, err := parseClaims(body.Token)
	if err != nil {
		return "", err
	}
	life := time.Duration(read.ExpiresAt-read.IssuedAt) * time.Second // by the server's clock
	c.access, c.until = body.Token, time.Now().Add(life-min(30*time.Second, life/4))
	if replaced, ok := strings.CutPrefix(resp.Header.Get("Authorization"), "Bearer "); ok {
		err = c.keep(replaced)
	}
	return c.access, err
}

// ErrSessionEnded is returned for a session that has ended: log in again.
var ErrSessionEnded = errors.New("the session has ended")

// Logout ends the session at the server.
func (c *Client) Logout(ctx context.Context) error {
	c.mu.Lock()
	token := c.session.IDToken
	c.mu.Unlock()
	if token == "" {
		return nil
	}
	err := c.plain.LogOut(ctx, nil, bearer(token))
	if HasStatus(err, http.StatusUnauthorized) {
		err = nil // it had ended
	}
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.access, c.session = "", Session{}
	}
	return err
}
