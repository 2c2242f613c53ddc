// Reminders that owners send by hand.

package service

import (
	"context"
	"strconv"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request"
)

// remindPause is the least time between two reminders that the owner sends to a party.
const remindPause = day

// Remind mails a party what it has not handed in.
// Errors: transfer.ErrNotFound, transfer.ErrRequestClosed, transfer.ErrItemState when nothing is missing, transfer.ErrReminded,
// transfer.ErrTooManyRecipientsToday.
func (s *Service) Remind(ctx context.Context, caller token.Caller, uid id.Request, party id.Party) (Detail, error) {
	return s.changeParty(ctx, caller, uid, party, 0, func(tx stores, r request.Request, p *request.Party) error {
		if r.State == request.Closed {
			return transfer.ErrRequestClosed
		}
		now := s.Now()
		if p.RemindedAt != nil && now.Before(p.RemindedAt.Add(remindPause)) {
			return transfer.ErrReminded.WithRetryAfter(p.RemindedAt.Add(remindPause).Sub(now))
		}
		missing, err := tx.MissingItems(ctx, []id.Party{party})
		if err != nil {
			return err
		}
		if len(missing[party].Items) == 0 {
			return transfer.ErrItemState.With("the party has handed in every item")
		}
		owner, err := tx.transfers.Owner(ctx, r.Owner, s.scope(caller.Client))
		if err != nil {
			return err
		}
		p.RemindedAt = &now
		if err := tx.UpdateParty(ctx, *p); err != nil {
			return err
		}
		if err := s.countRecipients(ctx, tx, r.Owner, owner.Account, 1); err != nil {
			return err
		}
		if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "request.remind", Object: uid.String(),
			Details: map[string]string{"party": party.String()}}); err != nil {
			return err
		}
		_, err = s.Mailer.Queue(ctx, tx.Tx(), s.reminder(r, owner, *p, missing[party], false))
		return err
	})
}

// RemindAll mails each party of a request what it has not handed in, and returns how many it has mailed. It leaves out parties that miss
// nothing required, that were reminded within a day, and whose reminders are paused.
// Errors: transfer.ErrNotFound, transfer.ErrRequestClosed, transfer.ErrTemplate, transfer.ErrTooManyRecipientsToday.
func (s *Service) RemindAll(ctx context.Context, caller token.Caller, uid id.Request) (n int, err error) {
	owner, err := s.owner(ctx, caller)
	if err != nil {
		return 0, err
	}
	err = s.inTx(ctx, func(tx stores) error {
		r, err := tx.LockRequest(ctx, caller.Person, uid)
		if err != nil {
			return err
		}
		switch {
		case r.Template:
			return transfer.ErrTemplate
		case r.State == request.Closed:
			return transfer.ErrRequestClosed
		}
		now := s.Now()
		parties, err := tx.LockRemindable(ctx, uid, now.Add(-remindPause))
		if err != nil || len(parties) == 0 {
			return err
		}
		missing, err := missingOf(ctx, tx, parties)
		if err != nil {
			return err
		}
		var uids []id.Party
		var messages []mail.Message
		for _, p := range parties {
			if missing[p.UID].Required > 0 {
				uids, messages = append(uids, p.UID), append(messages, s.reminder(r, owner, p, missing[p.UID], false))
			}
		}
		if n = len(uids); n == 0 {
			return nil
		}
		if err := tx.MarkReminded(ctx, uids, now); err != nil {
			return err
		}
		if err := s.countRecipients(ctx, tx, r.Owner, owner.Account, n); err != nil {
			return err
		}
		if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "request.remind", Object: uid.String(),
			Details: map[string]string{"parties": strconv.Itoa(n)}}); err != nil {
			return err
		}
		_, err = s.Mailer.QueueAll(ctx, tx.Tx(), messages)
		return err
	})
	return n, err
}
