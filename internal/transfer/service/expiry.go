package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// How many things one transaction of a job handles at most.
const (
	expireBatch = 100
	bytesBatch  = 500
	sweepBatch  = 500
)

// The names of the recurring jobs, for tests and commands that run one at will.
const (
	ExpireReservationsJob = "transfer-expire-reservations"
	ExpireTransfersJob    = "transfer-expire-transfers"
	WarnExpiringJob       = "transfer-warn-expiring"
	PurgeBytesJob         = "transfer-remove-bytes"
	ReleaseVolumesJob     = "transfer-release-volumes"
	PurgeJob              = "transfer-purge"
	SweepOrphansJob       = "transfer-sweep-orphans"
)

// purgeSoonJob is the job that removes the bytes of objects without rows.
type purgeSoonJob struct{}

// Kind implements river.JobArgs.
func (purgeSoonJob) Kind() string { return "transfer_remove_bytes" }

func (s *Service) registerJobs() {
	s.jobs.Every(ExpireReservationsJob, time.Minute, s.ExpireReservations)
	s.jobs.Every(ExpireTransfersJob, time.Minute, s.ExpireTransfers)
	s.jobs.Every(WarnExpiringJob, time.Hour, s.WarnExpiring)
	s.jobs.Every(PurgeBytesJob, time.Minute, s.PurgeBytes)
	s.jobs.Every(ReleaseVolumesJob, time.Minute, s.ReleaseVolumes)
	s.jobs.Every(PurgeJob, time.Hour, s.Purge)
	s.jobs.Every(SweepOrphansJob, day, s.SweepOrphans)
	jobs.Register(s.jobs, func(ctx context.Context, _ purgeSoonJob) error {
		s.removals.asked.Add(1)
		if !s.removals.TryLock() { // whoever removes looks again
			return nil
		}
		return s.removeAsked(ctx)
	})
	s.registerIdentityHooks()
}

// purgeBytesSoon has the bytes of discarded objects removed once tx's transaction is committed.
func (s *Service) purgeBytesSoon(ctx context.Context, tx *postgres.Store) error {
	if err := s.jobs.Enqueue(ctx, tx.Tx(), purgeSoonJob{}); err != nil {
		return fmt.Errorf("enqueue removal of bytes: %w", err)
	}
	return nil
}

// ExpireReservations removes open reservations whose 48 hours are over, or that were ended, with their objects and bytes, and gives their
// volume back.
func (s *Service) ExpireReservations(ctx context.Context) error {
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		uids, err := tx.LockExpiredReservations(ctx, s.now(), expireBatch)
		if err != nil || len(uids) == 0 {
			return 0, err
		}
		return len(uids), s.discard(ctx, tx, uids)
	})
}

// ExpireTransfers erases transfers whose time is over.
func (s *Service) ExpireTransfers(ctx context.Context) error {
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		uids, err := tx.LockExpiredTransfers(ctx, s.now(), expireBatch)
		if err != nil || len(uids) == 0 {
			return 0, err
		}
		return len(uids), s.end(ctx, tx, uids, transfer.Expired)
	})
}

// jobMargin is how much of its time a job leaves when there is more to do than it can finish: it goes on as a new run, and has not failed.
const jobMargin = 20 * time.Second

// inBatches repeats a transaction until it finds nothing to do. Shortly before ctx has its deadline it returns jobs.Again.
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
		if late(ctx) {
			return jobs.Again(0)
		}
	}
}

// late reports whether ctx has its deadline shortly.
func late(ctx context.Context) bool {
	end, limited := ctx.Deadline()
	return limited && time.Until(end) < jobMargin
}

// WarnExpiring mails recipients and senders of transfers that will expire soon, once each.
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
		To: d.Delivery.Email, ToName: d.Delivery.Name, Locale: d.Locale, TimeZone: d.TimeZone, Template: mail.TransferExpiring, Data: data, GiveUpAt: t.ExpiresAt,
	}
	if d.Delivery.UID.IsZero() {
		data["role"] = "sender"
		m.Reference = transferReference + t.UID.String()
		return m
	}
	m.ReplyTo, m.ReplyToName, m.Reference = t.Sender.Email, t.Sender.Name, deliveryReference+d.Delivery.UID.String()
	if link := s.linkAgain(d.Link); link != "" {
		m.Secret = map[string]string{"link": link}
	}
	return m
}

// removals are had by who removes bytes; one at a time is enough, and the others would keep workers from all else that has to be done.
type removals struct {
	sync.Mutex
	asked atomic.Int64 // how often bytes were to be removed
}

// PurgeBytes removes the bytes of objects whose rows are gone or erased. Those that somebody in this process may still
// be writing wait for the next time.
func (s *Service) PurgeBytes(ctx context.Context) error {
	s.removals.asked.Add(1)
	s.removals.Lock()
	return s.removeAsked(ctx)
}

// removeAsked removes bytes until nobody has asked for it meanwhile, and unlocks removals, which the caller has locked.
func (s *Service) removeAsked(ctx context.Context) error {
	for {
		asked := s.removals.asked.Load()
		err := s.removeDiscarded(ctx)
		if err != nil || s.removals.asked.Load() == asked || !s.removals.TryLock() {
			return err
		}
	}
}

// removeDiscarded removes what it finds until nothing is left, or returns jobs.Again as inBatches does: in a bucket each object takes
// several requests. It unlocks removals, also when it panics.
func (s *Service) removeDiscarded(ctx context.Context) error {
	defer s.removals.Unlock()
	for {
		keys, err := s.store.DiscardedObjects(ctx, bytesBatch)
		if err != nil {
			return err
		}
		var removed []id.Object
		for _, o := range keys {
			if s.writers.writing(o) {
				s.writers.stop(o, transfer.ErrNotFound)
				continue
			}
			if err := s.blobs.Delete(ctx, blob.ObjectKey(o)); err != nil {
				return errors.Join(fmt.Errorf("remove bytes of %s: %w", o, err), s.store.ForgetDiscarded(ctx, removed))
			}
			removed = append(removed, o)
			if late(ctx) {
				return cmp.Or(s.store.ForgetDiscarded(ctx, removed), jobs.Again(0))
			}
		}
		if err := s.store.ForgetDiscarded(ctx, removed); err != nil {
			return err
		}
		if len(keys) < bytesBatch || len(removed) == 0 {
			return nil
		}
	}
}

// ReleaseVolumes gives back the volume that writers had set aside who vanished with their server.
func (s *Service) ReleaseVolumes(ctx context.Context) error {
	var n int
	err := s.store.InTx(ctx, func(tx *postgres.Store) (err error) {
		n, err = tx.ReleaseVolumes(ctx, time.Minute)
		return err
	})
	if err == nil && n > 0 {
		s.log.Info("volume of vanished uploads given back", "uploads", n)
	}
	return err
}

// Purge forgets what is left of transfers that ended long ago, and counters of days past.
func (s *Service) Purge(ctx context.Context) error {
	now := s.now()
	err := s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		return tx.PurgeTransfers(ctx, now.Add(-s.recordAge), expireBatch)
	})
	return errors.Join(err, s.store.PurgeCounters(ctx, now.UTC().Truncate(day), now.Add(-s.resumeLifetime)))
}
