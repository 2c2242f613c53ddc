package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

const groupColumns = `g.uid, g.organization, g.name, g.description, v.link`

type groupRow struct {
	UID          id.Group
	Organization id.Organization
	Name         string
	Description  *string
	Link         *string
}

func (r groupRow) group() transfer.MailboxGroup {
	return transfer.MailboxGroup{UID: r.UID, Organization: r.Organization, Name: r.Name, Description: or(r.Description), VanityLink: or(r.Link)}
}

// PublicGroup finds a group by its key among those at home on the scope's host. ErrNotFound.
func (s *Store) PublicGroup(ctx context.Context, key transfer.Key, sc Scope) (transfer.MailboxGroup, error) {
	const byUID = `SELECT ` + groupColumns + ` FROM transfer.mailbox_groups g
		JOIN directory.organizations o ON o.organization = g.organization
		LEFT JOIN transfer.vanity_links v ON v.mailbox_group = g.uid
		WHERE g.uid = $1 AND o.host = $2`
	const byLink = `SELECT ` + groupColumns + ` FROM transfer.vanity_links v
		JOIN transfer.mailbox_groups g ON g.uid = v.mailbox_group
		JOIN directory.organizations o ON o.organization = g.organization
		WHERE v.link = $1 AND o.host = $2 AND v.host_organization = $3`
	var row groupRow
	var err error
	if key.Link == "" {
		row, err = one[groupRow](s.q.Query(ctx, byUID, key.UID, sc.Host))
	} else {
		row, err = one[groupRow](s.q.Query(ctx, byLink, key.Link, sc.Host, sc.HostOrganization))
	}
	if err != nil {
		return transfer.MailboxGroup{}, fmt.Errorf("find mailbox group: %w", err)
	}
	return row.group(), nil
}

// Group returns a group of an organization, without its mailboxes. ErrNotFound.
func (s *Store) Group(ctx context.Context, o id.Organization, uid id.Group) (transfer.MailboxGroup, error) {
	row, err := one[groupRow](s.q.Query(ctx, `SELECT `+groupColumns+` FROM transfer.mailbox_groups g
		LEFT JOIN transfer.vanity_links v ON v.mailbox_group = g.uid WHERE g.uid = $1 AND g.organization = $2`, uid, o))
	if err != nil {
		return transfer.MailboxGroup{}, fmt.Errorf("find mailbox group: %w", err)
	}
	return row.group(), nil
}

// Groups returns the groups of an organization by name, without their mailboxes.
func (s *Store) Groups(ctx context.Context, o id.Organization) ([]transfer.MailboxGroup, error) {
	rows, err := all[groupRow](s.q.Query(ctx, `SELECT `+groupColumns+` FROM transfer.mailbox_groups g
		LEFT JOIN transfer.vanity_links v ON v.mailbox_group = g.uid WHERE g.organization = $1 ORDER BY g.name, g.uid`, o))
	if err != nil {
		return nil, fmt.Errorf("list mailbox groups: %w", err)
	}
	out := make([]transfer.MailboxGroup, len(rows))
	for i, r := range rows {
		out[i] = r.group()
	}
	return out, nil
}

// GroupMembers returns the mailboxes of several groups by group, in the order they were given; those of people who are
// no longer in the group's organization are left out.
func (s *Store) GroupMembers(ctx context.Context, groups []id.Group) (map[id.Group][]transfer.GroupMember, error) {
	type memberRow struct {
		transfer.GroupMember
		MailboxGroup id.Group
	}
	rows, err := all[memberRow](s.q.Query(ctx, `SELECT x.mailbox_group, x.mailbox, coalesce(octet_length(m.fields_schema::text), 0)
			+ coalesce(octet_length(m.ui_schema::text), 0) + coalesce(octet_length(m.absence_message), 0) AS bytes
		FROM transfer.mailbox_groups g
		JOIN transfer.mailbox_group_members x ON x.mailbox_group = g.uid
		JOIN transfer.mailboxes m ON m.person = x.mailbox
		JOIN directory.persons p ON p.person = m.person AND p.organization = g.organization
		WHERE g.uid = ANY ($1) ORDER BY x.mailbox_group, x.position`, uuids(groups)))
	if err != nil {
		return nil, fmt.Errorf("list members of groups: %w", err)
	}
	out := make(map[id.Group][]transfer.GroupMember, len(groups))
	for _, r := range rows {
		out[r.MailboxGroup] = append(out[r.MailboxGroup], r.GroupMember)
	}
	return out, nil
}

