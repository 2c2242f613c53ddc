package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// transferColumns are transferFacts with what is said in a transfer, which may be a megabyte.
const (
	transferColumns = transferFacts + `, t.message, t.fields`
	transferFacts   = `t.uid, t.reservation, t.type, t.state, t.owner, t.sender, t.sender_managed, t.subject, t.sender_name,
	t.sender_email, t.sender_locale, t.delivery_notification, t.priority, t.protection, t.object_count, t.total_bytes,
	t.archives, t.created_at, t.expires_at, t.accessed_at`
)

type transferRow struct {
	UID                     id.Transfer
	Reservation             id.Reservation
	Type, State             string
	Owner                   id.Person
	Sender                  id.Person
	SenderManaged           bool
	Subject, Message        *string
	SenderName, SenderEmail *string
	SenderLocale            *string
	DeliveryNotification    bool
	Priority                *int32
	Protection              string
	Fields                  []byte
	ObjectCount             int32
	TotalBytes              int64
	Archives                int64
	CreatedAt, ExpiresAt    time.Time
	AccessedAt              *time.Time
}

func (r transferRow) transfer() transfer.Transfer {
	return transfer.Transfer{
		UID: r.UID, Reservation: r.Reservation, Kind: transfer.Kind(r.Type), State: transfer.State(r.State), Owner: r.Owner,
		Subject: or(r.Subject), Message: or(r.Message),
		Sender:   transfer.Sender{Name: or(r.SenderName), Email: or(r.SenderEmail), Person: r.Sender},
		Priority: or(r.Priority), Protection: transfer.Protection(r.Protection), Fields: r.Fields,
		ObjectCount: r.ObjectCount, TotalBytes: r.TotalBytes, Archives: r.Archives, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, AccessedAt: or(r.AccessedAt),
	}
}

// SeenTransfer is a transfer as one of its parties sees it.
type SeenTransfer struct {
	transfer.Transfer
	AsSender     bool
	Delivery     id.Delivery // of the person, zero for the sender alone
	Proven       bool        // the person holds the address of the delivery, as recipientAuthentication asks
	Notify       bool        // the sender wishes to know of the first access
	SenderLocale string
	LeftOut      int // bytes of message and fields that a page leaves out: Contents has them
}

// Locked reports whether a protection keeps the content from the person, also what is left of it once the transfer has ended.
func (t SeenTransfer) Locked() bool { return locked(t.AsSender, t.Protection, t.Proven) }

type seenRow struct {
	transferRow
	AsSender bool
	Delivery id.Delivery
	Proven   bool
}

func (r seenRow) seen() SeenTransfer {
	return SeenTransfer{Transfer: r.transfer(), AsSender: r.AsSender, Delivery: r.Delivery, Proven: r.Proven, Notify: r.DeliveryNotification, SenderLocale: or(r.SenderLocale)}
}

// proven holds where person $1, a recipient by delivery d of transfer t, still has what recipientAuthentication asks for:
// the address, verified. A mailbox's owner is who is meant, whatever its address.
const proven = `(t.protection <> 'recipientAuthentication' OR t.type = 'mailbox'
	OR EXISTS (SELECT FROM directory.addresses a WHERE a.person = $1 AND a.address = lower(d.email) AND a.verified))`

// seenDelivery joins a transfer t to the delivery d that makes person $1 one of its recipients.
const seenDelivery = `LEFT JOIN LATERAL (
		SELECT d.uid, d.accessed_at, ` + proven + ` AS proven
		FROM transfer.deliveries d WHERE d.transfer = t.uid AND d.person = $1 AND d.hidden_at IS NULL
		ORDER BY 3 DESC, d.position LIMIT 1
	) d ON true`

