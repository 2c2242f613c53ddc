package service

import (
	"context"
	"errors"
	"slices"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// Emails lists the caller's addresses, the primary one first.
func (s *Service) Emails(ctx context.Context, caller token.Caller) ([]identity.Address, error) {
	return s.store.Addresses(ctx, caller.Person)
}

// AddEmail adds a secondary address to the caller's and queues the mail that verifies it. It accepts an address that
// others hold unverified: the person who verifies it first keeps it (contract 3.1).
// Errors: fault.ErrInvalid, identity.ErrAddressInUse, identity.ErrTooManyAddresses, and those of stepUp.
func (s *Service) AddEmail(ctx context.Context, caller token.Caller, address string, proof token.Proof) (identity.Address, error) {
	address, err := identity.NormalizeAddress("address", address)
	if err != nil {
		return identity.Address{}, err
	}
	use, err := s.stepUp(ctx, caller, proof)
	if err != nil {
		return identity.Address{}, err
	}
	now, key := s.now(), seal.NewKey()
	removeAt, expires := now.Add(s.settings.UnverifiedEmail), now.Add(s.settings.VerificationKey)
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := s.claimSecondaryAddress(ctx, tx, caller.Person, address); err != nil {
			return err
		}
		if err := use(ctx, tx); err != nil {
			return err
		}
		if err := s.notices.Secure(ctx, tx, caller.Person, caller.Client,
			notice.Notice{Template: mail.AddressAdded, Data: map[string]any{"address": address}}); err != nil {
			return err
		}
		if err := tx.InsertAddress(ctx, caller.Person, postgres.NewAddress{
			Address: address, RemoveAt: removeAt, KeyHash: seal.Hash(key), KeyExpiresAt: expires, CreatedAt: now,
		}); err != nil {
			return err
		}
		if err := s.notices.Verify(ctx, tx, notice.Verification{Person: caller.Person, Address: address, Key: key, Expires: expires,
			Host: caller.Client.Host.Name}); err != nil {
			return err
		}
		return s.recordOwn(ctx, tx, caller, "email.add", address, nil)
	})
	if err != nil {
		return identity.Address{}, err
	}
	return identity.Address{Address: address, RemoveAt: &removeAt}, nil
}

// claimSecondaryAddress locks an address and a person, and checks that the person may add the address.
// Errors: identity.ErrAddressInUse, identity.ErrTooManyAddresses, identity.ErrPersonNotFound.
func (s *Service) claimSecondaryAddress(ctx context.Context, tx *postgres.Store, p id.Person, address string) error {
	if err := tx.LockAddress(ctx, address); err != nil {
		return err
	}
	if err := tx.LockPerson(ctx, p); err != nil {
		return err
	}
	holders, err := tx.Holders(ctx, address)
	if err != nil {
		return err
	}
	for _, h := range holders {
		if h.Person == p || h.Verified {
			return identity.ErrAddressInUse
		}
	}
	own, err := tx.Addresses(ctx, p)
	if err == nil && len(own) >= identity.MaxAddresses {
		return identity.ErrTooManyAddresses
	}
	return err
}

// RemoveEmail deletes one of the caller's secondary addresses.
// Errors: identity.ErrPrimaryAddress, identity.ErrForeignAddress, identity.ErrAddressNotFound, and those of stepUp.
func (s *Service) RemoveEmail(ctx context.Context, caller token.Caller, address string, proof token.Proof) error {
	use, err := s.stepUp(ctx, caller, proof)
	if err != nil {
		return err
	}
	err = s.changeEmail(ctx, caller, address, func(tx *postgres.Store, a identity.Address) error {
		if a.Primary {
			return identity.ErrPrimaryAddress
		}
		if err := use(ctx, tx); err != nil {
			return err
		}
		n := notice.Notice{Template: mail.AddressRemoved, Data: map[string]any{"address": a.Address}, Leaves: a.Address}
		if a.Verified {
			if err := s.notices.Secure(ctx, tx, caller.Person, caller.Client, n); err != nil {
				return err
			}
		}
		if err := tx.RemoveAddress(ctx, caller.Person, a.Address); err != nil {
			return err
		}
		return s.recordOwn(ctx, tx, caller, "email.remove", a.Address, nil)
	})
	return err
}

// MakePrimaryEmail makes one of the caller's verified addresses the primary one.
// Errors: identity.ErrAddressNotVerified, identity.ErrForeignAddress, identity.ErrAddressNotFound, and those of stepUp.
func (s *Service) MakePrimaryEmail(ctx context.Context, caller token.Caller, address string, proof token.Proof) error {
	use, err := s.stepUp(ctx, caller, proof)
	if err != nil {
		return err
	}
	err = s.changeEmail(ctx, caller, address, func(tx *postgres.Store, a identity.Address) error {
		switch {
		case !a.Verified:
			return identity.ErrAddressNotVerified
		case a.Primary:
			return nil
		}
		if err := use(ctx, tx); err != nil {
			return err
		}
		n := notice.Notice{Template: mail.PrimaryChanged, Data: map[string]any{"address": a.Address}}
		if err := s.notices.Secure(ctx, tx, caller.Person, caller.Client, n); err != nil {
			return err
		}
		if err := tx.MakePrimary(ctx, caller.Person, a.Address); err != nil {
			return err
		}
		return s.recordOwn(ctx, tx, caller, "email.primary", a.Address, nil)
	})
	return err
}

