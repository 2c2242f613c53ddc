// The table of mails: queue, cancel, erase, list, try again, and recovery after a killed server.

package mail

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
)

// Errors of Retry.
var (
	ErrNotFound = fault.ErrNotFound.With("mail: there is no mail with this uid")
	ErrFinished = fault.ErrConflict.With("mail: it was already sent or cancelled")
	ErrErased   = fault.ErrConflict.With("mail: what it was about has ended, and what it said was erased")
	ErrNoSecret = fault.ErrConflict.With("mail: its link was erased when it failed; let the action that sent it be repeated")
)

const (
	queueName      = "mail"
	resumeInterval = 15 * time.Second
	requeueAfter   = 10 * time.Minute // longer than the jobs of a killed server take to move to another one
	batchSize      = 1000
)

// sendJob is the job that sends one mail.
type sendJob struct {
	UID string `json:"uid"`
}

// Kind implements river.JobArgs.
func (sendJob) Kind() string { return "mail" }

// row holds the columns of mails from which its bytes are made.
type row struct {
	UID           id.Mail
	CreatedAt     time.Time
	Template      string
	Reference     string
	Recipient     string
	RecipientName string
	ReplyTo       string
	ReplyToName   string
	Locale        string
	TimeZone      string
	Sender        []byte
	Data          []byte
	Secret        []byte
	HasSecret     bool
	MessageID     string
	GiveUpAt      time.Time
}

const insertMail = `
	INSERT INTO mails (uid, created_at, template, reference, recipient, recipient_name, reply_to, reply_to_name, locale,
	                   time_zone, sender, data, secret, has_secret, message_id, give_up_at, next_attempt_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, clock_timestamp())`

// Queue stores a mail in the caller's transaction. It is sent after the commit.
func (m *Mailer) Queue(ctx context.Context, tx database.Tx, msg Message) (id.Mail, error) {
	uids, err := m.QueueAll(ctx, tx, []Message{msg})
	if err != nil {
		return id.Mail{}, err
	}
	return uids[0], nil
}

// QueueAll stores many mails in three round trips. It returns their uids in the order of msgs.
func (m *Mailer) QueueAll(ctx context.Context, tx database.Tx, msgs []Message) ([]id.Mail, error) {
	if len(msgs) == 0 {
		return nil, nil
	}
	var (
		batch pgx.Batch
		uids  = make([]id.Mail, len(msgs))
		send  = make([]river.JobArgs, len(msgs))
	)
	for i, msg := range msgs {
		msg = msg.withoutNames()
		if err := msg.check(); err != nil {
			return nil, fmt.Errorf("queue mail: %w", err)
		}
		r, err := m.row(msg)
		if err != nil {
			return nil, fmt.Errorf("queue mail: %w", err)
		}
		batch.Queue(insertMail, r.UID, r.CreatedAt, r.Template, r.Reference, r.Recipient, r.RecipientName, r.ReplyTo,
			r.ReplyToName, r.Locale, r.TimeZone, r.Sender, r.Data, r.Secret, r.HasSecret, r.MessageID, r.GiveUpAt)
		uids[i], send[i] = r.UID, sendJob{r.UID.String()}
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("queue mail: %w", err)
	}
	if err := m.runner.EnqueueAll(ctx, tx, send, jobs.On(queueName), jobs.Unique()); err != nil {
		return nil, fmt.Errorf("queue mail: %w", err)
	}
	return uids, nil
}

// Cancel cancels the queued mails about reference and erases the content of failed ones, in the caller's transaction. A
// mail that is being sent may still arrive.
func (m *Mailer) Cancel(ctx context.Context, tx database.Tx, reference string) error {
	_, err := database.Exec(ctx, tx, "cancel mails", `
		UPDATE mails
		SET state = CASE state WHEN 'queued' THEN 'cancelled' ELSE state END,
		    finished_at = coalesce(finished_at, $2), next_attempt_at = NULL, busy_until = NULL,
		    data = '{}', secret = NULL
		WHERE reference = $1 AND reference <> '' AND state IN ('queued', 'failed')`, reference, m.now())
	return err
}

// Erase erases the content of failed mails about the references, in the caller's transaction. Queued mails are still sent.
func (m *Mailer) Erase(ctx context.Context, tx database.Tx, references []string) error {
	_, err := database.Exec(ctx, tx, "erase mails",
		`UPDATE mails SET data = '{}' WHERE reference = ANY ($1) AND reference <> '' AND state = 'failed'`, references)
	return err
}

