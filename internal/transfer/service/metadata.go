// Changes of a reservation that need the database: who the recipients are, who pays for the texts, the hash of a password.

package service

import (
	"context"

	"github.com/consign-dev/consign/internal/password"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// uncharged returns how much volume the texts of a reservation count beyond what is charged (contract 4.8). Negative: too much is charged.
func uncharged(r postgres.HeldReservation) int64 { return r.MetadataBytes() - r.Metadata }

// chargeTexts charges what is uncharged of a locked reservation's own texts.
// Errors: those of content.Service.ChargeMetadata.
func (s *Service) chargeTexts(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation) error {
	return s.content.ChargeMetadata(ctx, tx, payer(r.Reservation, r.Facts), uncharged(r), transfer.Month(r.CreatedAt))
}

// payer returns whose volumes pay for a reservation.
func payer(r transfer.Reservation, o transfer.Owner) postgres.Payer {
	return postgres.Payer{
		Reservation: r.UID, Creator: r.Creator, Client: r.Client, Owner: r.Owner, Request: r.Request, Organization: r.Organization,
		LimitsOrganization: r.LimitsOrganization,
		UploadLimit:        o.UploadLimit, OrganizationLimit: o.OrganizationLimit, StorageLimit: o.StorageLimit,
	}
}

// mergeSent applies a change to a sender's reservation, and finds the recipients' accounts.
// Errors: those of transfer.Metadata.MergeSent.
func (s *Service) mergeSent(ctx context.Context, store *postgres.Store, r *transfer.Reservation, unit transfer.Adminunit,
	in transfer.Metadata) error {
	if err := in.MergeSent(r, unit); err != nil || in.Recipients == nil {
		return err
	}
	return findRecipients(ctx, store, r.Recipients)
}

// hashPassword computes the hash of in.Password outside of transactions.
func (s *Service) hashPassword(ctx context.Context, in *transfer.Metadata) error {
	if in.Password == nil || *in.Password == "" || len(*in.Password) > password.MaxLength {
		return nil // MergePassword refuses it
	}
	hash, err := s.hasher.Hash(ctx, *in.Password)
	if err != nil {
		return err
	}
	in.Hash = string(hash)
	return nil
}

// findRecipients sets the person of each recipient whose address is a verified address of an account.
func findRecipients(ctx context.Context, store *postgres.Store, recipients []transfer.Recipient) error {
	if len(recipients) == 0 {
		return nil
	}
	emails := make([]string, len(recipients))
	for i, r := range recipients {
		emails[i] = r.Email
	}
	readers, err := store.Readers(ctx, emails)
	if err != nil {
		return err
	}
	for i, r := range recipients {
		recipients[i].Person = readers[r.Email].Person
	}
	return nil
}