const (
	seenColumns = transferColumns + seenAs
	seenAs      = `, coalesce(t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL, false) AS as_sender, d.uid AS delivery,
	coalesce(d.proven, false) AS proven`

	// pageColumns leave out message and fields of more than two kilobytes together: two hundred on a page may have a megabyte each.
	pageColumns = transferFacts + seenAs + `, CASE WHEN c.bytes <= 2000 THEN t.message END AS message,
	CASE WHEN c.bytes <= 2000 THEN t.fields END AS fields, CASE WHEN c.bytes <= 2000 THEN 0 ELSE c.bytes END AS left_out`
	contentBytes = `CROSS JOIN LATERAL (
		SELECT coalesce(octet_length(t.message), 0) + coalesce(octet_length(t.fields::text), 0) AS bytes OFFSET 0
	) c`
)

// atHome holds where one of the parties is at home on host $2. Each is looked up by itself: the planner would read every person there
// is to find those that are among several.
const atHome = `EXISTS (
	SELECT FROM directory.persons p JOIN (SELECT t.sender AS party UNION ALL SELECT x.person FROM transfer.deliveries x WHERE x.transfer = t.uid) x
		ON p.person = x.party
	WHERE p.host = $2)`

// reachable holds on a host that is home to person $1, or to the sender or a recipient of t: $2 is the host.
const reachable = `($2 = '*' OR EXISTS (SELECT FROM directory.persons p WHERE p.person = $1 AND p.host = $2) OR ` + atHome + `)`

// TransferOf returns a transfer to a person who sent it or to whom it was delivered, without objects. ErrNotFound.
func (s *Store) TransferOf(ctx context.Context, uid id.Transfer, p id.Person, sc Scope) (SeenTransfer, error) {
	return s.transferOf(ctx, uid, p, sc, "")
}

// LockTransferOf is TransferOf, and keeps everybody else from changing the transfer until the transaction ends.
func (s *Store) LockTransferOf(ctx context.Context, uid id.Transfer, p id.Person, sc Scope) (SeenTransfer, error) {
	return s.transferOf(ctx, uid, p, sc, " FOR UPDATE OF t")
}

func (s *Store) transferOf(ctx context.Context, uid id.Transfer, p id.Person, sc Scope, lock string) (SeenTransfer, error) {
	row, err := one[seenRow](s.q.Query(ctx, `SELECT `+seenColumns+` FROM transfer.transfers t `+seenDelivery+`
		WHERE t.uid = $3 AND (d.uid IS NOT NULL OR t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL) AND `+reachable+lock, p, sc.Host, uid))
	if err != nil {
		return SeenTransfer{}, fmt.Errorf("find transfer: %w", err)
	}
	return row.seen(), nil
}

// Position is a place in a list of transfers, newest first; the zero one is before the newest.
type Position struct {
	At  time.Time
	UID id.Transfer // among those of the same time
}

// Page asks for a part of somebody's transfers, newest first.
type Page struct {
	Received, Sent bool
	Search         string   // empty: all
	Candidates     int      // of those received and of those sent a search looks at no more than so many
	After          Position // the page begins with what follows this place
	Limit          int
}

// The two halves of a page: each walks its index from the newest and stops at the limit, so the time does not grow with the number of
// transfers. $2 and $3 are the position, $5 the host.
const (
	received = `SELECT DISTINCT d.created_at, d.transfer AS uid FROM transfer.deliveries d JOIN directory.persons p ON p.person = d.person
		WHERE d.person = $1 AND d.hidden_at IS NULL AND ($5 = '*' OR p.host = $5)
			AND ($2::timestamptz IS NULL OR (d.created_at, d.transfer) < ($2, $3))
		ORDER BY d.created_at DESC, d.transfer DESC LIMIT `
	sent = `SELECT t.created_at, t.uid FROM transfer.transfers t JOIN directory.persons p ON p.person = t.sender
		WHERE t.sender = $1 AND t.sender_managed AND t.hidden_at IS NULL AND ($5 = '*' OR p.host = $5)
			AND ($2::timestamptz IS NULL OR (t.created_at, t.uid) < ($2, $3))
		ORDER BY t.created_at DESC, t.uid DESC LIMIT `
)

