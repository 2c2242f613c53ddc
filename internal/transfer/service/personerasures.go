// The erasure of the data of a deleted person, and its certificate.

package service

import (
	"context"
	"encoding/base64"
	"errors"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// CertifyPersonsJob states that the data of deleted persons is erased.
const CertifyPersonsJob = "transfer-certify-persons"

// PersonErased begins the certificate of the erasure of a person who is being deleted: by an operator, or by the own wish. It returns the
// key in the link to the certificate. It joins tx.
func (s *Service) PersonErased(ctx context.Context, tx database.Tx, p id.Person, byOperator bool) (key string, err error) {
	reason := transfer.DeletedByPerson
	if byOperator {
		reason = transfer.DeletedByOperator
	}
	key = base64.RawURLEncoding.EncodeToString(s.sealer.MACs("erasure certificate", p.UUID[:])[0])
	return key, s.store.Within(tx).BeginErasure(ctx, p, reason, seal.Hash(key), s.now())
}

// DeletePersonData deletes a person's mailbox, open reservations and received transfers. Transfers to others stay until they
// expire, with the sender's name and without the address (contract 4.13).
func (s *Service) DeletePersonData(ctx context.Context, p id.Person) error {
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHomes(ctx, false); err != nil {
			return err
		}
		if err := tx.DeleteMailbox(ctx, p, s.now()); err != nil && !errors.Is(err, transfer.ErrNotFound) {
			return err
		}
		_, err := tx.ReactivateMailbox(ctx, p)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.store.EndReservations(ctx, p, false); err != nil {
		return err
	}
	if err := s.store.AwaitHeld(ctx, p, nil); err != nil {
		return err
	}
	if err := s.requests.DeletePersonData(ctx, p); err != nil {
		return err
	}
	if err := s.ExpireReservations(ctx); err != nil {
		return err
	}
	for _, erase := range []func(*postgres.Store) (postgres.ErasedTransfers, error){
		func(tx *postgres.Store) (e postgres.ErasedTransfers, err error) {
			e.Sent, err = tx.DisownTransfers(ctx, p, expireBatch)
			return e, err
		},
		func(tx *postgres.Store) (e postgres.ErasedTransfers, err error) {
			e.Receipts, err = tx.EraseReceiptsNaming(ctx, p, expireBatch, s.now())
			return e, err
		},
		func(tx *postgres.Store) (e postgres.ErasedTransfers, err error) {
			e.Received, err = tx.HideDeliveriesOf(ctx, p, expireBatch, s.now())
			if err == nil && len(e.Received) > 0 {
				err = s.revokeUnreachable(ctx, tx, e.Received, transfer.ErasedWithAccount)
			}
			return e, err
		},
	} {
		err := s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
			e, err := erase(tx)
			if err != nil {
				return 0, err
			}
			return tx.NoteErased(ctx, p, e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// CertifyPersons states of deleted persons that their data is erased, when no stored byte and no copy of a hold is left.
func (s *Service) CertifyPersons(ctx context.Context) error {
	var after, last id.Person
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		due, err := tx.ErasedPersons(ctx, after, expireBatch)
		if err != nil {
			return 0, err
		}
		for _, e := range due {
			last = e.Person
			e.Body = transfer.FormatErasedAccount(salt(), s.now(), e.ErasedAccount)
			e.Entry = proof.Entry(e.Body)
			if err := tx.StateErasure(ctx, e); err != nil {
				return 0, err
			}
		}
		return len(due), nil
	}, func() { after = last })
}

// PersonCertificate returns the certificate of erasure of a person's account.
// Errors: transfer.ErrNotFound, translog.ErrPending.
func (s *Service) PersonCertificate(ctx context.Context, p id.Person) (ReceiptFile, error) {
	e, err := s.store.PersonErasure(ctx, p)
	return s.certificateOf(ctx, e, err)
}

// certificateOf returns the certificate of a found erasure with its proof.
// Errors: transfer.ErrNotFound while nothing is stated, translog.ErrPending, and found.
func (s *Service) certificateOf(ctx context.Context, e postgres.PersonErasure, found error) (ReceiptFile, error) {
	if found == nil && e.Body == nil {
		found = transfer.ErrNotFound
	}
	if found != nil {
		return ReceiptFile{}, found
	}
	p, err := s.proofs.Prove(ctx, e.Entry)
	return ReceiptFile{stored: postgres.Receipt{Kind: transfer.StatedErased, Entry: e.Entry, Body: e.Body}, proof: p}, err
}
