package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/webhook"
)

// NewWebhook is the input of InsertWebhook.
type NewWebhook struct {
	webhook.Webhook
	Creator id.Person
	Host    string
	Secret  []byte // sealed; of an export target its password
}

// InsertWebhook stores a webhook.
func (s *Store) InsertWebhook(ctx context.Context, w NewWebhook) error {
	_, err := database.Exec(ctx, s.q, "store webhook", `
		INSERT INTO webhook.webhooks (uid, person, organization, creator, kind, url, host, events, secret, active, created_at, username)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, nullif($12, ''))`,
		w.UID, database.Null(w.Person), database.Null(w.Organization), w.Creator, w.Kind, w.URL, w.Host, w.Events, w.Secret, w.Active,
		w.CreatedAt, w.Username)
	return err
}

const webhookColumns = `uid, person, organization, kind, url, coalesce(username, '') AS username, events, previous_until, active, coalesce(disabled_reason, '') AS disabled_reason,
		created_at, failing_since`

// webhooksOf returns the condition for the webhooks of an organization, or of a person when it is zero, and its argument $1.
func webhooksOf(p id.Person, o id.Organization) (condition string, owner any) {
	if o.IsZero() {
		return "person = $1", p
	}
	return "organization = $1", o
}

// CountWebhooks returns how many webhooks a person has, or an organization unless it is zero. Call it with the one that counts locked.
func (s *Store) CountWebhooks(ctx context.Context, p id.Person, o id.Organization) (int, error) {
	condition, owner := webhooksOf(p, o)
	return database.Scalar[int](ctx, s.q, "count webhooks", nil, `SELECT count(*) FROM webhook.webhooks WHERE `+condition, owner)
}

// Webhooks returns the webhooks of a person, or of an organization unless it is zero, newest first.
func (s *Store) Webhooks(ctx context.Context, p id.Person, o id.Organization) ([]webhook.Webhook, error) {
	condition, owner := webhooksOf(p, o)
	return database.All[webhook.Webhook](ctx, s.q, "list webhooks",
		`SELECT `+webhookColumns+` FROM webhook.webhooks WHERE `+condition+` ORDER BY created_at DESC, uid DESC`, owner)
}

// Webhook returns a webhook.
// Errors: webhook.ErrNotFound.
func (s *Store) Webhook(ctx context.Context, uid id.Webhook) (webhook.Webhook, error) {
	return database.One[webhook.Webhook](ctx, s.q, "find webhook", webhook.ErrNotFound,
		`SELECT `+webhookColumns+` FROM webhook.webhooks WHERE uid = $1`, uid)
}

// ChangeWebhook stores address, events and activity of a webhook, and the sealed password of an export target unless it is nil. Activation
// forgets failures.
// Errors: webhook.ErrNotFound.
func (s *Store) ChangeWebhook(ctx context.Context, w webhook.Webhook, host string, password []byte) (webhook.Webhook, error) {
	return database.One[webhook.Webhook](ctx, s.q, "change webhook", webhook.ErrNotFound, `
		UPDATE webhook.webhooks SET url = $2, host = $3, events = $4, active = $5, username = nullif($6, ''), secret = coalesce($7, secret),
		       disabled_reason = CASE WHEN $5 THEN NULL ELSE disabled_reason END,
		       failing_since = CASE WHEN $5 AND NOT active OR url <> $2 THEN NULL ELSE failing_since END
		WHERE uid = $1 RETURNING `+webhookColumns, w.UID, w.URL, host, w.Events, w.Active, w.Username, password)
}

// RotateWebhook replaces the secret of a webhook. The former one signs too until a time.
// Errors: webhook.ErrNotFound.
func (s *Store) RotateWebhook(ctx context.Context, uid id.Webhook, secret []byte, until time.Time) (webhook.Webhook, error) {
	return database.One[webhook.Webhook](ctx, s.q, "rotate secret of webhook", webhook.ErrNotFound, `
		UPDATE webhook.webhooks SET previous_secret = secret, previous_until = $3, secret = $2
		WHERE uid = $1 RETURNING `+webhookColumns, uid, secret, until)
}

// DeleteWebhook deletes a webhook and its deliveries.
// Errors: webhook.ErrNotFound.
func (s *Store) DeleteWebhook(ctx context.Context, uid id.Webhook) error {
	return database.Changed(ctx, s.q, "delete webhook", webhook.ErrNotFound, `
		WITH gone AS (DELETE FROM webhook.deliveries WHERE webhook = $1)
		DELETE FROM webhook.webhooks WHERE uid = $1`, uid)
}

// DeleteOfPerson deletes the webhooks of a person, in the transaction of the deletion.
func (s *Store) DeleteOfPerson(ctx context.Context, tx database.Tx, p id.Person) error {
	_, err := database.Exec(ctx, tx, "delete webhooks of person", `DELETE FROM webhook.webhooks WHERE person = $1`, p)
	return err
}