// GroupMailboxes returns those of a group's mailboxes that are named, in the group's order.
func (s *Store) GroupMailboxes(ctx context.Context, g id.Group, named []id.Person, sc Scope) ([]transfer.PublicMailbox, error) {
	rows, err := all[mailboxRow](s.q.Query(ctx, `SELECT `+ownerColumns+`, `+mailboxColumns+` FROM transfer.mailbox_groups g
		JOIN transfer.mailbox_group_members x ON x.mailbox_group = g.uid
		JOIN transfer.mailboxes m ON m.person = x.mailbox
		JOIN directory.persons p ON p.person = m.person AND p.organization = g.organization`+ownerJoins+`
		LEFT JOIN transfer.vanity_links v ON v.mailbox = m.person
		WHERE g.uid = $2 AND x.mailbox = ANY ($3) ORDER BY x.position`, transfer.Month(sc.Now), g, uuids(named)))
	if err != nil {
		return nil, fmt.Errorf("list mailboxes of group: %w", err)
	}
	out := make([]transfer.PublicMailbox, len(rows))
	for i, r := range rows {
		if out[i], err = s.mailbox(ctx, r, sc); err != nil {
			return nil, fmt.Errorf("complete mailboxes of group: %w", err)
		}
	}
	return out, nil
}

