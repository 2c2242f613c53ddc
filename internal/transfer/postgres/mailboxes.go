// SQL of mailboxes and of their owners' accounts.

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// accountColumns are a transfer.Account; $1 is the month, $2 the personal volume. A statement that finds
// the person through another table names that table first and then accountJoins: the planner reorders at most eight relations
// (join_collapse_limit) and would otherwise begin with all persons.
const (
	accountColumns = `coalesce(p.name, '') AS owner_name, coalesce(p.email, '') AS owner_email, coalesce(p.locale, '') AS owner_locale,
	coalesce(p.time_zone, '') AS owner_time_zone, p.roles AS owner_roles, p.organization AS owner_organization,
	p.created_at AS owner_created_at, p.suspended AS owner_suspended,
	coalesce(p.upload_volume_bytes, CASE WHEN p.personal THEN $2::bigint ELSE -1 END) AS upload_limit,
	coalesce(pv.held, 0) AS upload_held, coalesce(pv.reserved, 0) AS upload_reserved, coalesce(ov.held, 0) AS organization_held`
	accountTables = `directory.persons p` + accountJoins
	accountJoins  = `
	LEFT JOIN transfer.volumes pv ON pv.subject = p.person AND pv.month = $1::date
	LEFT JOIN transfer.volume_totals ov ON ov.subject = p.organization AND ov.month = $1::date`
	// mailboxEmail is the address that a mailbox was given, as long as it is a verified one of its owner.
	mailboxEmail   = `(SELECT d.address FROM directory.addresses d WHERE d.person = m.person AND d.address = m.email AND d.verified)`
	mailboxColumns = `m.person, m.secure, coalesce(m.name, '') AS name, coalesce(` + mailboxEmail + `, '') AS email,
	coalesce(v.link, '') AS vanity_link, coalesce(m.slogan, '') AS slogan, m.absent, coalesce(m.absence_message, '') AS absence_message,
	m.fields_schema, m.ui_schema, m.mime_type_filter, coalesce(m.max_files, 0) AS max_files,
	coalesce(m.max_file_size_mb, 0) AS max_file_size_mb, m.verify_sender, m.prefill_locked, coalesce(m.inspection, '') AS inspection,
	m.own_networks,
	EXISTS (SELECT FROM transfer.mailbox_pictures i WHERE i.mailbox = m.person) AS has_picture,
	EXISTS (SELECT FROM directory.avatars a WHERE a.person = m.person) AS has_avatar,
	EXISTS (SELECT FROM transfer.mailbox_suspensions x WHERE x.mailbox = m.person) AS suspended`
)

// newOwner joins a person's part and the organization's.
func newOwner(a transfer.Account, t transfer.Terms, d transfer.Defaults) transfer.Owner {
	if a.Organization.IsZero() {
		t.OrganizationLimit = -1
	}
	if t.DefaultTTL == 0 {
		t.Adminunit = d.Adminunit
	}
	return transfer.Owner{Account: a, Terms: t}
}

// owner looks up the terms of a person's organization.
// Errors: transfer.ErrNotFound.
func (s *Store) owner(ctx context.Context, a transfer.Account, sc Scope) (transfer.Owner, error) {
	t, err := s.terms(ctx, a.Organization, sc)
	return newOwner(a, t, sc.Defaults), err
}

// ownedMailbox is a mailbox with its owner's account.
type ownedMailbox struct {
	transfer.Mailbox
	transfer.Account
}

// unmoved selects a link that is still on a former host, while its owner or group is at home at the host in $%[2]d and the link is neither
// taken nor released there. A job will move it to the organization in $%[3]d. $%[1]d is the link.
const unmoved = `v.link = $%[1]d AND v.released_at IS NULL AND v.host_organization <> $%[3]d AND o.host = $%[2]d
		  AND NOT EXISTS (SELECT FROM transfer.vanity_links x WHERE x.host_organization = $%[3]d AND x.link = $%[1]d)
		ORDER BY v.host_organization LIMIT 1`

