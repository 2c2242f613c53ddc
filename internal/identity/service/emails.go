package service

import (
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// RequestVerification mails a new key for one of the caller's addresses; earlier ones stop working. An address that is
// verified gets none. Errors: identity.ErrAddressNotFound.
func (s *Service) RequestVerification(ctx context.Context, caller token.Caller, address string) error {
	address, err := text.Email(address)
	if err != nil {
		return identity.ErrAddressNotFound
	}
	key, expires := seal.NewKey(), s.now().Add(s.settings.VerificationKey)
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		verified, err := tx.SetVerificationKey(ctx, caller.Person, address, seal.Hash(key), expires)
		if err != nil || verified {
			return err
		}
		if err := s.mailVerification(ctx, tx, caller.Person, address, key, expires); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Actor: caller.Person, Action: "email.verification", Object: address, Target: caller.Person, Client: caller.Client})
	})
	return describe("request verification", err)
}

// mailVerification queues the mail with a verification key to the address that it verifies.
func (s *Service) mailVerification(ctx context.Context, tx *postgres.Store, p id.Person, address, key string, expires time.Time) error {
	to, err := tx.Contact(ctx, p)
	if err != nil {
		return err
	}
	_, err = s.mailer.Queue(ctx, tx.Tx(), mail.Message{
		To: address, ToName: to.Name, Locale: to.Locale, TimeZone: to.TimeZone, Template: mail.VerifyEmail, Reference: p.String(),
		Data:     map[string]any{"address": address, "expiresAt": expires},
		Secret:   map[string]string{"link": s.link(to.Host, "/confirm/"+key)},
		GiveUpAt: expires,
	})
	return err
}

// Confirm consumes a verification key of the caller's. When it verifies the primary address, the caller's session gets
// a full ID token, which is returned; else idToken is empty. Whoever else held the address unverified loses it.
// Errors: identity.ErrKeyNotFound, also for another person's key.
func (s *Service) Confirm(ctx context.Context, caller token.Caller, key string) (idToken string, err error) {
	var issued *postgres.Issued
	hash := seal.Hash(key)
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		issued = nil
		address, err := tx.AddressOfKey(ctx, caller.Person, hash, s.now())
		if err != nil {
			return err
		}
		primary, err := s.verify(ctx, tx, caller.Person, address, func() (bool, error) {
			return tx.VerifyAddress(ctx, caller.Person, hash, s.now())
		})
		if err != nil {
			return err
		}
		if primary {
			t, err := tx.ReplaceSession(ctx, caller.Person, caller.Session, s.replacement(caller.Client))
			if err == nil {
				issued = &t
			} else if !errors.Is(err, identity.ErrTokenNotFound) {
				return err
			}
		}
		return s.record(ctx, tx, audit.Entry{Actor: caller.Person, Action: "email.verify", Object: address, Target: caller.Person, Client: caller.Client})
	})
	switch {
	case errors.Is(err, identity.ErrAddressInUse), errors.Is(err, identity.ErrPersonNotFound):
		return "", identity.ErrKeyNotFound
	case err != nil:
		return "", describe("confirm address", err)
	case issued == nil:
		return "", nil
	}
	return s.idToken(ctx, *issued)
}

// verify runs mark, which makes an address the person's own, while nobody else can claim it, and takes it from everybody
// who holds it unverified.
func (s *Service) verify(ctx context.Context, tx *postgres.Store, p id.Person, address string, mark func() (primary bool, err error)) (bool, error) {
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
