package service

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/oidc"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// External logins (specification, "Signup and external providers"; contract 3.14). A person is known by its provider's
// issuer and subject, for ever; address, name and locale are taken over at the first login and are the person's own
// business afterwards: a provider that later names another address changes nothing here.

const (
	implicitAge  = 10 * time.Minute // of a token that a client brings, at most
	claimWithin  = 5 * time.Minute  // of the form post
	maxExternal  = 255              // bytes of a provider's name for a session or an error
	externalFact = "external"       // factor of such a login in the audit
)

// memberRoles are what whoever joins an organization through its provider gets; administrators change them.
var memberRoles = []string{identity.RoleTransferUse}

// External is an arrival from a provider.
type External struct {
	Client token.Client
	Locale string // of a new person
}

// LoginImplicit takes an ID token that a client got from a provider, at most 10 minutes old and once.
// Errors: fault.ErrInvalid, identity.ErrExternalToken, identity.ErrExternalEmail, identity.ErrExternalAddressInUse,
// identity.ErrExternalMember, identity.ErrExternalUnreachable, *identity.WrongHost, which leaves the token unused.
func (s *Service) LoginImplicit(ctx context.Context, from External, raw string) (idToken string, err error) {
	if raw == "" {
		return "", identity.ErrExternalToken.With("token: is required")
	}
	who, err := s.external.Verify(ctx, raw, oidc.Expectation{AnyNonce: true, MaxAge: implicitAge})
	if err != nil {
		return "", s.refused(ctx, err)
	}
	return s.loginExternal(ctx, from, who, true)
}

// Code is an authorization code of a provider.
type Code struct {
	Code, Issuer, ClientID string
	Verifier               string // of PKCE; may be empty
}

// LoginCode redeems a code at its provider. Errors: fault.ErrInvalid, identity.ErrExternalCode,
// identity.ErrExternalProvider, and as LoginImplicit.
func (s *Service) LoginCode(ctx context.Context, from External, in Code) (idToken string, err error) {
	var problems fault.Problems
	for _, m := range []struct{ member, value string }{{"code", in.Code}, {"issuer", in.Issuer}, {"clientId", in.ClientID}} {
		if m.value == "" {
			problems.Add(m.member, "is required")
		}
	}
	if err := problems.Err(); err != nil {
		return "", err
	}
	who, err := s.external.Exchange(ctx, in.Issuer, in.ClientID, in.Code, in.Verifier, s.settings.ProviderRedirect)
	if err != nil {
		return "", s.refused(ctx, err)
	}
	return s.loginExternal(ctx, from, who, false)
}

// loginExternal begins the session of whoever a provider vouches for. once refuses a token that was accepted before.
func (s *Service) loginExternal(ctx context.Context, from External, who oidc.Identity, once bool) (string, error) {
	var issued postgres.Issued
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		if once {
			if err := acceptOnce(ctx, tx, who); err != nil {
				return err
			}
		}
		person, err := s.federate(ctx, tx, from, who)
		if err != nil {
			return err
		}
		issued, err = s.beginExternal(ctx, tx, from.Client, postgres.ExternalLogin{Person: person, ExternalSID: who.SessionID})
		return err
	})
	if err != nil {
		return "", describe("log in at external provider", vanished(err))
	}
	return s.idToken(ctx, issued)
}

// acceptOnce keeps the fingerprint of a token until nobody would accept it any more.
func acceptOnce(ctx context.Context, tx *postgres.Store, who oidc.Identity) error {
	return tx.InsertExternalToken(ctx, who.Fingerprint[:], who.ExpiresAt.Add(oidc.Leeway))
}

// beginExternal begins a session at the person's own host, and only there. Errors: *identity.WrongHost,
// identity.ErrPersonNotFound.
func (s *Service) beginExternal(ctx context.Context, tx *postgres.Store, c token.Client, l postgres.ExternalLogin) (issued postgres.Issued, err error) {
	home, err := tx.Home(ctx, l.Person)
	if err != nil {
		return issued, err
	}
	if home.Organization != c.Host.Organization {
		return issued, &identity.WrongHost{Host: home.Host}
	}
	epoch, err := tx.Epoch(ctx, l.Person)
	if err != nil {
		return issued, err
	}
	issued, err = s.beginSession(ctx, tx, c, newSession{
		person: l.Person, epoch: epoch, level: identity.LevelOne, login: true, federated: true, externalSID: l.ExternalSID,
	})
	if err != nil {
		return issued, err
	}
	return issued, s.recordLogin(ctx, tx, c, issued, externalFact)
}

