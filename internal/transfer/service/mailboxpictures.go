package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// MailboxPicture returns the picture behind the page of the mailbox under key.
// Errors: transfer.ErrKeyInvalid, transfer.ErrNotFound.
func (s *Service) MailboxPicture(ctx context.Context, caller token.Caller, key string) (transfer.Avatar, error) {
	m, err := s.PublicMailbox(ctx, caller, key)
	if err != nil {
		return transfer.Avatar{}, err
	}
	return s.store.MailboxPicture(ctx, m.Person)
}

// PutMailboxPicture stores a picture for the page of the caller's mailbox and returns what was stored. It reads the picture from
// the start.
// Errors: fault.ErrInvalid when the picture is refused, transfer.ErrNotFound.
func (s *Service) PutMailboxPicture(ctx context.Context, caller token.Caller, picture io.ReadSeeker) (transfer.Avatar, error) {
	m, err := s.Mailbox(ctx, caller)
	if err != nil {
		return transfer.Avatar{}, err
	}
	image, err := s.imaging.Backdrop(ctx, picture) // slow: outside of the transaction
	var refusal *imaging.Refusal
	if errors.As(err, &refusal) {
		return transfer.Avatar{}, fault.ErrInvalid.With("body: " + refusal.Sentence).Because(err)
	}
	if err != nil {
		return transfer.Avatar{}, fmt.Errorf("make picture of a mailbox: %w", err)
	}
	sum := sha256.Sum256(image)
	made := transfer.Avatar{Image: image, ETag: `"` + hex.EncodeToString(sum[:16]) + `"`}
	return made, s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.PutMailboxPicture(ctx, m.Person, made, s.now()); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "mailbox.picture.put", Object: m.Person.String(),
			Organization: m.Owner.Organization})
	})
}

// DeleteMailboxPicture deletes the picture behind the page of the caller's mailbox.
// Errors: transfer.ErrNotFound.
func (s *Service) DeleteMailboxPicture(ctx context.Context, caller token.Caller) error {
	m, err := s.Mailbox(ctx, caller)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.DeleteMailboxPicture(ctx, m.Person); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "mailbox.picture.delete", Object: m.Person.String(),
			Organization: m.Owner.Organization})
	})
}

// PersonPicture returns the picture of a person's mailbox, for the export of the person's data.
// Errors: transfer.ErrNotFound.
func (s *Service) PersonPicture(ctx context.Context, p id.Person) (transfer.Avatar, error) {
	return s.store.MailboxPicture(ctx, p)
}