// Filter selects mails for List and RetryAll. A zero field does not restrict.
type Filter struct {
	State        string    // one of the states
	To           string    // address, compared without case
	Answer       string    // part of the last answer or error, compared without case
	Since, Until time.Time // of the last attempt
	After        id.Mail   // cursor: only mails before it in the list
	Limit        int       // [100]
}

// selected is the condition of a Filter's rows, with args as its parameters.
const selected = `($1 = '' OR state = $1) AND ($2 = '' OR lower(recipient) = lower($2)) AND strpos(lower(last_answer), lower($3)) > 0
	AND ($4::timestamptz IS NULL OR last_attempt_at >= $4) AND ($5::timestamptz IS NULL OR last_attempt_at < $5)
	AND ($6::uuid IS NULL OR uid < $6)`

func (f Filter) args(more ...any) []any {
	return append([]any{f.State, f.To, f.Answer, database.Null(f.Since), database.Null(f.Until), database.Null(f.After)}, more...)
}

const mailColumns = `uid, created_at, template, reference, recipient AS to, locale, message_id, state, attempts,
	last_attempt_at, last_answer, next_attempt_at, finished_at`

// List returns the newest mails first.
func (m *Mailer) List(ctx context.Context, f Filter) ([]Mail, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	return database.All[Mail](ctx, m.db.Pool, "list mails", `
		SELECT `+mailColumns+`
		FROM mails
		WHERE `+selected+`
		ORDER BY uid DESC
		LIMIT $7`, f.args(f.Limit)...)
}

// Retry makes a queued mail due now and queues a failed one again.
// Errors: ErrNotFound; ErrFinished when the mail was sent or cancelled; ErrNoSecret when a failed mail had a link, which was erased;
// ErrErased after Erase or Cancel.
func (m *Mailer) Retry(ctx context.Context, uid id.Mail) error {
	return m.db.InTx(ctx, func(tx database.Tx) error {
		mail, err := database.One[struct {
			State            string
			HasSecret, Empty bool
		}](ctx, tx, "lock mail", ErrNotFound,
			`SELECT state, has_secret, data = '{}' AS empty FROM mails WHERE uid = $1 FOR UPDATE`, uid)
		switch {
		case err != nil:
			return err
		case mail.State == Failed && mail.HasSecret:
			return ErrNoSecret
		case mail.State == Failed && mail.Empty: // every template needs data
			return ErrErased
		case mail.State != Queued && mail.State != Failed:
			return ErrFinished
		}
		_, err = database.Exec(ctx, tx, "retry mail", `
			UPDATE mails
			SET state = 'queued', next_attempt_at = clock_timestamp(), finished_at = NULL, give_up_at = greatest(give_up_at, $2)
			WHERE uid = $1`, uid, m.now().Add(m.options.GiveUpAfter))
		if err != nil {
			return err
		}
		// Not Unique: a job of this mail that waits for a later attempt would replace this job. The later job finds nothing to do.
		return m.runner.Enqueue(ctx, tx, sendJob{uid.String()}, jobs.On(queueName))
	})
}

// Retried counts the mails of RetryAll.
type Retried struct {
	Due  int64 // that are due now
	Left int64 // failed ones that are not sent again: their link was erased when they failed, or what they were about has ended
}