// vanished turns "no such person" into a retry: it was deleted, or its rights changed, in the middle of its login.
func vanished(err error) error {
	if errors.Is(err, identity.ErrPersonNotFound) {
		return fault.ErrConflict.Because(err)
	}
	return err
}

// refused turns what package oidc says into what a client may learn.
func (s *Service) refused(ctx context.Context, err error) error {
	var e *oidc.Error
	if !errors.As(err, &e) {
		return err
	}
	public := identity.ErrExternalToken
	switch e.Reason {
	case oidc.InvalidToken, oidc.EmailMissing:
	case oidc.EmailNotVerified:
		public = identity.ErrExternalEmail
	case oidc.UnknownProvider:
		public = identity.ErrExternalProvider
	case oidc.InvalidCode:
		public = identity.ErrExternalCode
	case oidc.InteractionFailed:
		public = identity.ErrExternalProvider
		s.log.WarnContext(ctx, "identity provider refused", "error", err) // most often the operator's setting
	case oidc.CommunicationFailed:
		public = identity.ErrExternalUnreachable
		s.log.WarnContext(ctx, "identity provider not reached", "error", err)
	}
	return public.With(e.Detail).Because(err)
}

// Preflight is a registered form post.
type Preflight struct {
	State string // to be sent to the provider as state and as nonce
	Token string // claims what the provider posts
}

// RegisterExternal begins a login by form post; the browser ends up at redirectURL.
// Errors: fault.ErrInvalid, identity.ErrRedirectURI.
func (s *Service) RegisterExternal(ctx context.Context, c token.Client, redirectURL string) (Preflight, error) {
	if redirectURL == "" {
		return Preflight{}, fault.ErrInvalid.With("redirectUrl: is required")
	}
	err := s.checkRedirect(ctx, id.Person{}, c.Host, redirectURL)
	if errors.Is(err, identity.ErrRedirectURI) {
		err = identity.ErrRedirectURI.With("redirectUrl: must be an https address on a hostname of the organization or one the operator allows")
	}
	if err != nil {
		return Preflight{}, err
	}
	now, state := s.now(), seal.NewKey()
	expires := now.Add(s.issuer.Lifetimes().Preflight)
	if err := s.store.InsertExternalLogin(ctx, seal.Hash(state), redirectURL, expires); err != nil {
		return Preflight{}, err
	}
	raw, err := s.issuer.Issue(ctx, token.KindPreflight, token.Claims{State: state, JTI: id.New[id.Token](), IssuedAt: now, ExpiresAt: expires})
	return Preflight{State: state, Token: raw}, err
}

// FormPost is what a provider makes the browser post.
type FormPost struct {
	State        string
	IDToken      string
	SessionState string // names the provider's session where the ID token does not
	User         string // Apple's JSON with the name, at the first login only
	Error        string // the provider's reason to send no ID token
}

// StoreExternal takes a form post and returns where the browser goes: the registered address, with the parameter error
// if the login failed. A failure leaves the state registered, so that another try can succeed.
// Errors: fault.ErrInvalid, identity.ErrExternalState.
func (s *Service) StoreExternal(ctx context.Context, from External, in FormPost) (location string, err error) {
	if in.State == "" {
		return "", fault.ErrInvalid.With("state: is required")
	}
	state := seal.Hash(in.State)
	location, err = s.store.ExternalRedirect(ctx, state, s.now())
	if err != nil {
		return "", err
	}
	if in.Error != "" {
		return withError(location, in.Error)
	}
	if in.IDToken == "" {
		return "", fault.ErrInvalid.With("id_token: is required")
	}
	who, err := s.external.Verify(ctx, in.IDToken, oidc.Expectation{Nonce: in.State})
	if err != nil {
		err = s.refused(ctx, err)
	} else {
		err = s.store.InTx(ctx, func(tx *postgres.Store) error { return s.storeExternal(ctx, tx, from, in, who) })
	}
	for _, w := range errorWords {
		if errors.Is(err, w.err) {
			return withError(location, w.word)
		}
	}
	if err != nil {
		return "", describe("store external login", vanished(err))
	}
	return location, nil
}

