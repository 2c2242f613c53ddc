// Logins at external providers: code, implicit, and front-channel logout.

package service

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/oidc"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// Logins at external providers (specification, "Signup and external providers"; contract 3.14). The provider's issuer
// and subject identify a person for good. Address, name and locale are copied at the first login. A later change at the
// provider does not change them here.

// externalFactor is the factor of such a login in the audit log.
const externalFactor = "external"

// externalMemberRoles are the roles of a person who joins an organization through its provider. Administrators can
// change them afterwards.
var externalMemberRoles = []string{identity.RoleTransferUse}

// External is the request of a login at a provider.
type External struct {
	Client  token.Client
	Locale  string // locale of a new person
	Devices []identity.Device
	Mailing func(address string, work func() error) error // does work that mails a verification, within the bounds of such mails
}

// LoginImplicit takes an ID token that a client got from a provider. Each token is accepted once, at most
// identity.ImplicitTokenAge after it was issued.
// Errors: fault.ErrInvalid, identity.ErrExternalToken, identity.ErrExternalEmail, identity.ErrExternalAddressInUse,
// identity.ErrExternalMember, identity.ErrExternalUnreachable, *identity.WrongHost, which leaves the token unused.
func (s *Service) LoginImplicit(ctx context.Context, from External, raw string) (session.SignedIn, error) {
	if raw == "" {
		return session.SignedIn{}, identity.ErrExternalToken.With("token: is required")
	}
	ext, err := s.external.Verify(ctx, raw, oidc.Expectation{AnyNonce: true, MaxAge: identity.ImplicitTokenAge})
	if err != nil {
		return session.SignedIn{}, s.externalError(ctx, err)
	}
	return s.loginExternal(ctx, from, ext, true)
}

// Code is a provider's authorization code.
type Code struct {
	Code, Issuer, ClientID string
	Verifier               string // PKCE code_verifier; may be empty
}

// LoginCode exchanges an authorization code at its provider.
// Errors: those of LoginImplicit, identity.ErrExternalCode, identity.ErrExternalProvider.
func (s *Service) LoginCode(ctx context.Context, from External, in Code) (session.SignedIn, error) {
	var problems fault.Problems
	for _, m := range []struct{ member, value string }{{"code", in.Code}, {"issuer", in.Issuer}, {"clientId", in.ClientID}} {
		if m.value == "" {
			problems.Add(m.member, "is required")
		}
	}
	if err := problems.Err(); err != nil {
		return session.SignedIn{}, err
	}
	ext, err := s.external.Exchange(ctx, in.Issuer, in.ClientID, in.Code, in.Verifier, s.settings.ProviderRedirect)
	if err != nil {
		return session.SignedIn{}, s.externalError(ctx, err)
	}
	return s.loginExternal(ctx, from, ext, false)
}

// loginExternal begins the session of the person whom a provider has identified. With once set it refuses a token that
// was accepted before.
func (s *Service) loginExternal(ctx context.Context, from External, ext oidc.Identity, once bool) (session.SignedIn, error) {
	var begun session.Begun
	err := s.inFederation(ctx, from, ext, func(tx *postgres.Store) error {
		if once {
			if err := acceptOnce(ctx, tx, ext); err != nil {
				return err
			}
		}
		person, err := s.federate(ctx, tx, from, ext)
		if err != nil {
			return err
		}
		begun, err = s.beginExternal(ctx, tx, from, postgres.ExternalLogin{Person: person, ExternalSID: ext.SessionID})
		return err
	})
	if err != nil {
		return session.SignedIn{}, retryIfDeleted(err)
	}
	return s.SignIn(ctx, begun)
}

// acceptOnce stores the fingerprint of a token until the token expires.
// Errors: identity.ErrExternalToken for a replay.
func acceptOnce(ctx context.Context, tx *postgres.Store, ext oidc.Identity) error {
	return tx.InsertExternalToken(ctx, ext.Fingerprint[:], ext.ExpiresAt.Add(oidc.Leeway))
}

