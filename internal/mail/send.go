// Sends one mail from the queue under a lease: delays between attempts and the final failure.

package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
)

const (
	maxRetryDelay = 4 * time.Hour
	maxAnswer     = 500             // runes of a server's answer that are stored
	settleTimeout = 4 * time.Second // for storing the outcome, also during shutdown
	renewals      = 4               // of a lease in its time
)

// claimed is a mail that this job has leased.
type claimed struct {
	row
	Attempts int
}

// workSend sends one mail. It leases the row first, so that a job that runs on two servers sends once. The outcome is
// stored in a separate statement, because no transaction spans slow work.
func (m *Mailer) workSend(ctx context.Context, job sendJob) error {
	uid, err := id.Parse[id.Mail](job.UID)
	if err != nil {
		return jobs.GiveUp(fmt.Errorf("mail job: %w", err))
	}
	c, wait, err := m.claim(ctx, uid)
	if err != nil {
		return err
	}
	if wait > 0 {
		return jobs.Again(wait)
	}
	if c == nil {
		return nil
	}
	if SelfTest(c.Recipient) {
		return m.drop(ctx, c)
	}
	release := m.keepLease(ctx, c)
	attached, early := m.attachment(ctx, c.row)
	if early {
		release()
		return m.awaitAttachment(ctx, c)
	}
	answer, sendErr := m.attempt(ctx, c.row, attached)
	release()
	// The outcome must be stored even when ctx is cancelled by a shutdown.
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if sendErr == nil {
		return m.markSent(settle, c, answer)
	}
	answer = line(sendErr.Error(), maxAnswer)
	m.log.WarnContext(settle, "mail was not sent", slog.String("mail", c.UID.String()),
		slog.String("template", c.Template), slog.Int("attempt", c.Attempts), slog.String("answer", answer))
	if errors.Is(sendErr, ErrPermanent) || !m.now().Before(c.GiveUpAt) {
		err := m.markFailed(settle, c, answer)
		if err == nil {
			m.outcomes.failed.Add(1)
			return nil
		}
		m.log.ErrorContext(settle, "storing the failure of a mail failed", slog.String("mail", c.UID.String()),
			slog.Any("error", err))
	}
	return m.postpone(settle, c, answer)
}

// SelfTestDomain is the domain of the people of consign selftest. No such domain can exist (RFC 2606): mails to it are not sent.
const SelfTestDomain = "selftest.invalid"

// SelfTest reports whether an address is of a person of consign selftest.
func SelfTest(address string) bool { return strings.HasSuffix(address, "@"+SelfTestDomain) }

// drop ends a mail to a person of consign selftest as cancelled.
func (m *Mailer) drop(ctx context.Context, c *claimed) error {
	_, err := database.Exec(ctx, m.db.Pool, "drop mail", `
		UPDATE mails
		SET state = 'cancelled', finished_at = $2, last_answer = 'not sent: a person of consign selftest', data = '{}', secret = NULL,
			next_attempt_at = NULL,
		    busy_until = NULL
		WHERE uid = $1 AND state = 'queued'`, c.UID, m.now())
	return err
}

func (m *Mailer) attempt(ctx context.Context, r row, attached *Attachment) (string, error) {
	e, err := m.render(ctx, r, attached)
	if err != nil {
		return "", fmt.Errorf("compose: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.SendTimeout)
	defer cancel()
	return m.transport.Send(ctx, e)
}

// keepLease renews the lease of a mail until the returned function is called. So the lease of a mail that a killed server was
// sending ends soon, however long an attempt may take. A renewal that fails is left to the next one.
func (m *Mailer) keepLease(ctx context.Context, c *claimed) (release func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(m.options.Lease / renewals)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			_, err := database.Exec(ctx, m.db.Pool, "renew lease of mail", `
				UPDATE mails SET busy_until = clock_timestamp() + $3::interval WHERE uid = $1 AND state = 'queued' AND attempts = $2`,
				c.UID, c.Attempts, m.options.Lease)
			if err != nil && ctx.Err() == nil {
				m.log.WarnContext(ctx, "renewing the lease of a mail failed", slog.String("mail", c.UID.String()), slog.Any("error", err))
			}
		}
	}()
	return func() { cancel(); <-done }
}

