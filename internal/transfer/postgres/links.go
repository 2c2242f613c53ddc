// SQL of short links: claim, release, and quarantine.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// A vanity link is held by a mailbox or by a group, or it is released. A released link keeps its row: the primary key then refuses
// it to others, also to parallel requests. Its former owner is a person, or the organization of a group (contract 4.1).

// releaseLinks releases vanity links at the time $2. A WHERE follows.
const releaseLinks = `
	UPDATE transfer.vanity_links v SET mailbox = NULL, mailbox_group = NULL, released_at = $2, former_person = v.mailbox,
		former_organization = (SELECT g.organization FROM transfer.mailbox_groups g WHERE g.uid = v.mailbox_group)
	`

// claimLinks makes an inserted vanity link replace a released one whose quarantine began before $2 or whose former owner takes it
// back. $3 is the organization of a group. A link that is held, or in quarantine for others, is left out.
const claimLinks = `
	ON CONFLICT ON CONSTRAINT vanity_links_pkey DO UPDATE
	SET mailbox = excluded.mailbox, mailbox_group = excluded.mailbox_group, released_at = NULL, former_person = NULL,
		former_organization = NULL
	WHERE v.mailbox = excluded.mailbox OR v.mailbox_group = excluded.mailbox_group OR v.released_at <= $2
		OR v.former_person = excluded.mailbox OR v.former_organization = $3::uuid`

// LinkScope is the context of a change of vanity links.
type LinkScope struct {
	Host       id.Organization // the organization that owns the host
	Now        time.Time
	Quarantine time.Duration // how long a released link is kept for its former owner
}

// SetVanityLink gives a mailbox the link, in place of its former one. An empty link only releases the former one.
// Errors: transfer.ErrVanityLink, transfer.ErrLinkQuarantined.
func (s *Store) SetVanityLink(ctx context.Context, mailbox id.Person, sc LinkScope, link string) error {
	_, err := database.Exec(ctx, s.q, "release vanity link",
		releaseLinks+`WHERE v.mailbox = $1 AND (v.host_organization, v.link) <> ($3::uuid, $4::text)`,
		mailbox, sc.Now, sc.Host, link)
	if err != nil || link == "" {
		return err
	}
	return s.claimed(ctx, sc, link, func() (int, error) { return s.claimMailboxLink(ctx, mailbox, sc, link) })
}

func (s *Store) claimMailboxLink(ctx context.Context, mailbox id.Person, sc LinkScope, link string) (int, error) {
	return database.Exec(ctx, s.q, "set vanity link", `
		INSERT INTO transfer.vanity_links AS v (host_organization, link, mailbox) VALUES ($1, $4, $5)`+claimLinks,
		sc.Host, sc.Now.Add(-sc.Quarantine), nil, link, mailbox)
}

// SetGroupVanityLink gives a group the link, in place of its former one. An empty link only releases the former one.
// Errors: transfer.ErrVanityLink, transfer.ErrLinkQuarantined.
func (s *Store) SetGroupVanityLink(ctx context.Context, g transfer.MailboxGroup, sc LinkScope) error {
	_, err := database.Exec(ctx, s.q, "release vanity link",
		releaseLinks+`WHERE v.mailbox_group = $1 AND (v.host_organization, v.link) <> ($3::uuid, $4::text)`,
		g.UID, sc.Now, sc.Host, g.VanityLink)
	if err != nil || g.VanityLink == "" {
		return err
	}
	return s.claimed(ctx, sc, g.VanityLink, func() (int, error) {
		return database.Exec(ctx, s.q, "set vanity link", `
			INSERT INTO transfer.vanity_links AS v (host_organization, link, mailbox_group) VALUES ($1, $4, $5)`+claimLinks,
			sc.Host, sc.Now.Add(-sc.Quarantine), g.Organization, g.VanityLink, g.UID)
	})
}

// claimed runs a claim of one link, and returns why it was refused.
// Errors: transfer.ErrVanityLink, transfer.ErrLinkQuarantined.
func (s *Store) claimed(ctx context.Context, sc LinkScope, link string, claim func() (int, error)) error {
	n, err := claim()
	if err != nil || n == 1 {
		return err
	}
	released, err := database.Scalar[bool](ctx, s.q, "find vanity link", nil,
		`SELECT released_at IS NOT NULL FROM transfer.vanity_links WHERE host_organization = $1 AND link = $2`, sc.Host, link)
	if err != nil {
		return err
	}
	if released {
		return transfer.ErrLinkQuarantined
	}
	return transfer.ErrVanityLink
}

// MoveVanityLink moves a mailbox's link to another host.
// Errors: transfer.ErrVanityLink when it is taken or in quarantine there; then ClearVanityLink releases it.
func (s *Store) MoveVanityLink(ctx context.Context, mailbox id.Person, sc LinkScope) error {
	link, err := s.ClearVanityLink(ctx, mailbox, sc)
	if err != nil || link == "" {
		return err
	}
	n, err := s.claimMailboxLink(ctx, mailbox, sc, link)
	if err == nil && n == 0 {
		return transfer.ErrVanityLink
	}
	return err
}

// ClearVanityLink releases a mailbox's link unless it is on the scope's host. It returns the link, "" if none was released.
func (s *Store) ClearVanityLink(ctx context.Context, mailbox id.Person, sc LinkScope) (string, error) {
	return database.Scalar[string](ctx, s.q, "clear vanity link", nil,
		releaseLinks+`WHERE v.mailbox = $1 AND v.host_organization <> $3 RETURNING v.link`, mailbox, sc.Now, sc.Host)
}

// MoveGroupLinks moves the vanity links of an organization's groups to another host. Links that are taken or in quarantine there are
// only released.
func (s *Store) MoveGroupLinks(ctx context.Context, o id.Organization, sc LinkScope) error {
	type groupLink struct {
		MailboxGroup id.Group
		Link         string
	}
	astray, err := database.All[groupLink](ctx, s.q, "release vanity links of groups", `
		WITH astray AS (
			SELECT v.host_organization, v.link, v.mailbox_group FROM transfer.vanity_links v
			JOIN transfer.mailbox_groups g ON g.uid = v.mailbox_group
			WHERE g.organization = $1 AND v.host_organization <> $3 ORDER BY v.host_organization, v.link FOR UPDATE OF v
		), released AS (`+releaseLinks+`
			WHERE (v.host_organization, v.link) IN (SELECT a.host_organization, a.link FROM astray a))
		SELECT DISTINCT ON (link) mailbox_group, link FROM astray ORDER BY link`, o, sc.Now, sc.Host)
	if err != nil || len(astray) == 0 {
		return err
	}
	_, err = database.Exec(ctx, s.q, "move vanity links of groups", `
		INSERT INTO transfer.vanity_links AS v (host_organization, link, mailbox_group)
		SELECT $1, n.link, n.mailbox_group FROM unnest($4::text[], $5::uuid[]) AS n (link, mailbox_group)`+claimLinks,
		sc.Host, sc.Now.Add(-sc.Quarantine), o, column(astray, func(l groupLink) string { return l.Link }),
		column(astray, func(l groupLink) id.Group { return l.MailboxGroup }))
	return err
}

// DeleteReleasedLinks deletes the rows of links that were released before a time.
func (s *Store) DeleteReleasedLinks(ctx context.Context, before time.Time) error {
	_, err := database.Exec(ctx, s.q, "delete released links", `DELETE FROM transfer.vanity_links WHERE released_at < $1`, before)
	return err
}
