// SQL of the lists of transfers: who sees which, and pages with a cursor.

package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// transferColumns are a transfer.Transfer. transferFacts leave out message and fields, which may be a megabyte.
const (
	transferColumns = transferFacts + `, coalesce(t.message, '') AS message, t.fields`
	transferFacts   = `t.uid, t.reservation, t.type AS kind, t.state, t.owner, coalesce(t.subject, '') AS subject,
	json_build_object('Name', t.sender_name, 'Email', t.sender_email, 'Person', t.sender,
		'Verified', t.type <> 'mailbox' OR t.sender_verified) AS sender, coalesce(t.priority, 0) AS priority,
	coalesce(t.remind_before, 0) AS remind_before, ` + limitColumns + `, t.protection, t.unmailed, t.object_count, t.total_bytes, t.archives, t.created_at, t.expires_at,
	coalesce(t.erase_by, ` + zeroTime + `) AS erase_by,
	coalesce(t.accessed_at, ` + zeroTime + `) AS accessed_at, t.forwarding, ` + gateColumns + `, coalesce(t.malware_status, '') AS malware_status,
	t.pinned_expiry IS NOT NULL AS pinned`
)

// limitColumns are a transfer.Limits.
const limitColumns = `coalesce(t.max_downloads, 0) AS max_downloads, coalesce(t.max_total_downloads, 0) AS max_total_downloads, t.delete_after_download`

// gateColumns are a transfer.Gate.
const gateColumns = `coalesce(t.held_states, '{}') AS held_states, coalesce(t.held_rules, '{}') AS held_rules, t.held_anyway`

// SeenTransfer is a transfer as one of its parties sees it.
type SeenTransfer struct {
	transfer.Transfer
	AsSender     bool
	Delivery     id.Delivery // of the person; zero: as the sender alone
	Verified     bool        // the person holds the address of the delivery, as recipientAuthentication requires
	Notify       bool        // the sender wants a notification of the first access
	SenderLocale string
	Read         bool   // the person has opened it, or marked it as read; false as the sender alone
	Notes        string // of the person
	LeftOut      int    // bytes of message and fields that a page leaves out; Contents returns them
}

// Locked reports whether the protection keeps the person from the content, also from what an ended transfer still has of it.
func (t SeenTransfer) Locked() bool { return locked(t.AsSender, t.Protection, t.Verified) }

// verified is true when person $1, a recipient by delivery d of transfer t, meets recipientAuthentication: the address is a
// verified one of the person. The owner of a mailbox always does.
const verified = `(t.protection <> 'recipientAuthentication' OR t.type = 'mailbox'
	OR EXISTS (SELECT FROM directory.addresses a WHERE a.person = $1 AND a.address = lower(d.email) AND a.verified))`

// read is true when the person of delivery d has opened the transfer or marked it as read. The index deliveries_unread has the same
// expression.
const read = `coalesce(d.read, d.accessed_at IS NOT NULL)`

// seenDelivery joins a transfer t to the delivery d that makes person $1 one of its recipients.
const seenDelivery = `LEFT JOIN LATERAL (
		SELECT d.uid, d.accessed_at, ` + read + ` AS read, d.notes, ` + verified + ` AS verified
		FROM transfer.deliveries d WHERE d.transfer = t.uid AND d.person = $1 AND d.hidden_at IS NULL
		ORDER BY 5 DESC, d.position LIMIT 1
	) d ON true`

const (
	// seenColumns are a SeenTransfer, with seenDelivery joined.
	seenColumns = transferColumns + seenAs + `, 0 AS left_out`
	seenAs      = `, coalesce(t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL, false) AS as_sender, d.uid AS delivery,
	coalesce(d.verified, false) AS verified, t.delivery_notification AS notify, coalesce(t.sender_locale, '') AS sender_locale,
	coalesce(d.read, false) AS read, coalesce(d.notes, '') AS notes`

	// noticeColumns are the columns of a SeenTransfer that a notification needs, without those about the person.
	noticeColumns = `false AS verified, t.delivery_notification AS notify, coalesce(t.sender_locale, '') AS sender_locale, 0 AS left_out,
	false AS read, '' AS notes`

	// pageColumns leave out message and fields of more than two kilobytes together: each of the two hundred transfers of a page
	// may have a megabyte.
	pageColumns = transferFacts + seenAs + `, CASE WHEN c.bytes <= 2000 THEN coalesce(t.message, '') ELSE '' END AS message,
	CASE WHEN c.bytes <= 2000 THEN t.fields END AS fields, CASE WHEN c.bytes <= 2000 THEN 0 ELSE c.bytes END AS left_out`
	contentBytes = `CROSS JOIN LATERAL (
		SELECT coalesce(octet_length(t.message), 0) + coalesce(octet_length(t.fields::text), 0) AS bytes OFFSET 0
	) c`
)

