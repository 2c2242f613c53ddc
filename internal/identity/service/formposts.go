// Logins by form post (contract 3.14): a client registers a state, the provider makes a browser post who signed in, and the client
// picks the login up with its preflight token. Somebody could begin a login and send the provider's link to another person.
// So a login is released to the pickup by the cookie of its beginning, or by the person.

package service

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/oidc"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// Preflight is a registered form post.
type Preflight struct {
	State string // the client sends it to the provider as state and as nonce
	Token string // preflight token, which picks the login up after the form post

	Binding   string // the value of the cookie that binds the login to the browser
	ExpiresAt time.Time
}

// RegisterExternal begins a login by form post. After the post the browser is redirected to redirectURL.
// Errors: fault.ErrInvalid, identity.ErrRedirectURI.
func (s *Service) RegisterExternal(ctx context.Context, c token.Client, redirectURL string) (Preflight, error) {
	if redirectURL == "" {
		return Preflight{}, fault.ErrInvalid.With("redirectUrl: is required")
	}
	err := s.CheckRedirect(ctx, id.Person{}, c.Host, redirectURL)
	if errors.Is(err, identity.ErrRedirectURI) {
		err = identity.ErrRedirectURI.With(
			"redirectUrl: must be an https address on the active hostname of the organization or one the operator allows")
	}
	if err != nil {
		return Preflight{}, err
	}
	now, state, binding := s.now(), seal.NewKey(), seal.NewKey()
	expires := now.Add(s.issuer.Lifetimes().Preflight)
	err = s.store.InsertExternalLogin(ctx, seal.Hash(state), postgres.RegisteredLogin{
		Host: c.HostName, Redirect: redirectURL, BindingHash: seal.Hash(binding), ExpiresAt: expires,
	})
	if err != nil {
		return Preflight{}, err
	}
	raw, err := s.issuer.Issue(ctx, token.KindPreflight,
		token.Claims{State: state, JTI: id.New[id.Token](), IssuedAt: now, ExpiresAt: expires})
	return Preflight{State: state, Token: raw, Binding: binding, ExpiresAt: expires}, err
}

// FormPost is the form that the browser posts on the provider's behalf.
type FormPost struct {
	State        string
	IDToken      string
	SessionState string // the provider's session, for an ID token without sid
	User         string // Apple's JSON with the name, sent at the first login only
	Error        string // why the provider sends no ID token
	Binding      string // the cookie of the browser that began the login; empty: another browser, or one without cookies
}

// Posted says where a browser goes after a form post.
type Posted struct {
	Location     string    // unless Key is set
	Host, Key    string    // to the return route of this host, with this one-time key
	Confirmation string    // value of the cookie with which the person confirms or refuses; empty: the login is released
	ExpiresAt    time.Time // of the cookie
}

// confirmationPage is the page at PUBLIC_URL's host that asks the person.
const confirmationPage = "/continue"

// StoreExternal takes a form post. A failed one leads to the registered redirect URL with the query parameter error, and the
// state stays registered, so that the person can try again. So does one that succeeds in the browser that began the login.
// Another browser is led to the confirmation page, or with a one-time key to the host where the login began, if that is the
// active hostname of the person's organization: only there is a cookie of the beginning.
// Errors: fault.ErrInvalid, identity.ErrExternalState.
func (s *Service) StoreExternal(ctx context.Context, from External, in FormPost) (Posted, error) {
	if in.State == "" {
		return Posted{}, fault.ErrInvalid.With("state: is required")
	}
	login, err := s.store.RegisteredLogin(ctx, seal.Hash(in.State), s.now())
	if err != nil {
		return Posted{}, err
	}
	if err := s.checkDestination(ctx, login); err != nil {
		return Posted{}, err
	}
	if in.Error != "" {
		return refused(login, in.Error)
	}
	if in.IDToken == "" {
		return Posted{}, fault.ErrInvalid.With("id_token: is required")
	}
	posted := Posted{Location: login.Redirect, ExpiresAt: login.ExpiresAt}
	ext, err := s.external.Verify(ctx, in.IDToken, oidc.Expectation{Nonce: in.State})
	if err != nil {
		err = s.externalError(ctx, err)
	} else {
		err = s.inFederation(ctx, from, ext, func(tx *postgres.Store) error { return s.storeExternal(ctx, tx, from, in, ext, login, &posted) })
	}
	for _, w := range errorWords {
		if errors.Is(err, w.err) {
			return refused(login, w.word)
		}
	}
	return posted, retryIfDeleted(err)
}

// checkDestination checks that the browser may still be redirected to the URL that was registered: its hostname may have become
// inactive since.
// Errors: identity.ErrExternalState.
func (s *Service) checkDestination(ctx context.Context, l postgres.RegisteredLogin) error {
	host, err := s.hosts.Resolve(ctx, l.Host)
	if err != nil {
		return identity.ErrExternalState.Because(err)
	}
	err = s.CheckRedirect(ctx, id.Person{}, host, l.Redirect)
	if errors.Is(err, identity.ErrRedirectURI) {
		return identity.ErrExternalState.Because(err)
	}
	return err
}

