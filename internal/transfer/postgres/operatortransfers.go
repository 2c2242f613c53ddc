package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// TransferSearch selects transfers for an operator, or for an administrator of Organization. One of Person, Mailbox and Organization is set
// at most; none: all transfers.
type TransferSearch struct {
	Person       id.Person       // sender or recipient; not as recipient what the person has removed from the own list
	Mailbox      id.Person       // of this person
	Organization id.Organization // whose limits the transfer uses
	Owner        id.Person       // with Organization: whose volume the transfer uses; zero: all
	State        transfer.State  // empty: any
	After        Position
	Candidates   int // how many transfers the state is compared of
	Limit        int
}

// candidates returns the transfers of the search before the position in $2 and $3, newest first, at most $4. $6 is the owner. All transfers
// are in the order of their uids, which are UUIDs of version 7.
func (q TransferSearch) candidates() (rows, order string, subject any) {
	order = ` ORDER BY created_at DESC, uid DESC`
	rest := ` < ($2::timestamptz, $3::uuid)` + order + ` LIMIT $4`
	const transfers = `SELECT t.created_at, t.uid FROM transfer.transfers t WHERE `
	switch {
	case !q.Person.IsZero():
		return `SELECT created_at, uid FROM (
			(` + transfers + `t.sender = $1 AND (t.created_at, t.uid)` + rest + `) UNION
			(SELECT DISTINCT d.created_at, d.transfer AS uid FROM transfer.deliveries d
				WHERE d.person = $1 AND d.hidden_at IS NULL AND (d.created_at, d.transfer)` + rest + `)
			) halves` + order + ` LIMIT $4`, order, q.Person
	case !q.Mailbox.IsZero():
		return transfers + `t.owner = $1 AND t.type = 'mailbox' AND (t.created_at, t.uid)` + rest, order, q.Mailbox
	case !q.Owner.IsZero():
		return transfers + `t.limits_organization = $1 AND t.owner = $6 AND (t.created_at, t.uid)` + rest, order, q.Organization
	case !q.Organization.IsZero():
		return transfers + `t.limits_organization = $1 AND (t.created_at, t.uid)` + rest, order, q.Organization
	}
	order = ` ORDER BY uid DESC`
	return transfers + `$1::uuid IS NULL AND $2::timestamptz IS NOT NULL AND t.uid < $3` + order + ` LIMIT $4`, order, nil
}

// found reports whether candidate c is in the state; $5 is now. It is an aggregate like foundReceived.
func (q TransferSearch) found() string {
	var condition string
	switch q.State {
	case "":
		return `true`
	case transfer.Expired:
		condition = `t.state = 'expired' OR t.ended_at IS NULL AND t.expires_at <= $5`
	case transfer.Revoked:
		condition = `t.state = 'revoked'`
	default:
		condition = `t.state = ` + quoted(q.State) + ` AND t.expires_at > $5`
	}
	return `(SELECT coalesce(bool_or(` + condition + `), false) FROM transfer.transfers t WHERE t.uid = c.uid)`
}

// quoted returns one of the states that are not ended as a literal.
func quoted(s transfer.State) string {
	if s == transfer.Accessed {
		return `'accessed'`
	}
	return `'delivered'`
}

// FindTransfers returns a page of the transfers of a search, and the position of the next page, which is zero on the last
// one. A page with a state may be empty and have a next one.
func (s *Store) FindTransfers(ctx context.Context, q TransferSearch,
	now time.Time) (list []transfer.ListedTransfer, next Position, err error) {
	type row struct {
		transfer.ListedTransfer
		Found, Last bool
	}
	if q.State == "" {
		q.Candidates = q.Limit + 1
	}
	candidates, order, subject := q.candidates()
	args := []any{subject, q.After.At, q.After.UID, q.Candidates, now}
	if !q.Owner.IsZero() {
		args = append(args, q.Owner)
	}
	rows, err := database.All[row](ctx, s.q, "find transfers", `
		WITH candidates AS MATERIALIZED (`+candidates+`),
		page AS (
			SELECT * FROM (
				SELECT c.created_at, c.uid, `+q.found()+` AS found, row_number() OVER (`+order+`) = $4 AS last FROM candidates c
			) c WHERE found OR last`+order+` LIMIT `+strconv.Itoa(q.Limit+1)+`
		)
		SELECT page.found, page.last, t.uid, t.type AS kind, CASE WHEN t.ended_at IS NULL
			AND t.expires_at <= $5 THEN 'expired' ELSE t.state END AS state,
			json_build_object('Name', t.sender_name, 'Email', t.sender_email, 'Person', t.sender) AS sender, coalesce(d.recipient, '') AS recipient,
			d.recipients, d.downloads, t.object_count, t.total_bytes, t.protection, coalesce(t.malware_status, '') AS malware_status, t.created_at,
			CASE WHEN t.pinned_expiry IS NULL THEN t.expires_at END AS expires_at
		FROM page JOIN transfer.transfers t ON t.uid = page.uid CROSS JOIN LATERAL (
			SELECT (array_agg(d.email ORDER BY d.position))[1] AS recipient, count(*) FILTER (WHERE d.destination_type <> 'link') AS recipients,
				coalesce(sum(d.downloads), 0)::bigint AS downloads
			FROM transfer.deliveries d WHERE d.transfer = t.uid
		) d ORDER BY page.created_at DESC, page.uid DESC`, args...)
	if err != nil {
		return nil, Position{}, err
	}
	for _, r := range rows {
		if r.Found && len(list) == q.Limit {
			last := list[q.Limit-1]
			return list, Position{At: last.CreatedAt, UID: last.UID}, nil
		}
		if r.Found {
			list = append(list, r.ListedTransfer)
		}
		if r.Last {
			next = Position{At: r.CreatedAt, UID: r.UID}
		}
	}
	return list, next, nil
}

// TransferHolders says whose limits a transfer uses, for an operator. Names are empty once a person or organization was deleted.
type TransferHolders struct {
	OwnerEmail       string
	Organization     id.Organization
	OrganizationName string
	EndedAt          *time.Time
	HasReceipt       bool // one that was not erased
}

// TransferHolders returns whose limits a transfer uses.
// Errors: transfer.ErrNotFound.
func (s *Store) TransferHolders(ctx context.Context, uid id.Transfer) (TransferHolders, error) {
	return database.One[TransferHolders](ctx, s.q, "find holders of transfer", transfer.ErrNotFound, `
		SELECT coalesce((SELECT p.email FROM directory.persons p WHERE p.person = t.owner), '') AS owner_email,
			t.limits_organization AS organization,
			coalesce((SELECT o.name FROM directory.organizations o WHERE o.organization = t.limits_organization), '') AS organization_name,
				t.ended_at,
			EXISTS (SELECT FROM transfer.receipts c WHERE c.transfer = t.uid AND c.body IS NOT NULL) AS has_receipt
		FROM transfer.transfers t WHERE t.uid = $1`, uid)
}

// PersonAt returns the person who has verified an address in lower case, or whose primary address it is; zero if there is none.
func (s *Store) PersonAt(ctx context.Context, address string) (id.Person, error) {
	return database.Scalar[id.Person](ctx, s.q, "find person", nil, `
		SELECT person FROM directory.addresses WHERE address = $1 AND (verified OR is_primary) ORDER BY verified DESC LIMIT 1`, address)
}
