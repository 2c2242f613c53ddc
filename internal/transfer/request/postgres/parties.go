// SQL of parties, of their items, and of what they have uploaded.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request"
)

// partyColumns are a request.Party.
const partyColumns = `p.uid, p.request, p.email, coalesce(p.name, '') AS name, p.locale, p.time_zone, p.joined, p.key_version, p.key_hash,
	p.opened_at, p.handed_in_at, p.late, p.completed_at, p.reminders, p.remind_at, p.reminded_at, p.notify_at, p.version, p.created_at`

// shown leaves out who has asked for a link at the public one and not opened it.
const shown = `(NOT p.joined OR p.opened_at IS NOT NULL)`

// InsertParties adds parties to a locked request, and returns the uids of those that are new: an address is asked once.
func (s *Store) InsertParties(ctx context.Context, list []request.Party) ([]id.Party, error) {
	return database.Scalars[id.Party](ctx, s.q, "store parties", `
		INSERT INTO transfer.request_parties (uid, request, email, name, locale, time_zone, joined, key_hash, remind_at, created_at)
		SELECT n.uid, n.request, n.email, nullif(n.name, ''), n.locale, n.zone, n.joined, n.hash, n.remind, n.created
		FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::bytea[], $9::timestamptz[],
			$10::timestamptz[]) WITH ORDINALITY AS n (uid, request, email, name, locale, zone, joined, hash, remind, created, nr)
		ORDER BY n.nr
		ON CONFLICT ON CONSTRAINT request_parties_email_key DO NOTHING RETURNING uid`,
		column(list, func(p request.Party) id.Party { return p.UID }),
		column(list, func(p request.Party) id.Request { return p.Request }),
		column(list, func(p request.Party) string { return p.Email }),
		column(list, func(p request.Party) string { return p.Name }),
		column(list, func(p request.Party) string { return p.Locale }),
		column(list, func(p request.Party) string { return p.TimeZone }),
		column(list, func(p request.Party) bool { return p.Joined }),
		column(list, func(p request.Party) []byte { return p.KeyHash }),
		column(list, func(p request.Party) *time.Time { return p.RemindAt }),
		column(list, func(p request.Party) time.Time { return p.CreatedAt }))
}

// CountParties returns how many parties a request has.
func (s *Store) CountParties(ctx context.Context, uid id.Request) (int, error) {
	return database.Scalar[int](ctx, s.q, "count parties", nil, `SELECT count(*) FROM transfer.request_parties WHERE request = $1`, uid)
}

// Parties returns the parties of a request in the order in which they were asked.
func (s *Store) Parties(ctx context.Context, uid id.Request) ([]request.Party, error) {
	return database.All[request.Party](ctx, s.q, "list parties", `
		SELECT `+partyColumns+` FROM transfer.request_parties p WHERE p.request = $1 AND `+shown+` ORDER BY p.created_at, p.uid`, uid)
}

// LockParty locks one party of a request.
// Errors: transfer.ErrNotFound.
func (s *Store) LockParty(ctx context.Context, r id.Request, uid id.Party) (request.Party, error) {
	return database.One[request.Party](ctx, s.q, "lock party", transfer.ErrNotFound,
		`SELECT `+partyColumns+` FROM transfer.request_parties p WHERE p.uid = $1 AND p.request = $2 FOR NO KEY UPDATE`, uid, r)
}

// LockRemindable locks the parties of a locked request whose reminders are on, and that were not reminded since a time.
func (s *Store) LockRemindable(ctx context.Context, r id.Request, since time.Time) ([]request.Party, error) {
	return database.All[request.Party](ctx, s.q, "lock parties to remind", `
		SELECT `+partyColumns+` FROM transfer.request_parties p WHERE p.request = $1 AND `+shown+` AND p.reminders AND p.completed_at IS NULL
			AND (p.reminded_at IS NULL OR p.reminded_at <= $2) ORDER BY p.uid FOR NO KEY UPDATE`, r, since)
}