// DisableWebhook makes an active webhook inactive, and its pending deliveries dead. done is false when it was inactive already.
func (s *Store) DisableWebhook(ctx context.Context, uid id.Webhook, reason string) (done bool, err error) {
	n, err := database.Exec(ctx, s.q, "disable webhook", `
		WITH disabled AS (
			UPDATE webhook.webhooks SET active = false, disabled_reason = $2 WHERE uid = $1 AND active RETURNING uid
		), dead AS (
			UPDATE webhook.deliveries d SET state = 'dead', reason = coalesce(reason, $3) FROM disabled w WHERE d.webhook = w.uid
				AND d.state = 'pending'
		)
		SELECT uid FROM disabled`, uid, reason, webhook.ReasonDisabled)
	return n > 0, err
}

// PauseTargets makes the export targets inactive that a person has or has made, in the transaction of the change that is the reason.
// With an organization, only the targets of that one. It returns their hosts.
func (s *Store) PauseTargets(ctx context.Context, tx database.Tx, p id.Person, o id.Organization,
	reason string) (hosts []string, err error) {
	return database.Scalars[string](ctx, tx, "pause export targets", `
		WITH paused AS (
			UPDATE webhook.webhooks SET active = false, disabled_reason = $2
			WHERE (person = $1 AND $4::uuid IS NULL OR creator = $1 AND ($4 IS NULL OR organization = $4)) AND kind <> 'url' AND active
				RETURNING uid, host
		), dead AS (
			UPDATE webhook.deliveries d SET state = 'dead', reason = coalesce(reason, $3) FROM paused w WHERE d.webhook = w.uid
				AND d.state = 'pending'
		)
		SELECT host FROM paused ORDER BY host`, p, reason, webhook.ReasonDisabled, database.Null(o))
}

// PauseOfPerson makes the webhooks and export targets of a person inactive, in the transaction of the change that is the reason.
func (s *Store) PauseOfPerson(ctx context.Context, tx database.Tx, p id.Person, reason string) error {
	_, err := database.Exec(ctx, tx, "pause webhooks of person", `
		WITH paused AS (
			UPDATE webhook.webhooks SET active = false, disabled_reason = $2 WHERE person = $1 AND active RETURNING uid
		)
		UPDATE webhook.deliveries d SET state = 'dead', reason = coalesce(reason, $3) FROM paused w WHERE d.webhook = w.uid
			AND d.state = 'pending'`, p, reason, webhook.ReasonDisabled)
	return err
}

// PauseTarget makes an export target inactive, if it is active, in the transaction of the change that is the reason.
func (s *Store) PauseTarget(ctx context.Context, tx database.Tx, target id.Webhook, reason string) error {
	_, err := (&Store{q: tx}).DisableWebhook(ctx, target, reason)
	return err
}

// Keeper is who is mailed about a webhook.
type Keeper struct {
	Person                              id.Person
	Email, Name, Locale, TimeZone, Host string
}

// WebhookKeeper returns the maker of a webhook, or another administrator of its organization. It is zero when there is nobody.
func (s *Store) WebhookKeeper(ctx context.Context, uid id.Webhook) (Keeper, error) {
	return database.One[Keeper](ctx, s.q, "find keeper of webhook", nil, `
		SELECT p.person, p.email, coalesce(p.name, '') AS name, p.locale, p.time_zone, p.host
		FROM webhook.webhooks w JOIN directory.persons p
		  ON p.person = w.person OR p.organization = w.organization AND 'Organization.Admin' = ANY (p.roles)
		WHERE w.uid = $1 AND p.email IS NOT NULL ORDER BY (p.person = w.creator) IS TRUE DESC, p.person LIMIT 1`, uid)
}

// SealedWebhook holds the sealed secrets of a webhook.
type SealedWebhook struct {
	UID            id.Webhook
	Secret         []byte
	PreviousSecret []byte
}

// SealedWebhooks returns up to limit webhooks with their secrets, after one, in the order of their uids.
func (s *Store) SealedWebhooks(ctx context.Context, after id.Webhook, limit int) ([]SealedWebhook, error) {
	return database.All[SealedWebhook](ctx, s.q, "list secrets of webhooks",
		`SELECT uid, secret, previous_secret FROM webhook.webhooks WHERE uid > $1 ORDER BY uid LIMIT $2`, after, limit)
}

// ReplaceSealedWebhook stores the secrets of a webhook, unless they were changed since they were read.
func (s *Store) ReplaceSealedWebhook(ctx context.Context, read, sealed SealedWebhook) error {
	_, err := database.Exec(ctx, s.q, "reseal secrets of webhook",
		`UPDATE webhook.webhooks SET secret = $3, previous_secret = $4 WHERE uid = $1 AND secret = $2`, read.UID, read.Secret, sealed.Secret,
		sealed.PreviousSecret)
	return err
}
