// The receipt behind the link that the sender of a transfer to a mailbox is mailed.

package service

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// SenderReceipt is what the link of a sender tells. Until the address is checked it tells what the mail does, and no word of the sender.
// The link that was mailed about a deleted account tells when that was and, once it is stated, that everything is erased.
type SenderReceipt struct {
	Account   bool   // the link is of a deleted account, whose address needs no check
	Mailbox   string // the owner's name or address
	CreatedAt time.Time
	CheckedAt time.Time // zero: the address was not checked
	Since     []postgres.Happening
}

// senderKey returns the key in the link to a sender's receipt.
func (s *Service) senderKey(t id.Transfer) string {
	return base64.RawURLEncoding.EncodeToString(s.sealer.MACs("sender receipt", t.UUID[:])[0])
}

// SenderReceipt returns the state of a sender's receipt.
// Errors: transfer.ErrNotFound.
func (s *Service) SenderReceipt(ctx context.Context, key string) (SenderReceipt, error) {
	stored, err := s.store.SenderReceipt(ctx, seal.Hash(key))
	if errors.Is(err, transfer.ErrNotFound) {
		return s.accountReceipt(ctx, key)
	}
	if err != nil {
		return SenderReceipt{}, err
	}
	head, _, _ := bytes.Cut(stored.Body, []byte("\nobject "))
	stated, err := transfer.ParseStatement(append(bytes.TrimSuffix(head, []byte("\n")), '\n'))
	if err != nil {
		return SenderReceipt{}, err
	}
	_, owner, _ := strings.Cut(stated.Get("recipient"), " ") // without to
	address, name, _ := strings.Cut(owner, " ")
	r := SenderReceipt{
		Mailbox: mailboxName(transfer.Recipient{Name: name, Email: address}), CreatedAt: stored.CreatedAt, CheckedAt: stored.SenderCheckedAt,
	}
	if !r.CheckedAt.IsZero() {
		r.Since, err = s.store.Happenings(ctx, stored.Transfer)
	}
	return r, err
}

// accountReceipt is SenderReceipt for the link of a deleted account.
// Errors: transfer.ErrNotFound.
func (s *Service) accountReceipt(ctx context.Context, key string) (SenderReceipt, error) {
	e, err := s.store.LinkedErasure(ctx, seal.Hash(key))
	if err != nil {
		return SenderReceipt{}, err
	}
	r := SenderReceipt{Account: true, CreatedAt: e.DeletedAt, CheckedAt: e.DeletedAt}
	if e.Body != nil {
		stated, err := transfer.ParseStatement(e.Body)
		if err != nil {
			return SenderReceipt{}, err
		}
		r.Since = []postgres.Happening{{Kind: transfer.StatedErased, At: stated.Time("at")}}
	}
	return r, nil
}

// ProveSender marks the address of a sender as checked: only the mail has the key. It can be repeated, and counts once.
// Errors: transfer.ErrNotFound.
func (s *Service) ProveSender(ctx context.Context, caller token.Caller, key string) (SenderReceipt, error) {
	hash := seal.Hash(key)
	stored, err := s.store.SenderReceipt(ctx, hash)
	if errors.Is(err, transfer.ErrNotFound) {
		return s.accountReceipt(ctx, key)
	}
	if err == nil && stored.SenderCheckedAt.IsZero() {
		err = s.store.InTx(ctx, func(tx *postgres.Store) error {
			receivers, err := tx.VerifySenderOf(ctx, stored.Transfer)
			if err != nil {
				return err
			}
			if first, err := tx.ProveSender(ctx, hash, s.now()); err != nil || !first {
				return err
			}
			entry := audit.Entry{Action: "transfer.sender-checked", Object: stored.Transfer.String()}
			if len(receivers) > 0 { // none: the record of the transfer is deleted
				entry.Target = receivers[0]
			}
			if err := s.record(ctx, tx, audit.Of(caller), entry); err != nil {
				return err
			}
			return s.tell(ctx, tx, events.TransferUpdated, stored.Transfer, receivers)
		})
	}
	if err != nil {
		return SenderReceipt{}, err
	}
	return s.SenderReceipt(ctx, key)
}

// SentReceipt is Receipt for the holder of a sender's link, once the address is checked.
// Errors: transfer.ErrNotFound, transfer.ErrLocked, translog.ErrPending.
func (s *Service) SentReceipt(ctx context.Context, key, kind string) (ReceiptFile, error) {
	stored, err := s.store.SenderReceipt(ctx, seal.Hash(key))
	if errors.Is(err, transfer.ErrNotFound) && kind == transfer.StatedErased {
		e, err := s.store.LinkedErasure(ctx, seal.Hash(key))
		return s.certificateOf(ctx, e, err)
	}
	if err != nil {
		return ReceiptFile{}, err
	}
	if stored.SenderCheckedAt.IsZero() {
		return ReceiptFile{}, transfer.ErrLocked.With("the address is not checked: POST to the URL without /receipt checks it")
	}
	return s.receipt(ctx, stored.Transfer, kind, id.Person{}, id.Organization{})
}