// PartyByEmail returns the party of a request with an address.
// Errors: transfer.ErrNotFound.
func (s *Store) PartyByEmail(ctx context.Context, r id.Request, email string) (request.Party, error) {
	return database.One[request.Party](ctx, s.q, "find party", transfer.ErrNotFound,
		`SELECT `+partyColumns+` FROM transfer.request_parties p WHERE p.request = $1 AND p.email = $2`, r, email)
}

// PartyByKey returns the party of a link.
// Errors: transfer.ErrNotFound.
func (s *Store) PartyByKey(ctx context.Context, keyHash []byte) (request.Party, error) {
	return database.One[request.Party](ctx, s.q, "find party", transfer.ErrNotFound,
		`SELECT `+partyColumns+` FROM transfer.request_parties p WHERE p.key_hash = $1`, keyHash)
}

// UpdateParty stores what changes of a locked party, and raises its version.
func (s *Store) UpdateParty(ctx context.Context, p request.Party) error {
	_, err := database.Exec(ctx, s.q, "update party", `
		UPDATE transfer.request_parties SET name = nullif($2, ''), locale = $3, opened_at = $4, handed_in_at = $5, late = $6, completed_at = $7,
			reminders = $8, remind_at = $9, reminded_at = $10, notify_at = $11, version = version + 1
		WHERE uid = $1`, p.UID, p.Name, p.Locale, p.OpenedAt, p.HandedInAt, p.Late, p.CompletedAt, p.Reminders, p.RemindAt, p.RemindedAt,
		p.NotifyAt)
	return err
}

// Plan is when a party is reminded next.
type Plan struct {
	Party    id.Party
	RemindAt *time.Time
}

// PlanReminders stores when parties are reminded next.
func (s *Store) PlanReminders(ctx context.Context, list []Plan) error {
	_, err := database.Exec(ctx, s.q, "plan reminders", `
		UPDATE transfer.request_parties p SET remind_at = n.at FROM unnest($1::uuid[], $2::timestamptz[]) AS n (uid, at) WHERE p.uid = n.uid`,
		column(list, func(p Plan) id.Party { return p.Party }), column(list, func(p Plan) *time.Time { return p.RemindAt }))
	return err
}

// DueParty is a party that is to be reminded, with its request.
type DueParty struct {
	request.Party
	Due       *time.Time
	Reminders bool // of party and request
	State     request.State
}

// TakeReminders locks up to limit parties whose reminder is due, and skips locked ones: of several servers each gets others. The
// caller sets when the next reminder is due in the same transaction.
func (s *Store) TakeReminders(ctx context.Context, now time.Time, limit int) ([]DueParty, error) {
	return database.All[DueParty](ctx, s.q, "take reminders", `
		SELECT p.uid, p.request, p.email, coalesce(p.name, '') AS name, p.locale, p.time_zone, p.joined, p.key_version, p.key_hash, p.opened_at,
			p.handed_in_at, p.late, p.completed_at, p.reminders AND q.reminders AS reminders, p.remind_at, p.reminded_at,
			p.notify_at, p.version, p.created_at, q.due, q.state
		FROM transfer.request_parties p JOIN transfer.requests q ON q.uid = p.request
		WHERE p.remind_at <= $1 ORDER BY p.remind_at LIMIT $2 FOR NO KEY UPDATE OF p SKIP LOCKED`, now, limit)
}

// MarkReminded notes that parties are reminded.
func (s *Store) MarkReminded(ctx context.Context, parties []id.Party, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "mark reminded",
		`UPDATE transfer.request_parties SET reminded_at = $2 WHERE uid = ANY ($1)`, parties, now)
	return err
}

// TakeReturned takes up to limit parties that are to be mailed what was returned, each once, and skips locked ones.
func (s *Store) TakeReturned(ctx context.Context, now time.Time, limit int) ([]request.Party, error) {
	return database.All[request.Party](ctx, s.q, "take returned items", `
		WITH due AS (
			SELECT uid FROM transfer.request_parties WHERE notify_at <= $1 ORDER BY notify_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
		)
		UPDATE transfer.request_parties p SET notify_at = NULL FROM due WHERE p.uid = due.uid RETURNING `+partyColumns, now, limit)
}