// PublicMailbox finds a mailbox by its key among those whose home is the scope's host. A link follows its owner to a new
// home host at once.
// Errors: transfer.ErrNotFound.
func (s *Store) PublicMailbox(ctx context.Context, key transfer.Key, sc Scope) (transfer.PublicMailbox, error) {
	const columns = `SELECT ` + accountColumns + `, ` + mailboxColumns
	sql, args := columns+` FROM `+accountTables+`
		JOIN transfer.mailboxes m ON m.person = p.person
		LEFT JOIN transfer.vanity_links v ON v.mailbox = m.person
		WHERE m.person = $3`, []any{transfer.Month(sc.Now), sc.Defaults.UploadVolume, key.UID}
	if key.Link != "" {
		sql, args = columns+` FROM transfer.vanity_links v
		JOIN transfer.mailboxes m ON m.person = v.mailbox
		JOIN directory.persons p ON p.person = m.person`+accountJoins+`
		WHERE v.link = $3 AND v.host_organization = $4`, []any{args[0], args[1], key.Link, sc.HostOrganization}
	}
	m, err := database.One[ownedMailbox](ctx, s.q, "find mailbox", transfer.ErrNotFound, sql, args...)
	if key.Link != "" && errors.Is(err, transfer.ErrNotFound) {
		m, err = database.One[ownedMailbox](ctx, s.q, "find mailbox that moves", transfer.ErrNotFound, columns+` FROM transfer.vanity_links v
		JOIN transfer.mailboxes m ON m.person = v.mailbox
		JOIN directory.persons p ON p.person = m.person
		JOIN directory.organizations o ON o.organization = p.limits_organization`+accountJoins+`
		WHERE `+fmt.Sprintf(unmoved, 3, 5, 4), args[0], args[1], key.Link, sc.HostOrganization, sc.Host)
	}
	if err != nil {
		return transfer.PublicMailbox{}, err
	}
	owner, err := s.owner(ctx, m.Account, sc)
	if err == nil {
		err = sc.sees(owner.Host)
	}
	return transfer.PublicMailbox{Mailbox: m.Mailbox, Owner: owner}, err
}

// Owner returns a person as the owner of transfers, on the scope's host. It bypasses the microcache, since callers store what
// follows from it. The terms are a subquery that the planner keeps apart (OFFSET 0): all tables in one list are more than it
// reorders, and it would read all organizations.
// Errors: transfer.ErrNotFound.
func (s *Store) Owner(ctx context.Context, p id.Person, sc Scope) (transfer.Owner, error) {
	o, err := database.One[transfer.Owner](ctx, s.q, "find owner", transfer.ErrNotFound, `
		SELECT `+accountColumns+`, terms.* FROM `+accountTables+` CROSS JOIN LATERAL (
			SELECT `+termsColumns+` FROM `+termsTables+` WHERE o.organization = p.limits_organization OFFSET 0
		) terms
		WHERE p.person = $3`, transfer.Month(sc.Now), sc.Defaults.UploadVolume, p)
	if err == nil {
		err = sc.sees(o.Host)
	}
	return newOwner(o.Account, o.Terms, sc.Defaults), err
}

// Upserted tells of a stored mailbox whether it is new, and which pictures it and its owner have, which stay.
type Upserted struct{ Created, HasPicture, HasAvatar bool }