// atHome is true when host $2 is the home of one of the parties. Each party is looked up on its own: otherwise the planner reads
// all persons.
const atHome = `EXISTS (
	SELECT FROM directory.persons p JOIN (SELECT t.sender AS party UNION ALL SELECT x.person FROM transfer.deliveries x
		WHERE x.transfer = t.uid) x
		ON p.person = x.party
	WHERE p.host = $2)`

// reachable is true when host $2 is the home of person $1, or of the sender or a recipient of t.
const reachable = `($2 = '*' OR EXISTS (SELECT FROM directory.persons p WHERE p.person = $1 AND p.host = $2) OR ` + atHome + `)`

// TransferOf returns a transfer, without objects, for its sender or a recipient.
// Errors: transfer.ErrNotFound.
func (s *Store) TransferOf(ctx context.Context, uid id.Transfer, p id.Person, sc Scope) (SeenTransfer, error) {
	return s.transferOf(ctx, uid, p, sc, "")
}

// LockTransferOf is TransferOf with a row lock on the transfer until the transaction ends.
// Errors: transfer.ErrNotFound.
func (s *Store) LockTransferOf(ctx context.Context, uid id.Transfer, p id.Person, sc Scope) (SeenTransfer, error) {
	return s.transferOf(ctx, uid, p, sc, " FOR UPDATE OF t")
}

func (s *Store) transferOf(ctx context.Context, uid id.Transfer, p id.Person, sc Scope, lock string) (SeenTransfer, error) {
	return database.One[SeenTransfer](ctx, s.q, "find transfer", transfer.ErrNotFound, `
		SELECT `+seenColumns+` FROM transfer.transfers t `+seenDelivery+`
		WHERE t.uid = $3 AND (d.uid IS NOT NULL OR t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL) AND `+reachable+lock,
		p, sc.Host, uid)
}

// AnyTransfer returns a transfer for work that is not a party's, as its sender sees it if one manages it.
// Errors: transfer.ErrNotFound.
func (s *Store) AnyTransfer(ctx context.Context, uid id.Transfer) (SeenTransfer, error) {
	return s.anyTransfer(ctx, uid, "")
}

// LockTransfer is AnyTransfer with a row lock on the transfer until the transaction ends.
// Errors: transfer.ErrNotFound.
func (s *Store) LockTransfer(ctx context.Context, uid id.Transfer) (SeenTransfer, error) {
	return s.anyTransfer(ctx, uid, " FOR UPDATE OF t")
}

func (s *Store) anyTransfer(ctx context.Context, uid id.Transfer, lock string) (SeenTransfer, error) {
	return database.One[SeenTransfer](ctx, s.q, "find transfer", transfer.ErrNotFound, `
		SELECT `+transferColumns+`, `+noticeColumns+
		`, t.sender_managed AS as_sender, NULL::uuid AS delivery FROM transfer.transfers t WHERE t.uid = $1`+lock, uid)
}

// Position is the cursor of keyset pagination in a list of transfers, newest first. The zero one is before the newest.
type Position struct {
	At  time.Time
	UID id.Transfer // among those of the same time
}

// Page selects a part of a person's transfers, newest first unless Oldest.
type Page struct {
	Received, Sent bool
	Oldest         bool   // oldest first
	Search         string // empty: all
	Filter         transfer.Filter
	Candidates     int      // how many of those received, and of those sent, a search or filter examines at most
	After          Position // the page begins after this position
	Limit          int
}

// listing is the SQL of one page. $1 is the person, $2 the host, $3 one row more than the limit, which shows whether there is a
// next page. Search texts and the position follow.
type listing struct {
	args  []any
	after string // placeholders of the position; empty: the first page
	page  Page
	order string // of the rows
}