// What a search for pattern $6 finds in a candidate c of either half. It takes letters of either case, and accents in either form (systems
// of Apple name files with letter and accent apart); it does not tell a recipient what a protection hides. Aggregates, since for
// thousands of candidates the planner would rather read all transfers there are than look for EXISTS in each.
const (
	foundReceived = `(SELECT coalesce(bool_or(CASE WHEN t.protection <> 'password' AND ` + proven + `
			THEN t.search ELSE lower(normalize(concat_ws(' ', t.sender_name, t.sender_email))) END LIKE lower(normalize($6))), false)
		FROM transfer.transfers t JOIN transfer.deliveries d ON d.transfer = t.uid WHERE t.uid = c.uid AND d.person = $1 AND d.hidden_at IS NULL)`
	foundSent = `(SELECT coalesce(bool_or(t.search LIKE lower(normalize($6)) OR lower(normalize(concat_ws(' ', d.name, d.email))) LIKE lower(normalize($6))), false)
		FROM transfer.transfers t LEFT JOIN transfer.deliveries d ON d.transfer = t.uid WHERE t.uid = c.uid)`
)

// half is a half of a page that holds all there is, up to limit $4.
func half(all string) string {
	return `(SELECT created_at, uid, true AS found, false AS last FROM (` + all + `$4) c)`
}

// searchedHalf is the half of a page that a search found among the newest $7 candidates, up to limit $4, and the last of these candidates:
// nobody has looked at what follows it.
func searchedHalf(all, found string) string {
	return `(SELECT * FROM (
			SELECT c.created_at, c.uid, ` + found + ` AS found, row_number() OVER (ORDER BY c.created_at DESC, c.uid DESC) = $7 AS last
			FROM (` + all + `$7) c
		) c WHERE found OR last ORDER BY created_at DESC, uid DESC LIMIT $4)`
}

// Transfers returns a page of a person's transfers, without objects and long contents, and where the next page goes on, the zero position when there is none.
// A search returns what it found among the candidates, be it nothing. Somebody who is at home on another host than the scope's has none there.
func (s *Store) Transfers(ctx context.Context, p id.Person, page Page, sc Scope) ([]SeenTransfer, Position, error) {
	var after *time.Time
	if !page.After.At.IsZero() {
		after = &page.After.At
	}
	args := []any{p, after, page.After.UID, page.Limit + 1, sc.Host} // one more tells whether there is one
	inbox, outbox := half(received), half(sent)
	if page.Search != "" {
		inbox, outbox = searchedHalf(received, foundReceived), searchedHalf(sent, foundSent)
		args = append(args, pattern(page.Search), page.Candidates)
	}
	halves := inbox + ` UNION ALL ` + outbox
	switch {
	case !page.Sent:
		halves = inbox
	case !page.Received:
		halves = outbox
	}
	rows, err := all[pageRow](s.q.Query(ctx, `
		WITH page AS (SELECT created_at, uid, bool_or(found) AS found, bool_or(last) AS last FROM (`+halves+`) h GROUP BY created_at, uid)
		SELECT page.found, page.last, `+pageColumns+` FROM page JOIN transfer.transfers t ON t.uid = page.uid `+seenDelivery+` `+contentBytes+`
		ORDER BY page.created_at DESC, page.uid DESC LIMIT $4`, args...))
	if err != nil {
		return nil, Position{}, fmt.Errorf("list transfers: %w", err)
	}
	seen, next := cut(rows, page.Limit)
	return seen, next, nil
}

type pageRow struct {
	seenRow
	Found, Last bool
	LeftOut     int
}

func (r pageRow) position() Position { return Position{At: r.CreatedAt, UID: r.UID} }

// cut makes a page of rows in order. It ends before what one half has not looked at, though the other may have found older ones.
func cut(rows []pageRow, limit int) (seen []SeenTransfer, next Position) {
	var last Position
	for _, r := range rows {
		if r.Found {
			if len(seen) == limit {
				return seen, last
			}
			one := r.seen()
			one.LeftOut = r.LeftOut
			seen, last = append(seen, one), r.position()
		}
		if r.Last {
			return seen, r.position()
		}
	}
	return seen, Position{}
}

