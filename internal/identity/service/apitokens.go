package service

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
)

// CreateAPIToken makes an API token of the caller or of an organization that the caller administers. The text of the token is
// returned only here.
// Errors: fault.ErrInvalid, token.ErrEnded, token.ErrFactorRequired, identity.ErrOrganizationNotFound, identity.ErrNotMember,
// identity.ErrRoleMissing, identity.ErrTooManyAPITokens, and those of stepUp.
func (s *Service) CreateAPIToken(ctx context.Context, caller token.Caller, in identity.NewAPIToken,
	proof token.Proof) (identity.APIToken, string, error) {
	now := s.now()
	if err := in.Check(now); err != nil {
		return identity.APIToken{}, "", err
	}
	current, err := s.Active(ctx, s.store, caller)
	if err != nil {
		return identity.APIToken{}, "", err
	}
	if session.FactorRequired(current) {
		return identity.APIToken{}, "", token.ErrFactorRequired
	}
	mailboxes, err := s.mailboxOwners(ctx, caller, in.Mailboxes)
	if err != nil {
		return identity.APIToken{}, "", err
	}
	use, err := s.stepUp(ctx, caller, proof)
	if err != nil {
		return identity.APIToken{}, "", err
	}
	raw, hash := token.NewAPIToken()
	t := postgres.NewAPIToken{
		APIToken: identity.APIToken{
			UID: id.New[id.Session](), Person: caller.Person, Organization: in.Organization, Name: in.Name, Scopes: in.Scopes,
			MailboxKeys: in.Mailboxes, CreatedAt: now, ExpiresAt: in.ExpiresAt,
		},
		Hash: hash, Mailboxes: mailboxes, Strong: current.AuthLevel >= identity.LevelTwo || current.Federated,
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := s.lockAPITokens(ctx, tx, caller, in.Organization); err != nil {
			return err
		}
		if err := use(ctx, tx); err != nil {
			return err
		}
		membership, err := tx.Membership(ctx, caller.Person)
		if err != nil {
			return err
		}
		t.Membership = membership.Organization
		n := notice.Notice{Template: mail.APITokenCreated, Data: map[string]any{"name": in.Name, "scopes": strings.Join(in.Scopes, ", "),
			"validUntil": in.ExpiresAt}}
		if err := s.notices.Secure(ctx, tx, caller.Person, caller.Client, n); err != nil {
			return err
		}
		if t.PersonName, err = tx.InsertAPIToken(ctx, t); err != nil {
			return err
		}
		return s.recordAPIToken(ctx, tx, caller, t.APIToken, "token.create")
	})
	return t.APIToken, raw, err
}

// mailboxOwners returns the persons of mailboxes.
// Errors: fault.ErrInvalid.
func (s *Service) mailboxOwners(ctx context.Context, caller token.Caller, keys []string) ([]id.Person, error) {
	var problems fault.Problems
	owners := make([]id.Person, 0, len(keys))
	for i, key := range keys {
		if s.hooks == nil {
			problems.Add(fmt.Sprintf("mailboxes[%d]", i), "there are no mailboxes here")
			continue
		}
		p, err := s.hooks.MailboxOwner(ctx, caller, key)
		var refused *fault.Error
		switch {
		case err == nil:
			owners = append(owners, p)
		case errors.As(err, &refused) && (refused.Kind == fault.NotFound || refused.Kind == fault.Invalid):
			problems.Add(fmt.Sprintf("mailboxes[%d]", i), "must be the link or the uid of a mailbox on this host")
		default:
			return nil, err
		}
	}
	return owners, problems.Err()
}

// lockAPITokens locks the person or the organization whose API tokens are counted, and checks that there is room for one more.
// Errors: identity.ErrTooManyAPITokens, identity.ErrPersonNotFound, those of authorize.
func (s *Service) lockAPITokens(ctx context.Context, tx *postgres.Store, caller token.Caller, o id.Organization) error {
	most := identity.MaxAPITokens
	if !o.IsZero() {
		most = identity.MaxOrganizationAPITokens
	}
	if err := s.LockOwner(ctx, tx.Tx(), caller, o); err != nil {
		return err
	}
	n, err := tx.CountAPITokens(ctx, caller.Person, o, s.now())
	if err == nil && n >= most {
		return identity.ErrTooManyAPITokens.AtMost(int64(most))
	}
	return err
}

// APITokens lists the caller's API tokens, or those of an organization that the caller administers, newest first.
// Errors: token.ErrEnded, token.ErrFactorRequired, those of authorize.
func (s *Service) APITokens(ctx context.Context, caller token.Caller, o id.Organization) ([]identity.APIToken, error) {
	if err := s.manageAPITokens(ctx, caller, o); err != nil {
		return nil, err
	}
	return s.store.APITokens(ctx, caller.Person, o, s.now())
}

// manageAPITokens checks the caller's ID token, and for an organization that the caller administers it.
// Errors: token.ErrEnded, token.ErrFactorRequired, those of authorize.
func (s *Service) manageAPITokens(ctx context.Context, caller token.Caller, o id.Organization) error {
	current, err := s.Active(ctx, s.store, caller)
	switch {
	case err != nil:
		return err
	case session.FactorRequired(current):
		return token.ErrFactorRequired
	case o.IsZero():
		return nil
	}
	return s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin)
}

