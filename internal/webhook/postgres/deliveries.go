// SQL of the queue of webhook deliveries. A replica claims some; a trigger in migrations fills the queue.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/webhook"
)

// Channel is the LISTEN/NOTIFY channel that says that deliveries were queued. The trigger of the events notifies it, too.
const Channel = "webhooks"

const deliveryColumns = `uid, event, kind, subject, state, attempts, created_at, next_attempt_at, last_attempt_at, status, duration_ms, answer, reason`

// WebhookDeliveries returns the latest deliveries of a webhook, newest first. An empty state does not restrict.
func (s *Store) WebhookDeliveries(ctx context.Context, w id.Webhook, state string, limit int) ([]webhook.Delivery, error) {
	return database.All[webhook.Delivery](ctx, s.q, "list deliveries of webhook", `
		SELECT `+deliveryColumns+` FROM webhook.deliveries
		WHERE webhook = $1 AND ($2 = '' OR state = $2) ORDER BY seq DESC LIMIT $3`, w, state, limit)
}

// QueuePing queues a test of a webhook. It locks the webhook: parallel tests would count what the others have not stored yet.
// Errors: webhook.ErrPingsWaiting.
func (s *Store) QueuePing(ctx context.Context, w webhook.Webhook, receiver id.Person, now time.Time) (webhook.Delivery, error) {
	lock := database.Statement{SQL: `SELECT FROM webhook.webhooks WHERE uid = $1 FOR NO KEY UPDATE`, Args: []any{w.UID}}
	return database.OneLocked[webhook.Delivery](ctx, s.q, "queue test of webhook", webhook.ErrPingsWaiting, lock, `
		WITH stored AS (
			INSERT INTO webhook.deliveries (webhook, event, kind, subject, receivers, created_at, next_attempt_at)
			SELECT $1::uuid, $2::uuid, $3, $1::uuid::text, ARRAY[$4::uuid], $5, $5
			WHERE (SELECT count(*) FROM webhook.deliveries WHERE webhook = $1 AND kind = $3 AND state = 'pending') < $7
			RETURNING `+deliveryColumns+`
		), woken AS (SELECT pg_notify($6, ''))
		SELECT stored.* FROM stored, woken`, w.UID, id.New[id.Event](), webhook.Ping, receiver, now, Channel, webhook.MaxPendingPings)
}

// RequeueDelivery queues a delivery again, whatever its state. One that is being sent is not sent twice at the same time.
// Errors: webhook.ErrDeliveryNotFound.
func (s *Store) RequeueDelivery(ctx context.Context, w id.Webhook, uid id.Message, now time.Time) (webhook.Delivery, error) {
	return database.One[webhook.Delivery](ctx, s.q, "queue delivery again", webhook.ErrDeliveryNotFound, `
		WITH queued AS (
			UPDATE webhook.deliveries SET state = 'pending', attempts = CASE WHEN state = 'pending' THEN attempts ELSE 0 END, reason = NULL,
			       next_attempt_at = CASE WHEN state = 'pending' AND last_attempt_at > $3::timestamptz - interval '15 seconds'
				THEN next_attempt_at ELSE $3 END
			WHERE webhook = $1 AND uid = $2
			RETURNING `+deliveryColumns+`
		), woken AS (SELECT pg_notify($4, ''))
		SELECT queued.* FROM queued, woken`, w, uid, now, Channel)
}

// DeliveryLoad is what a replica is sending, and how much it may.
type DeliveryLoad struct {
	Targets    bool // of export targets; else of the other webhooks
	Webhooks   []id.Webhook
	OfWebhook  []int // deliveries under way, for each of Webhooks
	Hosts      []string
	OfHost     []int
	PerWebhook int // a failing webhook has one
	PerHost    int
	Free       int // places
	FreeSlow   int // of them for failing webhooks
}

// DueDelivery is a claimed delivery.
type DueDelivery struct {
	webhook.Delivery
	Receivers      []id.Person
	Webhook        id.Webhook
	Receiver       string // kind of the webhook
	URL            string
	Host           string
	Secret         []byte
	PreviousSecret []byte // nil: none that signs
	Username       string // of an export target
	OfOrganization bool
	FailingSince   *time.Time
}