// LockGroups keeps others from adding groups to an organization until the transaction ends, and returns how many there
// are and how many the subscription allows. ErrNotFound when the organization is not at home on the scope's host.
func (s *Store) LockGroups(ctx context.Context, o id.Organization, sc Scope) (held, allowed int, err error) {
	if _, err := s.q.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('transfer.mailbox_groups ' || $1::text, 0))`, o.String()); err != nil {
		return 0, 0, fmt.Errorf("lock mailbox groups: %w", err)
	}
	type countRow struct{ Held, Allowed int }
	row, err := one[countRow](s.q.Query(ctx, `
		SELECT (SELECT count(*) FROM transfer.mailbox_groups g WHERE g.organization = o.organization) AS held, l.mailbox_groups AS allowed
		FROM directory.organizations o JOIN directory.limits l ON l.organization = o.organization
		WHERE o.organization = $1 AND o.host = $2`, o, sc.Host))
	if err != nil {
		return 0, 0, fmt.Errorf("count mailbox groups: %w", err)
	}
	return row.Held, row.Allowed, nil
}

// AtHome reports, as ErrNotFound when not, whether an organization is at home on the scope's host.
func (s *Store) AtHome(ctx context.Context, o id.Organization, sc Scope) error {
	type organizationRow struct{ Organization id.Organization }
	_, err := one[organizationRow](s.q.Query(ctx, `SELECT organization FROM directory.organizations WHERE organization = $1 AND host = $2`, o, sc.Host))
	if err != nil {
		return fmt.Errorf("find organization: %w", err)
	}
	return nil
}

// InsertGroup adds a group without mailboxes and link.
func (s *Store) InsertGroup(ctx context.Context, g transfer.MailboxGroup, now time.Time) error {
	_, err := s.q.Exec(ctx, `INSERT INTO transfer.mailbox_groups (uid, organization, name, description, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $5)`, g.UID, g.Organization, g.Name, text(g.Description), now)
	if err != nil {
		return fmt.Errorf("store mailbox group: %w", err)
	}
	return nil
}

// UpdateGroup replaces what an organization's group is called. ErrNotFound.
func (s *Store) UpdateGroup(ctx context.Context, g transfer.MailboxGroup, now time.Time) error {
	tag, err := s.q.Exec(ctx, `UPDATE transfer.mailbox_groups SET name = $3, description = $4, updated_at = $5 WHERE uid = $1 AND organization = $2`,
		g.UID, g.Organization, g.Name, text(g.Description), now)
	if err != nil {
		return fmt.Errorf("store mailbox group: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return transfer.ErrNotFound
	}
	return nil
}

// SetGroupMailboxes replaces the mailboxes of a group, in that order, and returns how many of them are mailboxes of the
// group's organization: when they are fewer, the caller rolls back.
func (s *Store) SetGroupMailboxes(ctx context.Context, g transfer.MailboxGroup, mailboxes []id.Person) (int, error) {
	// A mailbox that is being removed is none. Locked before the places in the group, as by whoever removes a mailbox.
	_, err := s.q.Exec(ctx, `SELECT FROM transfer.mailboxes WHERE person = ANY ($1) ORDER BY person FOR KEY SHARE`, uuids(mailboxes))
	if err != nil {
		return 0, fmt.Errorf("lock mailboxes: %w", err)
	}
	if _, err := s.q.Exec(ctx, `DELETE FROM transfer.mailbox_group_members WHERE mailbox_group = $1`, g.UID); err != nil {
		return 0, fmt.Errorf("clear mailbox group: %w", err)
	}
	tag, err := s.q.Exec(ctx, `
		INSERT INTO transfer.mailbox_group_members (mailbox_group, mailbox, position)
		SELECT $1, m.person, n.nr FROM unnest($3::uuid[]) WITH ORDINALITY AS n (person, nr)
		JOIN transfer.mailboxes m ON m.person = n.person
		JOIN directory.persons p ON p.person = m.person AND p.organization = $2`, g.UID, g.Organization, uuids(mailboxes))
	if err != nil {
		return 0, fmt.Errorf("fill mailbox group: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// SetGroupVanityLink is SetVanityLink for a group.
func (s *Store) SetGroupVanityLink(ctx context.Context, g id.Group, host id.Organization, link string) error {
	var err error
	if link == "" {
		_, err = s.q.Exec(ctx, `DELETE FROM transfer.vanity_links WHERE mailbox_group = $1`, g)
	} else {
		_, err = s.q.Exec(ctx, `
			INSERT INTO transfer.vanity_links (host_organization, link, mailbox_group) VALUES ($1, $2, $3)
			ON CONFLICT ON CONSTRAINT vanity_links_group_key DO UPDATE
			SET host_organization = excluded.host_organization, link = excluded.link`, host, link, g)
	}
	if database.Constraint(err) == "vanity_links_pkey" {
		return transfer.ErrVanityLink
	}
	if err != nil {
		return fmt.Errorf("set vanity link: %w", err)
	}
	return nil
}

// DeleteGroup removes an organization's group with its vanity link. ErrNotFound.
func (s *Store) DeleteGroup(ctx context.Context, o id.Organization, uid id.Group) error {
	tag, err := s.q.Exec(ctx, `DELETE FROM transfer.mailbox_groups WHERE uid = $1 AND organization = $2`, uid, o)
	if err != nil {
		return fmt.Errorf("delete mailbox group: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return transfer.ErrNotFound
	}
	return nil
}

// MoveGroupLinks brings the vanity links of an organization's groups to the host of another organization, or of its own;
// those that are taken there are cleared.
func (s *Store) MoveGroupLinks(ctx context.Context, o, host id.Organization) error {
	_, err := s.q.Exec(ctx, `
		WITH astray AS (
			SELECT v.host_organization, v.link, EXISTS (SELECT FROM transfer.vanity_links x WHERE x.host_organization = $2 AND x.link = v.link) AS taken
			FROM transfer.vanity_links v JOIN transfer.mailbox_groups g ON g.uid = v.mailbox_group
			WHERE g.organization = $1 AND v.host_organization <> $2
		), cleared AS (
			DELETE FROM transfer.vanity_links v USING astray a WHERE a.taken AND v.host_organization = a.host_organization AND v.link = a.link
		)
		UPDATE transfer.vanity_links v SET host_organization = $2 FROM astray a
		WHERE NOT a.taken AND v.host_organization = a.host_organization AND v.link = a.link`, o, host)
	if err != nil {
		return fmt.Errorf("move vanity links of groups: %w", err)
	}
	return nil
}
