// The jobs of requests: reminders, mails about returned items, overdue requests, heartbeats, and what nobody needs any more.

package service

import (
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/transfer/request/postgres"
)

// The names of the periodic jobs.
const (
	RemindJob    = "requests-remind"
	ReturnedJob  = "requests-returned"
	OverdueJob   = "requests-overdue"
	HeartbeatJob = "requests-heartbeat"
	PurgeJob     = "requests-purge"
)

// batch is how many rows one transaction of a job handles at most.
const batch = 100

func (s *Service) registerJobs() {
	s.Jobs.Every(RemindJob, time.Minute, s.RemindDue)
	s.Jobs.Every(ReturnedJob, time.Minute, s.MailReturned)
	s.Jobs.Every(OverdueJob, time.Minute, s.TellOverdue)
	s.Jobs.Every(HeartbeatJob, time.Minute, s.Beat)
	s.Jobs.Every(PurgeJob, time.Hour, s.Purge)
}

// inBatches repeats a transaction until it handles no row. Near ctx's deadline it returns jobs.Again.
func (s *Service) inBatches(ctx context.Context, one func(tx stores) (int, error)) error {
	for {
		n := 0
		err := s.inTx(ctx, func(tx stores) (err error) {
			n, err = one(tx)
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

// RemindDue mails parties whose reminder is due what they have not handed in. The mail and the time of the next reminder are one
// transaction, so each reminder is sent once at most. One that would be sent at night waits for the morning; one that nothing is missing
// for, or that owner or party have turned off, is passed over.
func (s *Service) RemindDue(ctx context.Context) error {
	return s.inBatches(ctx, func(tx stores) (int, error) {
		now := s.Now()
		due, err := tx.TakeReminders(ctx, now, batch)
		if err != nil || len(due) == 0 {
			return 0, err
		}
		uids := make([]id.Party, len(due))
		for i, d := range due {
			uids[i] = d.UID
		}
		missing, err := tx.MissingItems(ctx, uids)
		if err != nil {
			return 0, err
		}
		var plans []postgres.Plan
		var reminded []id.Party
		byRequest := map[id.Request][]postgres.DueParty{}
		for _, d := range due {
			if morning, quiet := request.Quiet(now, d.TimeZone); quiet && (d.Due == nil || morning.Before(*d.Due)) {
				plans = append(plans, postgres.Plan{Party: d.UID, RemindAt: &morning})
				continue
			}
			plan := postgres.Plan{Party: d.UID}
			if missing[d.UID].Required > 0 {
				plan.RemindAt = next(request.Request{Due: d.Due}, d.Party, now)
			}
			plans = append(plans, plan)
			_, quiet := request.Quiet(now, d.TimeZone)
			if d.Reminders && d.State == request.Open && missing[d.UID].Required > 0 && !quiet && d.Due != nil && now.Before(*d.Due) {
				byRequest[d.Request] = append(byRequest[d.Request], d)
				reminded = append(reminded, d.UID)
			}
		}
		if err := tx.PlanReminders(ctx, plans); err != nil {
			return 0, err
		}
		if err := tx.MarkReminded(ctx, reminded, now); err != nil {
			return 0, err
		}
		messages, err := s.reminders(ctx, tx, byRequest, missing)
		if err != nil {
			return 0, err
		}
		_, err = s.Mailer.QueueAll(ctx, tx.Tx(), messages)
		return len(due), err
	})
}

// reminders returns the mails to parties that are reminded.
func (s *Service) reminders(ctx context.Context, tx stores, parties map[id.Request][]postgres.DueParty,
	missing map[id.Party]postgres.Missing) (messages []mail.Message, err error) {
	for uid, list := range parties {
		r, owner, err := s.ofRequest(ctx, tx, uid)
		if errors.Is(err, transfer.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			_, more := request.Next(r.Due, d.TimeZone, s.Now())
			messages = append(messages, s.reminder(r, owner, d.Party, missing[d.UID], !more))
		}
	}
	return messages, nil
}

// ofRequest returns a request with its owner.
// Errors: transfer.ErrNotFound.
func (s *Service) ofRequest(ctx context.Context, tx stores, uid id.Request) (r request.Request, o transfer.Owner, err error) {
	if r, err = tx.AnyRequest(ctx, uid); err != nil {
		return r, o, err
	}
	o, err = tx.transfers.Owner(ctx, r.Owner, s.anyHost())
	return r, o, err
}

// MailReturned mails parties which of their items were returned, and why.
func (s *Service) MailReturned(ctx context.Context) error {
	return s.inBatches(ctx, func(tx stores) (int, error) {
		due, err := tx.TakeReturned(ctx, s.Now(), batch)
		if err != nil {
			return 0, err
		}
		for _, p := range due {
			if err := s.mailReturned(ctx, tx, p); err != nil && !errors.Is(err, transfer.ErrNotFound) {
				return 0, err
			}
		}
		return len(due), nil
	})
}

// TellOverdue tells owners once that the due time has passed while something required is missing.
func (s *Service) TellOverdue(ctx context.Context) error {
	return s.inBatches(ctx, func(tx stores) (int, error) {
		list, err := tx.TakeOverdue(ctx, s.Now(), batch)
		if err != nil {
			return 0, err
		}
		for _, r := range list {
			if err := s.tell(ctx, tx, events.RequestOverdue, r); err != nil {
				return 0, err
			}
		}
		return len(list), nil
	})
}

// Purge deletes heartbeats that are older than the records of transfers, and parties that never opened the link they asked for.
func (s *Service) Purge(ctx context.Context) error {
	now := s.Now()
	beats := s.inBatches(ctx, func(tx stores) (int, error) { return tx.DeleteHeartbeats(ctx, now.Add(-s.RecordAge), 1000) })
	unopened := s.inBatches(ctx, func(tx stores) (int, error) { return tx.DeleteUnopened(ctx, now.Add(-request.JoinLifetime), batch) })
	return errors.Join(beats, unopened)
}
