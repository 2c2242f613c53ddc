package mail

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// outcomes count the attempts of this process.
type outcomes struct{ sent, postponed, failed atomic.Int64 }

// Outcomes are how the attempts of this process to send a mail have ended since its start: handed over, to be repeated
// after a temporary failure, given up for good.
type Outcomes struct{ Sent, Postponed, Failed int64 }

// Outcomes returns the present numbers.
func (m *Mailer) Outcomes() Outcomes {
	return Outcomes{Sent: m.outcomes.sent.Load(), Postponed: m.outcomes.postponed.Load(), Failed: m.outcomes.failed.Load()}
}

// Waiting is how much the installation still has to send.
type Waiting struct {
	Queued    int64         // mails, whether due or not
	OldestDue time.Duration // how long the mail that has been due for longest has been; 0 when none is
}

// Waiting returns the present numbers. It takes one statement.
func (m *Mailer) Waiting(ctx context.Context) (Waiting, error) {
	var w Waiting
	err := m.db.Pool.QueryRow(ctx, `
		SELECT count(*), greatest(coalesce(clock_timestamp() - min(next_attempt_at), '0'), '0')
		FROM mails WHERE state = 'queued'`).Scan(&w.Queued, &w.OldestDue)
	if err != nil {
		return Waiting{}, fmt.Errorf("count waiting mails: %w", err)
	}
	return w, nil
}
