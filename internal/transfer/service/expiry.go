package service

import (
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// expireBatch is how many rows one transaction of a job handles at most.
const expireBatch = 100

// Names of the recurring jobs, for tests and commands that run one on demand.
const (
	ExpireReservationsJob = "transfer-expire-reservations"
	ExpireTransfersJob    = "transfer-expire-transfers"
	WarnExpiringJob       = "transfer-warn-expiring"
	PurgeJob              = "transfer-purge"
)

func (s *Service) registerJobs() {
	s.jobs.Every(ExpireReservationsJob, time.Minute, s.ExpireReservations)
	s.jobs.Every(ExpireTransfersJob, time.Minute, s.ExpireTransfers)
	s.jobs.Every(WarnExpiringJob, time.Hour, s.WarnExpiring)
	s.jobs.Every(PurgeJob, time.Hour, s.Purge)
	s.registerIdentityHooks()
}

// ExpireReservations deletes open reservations whose lifetime has passed or that were cancelled in bulk, releases their volume
// and purges their bytes.
func (s *Service) ExpireReservations(ctx context.Context) error {
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		uids, err := tx.LockExpiredReservations(ctx, s.now(), expireBatch)
		if err != nil || len(uids) == 0 {
			return 0, err
		}
		return len(uids), s.deleteReservations(ctx, tx, uids)
	})
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

// inBatches repeats a transaction until it processes no row. Near ctx's deadline it returns jobs.Again.
func (s *Service) inBatches(ctx context.Context, batch func(tx *postgres.Store) (int, error)) error {
	for {
		var n int
		err := s.store.InTx(ctx, func(tx *postgres.Store) error {
			var err error
			n, err = batch(tx)
			return err
		})
		if err != nil || n == 0 {
			return err
		}
		if jobs.DeadlineNear(ctx) {
			return jobs.Again(0)
		}
	}
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
	m := mail.Message{
		To: d.Recipient.Email, ToName: d.Recipient.Name, Locale: d.Locale, TimeZone: d.TimeZone, Template: mail.TransferExpiring, Data: data, GiveUpAt: t.ExpiresAt,
	}
	if d.Recipient.UID.IsZero() {
		data["role"] = "sender"
		m.Reference = transferReference + t.UID.String()
		return m
	}
	m.ReplyTo, m.ReplyToName, m.Reference = t.Sender.Email, t.Sender.Name, deliveryReference+d.Recipient.UID.String()
	if link := s.linkAgain(d.Link); link != "" {
		m.Secret = map[string]string{"link": link}
	}
	return m
}

// Purge deletes records of transfers that ended before the retention time, and counters of past days.
func (s *Service) Purge(ctx context.Context) error {
	now := s.now()
	err := s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		return tx.PurgeTransfers(ctx, now.Add(-s.recordAge), expireBatch)
	})
	return errors.Join(err, s.store.PurgeCounters(ctx, now.UTC().Truncate(day), now.Add(-s.resumeLifetime)))
}