// UpsertMailbox inserts or replaces a mailbox, apart from its vanity link and its picture.
func (s *Store) UpsertMailbox(ctx context.Context, m transfer.Mailbox, now time.Time) (Upserted, error) {
	filter := m.MIMETypeFilter
	if filter == nil {
		filter = []string{}
	}
	own := m.OwnNetworks
	if own == nil {
		own = []netip.Prefix{}
	}
	return database.One[Upserted](ctx, s.q, "store mailbox", nil, `
		INSERT INTO transfer.mailboxes AS m (person, secure, name, email, slogan, absent, absence_message, fields_schema, ui_schema,
			mime_type_filter, max_files, max_file_size_mb, created_at, updated_at, verify_sender, prefill_locked, inspection,
			own_networks)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, $15, $16, $17)
		ON CONFLICT ON CONSTRAINT mailboxes_pkey DO UPDATE SET
			secure = excluded.secure, name = excluded.name, email = excluded.email, slogan = excluded.slogan,
			absent = excluded.absent, absence_message = excluded.absence_message, fields_schema = excluded.fields_schema,
			ui_schema = excluded.ui_schema, mime_type_filter = excluded.mime_type_filter, max_files = excluded.max_files,
			max_file_size_mb = excluded.max_file_size_mb, updated_at = excluded.updated_at, verify_sender = excluded.verify_sender,
			prefill_locked = excluded.prefill_locked, inspection = excluded.inspection,
			own_networks = excluded.own_networks
		RETURNING m.xmax = 0 AS created, EXISTS (SELECT FROM transfer.mailbox_pictures i WHERE i.mailbox = m.person) AS has_picture,
			EXISTS (SELECT FROM directory.avatars a WHERE a.person = m.person) AS has_avatar`,
		m.Person, m.Secure, database.Null(m.Name), database.Null(m.Email), database.Null(m.Slogan), m.Absent, database.Null(m.AbsenceMessage),
		database.Null(string(m.FieldsSchema)),
		database.Null(string(m.UISchema)), filter, database.Null(m.MaxFiles), database.Null(m.MaxFileSizeMB), now, m.VerifySender,
		m.PrefillLocked, database.Null(m.Inspection), own)
}

// DeleteMailbox deletes a mailbox with its places in groups, and releases its vanity link.
// Errors: transfer.ErrNotFound.
func (s *Store) DeleteMailbox(ctx context.Context, p id.Person, now time.Time) error {
	return database.Changed(ctx, s.q, "delete mailbox", transfer.ErrNotFound, `
		WITH released AS (`+releaseLinks+`WHERE v.mailbox = $1)
		DELETE FROM transfer.mailboxes WHERE person = $1`, p, now)
}

// AddressVerified reports whether the address, in lower case, is a verified one of the person.
func (s *Store) AddressVerified(ctx context.Context, p id.Person, address string) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "look up address", nil, `
		SELECT EXISTS (SELECT FROM directory.addresses WHERE person = $1 AND address = $2 AND verified)`, p, address)
}

// LockHomes takes the advisory lock of home hosts until the transaction ends: shared for a change that depends on somebody's
// home host, exclusive for a job that moves things to another home or deletes them. The directory is read after the lock, so
// that the later of two transactions sees what the earlier one did.
func (s *Store) LockHomes(ctx context.Context, shared bool) error {
	_, err := database.Exec(ctx, s.q, "lock homes", `
		SELECT CASE WHEN $1::boolean THEN pg_advisory_xact_lock_shared(k) ELSE pg_advisory_xact_lock(k) END
		FROM hashtextextended('transfer.homes', 0) AS k`, shared)
	return err
}

// HomeOrganization returns the organization that owns a host.
// Errors: transfer.ErrNotFound.
func (s *Store) HomeOrganization(ctx context.Context, host string) (id.Organization, error) {
	return database.Scalar[id.Organization](ctx, s.q, "find host", transfer.ErrNotFound,
		`SELECT organization FROM directory.hosts WHERE host = $1`, host)
}

// MIMETypeFilter returns the types that a mailbox accepts; none: all.
func (s *Store) MIMETypeFilter(ctx context.Context, p id.Person) ([]string, error) {
	return database.Scalar[[]string](ctx, s.q, "read filter", nil,
		`SELECT mime_type_filter FROM transfer.mailboxes WHERE person = $1`, p)
}
