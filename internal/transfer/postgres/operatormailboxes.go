package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// MailboxSearch selects mailboxes and groups for operators: the mailbox of a person, those of an organization, or, without both, those
// whose links begin with Link.
type MailboxSearch struct {
	Link         string // lower case; empty: all links
	Person       id.Person
	Organization id.Organization
	AfterKey     string // Key of the last item of the page before
	After        uuid.UUID
	Limit        int
}

// FoundMailbox is a mailbox or group of a page with its place in the order.
type FoundMailbox struct {
	transfer.ListedMailbox
	Key string
	At  uuid.UUID
}

// page returns the SQL of the rows of a page (mailbox or mailbox_group, link, key, at), which are sorted by key and at. Of an organization,
// key is g for groups and m for mailboxes, so groups come first.
func (q MailboxSearch) page() (rows string, args []any) {
	switch {
	case !q.Person.IsZero():
		return `SELECT m.person AS mailbox, NULL::uuid AS mailbox_group, v.link, '' AS key, m.person AS at
			FROM transfer.mailboxes m LEFT JOIN transfer.vanity_links v ON v.mailbox = m.person WHERE m.person = $2`, []any{q.Person}
	case !q.Organization.IsZero():
		return `SELECT * FROM (
				(SELECT NULL::uuid AS mailbox, g.uid AS mailbox_group, (SELECT v.link FROM transfer.vanity_links v
					WHERE v.mailbox_group = g.uid) AS link, 'g' AS key, g.uid AS at
				FROM transfer.mailbox_groups g WHERE g.organization = $2 AND $3 <> 'm' AND g.uid > $4::uuid ORDER BY g.uid LIMIT $5)
			UNION ALL
				(SELECT m.person, NULL, (SELECT v.link FROM transfer.vanity_links v WHERE v.mailbox = m.person), 'm', p.person
				FROM directory.persons p CROSS JOIN LATERAL (SELECT m.person FROM transfer.mailboxes m WHERE m.person = p.person OFFSET 0) m
				WHERE p.organization = $2 AND p.person > CASE WHEN $3 = 'm' THEN $4::uuid ELSE '00000000-0000-0000-0000-000000000000' END
					ORDER BY p.person LIMIT $5)
			) x ORDER BY key, at LIMIT $5`, []any{q.Organization, q.AfterKey, q.After, q.Limit}
	}
	return `SELECT v.mailbox, v.mailbox_group, v.link, v.link COLLATE "C" AS key, v.host_organization AS at FROM transfer.vanity_links v
			WHERE v.released_at IS NULL AND (v.link COLLATE "C", v.host_organization) > ($2, $3) AND v.link COLLATE "C" < $4
			ORDER BY v.link COLLATE "C", v.host_organization LIMIT $5`, []any{max(q.Link, q.AfterKey), q.After, q.Link + "\U0010FFFF", q.Limit}
}

// FindMailboxes returns a page of the mailboxes and groups that an operator looks for.
func (s *Store) FindMailboxes(ctx context.Context, q MailboxSearch, now time.Time) ([]FoundMailbox, error) {
	page, args := q.page()
	return database.All[FoundMailbox](ctx, s.q, "find mailboxes", `
		WITH page AS MATERIALIZED (`+page+`)
		SELECT page.mailbox AS person, page.mailbox_group AS mailbox_group, coalesce(page.link, '') AS link, coalesce(g.name, m.name,
			'') AS name, coalesce(m.email, '') AS email,
			coalesce(m.absent, false) AS absent, coalesce(m.secure, false) AS secure, o.organization, coalesce(o.name, '') AS organization_name,
			coalesce(g.members, 0) AS members, x.reservations, x.bytes, page.key, page.at
		FROM page LEFT JOIN LATERAL (
			SELECT coalesce(m.name, p.name) AS name, p.email, m.absent, m.secure, p.organization
			FROM transfer.mailboxes m JOIN directory.persons p ON p.person = m.person WHERE m.person = page.mailbox OFFSET 0
		) m ON true LEFT JOIN LATERAL (
			SELECT g.name, g.organization, (SELECT count(*) FROM transfer.mailbox_group_members y WHERE y.mailbox_group = g.uid) AS members
			FROM transfer.mailbox_groups g WHERE g.uid = page.mailbox_group OFFSET 0
		) g ON true LEFT JOIN LATERAL (
			SELECT o.organization, o.name FROM directory.organizations o WHERE o.organization = coalesce(m.organization, g.organization) OFFSET 0
		) o ON true CROSS JOIN LATERAL (
			SELECT count(*) AS reservations, coalesce(sum(r.bytes), 0)::bigint AS bytes FROM transfer.stranger_reservations r
				WHERE r.owner = page.mailbox AND r.expires_at > $1
		) x ORDER BY page.key COLLATE "C", page.at`, append([]any{now}, args...)...)
}

// SuspendMailbox suspends the mailbox of a person, and returns what running uploads watch: nothing without a mailbox, or when it was
// suspended before. A mailbox that the person makes later is suspended, too.
func (s *Store) SuspendMailbox(ctx context.Context, p id.Person, now time.Time) (ended []uuid.UUID, suspended bool, err error) {
	n, err := database.Exec(ctx, s.q, "suspend mailbox", `
		INSERT INTO transfer.mailbox_suspensions (mailbox, suspended_at) VALUES ($1, $2)
		ON CONFLICT ON CONSTRAINT mailbox_suspensions_pkey DO NOTHING`, p, now)
	if err != nil || n == 0 {
		return nil, false, err
	}
	ended, err = database.Scalars[uuid.UUID](ctx, s.q, "end suspended uploads", `
		WITH before AS (
			SELECT person, next_suspension FROM transfer.mailboxes WHERE person = $1 FOR NO KEY UPDATE
		), changed AS (
			UPDATE transfer.mailboxes m SET next_suspension = gen_random_uuid() FROM before WHERE m.person = before.person
		)
		SELECT next_suspension FROM before`, p)
	return ended, true, err
}

// ReactivateMailbox ends the suspension of a mailbox, and reports whether there was one.
func (s *Store) ReactivateMailbox(ctx context.Context, p id.Person) (bool, error) {
	n, err := database.Exec(ctx, s.q, "reactivate mailbox", `DELETE FROM transfer.mailbox_suspensions WHERE mailbox = $1`, p)
	return n > 0, err
}