// ClaimDeliveries leases due deliveries to this replica, within its load. Of several replicas each gets others. A webhook with many
// deliveries gets its share only, and those behind them are found at the next call, when it is busy.
func (s *Store) ClaimDeliveries(ctx context.Context, l DeliveryLoad, now, lease time.Time) ([]DueDelivery, error) {
	return database.All[DueDelivery](ctx, s.q, "claim deliveries", `
		WITH candidates AS (
			SELECT d.uid, d.next_attempt_at, d.webhook, w.host, w.failing_since IS NOT NULL AS slow,
			       CASE WHEN w.failing_since IS NULL THEN $7 ELSE 1 END - coalesce(bw.n, 0) AS of_webhook, $8 - coalesce(bh.n, 0) AS of_host
			FROM webhook.deliveries d JOIN webhook.webhooks w ON w.uid = d.webhook
			LEFT JOIN unnest($3::uuid[], $4::int[]) AS bw (webhook, n) ON bw.webhook = w.uid
			LEFT JOIN unnest($5::text[], $6::int[]) AS bh (host, n) ON bh.host = w.host
			WHERE d.state = 'pending' AND d.next_attempt_at <= $1 AND (w.active OR d.kind = $11) AND (w.kind <> 'url') = $12
			  AND coalesce(bw.n, 0) < CASE WHEN w.failing_since IS NULL THEN $7 ELSE 1 END AND coalesce(bh.n, 0) < $8
			  AND (w.failing_since IS NULL OR $10 > 0)
			ORDER BY d.next_attempt_at LIMIT 500
		), ranked AS (
			SELECT uid, next_attempt_at, slow, of_webhook, of_host,
			       row_number() OVER (PARTITION BY webhook ORDER BY next_attempt_at) AS w, row_number() OVER (PARTITION BY host
				ORDER BY next_attempt_at) AS h,
			       row_number() OVER (PARTITION BY slow ORDER BY next_attempt_at) AS s
			FROM candidates
		), chosen AS (
			SELECT d.uid FROM ranked r JOIN webhook.deliveries d ON d.uid = r.uid
			WHERE r.w <= r.of_webhook AND r.h <= r.of_host AND (NOT r.slow OR r.s <= $10) AND d.state = 'pending' AND d.next_attempt_at <= $1
			ORDER BY r.next_attempt_at LIMIT $9 FOR UPDATE OF d SKIP LOCKED
		)
		UPDATE webhook.deliveries d SET attempts = d.attempts + 1, last_attempt_at = $1, next_attempt_at = $2
		FROM chosen c, webhook.webhooks w
		WHERE d.uid = c.uid AND w.uid = d.webhook
		RETURNING d.uid, d.event, d.kind, d.subject, d.state, d.attempts, d.created_at, d.next_attempt_at, d.last_attempt_at, d.status,
			d.duration_ms,
		          d.answer, d.reason, d.receivers, w.uid AS webhook, w.kind AS receiver, w.url, w.host, w.secret,
		          CASE WHEN w.previous_until > $1 THEN w.previous_secret END AS previous_secret, w.failing_since,
		          coalesce(w.username, '') AS username, w.organization IS NOT NULL AS of_organization`,
		now, lease, l.Webhooks, l.OfWebhook, l.Hosts, l.OfHost, l.PerWebhook, l.PerHost, l.Free, l.FreeSlow, webhook.Ping, l.Targets)
}

// DeliveryOutcome is the result of an attempt.
type DeliveryOutcome struct {
	State      string
	Status     int // 0: no answer
	DurationMs int
	Answer     string
	Reason     string // empty: delivered
	Next       time.Time
	Blames     bool // a failure says that the webhook fails
}

// SettleDelivery stores the result of an attempt, unless the delivery was claimed anew since. It returns since when the webhook fails, nil
// after a success.
func (s *Store) SettleDelivery(ctx context.Context, d DueDelivery, o DeliveryOutcome, now time.Time) (failing *time.Time, err error) {
	return database.Scalar[*time.Time](ctx, s.q, "settle delivery", nil, `
		WITH settled AS (
			UPDATE webhook.deliveries SET state = $3, status = nullif($4, 0), duration_ms = $5, answer = $6, reason = nullif($7, ''),
				next_attempt_at = $8
			WHERE uid = $1 AND attempts = $2 AND state = 'pending' RETURNING webhook, kind
		), changed AS (
			UPDATE webhook.webhooks w SET failing_since = CASE WHEN $7 <> '' THEN coalesce(w.failing_since, $9) END
			FROM settled t WHERE w.uid = t.webhook AND ($10 OR $7 = '') AND (w.failing_since IS NULL) = ($7 <> '')
			RETURNING w.failing_since
		)
		SELECT coalesce((SELECT failing_since FROM changed), CASE WHEN $7 <> '' THEN (SELECT w.failing_since FROM webhook.webhooks w
			WHERE w.uid = $11) END)`,
		d.UID, d.Attempts, o.State, o.Status, o.DurationMs, o.Answer, o.Reason, o.Next, now, o.Blames, d.Webhook)
}

