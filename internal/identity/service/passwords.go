// Changes a password, and ends the other sessions with it.

package service

import (
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
)

// errHashChanged says that the stored hash changed after it was compared.
var errHashChanged = errors.New("the stored password hash has changed since it was compared")

// changePassword stores a new password. A concurrent login may replace the compared hash by one of the current cost;
// then the comparison is repeated.
// Errors: identity.ErrKeyChange, identity.ErrAuthenticatorNotFound.
func (s *Service) changePassword(ctx context.Context, caller token.Caller, a id.Authenticator,
	c AuthenticatorChange) (after identity.Authenticator, err error) {
	const tries = 3
	var hash []byte
	for range tries {
		secret, err := s.store.Secret(ctx, caller.Person, a)
		if err != nil {
			return after, err
		}
		matched := false
		if c.AuthKey != nil {
			if matched, err = s.hasher.Compare(ctx, secret.Secret, *c.AuthKey); err != nil {
				return after, err
			}
		}
		if !matched && !caller.SetPassword {
			return after, identity.ErrKeyChange
		}
		if hash == nil {
			if hash, err = s.hasher.Hash(ctx, *c.PubKey); err != nil {
				return after, err
			}
		}
		err = s.store.InTx(ctx, func(tx *postgres.Store) error {
			if err := s.replaceHash(ctx, tx, caller, a, matched, secret.Secret, hash); err != nil {
				return err
			}
			after, err = s.rename(ctx, tx, caller, a, c.Name)
			return err
		})
		if !errors.Is(err, errHashChanged) {
			return after, err
		}
	}
	return after, identity.ErrKeyChange.Because(errHashChanged)
}

// replaceHash replaces the hash of the password, ends every other session and revokes all access tokens. When the old
// password did not match, the session must be one that may set it.
// Errors: identity.ErrKeyChange, errHashChanged.
func (s *Service) replaceHash(ctx context.Context, tx *postgres.Store, caller token.Caller, a id.Authenticator, matched bool, old,
	hash []byte) error {
	if err := tx.LockPerson(ctx, caller.Person); err != nil {
		return err
	}
	if !matched {
		may, err := tx.MaySetPassword(ctx, caller.Person, caller.Session, s.now())
		if err != nil {
			return err
		}
		if !may {
			return identity.ErrKeyChange
		}
	}
	if err := s.notices.Secure(ctx, tx, caller.Person, caller.Client, notice.Notice{Template: mail.PasswordChanged}); err != nil {
		return err
	}
	changed, err := tx.ChangeHash(ctx, caller.Person, a, old, hash, s.now())
	if err != nil {
		return err
	}
	if !changed {
		return errHashChanged
	}
	epoch, err := tx.RaiseEpoch(ctx, caller.Person)
	if err != nil {
		return err
	}
	if err := tx.EndSessions(ctx, caller.Person, caller.Session, s.now()); err != nil {
		return err
	}
	if err := s.recordOwn(ctx, tx, caller, "password.change", a.String(), nil); err != nil {
		return err
	}
	return s.revocations.Publish(ctx, tx.Tx(), token.Revocation{Person: caller.Person, Epoch: epoch})
}