// claim leases a mail that is due. It returns nil and the time to wait when another job has the lease or the mail is not
// due yet, and nil and 0 when there is nothing to send.
func (m *Mailer) claim(ctx context.Context, uid id.Mail) (*claimed, time.Duration, error) {
	list, err := database.All[claimed](ctx, m.db.Pool, "claim mail", `
		UPDATE mails
		SET attempts = attempts + 1, last_attempt_at = $2, busy_until = clock_timestamp() + $3::interval
		WHERE uid = $1 AND state = 'queued' AND next_attempt_at <= clock_timestamp()
		  AND (busy_until IS NULL OR busy_until < clock_timestamp())
		RETURNING uid, created_at, template, reference, recipient, recipient_name, reply_to, reply_to_name, locale,
		          time_zone, sender, data, secret, has_secret, message_id, give_up_at, attempts`,
		uid, m.now(), m.options.Lease)
	if err != nil {
		return nil, 0, err
	}
	if len(list) == 1 {
		return &list[0], 0, nil
	}
	waits, err := database.Scalars[time.Duration](ctx, m.db.Pool, "read time of next attempt", `
		SELECT greatest(next_attempt_at, busy_until) - clock_timestamp()
		FROM mails WHERE uid = $1 AND state = 'queued'`, uid)
	if err != nil || len(waits) == 0 {
		return nil, 0, err
	}
	return nil, max(waits[0], time.Second), nil
}

func (m *Mailer) markSent(ctx context.Context, c *claimed, answer string) error {
	_, err := database.Exec(ctx, m.db.Pool, "mark mail as sent", `
		UPDATE mails
		SET state = 'sent', finished_at = $2, last_answer = $3, data = '{}', secret = NULL, next_attempt_at = NULL,
		    busy_until = NULL
		WHERE uid = $1 AND state = 'queued'`, c.UID, m.now(), line(answer, maxAnswer))
	if err != nil {
		return err
	}
	m.outcomes.sent.Add(1)
	m.log.InfoContext(ctx, "mail sent", slog.String("mail", c.UID.String()), slog.String("template", c.Template),
		slog.Int("attempt", c.Attempts))
	return nil
}

// postpone stores a temporary failure and reschedules the job with exponential back-off.
func (m *Mailer) postpone(ctx context.Context, c *claimed, answer string) error {
	delay := min(m.options.FirstRetry<<min(c.Attempts-1, 20), maxRetryDelay)
	_, err := database.Exec(ctx, m.db.Pool, "postpone mail", `
		UPDATE mails
		SET last_answer = $2, next_attempt_at = clock_timestamp() + $3::interval, busy_until = NULL
		WHERE uid = $1 AND state = 'queued'`, c.UID, answer, delay)
	if err != nil {
		return err
	}
	m.outcomes.postponed.Add(1)
	return jobs.Again(delay)
}

// markFailed stores a final failure and calls OnFailed, in one transaction. It keeps the data only of mails that Retry can
// send again, which are those without a secret.
func (m *Mailer) markFailed(ctx context.Context, c *claimed, answer string) error {
	return m.db.InTx(ctx, func(tx database.Tx) error {
		list, err := database.All[Mail](ctx, tx, "mark mail as failed", `
			UPDATE mails
			SET state = 'failed', finished_at = $2, last_answer = $3, data = CASE WHEN has_secret THEN '{}' ELSE data END, secret = NULL,
				next_attempt_at = NULL, busy_until = NULL
			WHERE uid = $1 AND state = 'queued'
			RETURNING `+mailColumns, c.UID, m.now(), answer)
		if err != nil {
			return err
		}
		if len(list) == 0 || m.options.OnFailed == nil { // no row: cancelled in the meantime
			return nil
		}
		if err := m.options.OnFailed(ctx, tx, list[0]); err != nil {
			return fmt.Errorf("report failed mail: %w", err)
		}
		return nil
	})
}
