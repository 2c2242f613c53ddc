// Codes that verify the address of a stranger.

package service

import (
	"context"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// codesPerReservation is how many codes are mailed to the sender of one reservation. Lifetime and tries are those of access codes.
const codesPerReservation = 3

// SendSenderCode mails a code to the address that a stranger states, if the mailbox requires it to be verified. It invalidates the
// previous code.
// Errors: transfer.ErrNotFound, transfer.ErrConfirmed, transfer.ErrNoCode, fault.ErrInvalid, transfer.ErrSenderCodesUsed,
// transfer.ErrTooManySenderCodes.
func (s *Service) SendSenderCode(ctx context.Context, caller token.Caller, uid id.Reservation) error {
	code, err := newCode()
	if err != nil {
		return err
	}
	now := s.now()
	today, expires := now.UTC().Truncate(day), now.Add(codeLifetime)
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		r, err := s.lockOpen(ctx, tx, caller, uid)
		switch {
		case err != nil:
			return err
		case !r.VerifySender:
			return transfer.ErrNoCode.With("the sender of this transfer needs no code")
		case r.AnonEmail == "":
			return fault.ErrInvalid.With("anonEmail: is required before a code can be mailed to it")
		case r.SenderVerified():
			return transfer.ErrNoCode.With("anonEmail: is verified already")
		}
		set, err := tx.SetSenderCode(ctx, uid, r.AnonEmail, s.senderCodeHash(uid, code), expires, codesPerReservation)
		if err != nil {
			return err
		}
		if !set {
			return transfer.ErrSenderCodesUsed
		}
		within, err := tx.CountSenderCode(ctx, r.AnonEmail, today, s.dailyBound(s.senderCodes, r.Client))
		if err != nil {
			return err
		}
		if !within {
			return transfer.ErrTooManySenderCodes.WithRetryAfter(today.Add(day).Sub(now))
		}
		_, err = s.mailer.Queue(ctx, tx.Tx(), mail.Message{
			Host: r.Facts.Host, To: r.AnonEmail, Locale: r.Locale, TimeZone: r.Facts.TimeZone, Template: mail.SenderCode, GiveUpAt: expires,
			Data: map[string]any{"mailbox": r.Recipients[0].Email, "expiresAt": expires}, Secret: map[string]string{"code": code},
		})
		return err
	})
}

// VerifySender verifies the address that a stranger states by the mailed code. A change of the address afterwards undoes it.
// Errors: transfer.ErrNotFound, transfer.ErrConfirmed, transfer.ErrSenderCode.
func (s *Service) VerifySender(ctx context.Context, caller token.Caller, uid id.Reservation, code string) error {
	r, err := s.store.Reservation(ctx, uid, s.scope(caller))
	if err != nil {
		return err
	}
	if err := mayManage(caller, uid, r.Creator); err != nil {
		return err
	}
	if !r.Open() {
		return transfer.Confirmed(r.Transfer)
	}
	right, err := s.store.TrySenderCode(ctx, uid, s.senderCodeHash(uid, code), s.now(), codeTries) // no transaction: a wrong try counts
	if err != nil || right {
		return err
	}
	return transfer.ErrSenderCode
}

// senderCodeHash returns the MAC of a code under the secret key, as codeHash does.
func (s *Service) senderCodeHash(r id.Reservation, code string) []byte {
	return s.sealer.MAC("sender code", r.UUID[:], []byte(code))
}