// RetryAll does what Retry does for each mail of a filter whose last attempt failed. After and Limit of the filter do not matter.
func (m *Mailer) RetryAll(ctx context.Context, f Filter) (done Retried, err error) {
	f.After, f.Limit = id.Mail{}, 0
	began := m.now()
	if f.Until.IsZero() || f.Until.After(began) {
		f.Until = began.Add(time.Microsecond) // not those that fail again meanwhile
	}
	for {
		var uids []string
		err := m.db.InTx(ctx, func(tx database.Tx) (err error) {
			// A mail that this call made due is not failed, and due now; those that are being sent are left alone.
			uids, err = database.Scalars[string](ctx, tx, "retry mails", `
				UPDATE mails
				SET state = 'queued', next_attempt_at = clock_timestamp(), finished_at = NULL, give_up_at = greatest(give_up_at, $7)
				WHERE uid IN (
					SELECT uid FROM mails
					WHERE `+selected+` AND (state = 'failed' AND NOT has_secret AND data <> '{}'
						OR state = 'queued' AND attempts > 0 AND busy_until IS NULL AND next_attempt_at > clock_timestamp())
					ORDER BY uid LIMIT $8 FOR UPDATE SKIP LOCKED)
				RETURNING uid::text`, f.args(began.Add(m.options.GiveUpAfter), batchSize)...)
			if err != nil {
				return err
			}
			return m.runner.EnqueueAll(ctx, tx, sendJobs(uids), jobs.On(queueName)) // not Unique: as in Retry
		})
		done.Due += int64(len(uids))
		if err != nil {
			return done, err
		}
		if len(uids) < batchSize {
			break
		}
	}
	done.Left, err = database.Scalar[int64](ctx, m.db.Pool, "count mails that are not retried", nil, `
		SELECT count(*) FROM mails WHERE `+selected+` AND state = 'failed' AND (has_secret OR data = '{}')`, f.args()...)
	return done, err
}

// Resume enqueues a job for each mail whose lease has run out, because its server was killed while it sent the mail. The job that
// was interrupted moves to another server only minutes later. It then finds nothing to do.
func (m *Mailer) Resume(ctx context.Context) error {
	return m.db.InTx(ctx, func(tx database.Tx) error {
		uids, err := database.Scalars[string](ctx, tx, "list interrupted mails", `
			UPDATE mails SET busy_until = NULL
			WHERE ctid = ANY (ARRAY (
				SELECT ctid FROM mails WHERE state = 'queued' AND busy_until < clock_timestamp()
				ORDER BY next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED))
			RETURNING uid::text`, batchSize)
		if err != nil {
			return err
		}
		// Not Unique: the interrupted job, which still counts as running, would replace this one.
		return m.runner.EnqueueAll(ctx, tx, sendJobs(uids), jobs.On(queueName))
	})
}

// Requeue enqueues a job for each mail that is overdue, because its job may be lost.
func (m *Mailer) Requeue(ctx context.Context) error {
	return m.db.InTx(ctx, func(tx database.Tx) error {
		uids, err := database.Scalars[string](ctx, tx, "list overdue mails", `
			SELECT uid::text FROM mails
			WHERE state = 'queued' AND next_attempt_at < clock_timestamp() - $1::interval
			  AND (busy_until IS NULL OR busy_until < clock_timestamp())
			ORDER BY next_attempt_at LIMIT $2`, requeueAfter, batchSize)
		if err != nil {
			return err
		}
		return m.runner.EnqueueAll(ctx, tx, sendJobs(uids), jobs.On(queueName), jobs.Unique())
	})
}

func sendJobs(uids []string) []river.JobArgs {
	list := make([]river.JobArgs, len(uids))
	for i, uid := range uids {
		list[i] = sendJob{uid}
	}
	return list
}

// Clean deletes the rows of mails finished longer than Options.Retention ago.
func (m *Mailer) Clean(ctx context.Context) error {
	for {
		n, err := database.Exec(ctx, m.db.Pool, "delete old mails", `
			DELETE FROM mails WHERE ctid = ANY (ARRAY (
				SELECT ctid FROM mails WHERE state <> 'queued' AND finished_at < $1 ORDER BY finished_at LIMIT $2))`,
			m.now().Add(-m.options.Retention), batchSize)
		if err != nil || n < batchSize {
			return err
		}
	}
}

// DeleteOf deletes the rows of mails about transfers of organizations that finished before a time of each, a batch at most, and returns how
// many it has deleted. Those that are still to be sent stay.
func (m *Mailer) DeleteOf(ctx context.Context, q database.Querier, of []id.Organization, before []time.Time) (int, error) {
	return database.Exec(ctx, q, "delete mails of organizations", `
		DELETE FROM mails WHERE ctid = ANY (ARRAY (
			SELECT x.ctid FROM unnest($1::uuid[], $2::timestamptz[]) AS o (organization, before) CROSS JOIN LATERAL (
				SELECT m.ctid FROM mails m
				WHERE m.organization = o.organization AND m.state <> 'queued' AND m.finished_at < o.before
				ORDER BY m.finished_at LIMIT $3) x
			LIMIT $3))`, of, before, batchSize)
}
