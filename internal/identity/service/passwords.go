package service

import (
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
)

// errRehashed is a password whose hash became another after it was compared.
var errRehashed = errors.New("the password has changed meanwhile")

// changePassword stores a new password. The hash that was compared may be another by the time it is replaced, since a
// login brings it to the current cost: then it is compared anew.
func (s *Service) changePassword(ctx context.Context, caller token.Caller, a id.Authenticator, c AuthenticatorChange) (after identity.Authenticator, err error) {
	const tries = 3
	var hash []byte
	for range tries {
		secret, err := s.store.Secret(ctx, caller.Person, a)
		if err != nil {
			return after, err
		}
		proved := false
		if c.AuthKey != nil {
			if proved, err = s.bcrypt.Compare(ctx, secret.Secret, *c.AuthKey); err != nil {
				return after, err
			}
		}
		if !proved && !caller.SetPassword {
			return after, identity.ErrKeyChange
		}
		if hash == nil {
			if hash, err = s.bcrypt.Hash(ctx, *c.PubKey); err != nil {
				return after, err
			}
		}
		err = s.store.InTx(ctx, func(tx *postgres.Store) error {
			if err := s.replaceHash(ctx, tx, caller, a, proved, secret.Secret, hash); err != nil {
				return err
			}
			after, err = s.rename(ctx, tx, caller, a, c.Name)
			return err
		})
		if !errors.Is(err, errRehashed) {
			return after, err
		}
	}
	return after, identity.ErrKeyChange.Because(errRehashed)
}

// replaceHash stores a new password's hash in place of the old one and ends every other session and all access tokens. If
// the old password was not proved, the session must be allowed to do without. Errors: identity.ErrKeyChange, errRehashed.
func (s *Service) replaceHash(ctx context.Context, tx *postgres.Store, caller token.Caller, a id.Authenticator, proved bool, old, hash []byte) error {
	if err := tx.LockPerson(ctx, caller.Person); err != nil {
		return err
	}
	if !proved {
		may, err := tx.MaySetPassword(ctx, caller.Person, caller.Session, s.now())
		if err != nil {
			return err
		}
		if !may {
			return identity.ErrKeyChange
		}
	}
	changed, err := tx.ChangeHash(ctx, caller.Person, a, old, hash, s.now())
	if err != nil {
		return err
	}
	if !changed {
		return errRehashed
	}
	epoch, err := tx.RaiseEpoch(ctx, caller.Person)
	if err != nil {
		return err
	}
	if err := tx.EndSessions(ctx, caller.Person, caller.Session, s.now()); err != nil {
		return err
	}
	if err := s.notify(ctx, tx, caller, mail.PasswordChanged, map[string]any{}); err != nil {
		return err
	}
	if err := s.recordOwn(ctx, tx, caller, "password.change", a.String(), nil); err != nil {
		return err
	}
	return s.revocations.Publish(ctx, tx.Querier(), token.Revocation{Person: caller.Person, Epoch: epoch})
}