func (s *Service) storeExternal(ctx context.Context, tx *postgres.Store, from External, in FormPost, who oidc.Identity) error {
	if err := acceptOnce(ctx, tx, who); err != nil {
		return err
	}
	if who.Name == "" {
		who.Name = oidc.UserName(in.User)
	}
	person, err := s.federate(ctx, tx, from, who)
	if err != nil {
		return err
	}
	l := postgres.ExternalLogin{Person: person, ExternalSID: who.SessionID}
	if l.ExternalSID == "" && text.Line(in.SessionState, maxExternal) == nil {
		l.ExternalSID = in.SessionState
	}
	now := s.now()
	return tx.StoreExternalLogin(ctx, seal.Hash(in.State), l, now, now.Add(claimWithin))
}

// errorWords tell the client, in its redirect, why a form post led nowhere.
var errorWords = []struct {
	err  error
	word string
}{
	{identity.ErrExternalToken, "invalid_token"},
	{identity.ErrExternalEmail, "email_not_verified"},
	{identity.ErrExternalAddressInUse, "email_in_use"},
	{identity.ErrExternalMember, "user_limit_reached"},
	{identity.ErrExternalUnreachable, "temporarily_unavailable"},
}

// withError appends the query parameter error to an address that checkRedirect has let through.
func withError(location, word string) (string, error) {
	u, err := url.Parse(location)
	if err != nil {
		return "", describe("read registered redirect", err)
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "error=" + url.QueryEscape(printable(word, maxExternal))
	return u.String(), nil
}

// ClaimExternal exchanges a preflight token for the ID token of whoever the provider posted, once, within 5 minutes.
// Errors: identity.ErrExternalPending, identity.ErrExternalClaimed; *identity.WrongHost, which leaves it to be claimed.
func (s *Service) ClaimExternal(ctx context.Context, caller token.Caller) (idToken string, err error) {
	var issued postgres.Issued
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		now := s.now()
		l, err := tx.ClaimExternalLogin(ctx, seal.Hash(caller.State), now, now.Add(-claimWithin))
		if err != nil {
			return err
		}
		issued, err = s.beginExternal(ctx, tx, caller.Client, l)
		return err
	})
	if errors.Is(err, identity.ErrPersonNotFound) {
		err = identity.ErrExternalPending.Because(err)
	}
	if err != nil {
		return "", describe("claim external login", err)
	}
	return s.idToken(ctx, issued)
}

// LogoutExternal ends every session that is tied to a provider's session, on every replica. An unknown one is no error:
// who asks is a browser that knows nothing of ours. Errors: fault.ErrInvalid.
func (s *Service) LogoutExternal(ctx context.Context, c token.Client, externalSID string) error {
	if err := text.Required(externalSID, maxExternal); err != nil {
		return fault.ErrInvalid.With("sid: " + err.Error())
	}
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockExternalSessions(ctx, externalSID); err != nil {
			return err
		}
		sessions, err := tx.EndExternalSessions(ctx, externalSID, s.now())
		if err != nil {
			return err
		}
		revoked := make([]token.Revocation, len(sessions))
		for i, t := range sessions {
			revoked[i] = token.Revocation{Session: t.SID}
		}
		if err := s.revocations.Publish(ctx, tx.Querier(), revoked...); err != nil {
			return err
		}
		for _, t := range slices.DeleteFunc(sessions, func(t postgres.ExternalSession) bool { return !t.Ended }) {
			if err := s.record(ctx, tx, audit.Entry{
				Action: "session.end", Object: t.SID.String(), Target: t.Person, Client: c, Details: map[string]string{"by": externalFact},
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return describe("log out by external provider", err)
}