// RevokeAPIToken ends an API token of the caller, or of an organization that the caller administers.
// Errors: token.ErrEnded, token.ErrFactorRequired, identity.ErrAPITokenNotFound.
func (s *Service) RevokeAPIToken(ctx context.Context, caller token.Caller, uid id.Session) error {
	t, err := s.store.APIToken(ctx, uid, s.now())
	if manage := s.manageAPITokens(ctx, caller, t.Organization); manage != nil {
		if errors.Is(manage, identity.ErrNotMember) || errors.Is(manage, identity.ErrRoleMissing) {
			return identity.ErrAPITokenNotFound
		}
		return manage
	}
	if err != nil {
		return err
	}
	if t.Organization.IsZero() && t.Person != caller.Person {
		return identity.ErrAPITokenNotFound
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.DeleteAPIToken(ctx, uid); err != nil {
			return err
		}
		if err := s.revocations.Publish(ctx, tx.Tx(), token.Revocation{Ended: uid.UUID}); err != nil {
			return err
		}
		return s.recordAPIToken(ctx, tx, caller, t, "token.revoke")
	})
}

func (s *Service) recordAPIToken(ctx context.Context, tx *postgres.Store, caller token.Caller, t identity.APIToken, action string) error {
	return s.record(ctx, tx, audit.Entry{
		Actor: audit.Of(caller), Action: action, Object: t.UID.String(), Target: t.Person, Organization: t.Organization,
		Details: map[string]string{"name": t.Name, "scopes": strings.Join(t.Scopes, " ")},
	})
}

// APICaller implements token.APITokens.
func (s *Service) APICaller(ctx context.Context, hash token.APIHash, client token.Client) (token.Caller, error) {
	network := ratelimit.AddressKey(client.Address)
	t, err := s.store.APICaller(ctx, hash, network, s.now())
	if errors.Is(err, identity.ErrAPITokenNotFound) {
		return token.Caller{}, token.ErrInvalid
	}
	if err != nil {
		return token.Caller{}, err
	}
	c := apiCaller(t)
	if (t.UseIsOld || t.NetworkIsNew) && s.now().Before(t.ExpiresAt) {
		err = s.useAPIToken(ctx, t, client, network)
	}
	return c, err
}

// useAPIToken records the use of an API token. The first from a client network is in the audit.
func (s *Service) useAPIToken(ctx context.Context, t postgres.APICaller, client token.Client, network string) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		first, err := tx.UseAPIToken(ctx, t.UID, session.Address(client), network, s.now())
		if err != nil || !first {
			return err
		}
		return s.recordAPIToken(ctx, tx, token.Caller{Person: t.Person, Client: client}, identity.APIToken{
			UID: t.UID, Person: t.Person, Organization: t.Of, Name: t.Name, Scopes: t.Scopes,
		}, "token.network")
	})
}

// APIOwner implements token.APITokens.
func (s *Service) APIOwner(ctx context.Context, sid id.Session) (token.Caller, error) {
	t, err := s.store.APIOwner(ctx, sid)
	if errors.Is(err, identity.ErrAPITokenNotFound) {
		return token.Caller{}, token.ErrEnded
	}
	return apiCaller(t), err
}

func apiCaller(t postgres.APICaller) token.Caller {
	c := token.Caller{
		Kind: token.KindAPI, Person: t.Person, Session: t.UID, JTI: id.Token{UUID: t.UID.UUID}, Organization: t.Organization, Roles: t.Roles,
		IssuedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, Email: t.Email, EmailVerified: t.EmailVerified, Locale: t.Locale, ZoneInfo: t.TimeZone,
		Epoch: t.Epoch, FactorRequired: t.MFARequired && !t.Strong, Mailboxes: t.Mailboxes,
	}
	if t.EmailVerified {
		c.AuthLevel = identity.LevelOne
	}
	for _, s := range t.Scopes {
		c.Scopes = append(c.Scopes, token.Scope(s))
	}
	return c
}

// expiringBatch is how many mails about expiring API tokens one transaction queues.
const expiringBatch = 100

// WarnAPITokens mails the persons whose API tokens expire within identity.APITokenWarning, once for each token.
func (s *Service) WarnAPITokens(ctx context.Context) error {
	for n := expiringBatch; n == expiringBatch; {
		err := s.store.InTx(ctx, func(tx *postgres.Store) error {
			now := s.now()
			due, err := tx.ExpiringAPITokens(ctx, now, now.Add(identity.APITokenWarning), expiringBatch)
			if err != nil {
				return err
			}
			n = len(due)
			return s.mailExpiring(ctx, tx, due)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) mailExpiring(ctx context.Context, tx *postgres.Store, due []identity.APIToken) error {
	var msgs []mail.Message
	for _, t := range due {
		to, err := tx.Addressee(ctx, t.Person)
		if err != nil {
			return err
		}
		if len(to.Addresses) == 0 {
			continue
		}
		page := "/account/devices"
		if !t.Organization.IsZero() {
			page = "/organization"
		}
		m := s.notices.Mail(to, t.Person, to.Addresses[0], token.Client{}, notice.Notice{Template: mail.APITokenExpiring, Data: map[string]any{
			"name": t.Name, "expiresAt": t.ExpiresAt, "link": s.notices.Link(to.Host, page),
		}})
		msgs = append(msgs, m)
	}
	_, err := s.mailer.QueueAll(ctx, tx.Tx(), msgs)
	return err
}
