// SQL of mailbox groups.

package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// groupColumns are a transfer.MailboxGroup without its members.
const groupColumns = `g.uid, g.organization, g.name, coalesce(g.description, '') AS description, coalesce(v.link, '') AS vanity_link`

// PublicGroup finds a group by its key among those whose home is the scope's host.
// Errors: transfer.ErrNotFound.
func (s *Store) PublicGroup(ctx context.Context, key transfer.Key, sc Scope) (transfer.MailboxGroup, error) {
	sql, args := `SELECT `+groupColumns+` FROM transfer.mailbox_groups g
		JOIN directory.organizations o ON o.organization = g.organization
		LEFT JOIN transfer.vanity_links v ON v.mailbox_group = g.uid
		WHERE g.uid = $1 AND o.host = $2`, []any{key.UID, sc.Host}
	if key.Link != "" {
		sql, args = `SELECT `+groupColumns+` FROM transfer.vanity_links v
		JOIN transfer.mailbox_groups g ON g.uid = v.mailbox_group
		JOIN directory.organizations o ON o.organization = g.organization
		WHERE v.link = $1 AND o.host = $2 AND v.host_organization = $3`, []any{key.Link, sc.Host, sc.HostOrganization}
	}
	g, err := database.One[transfer.MailboxGroup](ctx, s.q, "find mailbox group", transfer.ErrNotFound, sql, args...)
	if key.Link != "" && errors.Is(err, transfer.ErrNotFound) {
		return database.One[transfer.MailboxGroup](ctx, s.q, "find mailbox group that moves", transfer.ErrNotFound, `
		SELECT `+groupColumns+` FROM transfer.vanity_links v
		JOIN transfer.mailbox_groups g ON g.uid = v.mailbox_group
		JOIN directory.organizations o ON o.organization = g.organization
		WHERE `+fmt.Sprintf(unmoved, 1, 2, 3), key.Link, sc.Host, sc.HostOrganization)
	}
	return g, err
}

// Group returns a group of an organization, without its mailboxes.
// Errors: transfer.ErrNotFound.
func (s *Store) Group(ctx context.Context, o id.Organization, uid id.Group) (transfer.MailboxGroup, error) {
	return database.One[transfer.MailboxGroup](ctx, s.q, "find mailbox group", transfer.ErrNotFound, `
		SELECT `+groupColumns+` FROM transfer.mailbox_groups g
		LEFT JOIN transfer.vanity_links v ON v.mailbox_group = g.uid WHERE g.uid = $1 AND g.organization = $2`, uid, o)
}

// Groups returns the groups of an organization by name, without their mailboxes.
func (s *Store) Groups(ctx context.Context, o id.Organization) ([]transfer.MailboxGroup, error) {
	return database.All[transfer.MailboxGroup](ctx, s.q, "list mailbox groups", `
		SELECT `+groupColumns+` FROM transfer.mailbox_groups g
		LEFT JOIN transfer.vanity_links v ON v.mailbox_group = g.uid WHERE g.organization = $1 ORDER BY g.name, g.uid`, o)
}

// GroupsOf returns the groups that list a person's mailbox, by name, without their mailboxes.
func (s *Store) GroupsOf(ctx context.Context, p id.Person) ([]transfer.MailboxGroup, error) {
	return database.All[transfer.MailboxGroup](ctx, s.q, "list mailbox groups", `
		SELECT `+groupColumns+` FROM transfer.mailbox_group_members x
		JOIN transfer.mailbox_groups g ON g.uid = x.mailbox_group
		JOIN directory.persons p ON p.person = x.mailbox AND p.organization = g.organization
		LEFT JOIN transfer.vanity_links v ON v.mailbox_group = g.uid WHERE x.mailbox = $1 ORDER BY g.name, g.uid`, p)
}

// GroupMembers returns the mailboxes of several groups by group, in the order they were given; those of people who are
// no longer in the group's organization are left out.
func (s *Store) GroupMembers(ctx context.Context, groups []id.Group) (map[id.Group][]transfer.GroupMember, error) {
	type memberRow struct {
		transfer.GroupMember
		MailboxGroup id.Group
	}
	rows, err := database.All[memberRow](ctx, s.q, "list members of groups",
		`SELECT x.mailbox_group, x.mailbox, coalesce(octet_length(m.fields_schema::text), 0)
			+ coalesce(octet_length(m.ui_schema::text), 0) + coalesce(octet_length(m.absence_message), 0) AS bytes
		FROM transfer.mailbox_groups g
		JOIN transfer.mailbox_group_members x ON x.mailbox_group = g.uid
		JOIN transfer.mailboxes m ON m.person = x.mailbox
		JOIN directory.persons p ON p.person = m.person AND p.organization = g.organization
		WHERE g.uid = ANY ($1) ORDER BY x.mailbox_group, x.position`, groups)
	if err != nil {
		return nil, err
	}
	out := make(map[id.Group][]transfer.GroupMember, len(groups))
	for _, r := range rows {
		out[r.MailboxGroup] = append(out[r.MailboxGroup], r.GroupMember)
	}
	return out, nil
}

