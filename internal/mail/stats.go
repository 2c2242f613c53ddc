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

// day is the time over which Waiting counts outcomes.
const day = 24 * time.Hour

// Waiting describes the queue of the installation and what became of its mails.
type Waiting struct {
	Queued    int64         // mails, whether due or not
	OldestDue time.Duration // time since the oldest due mail became due; 0 when none is due
	Refused   int64         // queued mails whose last attempt failed
	Sent      int64         // within a day
	Failed    int64         // given up within a day
	Since     int64         // mails whose last attempt failed, within a day and after the last mail that was sent
}

// Health is how well mails leave the installation.
type Health int

// The healths. Partly: some mails are refused or late. None: mails are tried, and none of the last leaves.
const (
	Leaving Health = iota
	Partly
	None
)

const (
	late      = 15 * time.Minute
	manyInRow = 3  // mails that are refused one after the other: not the fault of an address
	shareOf   = 20 // one refused mail of as many is ordinary: addresses are misspelt
)

// Health judges by outcome, not by whether the queue can be read.
func (w Waiting) Health() Health {
	bad := w.Refused + w.Failed
	switch {
	case w.Since >= manyInRow:
		return None
	case w.OldestDue > late, w.Since > 0, bad*shareOf > bad+w.Sent:
		return Partly
	}
	return Leaving
}

// Waiting returns the state of the queue, read with one statement. What failed and what was sent comes from indexes.
func (m *Mailer) Waiting(ctx context.Context) (Waiting, error) {
	return WaitingIn(ctx, m.db.Pool, m.now())
}

// WaitingIn is Waiting of a database without a Mailer.
func WaitingIn(ctx context.Context, q database.Querier, now time.Time) (Waiting, error) {
	return database.One[Waiting](ctx, q, "count waiting mails", nil, `
		WITH ended AS (
			SELECT count(*) FILTER (WHERE state = 'sent') AS sent, count(*) FILTER (WHERE state = 'failed') AS failed,
				coalesce(max(finished_at) FILTER (WHERE state = 'sent'), '-infinity') AS last
			FROM mails WHERE state <> 'queued' AND finished_at > $1)
		SELECT q.queued, q.oldest_due, q.refused, e.sent, e.failed, q.since + (
			SELECT count(*) FROM mails WHERE state <> 'queued' AND finished_at > greatest(e.last, $1) AND state = 'failed') AS since
		FROM ended e, LATERAL (
			SELECT count(*) AS queued, greatest(coalesce(clock_timestamp() - min(next_attempt_at), '0'), '0') AS oldest_due,
				count(*) FILTER (WHERE last_answer <> '') AS refused,
				count(*) FILTER (WHERE last_answer <> '' AND last_attempt_at > greatest(e.last, $1)) AS since
			FROM mails WHERE state = 'queued') q`, now.Add(-day))
}
