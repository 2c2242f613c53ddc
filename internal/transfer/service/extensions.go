// A recipient asks the sender of an expired transfer for more time.

package service

import (
	"context"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

const (
	askPause      = day  // between two mails that ask a sender to extend the same transfer
	maxAskMessage = 1000 // bytes of the message of the person who asks
)

// ExpiredTransfer is what the holder of a link sees of a transfer that has expired and can be extended.
type ExpiredTransfer struct {
	transfer.Transfer
	Delivery id.Delivery // rate limits are per delivery
	Hidden   bool        // it was protected: number and size of the files are hidden
	Asked    bool        // its sender was asked within a day
}

// ExpiredTransfer finds the transfer of a link that has expired at most a grace ago.
// Errors: transfer.ErrNotFound.
func (s *Service) ExpiredTransfer(ctx context.Context, caller token.Caller, key string) (ExpiredTransfer, error) {
	now := s.now()
	t, err := s.store.ExpiredLink(ctx, seal.Hash(key), s.scope(caller), now.Add(-s.expiryGrace))
	if err != nil {
		return ExpiredTransfer{}, err
	}
	return ExpiredTransfer{
		Transfer: t.Transfer, Delivery: t.Recipient.UID, Hidden: t.Protection != transfer.ProtectNone, Asked: t.AskedAt.Add(askPause).After(now),
	}, nil
}

// AskExtension asks the sender of an expired transfer to make it available again, with one mail and one event a day at most.
// Errors: transfer.ErrNotFound, fault.ErrInvalid, transfer.ErrAsked.
func (s *Service) AskExtension(ctx context.Context, caller token.Caller, key, message string) error {
	var problems fault.Problems
	transfer.CheckBlock(&problems, "message", message, maxAskMessage)
	if err := problems.Err(); err != nil {
		return err
	}
	now := s.now()
	graceOver := now.Add(-s.expiryGrace)
	t, err := s.store.ExpiredLink(ctx, seal.Hash(key), s.scope(caller), graceOver)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		sender, asked, err := tx.AskExtension(ctx, t.UID, now, graceOver, now.Add(-askPause))
		if err != nil {
			return err
		}
		if !asked {
			return transfer.ErrAsked
		}
		until := t.KeptUntil(s.expiryGrace)
		data := map[string]any{"subject": t.Subject, "message": message, "expiredAt": t.ExpiresAt, "until": until}
		if who := recipientName(t.Recipient); who != "" {
			data["recipient"] = who
		}
		data["link"] = s.hosts.URL(sender.Host, "/inbox?extend="+t.UID.String())
		if sender.Email != "" {
			_, err = s.mailer.Queue(ctx, tx.Tx(), mail.Message{
				To: sender.Email, ToName: sender.Name, Locale: sender.Locale, TimeZone: sender.TimeZone, Template: mail.ExtensionAsked,
				Data: data, Reference: transferReference + t.UID.String(), GiveUpAt: until,
			})
			if err != nil {
				return err
			}
		}
		if err := tx.MarkAsked(ctx, t.Recipient.UID, now); err != nil {
			return err
		}
		if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{
			Action: "transfer.extension.ask", Object: t.UID.String(), Target: sender.Person,
			Details: map[string]string{deliveryDetail: t.Recipient.UID.String()},
		}); err != nil {
			return err
		}
		return s.tell(ctx, tx, events.TransferExtensionAsked, t.UID, []id.Person{sender.Person})
	})
}

// mailExtended tells the recipients who have asked for the extension of a locked transfer that it is available again.
func (s *Service) mailExtended(ctx context.Context, tx *postgres.Store, uid id.Transfer) error {
	asked, err := tx.TakeAsked(ctx, uid)
	if err != nil || len(asked) == 0 {
		return err
	}
	found, err := tx.Expiring(ctx, []id.Transfer{uid})
	if err != nil {
		return err
	}
	var messages []mail.Message
	for _, d := range found {
		if slices.Contains(asked, d.Recipient.UID) {
			m := s.expiryMail(d)
			m.Template = mail.TransferExtended
			messages = append(messages, m)
		}
	}
	_, err = s.mailer.QueueAll(ctx, tx.Tx(), messages)
	return err
}

// extended reports whether new terms make an expired transfer available again.
func (s *Service) extended(t postgres.SeenTransfer, expires time.Time) bool {
	now := s.now()
	return !now.Before(t.ExpiresAt) && now.Before(expires)
}