// changeEmail calls change with one of the caller's addresses. The caller is locked. With CONSIGN_ENUMERATION=strict it
// does not reveal whether an unknown address belongs to another person.
// Errors: identity.ErrForeignAddress, identity.ErrAddressNotFound, identity.ErrPersonNotFound, and those of change.
func (s *Service) changeEmail(ctx context.Context, caller token.Caller, address string,
	change func(tx *postgres.Store, a identity.Address) error) error {
	address, err := text.Email(address)
	if err != nil {
		return identity.ErrAddressNotFound
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); err != nil {
			return err
		}
		own, err := tx.Addresses(ctx, caller.Person)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(own, func(a identity.Address) bool { return a.Address == address }); i >= 0 {
			return change(tx, own[i])
		}
		if s.settings.StrictEnumeration {
			return identity.ErrAddressNotFound
		}
		held, err := tx.AddressHeld(ctx, address)
		if err == nil && held {
			return identity.ErrForeignAddress
		}
		if err == nil {
			return identity.ErrAddressNotFound
		}
		return err
	})
}

// RequestVerification queues a mail with a new verification key for one of the caller's addresses. Earlier keys become
// invalid. A verified address gets no mail. The confirmation page opens the path next afterwards, unless it is empty.
// Errors: fault.ErrInvalid, identity.ErrAddressNotFound.
func (s *Service) RequestVerification(ctx context.Context, caller token.Caller, address, next string) error {
	address, err := text.Email(address)
	if err != nil {
		return identity.ErrAddressNotFound
	}
	var problems fault.Problems
	if checkNext(&problems, next); problems.Err() != nil {
		return problems.Err()
	}
	key, expires := seal.NewKey(), s.now().Add(s.settings.VerificationKey)
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		verified, err := tx.SetVerificationKey(ctx, caller.Person, address, seal.Hash(key), expires)
		if err != nil || verified {
			return err
		}
		v := notice.Verification{Person: caller.Person, Address: address, Key: key, Expires: expires, Next: next, Host: caller.Client.Host.Name}
		if err := s.notices.Verify(ctx, tx, v); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Actor: audit.Of(caller), Action: "email.verification", Object: address, Target: caller.Person})
	})
	return err
}

// ConfirmEmail consumes a verification key of the caller. Other persons who hold the address unverified lose it. If the
// address is the primary one, idToken is the session's new ID token. Otherwise it is empty.
// Errors: identity.ErrKeyNotFound, also for another person's key.
func (s *Service) ConfirmEmail(ctx context.Context, caller token.Caller, key string) (idToken string, err error) {
	var issued *postgres.Issued
	hash := seal.Hash(key)
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		issued = nil
		address, err := tx.AddressOfKey(ctx, caller.Person, hash, s.now())
		if err != nil {
			return err
		}
		primary, err := s.verify(ctx, tx, caller.Person, address, func() (bool, error) {
			n := notice.Notice{Template: mail.AddressVerified, Data: map[string]any{"address": address}, Joins: address}
			if err := s.notices.Secure(ctx, tx, caller.Person, caller.Client, n); err != nil { // mails nothing for the first address
				return false, err
			}
			return tx.VerifyAddress(ctx, caller.Person, hash, s.now())
		})
		if err != nil {
			return err
		}
		if primary {
			t, err := tx.ReplaceSession(ctx, caller.Person, caller.Session, s.Replacement(caller.Client))
			if err == nil {
				issued = &t
			} else if !errors.Is(err, identity.ErrTokenNotFound) {
				return err
			}
		}
		return s.record(ctx, tx, audit.Entry{Actor: audit.Of(caller), Action: "email.verify", Object: address, Target: caller.Person})
	})
	switch {
	case errors.Is(err, identity.ErrAddressInUse), errors.Is(err, identity.ErrPersonNotFound):
		return "", identity.ErrKeyNotFound
	case err != nil:
		return "", err
	case issued == nil:
		return "", nil
	}
	return s.IDToken(ctx, *issued)
}

// verify locks the address and the person, calls mark, which marks the address as verified, and takes the address from
// all other persons who hold it unverified.
func (s *Service) verify(ctx context.Context, tx *postgres.Store, p id.Person, address string,
	mark func() (primary bool, err error)) (bool, error) {
	if err := tx.LockAddress(ctx, address); err != nil {
		return false, err
	}
	if err := tx.LockPerson(ctx, p); err != nil {
		return false, err
	}
	primary, err := mark()
	if err != nil {
		return false, err
	}
	holders, err := tx.Holders(ctx, address)
	if err != nil {
		return false, err
	}
	others := holders[:0]
	for _, h := range holders {
		if h.Person != p {
			others = append(others, h)
		}
	}
	return primary, s.evict(ctx, tx, address, others)
}