// storeExternal stores the login of an external identity and sets posted.
func (s *Service) storeExternal(ctx context.Context, tx *postgres.Store, from External, in FormPost, ext oidc.Identity,
	login postgres.RegisteredLogin, posted *Posted) error {
	if err := acceptOnce(ctx, tx, ext); err != nil {
		return err
	}
	if ext.Name == "" {
		ext.Name = oidc.UserName(in.User)
	}
	person, err := s.federate(ctx, tx, from, ext)
	if err != nil {
		return err
	}
	l := postgres.ExternalLogin{Person: person, ExternalSID: ext.SessionID}
	if l.ExternalSID == "" && text.Line(in.SessionState, identity.MaxExternalSID) == nil {
		l.ExternalSID = in.SessionState
	}
	now := s.now()
	if subtle.ConstantTimeCompare(seal.Hash(in.Binding), login.BindingHash) == 1 {
		_, err = tx.StoreExternalLogin(ctx, seal.Hash(in.State), l, nil, now, now.Add(identity.ExternalClaimTime))
		return err
	}
	confirmation, key := seal.NewKey(), seal.NewKey()
	home, err := tx.StoreExternalLogin(ctx, seal.Hash(in.State), l,
		&postgres.PostingBrowser{ConfirmationHash: seal.Hash(confirmation), ReturnHash: seal.Hash(key)}, now, now.Add(identity.ExternalClaimTime))
	if err != nil {
		return err
	}
	posted.Confirmation, posted.Location = confirmation, s.confirmationURL()
	if home && login.Host != s.settings.PublicURL.Hostname() { // at PUBLIC_URL's host the form post itself would have had the cookie
		posted.Host, posted.Key = login.Host, key
	}
	return nil
}

func (s *Service) confirmationURL() string {
	return s.hosts.URL(s.settings.PublicURL.Hostname(), confirmationPage)
}

// errorWords are the values of the query parameter error in the redirect after a failed form post.
var errorWords = []struct {
	err  error
	word string
}{
	{identity.ErrExternalToken, "invalid_token"},
	{identity.ErrExternalEmail, "email_not_verified"},
	{identity.ErrExternalAddressInUse, "email_in_use"},
	{identity.ErrExternalMember, "user_limit_reached"},
	{identity.ErrExternalUnreachable, "temporarily_unavailable"},
	{fault.ErrUnavailable, "temporarily_unavailable"},
	{fault.ErrRateLimited, "temporarily_unavailable"},
}

// refused returns the redirect of a login that failed: the registered URL with the query parameter error.
func refused(l postgres.RegisteredLogin, word string) (Posted, error) {
	u, err := url.Parse(l.Redirect)
	if err != nil {
		return Posted{}, err
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "error=" + url.QueryEscape(identity.Printable(word, identity.MaxExternalSID))
	return Posted{Location: u.String()}, nil
}

// ReturnExternal returns where a browser goes that a form post has led to the host where its login began. With the cookie of the
// beginning (binding) it is the registered URL, and the login is released. Otherwise it is the confirmation page, also for a key that
// is unknown or used.
func (s *Service) ReturnExternal(ctx context.Context, c token.Client, key, binding string) (location string, err error) {
	location = s.confirmationURL()
	now := s.now()
	login, released, err := s.store.ReturnExternalLogin(ctx, seal.Hash(key), c.HostName, seal.Hash(binding), now,
		now.Add(identity.ExternalClaimTime))
	if errors.Is(err, identity.ErrConfirmation) {
		return location, nil
	}
	if released {
		location, err = login.Redirect, s.checkDestination(ctx, login)
	}
	return location, err
}

// Confirmation returns the login that waits for the person at the browser with this cookie.
// Errors: identity.ErrConfirmation.
func (s *Service) Confirmation(ctx context.Context, cookie string) (identity.Confirmation, error) {
	c, err := s.store.ConfirmationOf(ctx, seal.Hash(cookie), s.now())
	if c.Host == "" { // a name of no organization, which the client chose freely
		c.Host = s.settings.PublicURL.Hostname()
	}
	return c, err
}

// ConfirmExternal releases the login that Confirmation returns, and returns where the browser goes. The time of the pickup begins.
// Errors: identity.ErrConfirmation, identity.ErrExternalState.
func (s *Service) ConfirmExternal(ctx context.Context, cookie string) (location string, err error) {
	now := s.now()
	login, err := s.store.ConfirmExternalLogin(ctx, seal.Hash(cookie), now, now.Add(identity.ExternalClaimTime))
	if err != nil {
		return "", err
	}
	return login.Redirect, s.checkDestination(ctx, login)
}

// RefuseExternal ends the login that Confirmation returns.
// Errors: identity.ErrConfirmation.
func (s *Service) RefuseExternal(ctx context.Context, c token.Client, cookie string) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		person, err := tx.RefuseExternalLogin(ctx, seal.Hash(cookie), s.now())
		if err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{
			Actor: audit.By(person, c), Action: "session.refuse", Target: person, Details: map[string]string{"factor": externalFactor},
		})
	})
}

// ClaimExternal exchanges a preflight token for the ID token of the person who logged in: once, at the host where the login began,
// and within identity.ExternalClaimTime of its release. state is that of the preflight token.
// Errors: identity.ErrExternalPending, identity.ErrExternalClaimed; *identity.WrongHost, after which the login can still be claimed.
func (s *Service) ClaimExternal(ctx context.Context, from External, state string) (session.SignedIn, error) {
	var begun session.Begun
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		now := s.now()
		l, err := tx.ClaimExternalLogin(ctx, seal.Hash(state), from.Client.HostName, now, now.Add(-identity.ExternalClaimTime))
		if err != nil {
			return err
		}
		begun, err = s.beginExternal(ctx, tx, from, l)
		return err
	})
	if errors.Is(err, identity.ErrPersonNotFound) {
		err = identity.ErrExternalPending.Because(err)
	}
	if err != nil {
		return session.SignedIn{}, err
	}
	return s.SignIn(ctx, begun)
}
