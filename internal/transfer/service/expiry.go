package service

import (
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// ExpireReservations deletes open reservations whose lifetime has passed or that were cancelled in bulk, releases their volume
// and purges their bytes.
func (s *Service) ExpireReservations(ctx context.Context) error {
	var unused []postgres.UnusedReservation
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		unused = nil
		uids, err := tx.LockExpiredReservations(ctx, s.now(), expireBatch)
		if err != nil || len(uids) == 0 {
			return 0, err
		}
		unused, err = s.deleteReservations(ctx, tx, uids)
		return len(uids), err
	}, func() { s.returnStrangersTransfers(ctx, unused) })
}

// ExpireTransfers erases transfers whose lifetime has passed.
func (s *Service) ExpireTransfers(ctx context.Context) error {
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		uids, err := tx.LockExpiredTransfers(ctx, s.now(), expireBatch)
		if err != nil || len(uids) == 0 {
			return 0, err
		}
		return len(uids), s.endTransfers(ctx, tx, uids, transfer.Expired)
	})
}

// WarnExpiring mails recipients and senders of transfers that expire soon, once each.
func (s *Service) WarnExpiring(ctx context.Context) error {
	now := s.now()
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		uids, err := tx.MarkWarned(ctx, now, now.Add(s.expiryWarning), s.expiryWarning, expireBatch)
		if err != nil || len(uids) == 0 {
			return 0, err
		}
		due, err := tx.Expiring(ctx, uids)
		if err != nil {
			return 0, err
		}
		messages := make([]mail.Message, len(due))
		for i, d := range due {
			messages[i] = s.expiryMail(d)
		}
		_, err = s.mailer.QueueAll(ctx, tx.Tx(), messages)
		return len(uids), err
	})
}

func (s *Service) expiryMail(d postgres.Expiring) mail.Message {
	t := d.Transfer
	data := map[string]any{"role": "recipient", "sender": senderName(t.Sender), "expiresAt": t.ExpiresAt, "protection": string(t.Protection)}
	if t.Protection == transfer.ProtectNone {
		data["subject"], data["fileCount"], data["totalBytes"] = t.Subject, t.ObjectCount, t.TotalBytes
	}
	markUnverified(data, t.Sender)
	m := mail.Message{
		To: d.Recipient.Email, ToName: d.Recipient.Name, Locale: d.Locale, TimeZone: d.TimeZone, Template: mail.TransferExpiring, Data: data, GiveUpAt: t.ExpiresAt,
	}
	if d.Recipient.UID.IsZero() {
		data["role"] = "sender"
		m.Reference = transferReference + t.UID.String()
		return m
	}
	m.ReplyTo, m.ReplyToName, m.Reference = t.Sender.Email, t.Sender.Name, deliveryReference+d.Recipient.UID.String()
	if link := s.storedLink(d.Link); link != "" {
		m.Secret = map[string]string{"link": link}
	}
	return m
}

// Purge deletes records of transfers that ended before the retention time, counters of past days, and released links after their
// quarantine.
func (s *Service) Purge(ctx context.Context) error {
	now := s.now()
	err := s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		return tx.DeleteEndedTransfers(ctx, now.Add(-s.recordAge), expireBatch)
	})
	return errors.Join(err, s.store.DeleteCounters(ctx, now.UTC().Truncate(day), now.Add(-s.resumeLifetime)), s.store.DeleteReleasedLinks(ctx, now.Add(-s.links.Quarantine)))
}