// beginExternal begins a session at a host where the person may sign in.
// Errors: *identity.WrongHost on another host, identity.ErrPersonNotFound, identity.ErrExternalToken for a suspended person.
func (s *Service) beginExternal(ctx context.Context, tx *postgres.Store, from External, l postgres.ExternalLogin) (session.Begun, error) {
	home, err := tx.Home(ctx, l.Person)
	if err != nil {
		return session.Begun{}, err
	}
	if !home.ServedBy(from.Client.Host.Organization) {
		return session.Begun{}, &identity.WrongHost{Host: home.Host}
	}
	epoch, err := tx.Epoch(ctx, l.Person)
	if err != nil {
		return session.Begun{}, err
	}
	begun, err := s.BeginSession(ctx, tx, from.Client, session.NewSession{
		Person: l.Person, Epoch: epoch, Level: identity.LevelOne, Login: true, Federated: true, ExternalSID: l.ExternalSID,
		Devices: from.Devices,
	})
	if errors.Is(err, identity.ErrPersonNotFound) {
		if suspended, failed := tx.Suspended(ctx, l.Person); failed != nil || suspended {
			return session.Begun{}, cmp.Or(failed, error(identity.ErrExternalToken))
		}
	}
	if err != nil {
		return session.Begun{}, err
	}
	return begun, s.RecordLogin(ctx, tx, from.Client, begun, externalFactor)
}

// retryIfDeleted maps identity.ErrPersonNotFound to fault.ErrConflict: the person was deleted, or its rights changed,
// during the login. The client retries.
func retryIfDeleted(err error) error {
	if errors.Is(err, identity.ErrPersonNotFound) {
		return fault.ErrConflict.Because(err)
	}
	return err
}

// externalError maps an *oidc.Error to the declared error for clients, and logs failures of the provider.
func (s *Service) externalError(ctx context.Context, err error) error {
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
		s.log.WarnContext(ctx, "identity provider refused the request", "error", err) // often a wrong setting
	case oidc.CommunicationFailed:
		public = identity.ErrExternalUnreachable
		s.log.WarnContext(ctx, "identity provider unreachable", "error", err)
	}
	return public.With(e.Detail).Because(err)
}

// LogoutExternal ends every session that belongs to a provider's session (front-channel logout). With an issuer it ends
// only sessions of that provider. An unknown session or issuer is no error, so that the route reveals nothing.
// Errors: fault.ErrInvalid.
func (s *Service) LogoutExternal(ctx context.Context, c token.Client, externalSID, issuer string) error {
	var problems fault.Problems
	if err := text.Required(externalSID, identity.MaxExternalSID); err != nil {
		problems.Add("sid", err.Error())
	}
	if err := text.Line(issuer, identity.MaxIssuer); err != nil {
		problems.Add("iss", err.Error())
	}
	if err := problems.Err(); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockExternalSessions(ctx, externalSID, issuer); err != nil {
			return err
		}
		sessions, err := tx.EndExternalSessions(ctx, externalSID, issuer, s.now())
		if err != nil {
			return err
		}
		revoked := make([]token.Revocation, len(sessions))
		for i, t := range sessions {
			revoked[i] = token.Revocation{Ended: t.SID.UUID}
		}
		if err := s.revocations.Publish(ctx, tx.Tx(), revoked...); err != nil {
			return err
		}
		for _, t := range slices.DeleteFunc(sessions, func(t postgres.ExternalSession) bool { return !t.Ended }) {
			if err := s.record(ctx, tx, audit.Entry{
				Actor: audit.By(id.Person{}, c), Action: "session.end", Object: t.SID.String(), Target: t.Person,
				Details: map[string]string{"by": externalFactor},
			}); err != nil {
				return err
			}
		}
		return nil
	})
}