func newListing(p id.Person, page Page, sc Scope) *listing {
	l := &listing{args: []any{p, sc.Host, page.Limit + 1}, page: page, order: " ORDER BY created_at DESC, uid DESC"}
	if page.Oldest {
		l.order = " ORDER BY created_at, uid"
	}
	if page.After != (Position{}) {
		l.after = l.arg(page.After.At) + `::timestamptz, ` + l.arg(page.After.UID) + `::uuid`
	}
	return l
}

// arg adds an argument and returns its placeholder.
func (l *listing) arg(v any) string {
	l.args = append(l.args, v)
	return "$" + strconv.Itoa(len(l.args))
}

// received and sent are the rows of the two halves of a page, in its order. Each walks its index and stops at a LIMIT, so
// that the time does not grow with the number of transfers. A later page is another statement than the first: in a generic plan, a
// condition that a parameter can switch off does not bound the index scan.
func (l *listing) received(join string) string {
	return `SELECT DISTINCT d.created_at, d.transfer AS uid FROM transfer.deliveries d` + join + `
		WHERE d.person = $1 AND d.hidden_at IS NULL` + l.unread() + l.later("d.created_at, d.transfer") + home
}

func (l *listing) sent(join string) string {
	return `SELECT t.created_at, t.uid FROM transfer.transfers t` + join + `
		WHERE t.sender = $1 AND t.sender_managed AND t.hidden_at IS NULL` + l.later("t.created_at, t.uid") + home
}

func (l *listing) later(position string) string {
	if l.after == "" {
		return ""
	}
	comparison := `) < (`
	if l.page.Oldest {
		comparison = `) > (`
	}
	return ` AND (` + position + comparison + l.after + `)`
}

// unread restricts a filter of new transfers to those of the index deliveries_unread.
func (l *listing) unread() string {
	if l.page.Filter != transfer.FilterNew {
		return ""
	}
	return ` AND NOT ` + read
}

const (
	// home is true when host $2 is the home of person $1. It is evaluated once.
	home = ` AND ($2 = '*' OR EXISTS (SELECT FROM directory.persons p WHERE p.person = $1 AND p.host = $2))`
)

// half is a half of a page without a search.
func (l *listing) half(all string) string {
	return `(SELECT created_at, uid, true AS found, false AS last FROM (` + all + l.order + ` LIMIT $3) c)`
}

// Transfers returns a page of a person's transfers, without objects and long contents, and the position of the next page; the
// position is zero on the last page. A page of a search may be empty. The list is empty when the person's home is another host
// than the scope's.
func (s *Store) Transfers(ctx context.Context, p id.Person, page Page, sc Scope) ([]SeenTransfer, Position, error) {
	if page.Filter == transfer.FilterNew || page.Filter == transfer.FilterPinned {
		if !page.Received {
			return nil, Position{}, nil
		}
		page.Sent = false
	}
	if page.Search != "" || page.Filter != transfer.FilterNone {
		return s.search(ctx, p, page, sc)
	}
	l := newListing(p, page, sc)
	return s.page(ctx, "list transfers", page, l, "", l.half(l.received("")), l.half(l.sent("")))
}

// candidate is a transfer that a page may show.
type candidate struct {
	SeenTransfer
	Found bool // the page shows it
	Last  bool // its half was not examined any further
}

func (c candidate) position() Position { return Position{At: c.CreatedAt, UID: c.UID} }

// cut makes a page of candidates in order. The page ends where one half was not examined any further, even if the other half has
// older transfers.
func cut(list []candidate, limit int) (seen []SeenTransfer, next Position) {
	var last Position
	for _, c := range list {
		if c.Found {
			if len(seen) == limit {
				return seen, last
			}
			seen, last = append(seen, c.SeenTransfer), c.position()
		}
		if c.Last {
			return seen, c.position()
		}
	}
	return seen, Position{}
}

// Content is the message and the fields of a transfer.
type Content struct {
	UID     id.Transfer
	Message *string
	Fields  []byte
}

