package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
)

const (
	maxRetryDelay = 4 * time.Hour
	maxAnswer     = 500             // runes of a server's answer that are kept
	settleTimeout = 4 * time.Second // for noting the outcome, also while stopping
)

// claimed is a mail that this job alone may send until its lease ends.
type claimed struct {
	row
	Attempts int
}

// send is the job of one mail. A row is claimed first, by a lease in the row, so that a job that was given to two
// servers sends once; the outcome is noted in a statement of its own, since nothing slow happens in a transaction.
func (m *Mailer) send(ctx context.Context, text string) error {
	uid, err := id.Parse[id.Mail](text)
	if err != nil {
		return jobs.GiveUp(fmt.Errorf("mail job: %w", err))
	}
	c, wait, err := m.claim(ctx, uid)
	if err != nil {
		return fmt.Errorf("claim mail: %w", err)
	}
	if wait > 0 {
		return jobs.Again(wait)
	}
	if c == nil {
		return nil
	}
	answer, sendErr := m.attempt(ctx, c.row)
	// The outcome must be noted although the server is stopping and ctx may be over.
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if sendErr == nil {
		return m.sent(settle, c, answer)
	}
	answer = line(sendErr.Error(), maxAnswer)
	m.log.WarnContext(settle, "mail was not sent", slog.String("mail", c.UID.String()),
		slog.String("template", c.Template), slog.Int("attempt", c.Attempts), slog.String("answer", answer))
	if errors.Is(sendErr, ErrPermanent) || !m.now().Before(c.GiveUpAt) {
		err := m.failed(settle, c, answer)
		if err == nil {
			m.outcomes.failed.Add(1)
			return nil
		}
		m.log.ErrorContext(settle, "mail failed for good, which could not be noted", slog.String("mail", c.UID.String()),
			slog.Any("error", err))
	}
	return m.postponed(settle, c, answer)
}

func (m *Mailer) attempt(ctx context.Context, r row) (string, error) {
	e, err := m.render(r)
	if err != nil {
		return "", fmt.Errorf("compose: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.SendTimeout)
	defer cancel()
	return m.transport.Send(ctx, e)
}

// claim leases a mail that is due. It returns nil and a wait when another job holds it or it is not due yet, nil and
// no wait when there is nothing to send.
func (m *Mailer) claim(ctx context.Context, uid id.Mail) (*claimed, time.Duration, error) {
	lease := m.options.SendTimeout + 2*settleTimeout
	rows, err := m.db.Pool.Query(ctx, `
		UPDATE mails
		SET attempts = attempts + 1, last_attempt_at = $2, busy_until = clock_timestamp() + $3::interval
		WHERE uid = $1 AND state = 'queued' AND next_attempt_at <= clock_timestamp()
		  AND (busy_until IS NULL OR busy_until < clock_timestamp())
		RETURNING uid, created_at, template, reference, recipient, recipient_name, reply_to, reply_to_name, locale,
		          time_zone, sender, data, secret, has_secret, message_id, give_up_at, attempts`,
		uid, m.now(), lease)
	if err != nil {
		return nil, 0, err
	}
	c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[claimed])
	if err == nil || !errors.Is(err, pgx.ErrNoRows) {
		return c, 0, err
	}
	var wait time.Duration
	err = m.db.Pool.QueryRow(ctx, `
		SELECT greatest(next_attempt_at, busy_until) - clock_timestamp()
		FROM mails WHERE uid = $1 AND state = 'queued'`, uid).Scan(&wait)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, 0, nil
	}
	return nil, max(wait, time.Second), err
}

func (m *Mailer) sent(ctx context.Context, c *claimed, answer string) error {
	_, err := m.db.Pool.Exec(ctx, `
		UPDATE mails
		SET state = 'sent', finished_at = $2, last_answer = $3, data = '{}', secret = NULL, next_attempt_at = NULL,
		    busy_until = NULL
		WHERE uid = $1 AND state = 'queued'`, c.UID, m.now(), line(answer, maxAnswer))
	if err != nil {
		return fmt.Errorf("note that mail was sent: %w", err)
	}
	m.outcomes.sent.Add(1)
	m.log.InfoContext(ctx, "mail sent", slog.String("mail", c.UID.String()), slog.String("template", c.Template),
		slog.Int("attempt", c.Attempts))
	return nil
}

// postponed notes a temporary failure and comes back later.
func (m *Mailer) postponed(ctx context.Context, c *claimed, answer string) error {
	delay := min(m.options.FirstRetry<<min(c.Attempts-1, 20), maxRetryDelay)
	_, err := m.db.Pool.Exec(ctx, `
		UPDATE mails
		SET last_answer = $2, next_attempt_at = clock_timestamp() + $3::interval, busy_until = NULL
		WHERE uid = $1 AND state = 'queued'`, c.UID, answer, delay)
	if err != nil {
		return fmt.Errorf("note that mail is postponed: %w", err)
	}
	m.outcomes.postponed.Add(1)
	return jobs.Again(delay)
}

// failed notes a final failure and tells whoever asked to be told, in one transaction. What the mail says is kept only where it can
// be sent again.
func (m *Mailer) failed(ctx context.Context, c *claimed, answer string) error {
	return m.db.InTx(ctx, func(tx database.Tx) error {
		list, err := database.All[Mail](ctx, tx, "note that mail failed", `
			UPDATE mails
			SET state = 'failed', finished_at = $2, last_answer = $3, data = CASE WHEN has_secret THEN '{}' ELSE data END, secret = NULL, next_attempt_at = NULL, busy_until = NULL
			WHERE uid = $1 AND state = 'queued'
			RETURNING `+mailColumns, c.UID, m.now(), answer)
		if err != nil {
			return err
		}
		if len(list) == 0 || m.options.OnFailed == nil { // no row: cancelled meanwhile
			return nil
		}
		if err := m.options.OnFailed(ctx, tx, list[0]); err != nil {
			return fmt.Errorf("tell that mail failed: %w", err)
		}
		return nil
	})
}
