// The jobs that end reservations and transfers, warn before, and delete old records.

package service

import (
	"context"
	"errors"
	"slices"
	"strings"

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

// ExpireTransfers erases transfers whose lifetime and grace have passed. It purges the bytes when it has erased all, because both wait for
// the same disk.
func (s *Service) ExpireTransfers(ctx context.Context) error {
	found := false
	err := s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		now := s.now()
		uids, err := tx.LockExpiredTransfers(ctx, now, now.Add(-s.expiryGrace), endBatch)
		if err != nil || len(uids) == 0 {
			return 0, err
		}
		found = true
		return len(uids), s.erase(ctx, tx, uids, transfer.Expired, transfer.ErasedByExpiry)
	})
	if err != nil || !found {
		return err // a purge runs each minute, too
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error { return s.content.PurgeSoon(ctx, tx) })
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
		To: d.Recipient.Email, ToName: d.Recipient.Name, Locale: d.Locale, TimeZone: d.TimeZone, Template: mail.TransferExpiring, Data: data,
		GiveUpAt: t.ExpiresAt,
	}
	if d.Recipient.UID.IsZero() {
		data["role"] = "sender"
		s.linkInbox(data, d.Host)
		m.Reference = transferReference + t.UID.String()
		return m
	}
	m.ReplyTo, m.ReplyToName, m.Reference = t.Sender.Email, t.Sender.Name, deliveryReference+d.Recipient.UID.String()
	if link := s.storedLink(d.Link); link != "" {
		m.Secret = map[string]string{"link": link}
	}
	return m
}

// unfinishedNotice is how long before its end an unfinished upload is reminded of.
const unfinishedNotice = day

// RemindUnfinished mails strangers whose uploads to a mailbox expire soon, once for each reservation. The mails count as upload
// confirmations, because anybody can state any address (contract 4.10).
func (s *Service) RemindUnfinished(ctx context.Context) error {
	now := s.now()
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		due, err := tx.MarkReminded(ctx, now, now.Add(unfinishedNotice), unfinishedNotice, expireBatch)
		if err != nil || len(due) == 0 {
			return 0, err
		}
		slices.SortFunc(due, func(a, b postgres.Unfinished) int { return strings.Compare(a.Email, b.Email) }) // one order of locks
		var messages []mail.Message
		for _, u := range due {
			within, err := tx.CountUploadConfirmation(ctx, u.Email, now.UTC().Truncate(day), s.uploadConfirmations)
			if err != nil {
				return 0, err
			}
			if within {
				messages = append(messages, s.unfinishedMail(u))
			}
		}
		_, err = s.mailer.QueueAll(ctx, tx.Tx(), messages)
		return len(due), err
	})
}

// unfinishedMail has no word of anybody: it may go to a third party. Its link opens the mailbox's page, not the upload.
func (s *Service) unfinishedMail(u postgres.Unfinished) mail.Message {
	return mail.Message{
		To: u.Email, Locale: u.Locale, TimeZone: u.TimeZone, ReplyTo: u.MailboxEmail, Template: mail.UploadUnfinished,
		Data: map[string]any{
			"mailbox": u.MailboxEmail, "fileCount": u.Files, "totalBytes": u.Bytes, "expiresAt": u.ExpiresAt,
			"link": s.hosts.URL(u.Host, "/m/"+u.MailboxKey+"#unfinished"),
		},
		GiveUpAt: u.ExpiresAt,
	}
}

// volumeAge is how long the upload volume of a month is kept. Limits ask for the current one only.
const volumeAge = 400 * day

// sampleAge is how long samples of volumes are kept: a quarter, and the days of it that are shown.
const sampleAge = 92 * day

// Purge forgets addresses of recipients that are older than the audit log. It deletes records of transfers that ended before the retention
// time, counters of past days, volumes of old months, samples of old days, and released links after their quarantine.
func (s *Service) Purge(ctx context.Context) error {
	now := s.now()
	err := s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		return tx.DeleteEndedTransfers(ctx, now.Add(-s.recordAge), expireBatch)
	})
	settled := s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		return tx.SettleVolumes(ctx, transfer.Month(now), expireBatch)
	})
	volumes := s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		return tx.DeleteVolumes(ctx, now.Add(-volumeAge), expireBatch)
	})
	samples := s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		return tx.DeleteVolumeSamples(ctx, now.Add(-sampleAge), expireBatch)
	})
	addresses := s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		return tx.ForgetAddresses(ctx, now.Add(-s.auditAge), expireBatch)
	})
	return errors.Join(err, settled, volumes, samples, addresses,
		s.store.DeleteCounters(ctx, now.UTC().Truncate(day), now.Add(-s.resumeLifetime)),
		s.store.DeleteReleasedLinks(ctx, now.Add(-s.links.Quarantine)))
}