// Contents returns the contents of transfers that a page has left out.
func (s *Store) Contents(ctx context.Context, uids []id.Transfer) ([]Content, error) {
	return database.All[Content](ctx, s.q, "read contents of transfers",
		`SELECT uid, message, fields FROM transfer.transfers WHERE uid = ANY ($1)`, uids)
}

// Form is what the sender of a transfer to a mailbox is asked, as JSON or nil.
type Form struct{ FieldsSchema, UISchema []byte }

// Form returns the form of a person's mailbox; nothing without a mailbox.
func (s *Store) Form(ctx context.Context, owner id.Person) (Form, error) {
	return database.One[Form](ctx, s.q, "find form", nil, `SELECT fields_schema, ui_schema FROM transfer.mailboxes WHERE person = $1`, owner)
}

// ObjectsOfTransfers returns the objects of several transfers by transfer, in order.
func (s *Store) ObjectsOfTransfers(ctx context.Context, uids []id.Transfer) (map[id.Transfer][]transfer.Object, error) {
	type row struct {
		transfer.Object
		Transfer id.Transfer
	}
	list, err := database.All[row](ctx, s.q, "list objects", `
		SELECT `+objectColumns+`, t.uid AS transfer FROM transfer.transfers t
		JOIN transfer.objects o ON o.reservation = t.reservation WHERE t.uid = ANY ($1) ORDER BY t.uid, o.position`, uids)
	out := make(map[id.Transfer][]transfer.Object, len(uids))
	for _, r := range list {
		out[r.Transfer] = append(out[r.Transfer], r.Object)
	}
	return out, err
}

// deliveryColumns are a transfer.Delivery of deliveries d.
const deliveryColumns = `d.uid, d.person, coalesce(d.name, '') AS name, coalesce(d.email, '') AS email, d.destination_type AS destination,
	d.undelivered_at IS NOT NULL AS undelivered, coalesce(d.accessed_at, ` + zeroTime + `) AS accessed_at, coalesce(d.reminded_at, ` + zeroTime + `) AS reminded_at,
	d.downloads, coalesce(d.downloaded_at, ` + zeroTime + `) AS downloaded_at`

// deliveryJSON is a transfer.Delivery of deliveries d, without Undelivered and times. NULL becomes the empty string.
const deliveryJSON = `json_build_object('UID', d.uid, 'Person', d.person, 'Name', d.name, 'Email', d.email,
	'Destination', d.destination_type)`

// DeliveriesOfTransfers returns the deliveries of several transfers by transfer, in order, bcc and links included.
func (s *Store) DeliveriesOfTransfers(ctx context.Context, uids []id.Transfer) (map[id.Transfer][]transfer.Delivery, error) {
	type row struct {
		transfer.Delivery
		Transfer id.Transfer
	}
	list, err := database.All[row](ctx, s.q, "list deliveries", `
		SELECT d.transfer, `+deliveryColumns+`
		FROM transfer.deliveries d WHERE d.transfer = ANY ($1) ORDER BY d.transfer, d.position`, uids)
	out := make(map[id.Transfer][]transfer.Delivery, len(uids))
	for _, r := range list {
		out[r.Transfer] = append(out[r.Transfer], r.Delivery)
	}
	return out, err
}

// Link is the link of a delivery.
type Link struct {
	Delivery id.Delivery
	Version  int32  // of its key
	KeyHash  []byte // SHA-256 of its key
	Host     string // where it leads; empty: nowhere
}

// SenderLink returns the link of a transfer that its sender passes on, on the sender's home host; zero if there is none.
func (s *Store) SenderLink(ctx context.Context, t id.Transfer) (Link, error) {
	return database.One[Link](ctx, s.q, "find link", nil, `
		SELECT d.uid AS delivery, d.key_version AS version, d.key_hash, coalesce(p.host, '') AS host
		FROM transfer.deliveries d JOIN transfer.transfers t ON t.uid = d.transfer JOIN directory.persons p ON p.person = t.sender
		WHERE d.transfer = $1 AND d.destination_type = 'link'`, t)
}

// CountAlive returns how many transfers have not ended.
func (s *Store) CountAlive(ctx context.Context) (int64, error) {
	return database.Scalar[int64](ctx, s.q, "count transfers", nil, `SELECT count(*) FROM transfer.transfers WHERE ended_at IS NULL`)
}
