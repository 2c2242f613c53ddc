// SQL of requests and their items.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request"
)

// requestColumns are a request.Request.
const requestColumns = `q.uid, q.owner, q.title, coalesce(q.message, '') AS message, q.due, q.time_zone, q.late, q.locale, q.fields_schema,
	q.ui_schema, q.template, q.public_key_hash IS NOT NULL AS public, q.reminders, q.state, q.version, q.created_at, q.closed_at,
	q.completed_at`

// LockOwner takes the advisory lock of a person's requests, and returns how many are open or templates, counted up to most.
func (s *Store) LockOwner(ctx context.Context, owner id.Person, most int) (int, error) {
	const operation = "count requests"
	return countLocked(ctx, s.q, operation, "transfer.requests "+owner.String(), `
		SELECT count(*) AS n FROM (SELECT FROM transfer.requests WHERE owner = $1 AND state = 'open' LIMIT $2) x`, owner, most)
}

func countLocked(ctx context.Context, q database.Querier, operation, key, sql string, args ...any) (int, error) {
	type counted struct{ N int }
	c, err := database.OneLocked[counted](ctx, q, operation, nil,
		database.Statement{SQL: `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, Args: []any{key}}, sql, args...)
	return c.N, err
}

// InsertRequest stores a request without items. keyHash is that of the public link; nil: there is none.
func (s *Store) InsertRequest(ctx context.Context, r request.Request, keyHash []byte) error {
	_, err := database.Exec(ctx, s.q, "store request", `
		INSERT INTO transfer.requests (uid, owner, title, message, due, time_zone, late, locale, fields_schema, ui_schema, template,
			public_key_hash, reminders, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)`,
		r.UID, r.Owner, r.Title, database.Null(r.Message), r.Due, r.TimeZone, r.Late, r.Locale, document(r.FieldsSchema), document(r.UISchema),
		r.Template, keyHash, r.Reminders, r.CreatedAt)
	return err
}

// UpdateRequest stores the members of a locked request that its owner may change, and raises its version.
func (s *Store) UpdateRequest(ctx context.Context, r request.Request, keyHash []byte, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "update request", `
		UPDATE transfer.requests SET title = $2, message = $3, due = $4, time_zone = $5, late = $6, locale = $7, fields_schema = $8,
			ui_schema = $9, public_key_hash = $10, reminders = $11, state = $12, closed_at = $13, updated_at = $14, version = version + 1,
			overdue_at = CASE WHEN due IS NOT DISTINCT FROM $4 THEN overdue_at END
		WHERE uid = $1`,
		r.UID, r.Title, database.Null(r.Message), r.Due, r.TimeZone, r.Late, r.Locale, document(r.FieldsSchema), document(r.UISchema),
		keyHash, r.Reminders, r.State, r.ClosedAt, now)
	return err
}

// DeleteRequest deletes a request with its items and parties. What parties have not handed in ends: the job that expires reservations
// deletes it. What they have handed in stays with the owner.
func (s *Store) DeleteRequest(ctx context.Context, uid id.Request) error {
	_, err := database.Exec(ctx, s.q, "delete request", `DELETE FROM transfer.requests WHERE uid = $1`, uid)
	return err
}

// EndReservations ends the open reservations of a request. It is no part of the transaction that deletes the request: confirm locks
// reservations before requests.
func (s *Store) EndReservations(ctx context.Context, uid id.Request) error {
	_, err := database.Exec(ctx, s.q, "end reservations", `
		UPDATE transfer.reservations SET expires_at = created_at WHERE uid IN (
			SELECT uid FROM transfer.reservations WHERE request = $1 AND state = 'open' ORDER BY uid FOR NO KEY UPDATE)`, uid)
	return err
}

// ProlongReservations sets when the open reservations of a request, or of one party, end.
func (s *Store) ProlongReservations(ctx context.Context, uid id.Request, party id.Party, expires time.Time) error {
	_, err := database.Exec(ctx, s.q, "prolong reservations", `
		WITH changed AS (
			UPDATE transfer.reservations SET expires_at = $3 WHERE uid IN (
				SELECT uid FROM transfer.reservations WHERE request = $1 AND ($2::uuid IS NULL OR party = $2) AND state = 'open'
					AND expires_at <> $3 AND expires_at > created_at ORDER BY uid FOR NO KEY UPDATE)
			RETURNING uid
		)
		UPDATE transfer.stranger_reservations s SET expires_at = $3 FROM changed c WHERE s.reservation = c.uid`,
		uid, database.Null(party), expires)
	return err
}

// DeletePersonRequests deletes up to limit requests of a person, and returns their number.
func (s *Store) DeletePersonRequests(ctx context.Context, p id.Person, limit int) (int, error) {
	return database.Exec(ctx, s.q, "delete requests of person", `
		DELETE FROM transfer.requests WHERE uid IN (SELECT uid FROM transfer.requests WHERE owner = $1 LIMIT $2)`, p, limit)
}

// Request returns a request of an owner.
// Errors: transfer.ErrNotFound.
func (s *Store) Request(ctx context.Context, owner id.Person, uid id.Request) (request.Request, error) {
	return database.One[request.Request](ctx, s.q, "find request", transfer.ErrNotFound,
		`SELECT `+requestColumns+` FROM transfer.requests q WHERE q.uid = $1 AND q.owner = $2`, uid, owner)
}

// LockRequest is Request with a row lock. It is the first lock of each change by the owner.
// Errors: transfer.ErrNotFound.
func (s *Store) LockRequest(ctx context.Context, owner id.Person, uid id.Request) (request.Request, error) {
	return database.One[request.Request](ctx, s.q, "lock request", transfer.ErrNotFound,
		`SELECT `+requestColumns+` FROM transfer.requests q WHERE q.uid = $1 AND q.owner = $2 FOR NO KEY UPDATE`, uid, owner)
}

// ShareRequest locks a request against changes by its owner.
// Errors: transfer.ErrNotFound.
func (s *Store) ShareRequest(ctx context.Context, uid id.Request) (request.Request, error) {
	return database.One[request.Request](ctx, s.q, "lock request", transfer.ErrNotFound,
		`SELECT `+requestColumns+` FROM transfer.requests q WHERE q.uid = $1 FOR SHARE`, uid)
}

// RequestByKey returns the request of a public link.
// Errors: transfer.ErrNotFound.
func (s *Store) RequestByKey(ctx context.Context, keyHash []byte) (request.Request, error) {
	return database.One[request.Request](ctx, s.q, "find request", transfer.ErrNotFound,
		`SELECT `+requestColumns+` FROM transfer.requests q WHERE q.public_key_hash = $1 AND NOT q.template`, keyHash)
}

// AnyRequest returns a request.
// Errors: transfer.ErrNotFound.
func (s *Store) AnyRequest(ctx context.Context, uid id.Request) (request.Request, error) {
	return database.One[request.Request](ctx, s.q, "find request", transfer.ErrNotFound,
		`SELECT `+requestColumns+` FROM transfer.requests q WHERE q.uid = $1`, uid)
}

// List is which requests of an owner a list shows: those after a position, newest first.
type List struct {
	Owner    id.Person
	State    request.State
	Template bool
	Before   time.Time // zero: from the newest
	BeforeID id.Request
	Limit    int
}

// Requests lists requests with figures of their parties. Its cost depends on the requests of the page only.
func (s *Store) Requests(ctx context.Context, l List) ([]request.Summary, error) {
	return database.All[request.Summary](ctx, s.q, "list requests", `
		WITH page AS MATERIALIZED (
			SELECT * FROM transfer.requests q WHERE q.owner = $1 AND q.state = $2 AND q.template = $3
				AND ($4::timestamptz IS NULL OR (q.created_at, q.uid) < ($4, $5))
			ORDER BY q.created_at DESC, q.uid DESC LIMIT $6
		)
		SELECT `+requestColumns+`, p.*, (SELECT count(*) FROM transfer.request_items i WHERE i.request = q.uid) AS items
		FROM page q CROSS JOIN LATERAL (
			SELECT count(*) AS parties, count(*) FILTER (WHERE p.opened_at IS NULL) AS unopened,
				count(*) FILTER (WHERE p.completed_at IS NOT NULL) AS complete,
				count(*) FILTER (WHERE p.handed_in_at IS NOT NULL AND p.completed_at IS NULL) AS handed_in,
				coalesce(sum((SELECT count(*) FROM transfer.party_items x WHERE x.party = p.uid AND x.state = 'uploaded')), 0)::bigint AS waiting
			FROM transfer.request_parties p WHERE p.request = q.uid AND (NOT p.joined OR p.opened_at IS NOT NULL)
		) p
		ORDER BY q.created_at DESC, q.uid DESC`,
		l.Owner, l.State, l.Template, database.Null(l.Before), database.Null(l.BeforeID), l.Limit)
}

// Items returns the items of a request, in order.
func (s *Store) Items(ctx context.Context, uid id.Request) ([]request.Item, error) {
	return database.All[request.Item](ctx, s.q, "list items", `
		SELECT uid, name, coalesce(hint, '') AS hint, mime_types, required, max_files, max_file_size_mb, coalesce(example, '') AS example
		FROM transfer.request_items WHERE request = $1 ORDER BY position`, uid)
}

// PutItems stores the items of a locked request: those with a known uid change, others are added, and those that are missing are deleted.
// Errors: transfer.ErrItemUsed when files were handed in for a missing one.
func (s *Store) PutItems(ctx context.Context, uid id.Request, items []request.Item) error {
	uids := column(items, func(i request.Item) id.Item { return i.UID })
	used, err := database.Scalar[bool](ctx, s.q, "look for handed in items", nil, `
		SELECT EXISTS (SELECT FROM transfer.party_items x JOIN transfer.request_items i ON i.uid = x.item
			WHERE i.request = $1 AND i.uid <> ALL ($2::uuid[]))`, uid, uids)
	if err != nil {
		return err
	}
	if used {
		return transfer.ErrItemUsed
	}
	if _, err := database.Exec(ctx, s.q, "delete items",
		`DELETE FROM transfer.request_items WHERE request = $1 AND uid <> ALL ($2::uuid[])`, uid, uids); err != nil {
		return err
	}
	_, err = database.Exec(ctx, s.q, "store items", `
		INSERT INTO transfer.request_items AS t (uid, request, position, name, hint, mime_types, required, max_files, max_file_size_mb, example)
		SELECT n.uid, $1, n.nr, n.name, nullif(n.hint, ''), ARRAY(SELECT json_array_elements_text(n.types)), n.required, n.files, n.mb,
			nullif(n.example, '')
		FROM unnest($2::uuid[], $3::text[], $4::text[], $5::json[], $6::boolean[], $7::integer[], $8::bigint[], $9::text[])
			WITH ORDINALITY AS n (uid, name, hint, types, required, files, mb, example, nr)
		ON CONFLICT ON CONSTRAINT request_items_pkey DO UPDATE SET position = excluded.position, name = excluded.name, hint = excluded.hint,
			mime_types = excluded.mime_types, required = excluded.required, max_files = excluded.max_files,
			max_file_size_mb = excluded.max_file_size_mb, example = excluded.example
		WHERE t.request = $1`, uid, uids,
		column(items, func(i request.Item) string { return i.Name }),
		column(items, func(i request.Item) string { return i.Hint }),
		column(items, func(i request.Item) any { return append([]string{}, i.MIMETypes...) }),
		column(items, func(i request.Item) bool { return i.Required }),
		column(items, func(i request.Item) int32 { return i.MaxFiles }),
		column(items, func(i request.Item) int64 { return i.MaxFileSizeMB }),
		column(items, func(i request.Item) string { return i.Example }))
	return err
}

// CompleteRequest marks a locked request as complete when all its parties are, and reports whether it did.
func (s *Store) CompleteRequest(ctx context.Context, uid id.Request, now time.Time) (bool, error) {
	n, err := database.Exec(ctx, s.q, "complete request", `
		UPDATE transfer.requests SET completed_at = $2 WHERE uid = $1 AND completed_at IS NULL
			AND NOT EXISTS (SELECT FROM transfer.request_parties WHERE request = $1 AND completed_at IS NULL
				AND (NOT joined OR opened_at IS NOT NULL))`, uid, now)
	return n == 1, err
}

// ReopenRequest notes that a locked request is not complete.
func (s *Store) ReopenRequest(ctx context.Context, uid id.Request) error {
	_, err := database.Exec(ctx, s.q, "reopen request", `UPDATE transfer.requests SET completed_at = NULL WHERE uid = $1`, uid)
	return err
}

// TakeOverdue marks up to limit open requests whose due time has passed while a party has required items that were not handed in, each
// once, and returns them.
func (s *Store) TakeOverdue(ctx context.Context, now time.Time, limit int) ([]request.Request, error) {
	return database.All[request.Request](ctx, s.q, "take overdue requests", `
		WITH due AS (
			SELECT uid FROM transfer.requests q WHERE due <= $1 AND due > $1 - interval '7 days' AND NOT template AND state = 'open'
				AND overdue_at IS NULL
				AND EXISTS (SELECT FROM transfer.request_parties p JOIN transfer.request_items i ON i.request = p.request AND i.required
					LEFT JOIN transfer.party_items x ON x.party = p.uid AND x.item = i.uid
					WHERE p.request = q.uid AND coalesce(x.state, 'returned') = 'returned' AND (NOT p.joined OR p.opened_at IS NOT NULL))
			ORDER BY due LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
		)
		UPDATE transfer.requests q SET overdue_at = $1 FROM due WHERE q.uid = due.uid RETURNING `+requestColumns, now, limit)
}