// Missing are the names of items that a party has not handed in, or that were returned.
type Missing struct {
	Party    id.Party
	Items    []string
	Required int // of them
	Returned int // of them
}

// MissingItems returns what parties have not handed in. A party that misses nothing is left out.
func (s *Store) MissingItems(ctx context.Context, parties []id.Party) (map[id.Party]Missing, error) {
	list, err := database.All[Missing](ctx, s.q, "list missing items", `
		SELECT p.uid AS party, array_agg(i.name ORDER BY i.position) AS items, count(*) FILTER (WHERE i.required) AS required,
			count(*) FILTER (WHERE x.state = 'returned') AS returned
		FROM transfer.request_parties p JOIN transfer.request_items i ON i.request = p.request
		LEFT JOIN transfer.party_items x ON x.party = p.uid AND x.item = i.uid
		WHERE p.uid = ANY ($1) AND coalesce(x.state, 'returned') = 'returned' GROUP BY p.uid`, parties)
	out := make(map[id.Party]Missing, len(list))
	for _, m := range list {
		out[m.Party] = m
	}
	return out, err
}

// DeleteUnopened deletes parties that asked for a link at a public one before a time and have not opened it.
func (s *Store) DeleteUnopened(ctx context.Context, before time.Time, limit int) (int, error) {
	return database.Exec(ctx, s.q, "delete parties without an opened link", `
		DELETE FROM transfer.request_parties WHERE uid IN (SELECT uid FROM transfer.request_parties
			WHERE joined AND opened_at IS NULL AND created_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`, before, limit)
}

// partyItemColumns are a request.PartyItem.
const partyItemColumns = `x.party, x.item, x.state, coalesce(x.reason, '') AS reason, x.actor, x.changed_at`

// PartyItems returns the items of all parties of a request that were handed in.
func (s *Store) PartyItems(ctx context.Context, uid id.Request) ([]request.PartyItem, error) {
	return database.All[request.PartyItem](ctx, s.q, "list items of parties", `
		SELECT `+partyItemColumns+` FROM transfer.request_parties p JOIN transfer.party_items x ON x.party = p.uid WHERE p.request = $1`, uid)
}

// ItemsOf returns the items of one party that were handed in.
func (s *Store) ItemsOf(ctx context.Context, uid id.Party) ([]request.PartyItem, error) {
	return database.All[request.PartyItem](ctx, s.q, "list items of party",
		`SELECT `+partyItemColumns+` FROM transfer.party_items x WHERE x.party = $1`, uid)
}

// PutPartyItems stores one state of items of a locked party.
func (s *Store) PutPartyItems(ctx context.Context, party id.Party, items []id.Item, state request.ItemState, reason string, actor id.Person,
	now time.Time) error {
	_, err := database.Exec(ctx, s.q, "store items of party", `
		INSERT INTO transfer.party_items (party, item, state, reason, actor, changed_at) SELECT $1, unnest($2::uuid[]), $3, $4, $5, $6
		ON CONFLICT ON CONSTRAINT party_items_pkey DO UPDATE SET state = excluded.state, reason = excluded.reason, actor = excluded.actor,
			changed_at = excluded.changed_at`, party, items, state, database.Null(reason), database.Null(actor), now)
	return err
}

// PartyComplete reports whether every required item of a party is accepted; of a request without required ones, every handed in item.
func (s *Store) PartyComplete(ctx context.Context, uid id.Party) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "look for incomplete items", nil, `
		SELECT NOT EXISTS (
			SELECT FROM transfer.request_parties p JOIN transfer.request_items i ON i.request = p.request
			LEFT JOIN transfer.party_items x ON x.party = p.uid AND x.item = i.uid
			WHERE p.uid = $1 AND (i.required AND x.state IS DISTINCT FROM 'accepted' OR x.state IN ('uploaded', 'returned'))
		) AND EXISTS (SELECT FROM transfer.party_items WHERE party = $1)`, uid)
}