// Content is what is said in a transfer.
type Content struct {
	UID     id.Transfer
	Message *string
	Fields  []byte
}

// Contents returns what a page has left out of transfers.
func (s *Store) Contents(ctx context.Context, uids []id.Transfer) ([]Content, error) {
	rows, err := all[Content](s.q.Query(ctx, `SELECT uid, message, fields FROM transfer.transfers WHERE uid = ANY ($1)`, uuids(uids)))
	if err != nil {
		return nil, fmt.Errorf("read contents of transfers: %w", err)
	}
	return rows, nil
}

// ObjectsOfTransfers returns the objects of several transfers by transfer, in order.
func (s *Store) ObjectsOfTransfers(ctx context.Context, uids []id.Transfer) (map[id.Transfer][]transfer.Object, error) {
	type ofTransferRow struct {
		objectRow
		Transfer id.Transfer
	}
	rows, err := all[ofTransferRow](s.q.Query(ctx, `SELECT `+objectColumns+`, t.uid AS transfer FROM transfer.transfers t
		JOIN transfer.objects o ON o.reservation = t.reservation WHERE t.uid = ANY ($1) ORDER BY t.uid, o.position`, uuids(uids)))
	if err != nil {
		return nil, fmt.Errorf("list objects: %w", err)
	}
	out := make(map[id.Transfer][]transfer.Object, len(uids))
	for _, r := range rows {
		out[r.Transfer] = append(out[r.Transfer], r.object())
	}
	return out, nil
}

type deliveryRow struct {
	Transfer        id.Transfer
	UID             id.Delivery
	Person          id.Person
	Name, Email     *string
	DestinationType string
	UndeliveredAt   *time.Time
}

func (r deliveryRow) delivery() transfer.Delivery {
	return transfer.Delivery{UID: r.UID, Person: r.Person, Name: or(r.Name), Email: or(r.Email),
		Destination: transfer.Destination(r.DestinationType), Undelivered: r.UndeliveredAt != nil}
}

// DeliveriesOfTransfers returns the addressees of several transfers by transfer, in order, bcc and links included.
func (s *Store) DeliveriesOfTransfers(ctx context.Context, uids []id.Transfer) (map[id.Transfer][]transfer.Delivery, error) {
	rows, err := all[deliveryRow](s.q.Query(ctx, `SELECT d.transfer, d.uid, d.person, d.name, d.email, d.destination_type, d.undelivered_at
		FROM transfer.deliveries d WHERE d.transfer = ANY ($1) ORDER BY d.transfer, d.position`, uuids(uids)))
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	out := make(map[id.Transfer][]transfer.Delivery, len(uids))
	for _, r := range rows {
		out[r.Transfer] = append(out[r.Transfer], r.delivery())
	}
	return out, nil
}

// Link is what there is to know of the link to a delivery.
type Link struct {
	Delivery id.Delivery
	Version  int32  // of its key
	KeyHash  []byte // SHA-256 of its key
	Host     string // where it leads; empty: nowhere
}

// SenderLink returns the link of a transfer that its sender has, as it leads to the sender's host; a zero one if there is none.
func (s *Store) SenderLink(ctx context.Context, t id.Transfer) (Link, error) {
	links, err := all[Link](s.q.Query(ctx, `SELECT d.uid AS delivery, d.key_version AS version, d.key_hash, coalesce(p.host, '') AS host
		FROM transfer.deliveries d JOIN transfer.transfers t ON t.uid = d.transfer JOIN directory.persons p ON p.person = t.sender
		WHERE d.transfer = $1 AND d.destination_type = 'link'`, t))
	if err != nil {
		return Link{}, fmt.Errorf("find link: %w", err)
	}
	return append(links, Link{})[0], nil
}