// GroupMailboxes returns those of a group's mailboxes that are named, in the group's order.
func (s *Store) GroupMailboxes(ctx context.Context, g id.Group, named []id.Person, sc Scope) ([]transfer.PublicMailbox, error) {
	list, err := database.All[ownedMailbox](ctx, s.q, "list mailboxes of group", `
		SELECT `+accountColumns+`, `+mailboxColumns+` FROM transfer.mailbox_groups g
		JOIN transfer.mailbox_group_members x ON x.mailbox_group = g.uid
		JOIN transfer.mailboxes m ON m.person = x.mailbox
		JOIN directory.persons p ON p.person = m.person AND p.organization = g.organization`+accountJoins+`
		LEFT JOIN transfer.vanity_links v ON v.mailbox = m.person
		WHERE g.uid = $3 AND x.mailbox = ANY ($4) ORDER BY x.position`,
		transfer.Month(sc.Now), sc.Defaults.UploadVolume, g, named)
	if err != nil {
		return nil, err
	}
	out := make([]transfer.PublicMailbox, len(list))
	for i, m := range list {
		owner, err := s.owner(ctx, m.Account, sc)
		if err != nil {
			return nil, err
		}
		out[i] = transfer.PublicMailbox{Mailbox: m.Mailbox, Owner: owner}
	}
	return out, nil
}

// LockGroups takes the advisory lock for adding groups to an organization until the transaction ends. It returns how many
// groups there are and how many the subscription allows.
// Errors: transfer.ErrNotFound when the organization's home is not the scope's host.
func (s *Store) LockGroups(ctx context.Context, o id.Organization, sc Scope) (held, allowed int, err error) {
	if _, err := database.Exec(ctx, s.q, "lock mailbox groups",
		`SELECT pg_advisory_xact_lock(hashtextextended('transfer.mailbox_groups ' || $1::text, 0))`, o); err != nil {
		return 0, 0, err
	}
	row, err := database.One[struct{ Held, Allowed int }](ctx, s.q, "count mailbox groups", transfer.ErrNotFound, `
		SELECT (SELECT count(*) FROM transfer.mailbox_groups g WHERE g.organization = o.organization) AS held, l.mailbox_groups AS allowed
		FROM directory.organizations o JOIN directory.limits l ON l.organization = o.organization
		WHERE o.organization = $1 AND o.host = $2`, o, sc.Host)
	return row.Held, row.Allowed, err
}

// AtHome returns nil when an organization's home is the scope's host.
// Errors: transfer.ErrNotFound.
func (s *Store) AtHome(ctx context.Context, o id.Organization, sc Scope) error {
	_, err := database.Scalar[id.Organization](ctx, s.q, "find organization", transfer.ErrNotFound,
		`SELECT organization FROM directory.organizations WHERE organization = $1 AND host = $2`, o, sc.Host)
	return err
}

// SharesLimits reports whether people without an organization share the limits of an organization, as they do those of the free one.
// Errors: transfer.ErrNotFound.
func (s *Store) SharesLimits(ctx context.Context, o id.Organization) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "find organization", transfer.ErrNotFound,
		`SELECT free FROM directory.organizations WHERE organization = $1`, o)
}

// InsertGroup adds a group without mailboxes and link.
func (s *Store) InsertGroup(ctx context.Context, g transfer.MailboxGroup, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "store mailbox group",
		`INSERT INTO transfer.mailbox_groups (uid, organization, name, description, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $5)`, g.UID, g.Organization, g.Name, database.Null(g.Description), now)
	return err
}

// UpdateGroup replaces the name and description of an organization's group.
// Errors: transfer.ErrNotFound.
func (s *Store) UpdateGroup(ctx context.Context, g transfer.MailboxGroup, now time.Time) error {
	return database.Changed(ctx, s.q, "store mailbox group", transfer.ErrNotFound,
		`UPDATE transfer.mailbox_groups SET name = $3, description = $4, updated_at = $5 WHERE uid = $1 AND organization = $2`,
		g.UID, g.Organization, g.Name, database.Null(g.Description), now)
}

// SetGroupMailboxes replaces the mailboxes of a group, in that order. It returns how many of them are mailboxes of the group's
// organization: the caller rolls back when some are not.
func (s *Store) SetGroupMailboxes(ctx context.Context, g transfer.MailboxGroup, mailboxes []id.Person) (int, error) {
	// The lock waits for a mailbox that is being deleted. Mailboxes are locked before group members, as DeleteMailbox does.
	if _, err := database.Exec(ctx, s.q, "lock mailboxes",
		`SELECT FROM transfer.mailboxes WHERE person = ANY ($1) ORDER BY person FOR KEY SHARE`, mailboxes); err != nil {
		return 0, err
	}
	if _, err := database.Exec(ctx, s.q, "clear mailbox group",
		`DELETE FROM transfer.mailbox_group_members WHERE mailbox_group = $1`, g.UID); err != nil {
		return 0, err
	}
	return database.Exec(ctx, s.q, "fill mailbox group", `
		INSERT INTO transfer.mailbox_group_members (mailbox_group, mailbox, position)
		SELECT $1, m.person, n.nr FROM unnest($3::uuid[]) WITH ORDINALITY AS n (person, nr)
		JOIN transfer.mailboxes m ON m.person = n.person
		JOIN directory.persons p ON p.person = m.person AND p.organization = $2`, g.UID, g.Organization, mailboxes)
}

// DeleteGroup deletes an organization's group and releases its vanity link.
// Errors: transfer.ErrNotFound.
func (s *Store) DeleteGroup(ctx context.Context, o id.Organization, uid id.Group, now time.Time) error {
	return database.Changed(ctx, s.q, "delete mailbox group", transfer.ErrNotFound, `
		WITH gone AS (
			SELECT uid FROM transfer.mailbox_groups WHERE uid = $1 AND organization = $3
		), released AS (`+releaseLinks+`WHERE v.mailbox_group IN (SELECT uid FROM gone))
		DELETE FROM transfer.mailbox_groups g USING gone WHERE g.uid = gone.uid`, uid, now, o)
}
