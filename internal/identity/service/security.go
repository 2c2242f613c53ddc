// Mails about changes of an account, each with a link that undoes the change, and what the link does.

package service

import (
	"context"
	"errors"
	"slices"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// Undo consumes the key of a mail about a change. It ends every session of the person. If the key was mailed to an address
// that may undo, it also restores addresses and second factors from before the change, locks the password and mails a
// reset to the primary address of that time (contract 3.23). undone reports which of both happened. The key of a mail about an
// organization undoes that change (contract 3.29).
// Errors: identity.ErrKeyNotFound; identity.ErrAddressInUse when other persons have verified all of the addresses since.
func (s *Service) Undo(ctx context.Context, c token.Client, key string) (undone bool, err error) {
	hash := seal.Hash(key)
	change, err := s.store.ChangeOfKey(ctx, hash, s.notices.UndoableSince())
	if errors.Is(err, identity.ErrKeyNotFound) {
		return true, s.undoOrganization(ctx, c, hash)
	}
	if err != nil {
		return false, err
	}
	var nobodys []byte // hash of a password that nobody knows
	if change.Undoes {
		if nobodys, err = s.hasher.Hash(ctx, seal.NewKey()); err != nil {
			return false, err
		}
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if change.Undoes {
			for _, a := range slices.Sorted(slices.Values(change.Addresses)) {
				if err := tx.LockAddress(ctx, a); err != nil {
					return err
				}
			}
		}
		if err := tx.LockPerson(ctx, change.Person); err != nil {
			return err
		}
		if err := tx.TakeChangeKey(ctx, change.Seq, hash, s.notices.UndoableSince()); err != nil {
			return err
		}
		if err := s.endAll(ctx, tx, change.Person, audit.By(id.Person{}, c), id.Organization{}); err != nil {
			return err
		}
		if !change.Undoes {
			return s.ended(ctx, tx, c, change)
		}
		return s.undo(ctx, tx, c, change, nobodys)
	})
	if errors.Is(err, identity.ErrPersonNotFound) {
		err = identity.ErrKeyNotFound
	}
	return change.Undoes, err
}

// ended mails and records the use of an ending key: it has ended all sessions and undoes nothing.
func (s *Service) ended(ctx context.Context, tx *postgres.Store, c token.Client, change postgres.KeptChange) error {
	to, err := tx.Addressee(ctx, change.Person)
	if err != nil {
		return err
	}
	if err := s.notices.Inform(ctx, tx, to, change.Person, c, notice.Notice{Template: mail.SessionsEnded}); err != nil {
		return err
	}
	return s.recordUndo(ctx, tx, c, change, "security.end")
}

// undo restores the state before a change whose key was taken. The addresses of that time and the person are locked.
func (s *Service) undo(ctx context.Context, tx *postgres.Store, c token.Client, change postgres.KeptChange, nobodys []byte) error {
	before, err := tx.Addressee(ctx, change.Person)
	if err != nil {
		return err
	}
	primary, err := s.restoreAddresses(ctx, tx, change)
	if err != nil {
		return err
	}
	// A TOTP code that was used before the factor was removed must not work again.
	if err := tx.RestoreFactors(ctx, change.Person, change.Seq, credential.LastTOTPStep(s.now())); err != nil {
		return err
	}
	locked, err := tx.LockPassword(ctx, change.Person, nobodys, s.now())
	if err != nil {
		return err
	}
	if err := tx.DropChanges(ctx, change.Person, change.Seq); err != nil {
		return err
	}
	after, err := tx.Addressee(ctx, change.Person)
	if err != nil {
		return err
	}
	for _, a := range before.Addresses {
		if !slices.Contains(after.Addresses, a) {
			after.Addresses = append(after.Addresses, a)
		}
	}
	n := notice.Notice{Template: mail.ChangeUndone}
	if locked {
		n.Data = map[string]any{"password": "locked"}
		to := postgres.Resettable{Person: change.Person, Name: after.Name, Locale: after.Locale, TimeZone: after.TimeZone,
			Home: postgres.Home{Host: after.Host}}
		if err := s.mailReset(ctx, tx, audit.By(id.Person{}, c), to, primary); err != nil {
			return err
		}
	}
	if err := s.notices.Inform(ctx, tx, after, change.Person, c, n); err != nil {
		return err
	}
	return s.recordUndo(ctx, tx, c, change, "security.undo")
}

// restoreAddresses gives a person the addresses from before a change. Other persons who hold one of them unverified lose it.
// Errors: identity.ErrAddressInUse.
func (s *Service) restoreAddresses(ctx context.Context, tx *postgres.Store, change postgres.KeptChange) (primary string, err error) {
	for _, a := range change.Addresses {
		holders, err := tx.Holders(ctx, a)
		if err != nil {
			return "", err
		}
		others := slices.DeleteFunc(holders, func(h postgres.Holder) bool { return h.Person == change.Person })
		if err := s.evict(ctx, tx, a, others); err != nil {
			return "", err
		}
	}
	return tx.RestoreAddresses(ctx, change.Person, change.Seq)
}

func (s *Service) recordUndo(ctx context.Context, tx *postgres.Store, c token.Client, change postgres.KeptChange, action string) error {
	return s.record(ctx, tx, audit.Entry{
		Actor: audit.By(id.Person{}, c), Action: action, Object: change.Person.String(), Target: change.Person,
		Details: map[string]string{"kind": change.Kind},
	})
}