// RenewDelivery extends the lease of a claimed delivery. It reports false when it is no longer this replica's, or no longer pending.
func (s *Store) RenewDelivery(ctx context.Context, d DueDelivery, now, lease time.Time) (bool, error) {
	n, err := database.Exec(ctx, s.q, "renew lease of delivery", `
		UPDATE webhook.deliveries SET next_attempt_at = $4, last_attempt_at = $3
		WHERE uid = $1 AND attempts = $2 AND state = 'pending'`, d.UID, d.Attempts, now, lease)
	return n == 1, err
}

// DeleteDelivery deletes a claimed delivery.
func (s *Store) DeleteDelivery(ctx context.Context, d DueDelivery) error {
	_, err := database.Exec(ctx, s.q, "delete delivery", `DELETE FROM webhook.deliveries WHERE uid = $1 AND attempts = $2`, d.UID, d.Attempts)
	return err
}

// ReleaseDelivery makes a claimed delivery due again, as if it had not been claimed.
func (s *Store) ReleaseDelivery(ctx context.Context, d DueDelivery, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "release delivery", `
		UPDATE webhook.deliveries SET attempts = attempts - 1, next_attempt_at = $3
		WHERE uid = $1 AND attempts = $2 AND state = 'pending'`, d.UID, d.Attempts, now)
	return err
}

// BoundDeliveries makes the oldest pending deliveries of each webhook dead, beyond most, and those of inactive webhooks.
func (s *Store) BoundDeliveries(ctx context.Context, most int) error {
	_, err := database.Exec(ctx, s.q, "bound pending deliveries", `
		WITH ranked AS (
			SELECT d.uid, w.active, row_number() OVER (PARTITION BY d.webhook ORDER BY d.seq DESC) AS n
			FROM webhook.deliveries d JOIN webhook.webhooks w ON w.uid = d.webhook WHERE d.state = 'pending' AND d.kind <> $4
		)
		UPDATE webhook.deliveries d SET state = 'dead', reason = CASE WHEN r.active THEN $2 ELSE $3 END
		FROM ranked r WHERE d.uid = r.uid AND d.state = 'pending' AND (r.n > $1 OR NOT r.active)`,
		most, webhook.ReasonTooMany, webhook.ReasonDisabled, webhook.Ping)
	return err
}

// CleanDeliveries deletes delivered and dead deliveries of each webhook but the latest, and those of deleted webhooks.
func (s *Store) CleanDeliveries(ctx context.Context, kept int) error {
	_, err := database.Exec(ctx, s.q, "delete old deliveries", `
		WITH ranked AS (
			SELECT d.uid, w.uid IS NULL AS gone, row_number() OVER (PARTITION BY d.webhook, d.state ORDER BY d.seq DESC) AS n, d.state
			FROM webhook.deliveries d LEFT JOIN webhook.webhooks w ON w.uid = d.webhook
		)
		DELETE FROM webhook.deliveries d USING ranked r
		WHERE d.uid = r.uid AND (r.gone OR r.n > $1 AND r.state <> 'pending' AND d.state = r.state)`, kept)
	return err
}

// WaitingDeliveries describes the queue of the installation.
type WaitingDeliveries struct {
	Pending   int64
	OldestDue time.Duration // time since the oldest due one became due; 0 when none is due
}

// WaitingDeliveries returns the state of the queue.
func (s *Store) WaitingDeliveries(ctx context.Context, now time.Time) (WaitingDeliveries, error) {
	return database.One[WaitingDeliveries](ctx, s.q, "count waiting deliveries", nil, `
		SELECT count(*) AS pending, greatest(coalesce($1 - min(next_attempt_at), '0'), '0') AS oldest_due
		FROM webhook.deliveries WHERE state = 'pending'`, now)
}
