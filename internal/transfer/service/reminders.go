package service

import (
	"context"
	"slices"
	"strconv"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Remind mails the recipients of a transfer who have downloaded nothing, each at most once a day, and returns their number.
// Errors: those of lockLiving, transfer.ErrTooManyRecipientsToday.
func (s *Service) Remind(ctx context.Context, caller token.Caller, uid id.Transfer) (n int, err error) {
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		t, err := s.lockLiving(ctx, tx, caller, uid)
		if err != nil {
			return err
		}
		if n, err = s.remind(ctx, tx, []id.Transfer{uid}); err != nil || n == 0 {
			return err
		}
		if err := s.countRecipients(ctx, tx, caller.Person, t.owner.Account, n); err != nil {
			return err
		}
		if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "transfer.remind", Object: uid.String(),
			Details: map[string]string{"recipients": strconv.Itoa(n)}}); err != nil {
			return err
		}
		return s.tell(ctx, tx, events.TransferUpdated, uid, []id.Person{caller.Person})
	})
	return n, err
}

// RemindDue reminds the recipients of transfers whose senders asked for it some days before the expiry.
func (s *Service) RemindDue(ctx context.Context) error {
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		uids, err := tx.TakeReminders(ctx, s.now(), expireBatch)
		if err != nil || len(uids) == 0 {
			return 0, err
		}
		_, err = s.remind(ctx, tx, uids)
		return len(uids), err
	})
}

// remind mails recipients of locked transfers who have downloaded nothing and were not reminded within a day.
func (s *Service) remind(ctx context.Context, tx *postgres.Store, uids []id.Transfer) (int, error) {
	now := s.now()
	marked, err := tx.MarkRecipientsReminded(ctx, uids, now, now.Add(-remindPause))
	if err != nil || len(marked) == 0 {
		return 0, err
	}
	found, err := tx.Expiring(ctx, uids)
	if err != nil {
		return 0, err
	}
	var messages []mail.Message
	for _, d := range found {
		if !d.Recipient.UID.IsZero() && slices.Contains(marked, d.Recipient.UID) && now.Before(d.ExpiresAt) {
			m := s.expiryMail(d)
			m.Template = mail.TransferReminder
			messages = append(messages, m)
		}
	}
	_, err = s.mailer.QueueAll(ctx, tx.Tx(), messages)
	return len(messages), err
}
