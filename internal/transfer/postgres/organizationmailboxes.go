package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// MembersMailboxes selects mailboxes of the members of an organization.
type MembersMailboxes struct {
	Organization id.Organization
	Search       string    // lower case, contained in name, address or link; empty: all
	After        id.Person // the page begins behind this owner
	Candidates   int       // how many mailboxes a page compares with Search
	Limit        int
}

// OrganizationMailboxes returns a page of mailboxes in the order of their owners, and the owner behind whom the next page begins, who is
// zero on the last one. With a search, a page may be empty and have a next one.
func (s *Store) OrganizationMailboxes(ctx context.Context, q MembersMailboxes,
	sc Scope) (list []transfer.UsedMailbox, next id.Person, err error) {
	type row struct {
		ownedMailbox
		transfer.MailboxUse
		Found, Last bool
	}
	if q.Search == "" {
		q.Candidates = q.Limit + 1
	}
	rows, err := database.All[row](ctx, s.q, "list mailboxes of organization", `
		WITH candidates AS MATERIALIZED (
			SELECT m.person, coalesce(m.name, p.name) AS name, p.email FROM directory.persons p
			CROSS JOIN LATERAL (SELECT m.person, m.name FROM transfer.mailboxes m WHERE m.person = p.person OFFSET 0) m
			WHERE p.organization = $3 AND p.person > $4 ORDER BY p.person LIMIT $5
		), page AS MATERIALIZED (
			SELECT * FROM (
				SELECT c.person, row_number() OVER (ORDER BY c.person) = $5 AS last, $6 = '' OR strpos(lower(concat_ws(' ', c.name, c.email,
					(SELECT v.link FROM transfer.vanity_links v WHERE v.mailbox = c.person))), $6) > 0 AS found FROM candidates c
			) c WHERE found OR last ORDER BY person LIMIT $7
		)
		SELECT `+accountColumns+`, `+mailboxColumns+
		`, t.received_at, t.transfers, t.bytes, t.partly, r.reservations, r.reservation_bytes, x.found, x.last
		FROM page x JOIN transfer.mailboxes m ON m.person = x.person
		JOIN directory.persons p ON p.person = m.person`+accountJoins+`
		LEFT JOIN transfer.vanity_links v ON v.mailbox = m.person
		CROSS JOIN LATERAL (
			SELECT max(t.created_at) FILTER (WHERE t.type = 'mailbox') AS received_at, count(*) FILTER (WHERE t.type = 'mailbox'
				AND t.ended_at IS NULL) AS transfers,
				coalesce(sum(t.total_bytes) FILTER (WHERE t.type = 'mailbox' AND t.ended_at IS NULL), 0)::bigint AS bytes, count(*) = $8 AS partly
			FROM (
				SELECT t.created_at, t.type, t.total_bytes, t.ended_at FROM transfer.transfers t
				WHERE t.limits_organization = $3 AND t.owner = x.person ORDER BY t.created_at DESC, t.uid DESC LIMIT $8
			) t
		) t CROSS JOIN LATERAL (
			SELECT count(*) AS reservations, coalesce(sum(r.bytes), 0)::bigint AS reservation_bytes
			FROM transfer.stranger_reservations r WHERE r.owner = x.person AND r.expires_at > $9
		) r ORDER BY m.person`,
		transfer.Month(sc.Now), sc.Defaults.UploadVolume, q.Organization, q.After, q.Candidates, q.Search, q.Limit+1, transfer.CountedTransfers,
		sc.Now)
	if err != nil {
		return nil, next, err
	}
	for _, r := range rows {
		if r.Found && len(list) == q.Limit {
			return list, list[q.Limit-1].Person, nil
		}
		if r.Found {
			owner, err := s.owner(ctx, r.Account, sc)
			if err != nil {
				return nil, next, err
			}
			list = append(list, transfer.UsedMailbox{PublicMailbox: transfer.PublicMailbox{Mailbox: r.Mailbox, Owner: owner},
				MailboxUse: r.MailboxUse})
		}
		if r.Last {
			next = r.Person
		}
	}
	return list, next, nil
}
