package mail

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/database"
)

// outcomes counts the attempts of this process.
type outcomes struct{ sent, postponed, failed atomic.Int64 }

// Outcomes counts the attempts of this process by result: sent, postponed after a temporary failure, failed for good.
type Outcomes struct{ Sent, Postponed, Failed int64 }

// Outcomes returns the counts since the start of the process.
func (m *Mailer) Outcomes() Outcomes {
	return Outcomes{Sent: m.outcomes.sent.Load(), Postponed: m.outcomes.postponed.Load(), Failed: m.outcomes.failed.Load()}
}

// Waiting describes the queue of the installation.
type Waiting struct {
	Queued    int64         // mails, whether due or not
	OldestDue time.Duration // time since the oldest due mail became due; 0 when none is due
}

// Waiting returns the state of the queue, read with one statement.
func (m *Mailer) Waiting(ctx context.Context) (Waiting, error) {
	return database.One[Waiting](ctx, m.db.Pool, "count waiting mails", nil, `
		SELECT count(*) AS queued, greatest(coalesce(clock_timestamp() - min(next_attempt_at), '0'), '0') AS oldest_due
		FROM mails WHERE state = 'queued'`)
}
