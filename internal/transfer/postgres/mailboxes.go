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

// ownerColumns and ownerTables are what an ownerRow holds; $1 is the month. A statement that does not know the person beforehand names
// the table that leads to it first and then ownerJoins: the planner reorders eight relations (join_collapse_limit), and would else
// begin with all persons.
const (
	ownerColumns = `p.person, p.name AS owner_name, p.email AS owner_email, p.locale, p.time_zone, p.roles, p.organization, p.upload_volume_bytes,
	pv.held AS upload_held, ov.held AS organization_held`
	ownerTables = `directory.persons p` + ownerJoins
	ownerJoins  = `
	LEFT JOIN transfer.volumes pv ON pv.subject = p.person AND pv.month = $1::date
	LEFT JOIN transfer.volumes ov ON ov.subject = p.organization AND ov.month = $1::date`
	// mailboxEmail is the address a mailbox was given, for as long as it is a verified one of its owner.
	mailboxEmail   = `(SELECT d.address FROM directory.addresses d WHERE d.person = m.person AND d.address = m.email AND d.verified)`
	mailboxColumns = `m.secure, m.name, ` + mailboxEmail + ` AS email, v.link, m.slogan, m.absent, m.absence_message, m.fields_schema, m.ui_schema,
	m.mime_type_filter, m.max_files, m.max_file_size_mb`
)

// ownerRow is an owner of transfers apart from what holds for everybody in the organization.
type ownerRow struct {
	Person            id.Person
	OwnerName         *string
	OwnerEmail        *string
	Locale, TimeZone  *string
	Roles             []string
	Organization      id.Organization
	UploadVolumeBytes *int64
	UploadHeld        *int64
	OrganizationHeld  *int64
}

// owner completes the row by its organization's.
func (r ownerRow) owner(o organizationRow, d transfer.Defaults) transfer.Owner {
	owner := transfer.Owner{
		Name: or(r.OwnerName), Email: or(r.OwnerEmail), Locale: or(r.Locale), TimeZone: or(r.TimeZone), Host: o.Host, Roles: r.Roles,
		Organization: r.Organization, LimitsOrganization: o.LimitsOrganization,
		ServiceEnabled: o.ServiceEnabled, FilterAllowed: o.FilterAllowed, ReceiversLimit: o.NewTransferReceiversLimit,
		TransferLimit: int(o.NewTransferLimit), TransferDrain: o.NewTransferDrainRate,
		UploadLimit: limit(r.UploadVolumeBytes), UploadHeld: or(r.UploadHeld),
		OrganizationLimit: limit(o.TransferVolumeBytes), OrganizationHeld: or(r.OrganizationHeld),
		Adminunit: o.unit(d.Adminunit),
	}
	if r.Organization.IsZero() {
		owner.OrganizationLimit = limit(nil)
		if r.UploadVolumeBytes == nil {
			owner.UploadLimit = d.UploadVolume
		}
	}
	return owner
}

// ownerOf is owner with the organization looked up.
func (s *Store) ownerOf(ctx context.Context, r ownerRow, sc Scope) (transfer.Owner, error) {
	o, err := s.organization(ctx, r.Organization, sc)
	if err != nil {
		return transfer.Owner{}, err
	}
	return r.owner(o, sc.Defaults), nil
}

// limit is -1 where there is none.
func limit(p *int64) int64 {
	if p == nil {
		return -1
	}
	return *p
}

type mailboxRow struct {
	ownerRow
	Secure         bool
	Name, Email    *string
	Link           *string
	Slogan         *string
	Absent         bool
	AbsenceMessage *string
	FieldsSchema   []byte
	UISchema       []byte
	MIMETypeFilter []string
	MaxFiles       *int32
	MaxFileSizeMB  *int64
}

// mailbox completes the row by its owner's organization.
func (s *Store) mailbox(ctx context.Context, r mailboxRow, sc Scope) (transfer.PublicMailbox, error) {
	owner, err := s.ownerOf(ctx, r.ownerRow, sc)
	if err != nil {
		return transfer.PublicMailbox{}, err
	}
	return transfer.PublicMailbox{
		Mailbox: transfer.Mailbox{
			Person: r.Person, Secure: r.Secure, Name: or(r.Name), Email: or(r.Email), VanityLink: or(r.Link), Slogan: or(r.Slogan),
			Absent: r.Absent, AbsenceMessage: or(r.AbsenceMessage), FieldsSchema: r.FieldsSchema, UISchema: r.UISchema,
			MIMETypeFilter: r.MIMETypeFilter, MaxFiles: or(r.MaxFiles), MaxFileSizeMB: or(r.MaxFileSizeMB),
		},
		Owner: owner,
	}, nil
}

// PublicMailbox finds a mailbox by its key among those at home on the scope's host. ErrNotFound.
func (s *Store) PublicMailbox(ctx context.Context, key transfer.Key, sc Scope) (transfer.PublicMailbox, error) {
	const columns = `SELECT ` + ownerColumns + `, ` + mailboxColumns
	const byUID = columns + ` FROM ` + ownerTables + `
		JOIN transfer.mailboxes m ON m.person = p.person
		LEFT JOIN transfer.vanity_links v ON v.mailbox = m.person
		WHERE m.person = $2`
	const byLink = columns + ` FROM transfer.vanity_links v
		JOIN transfer.mailboxes m ON m.person = v.mailbox
		JOIN directory.persons p ON p.person = m.person` + ownerJoins + `
		WHERE v.link = $2 AND v.host_organization = $3`
	month := transfer.Month(sc.Now)
	var row mailboxRow
	var err error
	if key.Link == "" {
		row, err = one[mailboxRow](s.q.Query(ctx, byUID, month, key.UID))
	} else {
		row, err = one[mailboxRow](s.q.Query(ctx, byLink, month, key.Link, sc.HostOrganization))
	}
	var m transfer.PublicMailbox
	if err == nil {
		m, err = s.mailbox(ctx, row, sc)
	}
	if err == nil {
		err = sc.sees(m.Owner.Host)
	}
	if err != nil {
		return transfer.PublicMailbox{}, fmt.Errorf("find mailbox: %w", err)
	}
	return m, nil
}

// Owner returns what is known of a person as an owner of transfers, on the scope's host, and nothing of it from memory: what follows
// from it may last. ErrNotFound.
func (s *Store) Owner(ctx context.Context, p id.Person, sc Scope) (transfer.Owner, error) {
	type wholeRow struct {
		ownerRow
		organizationRow
	}
	row, err := one[wholeRow](s.q.Query(ctx, `SELECT `+ownerColumns+`, `+organizationColumns+` FROM `+ownerTables+`, `+organizationTables+`
		WHERE p.person = $2 AND o.organization = p.limits_organization`, transfer.Month(sc.Now), p))
	if err == nil {
		err = sc.sees(row.Host)
	}
	if err != nil {
		return transfer.Owner{}, fmt.Errorf("find owner: %w", err)
	}
	return row.owner(row.organizationRow, sc.Defaults), nil
}

// UpsertMailbox stores a mailbox whole, apart from its vanity link, and reports whether it is new.
func (s *Store) UpsertMailbox(ctx context.Context, m transfer.Mailbox, now time.Time) (created bool, err error) {
	filter := m.MIMETypeFilter
	if filter == nil {
		filter = []string{}
	}
	err = s.q.QueryRow(ctx, `
		INSERT INTO transfer.mailboxes AS m (person, secure, name, email, slogan, absent, absence_message, fields_schema, ui_schema,
			mime_type_filter, max_files, max_file_size_mb, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
		ON CONFLICT ON CONSTRAINT mailboxes_pkey DO UPDATE SET
			secure = excluded.secure, name = excluded.name, email = excluded.email, slogan = excluded.slogan,
			absent = excluded.absent, absence_message = excluded.absence_message, fields_schema = excluded.fields_schema,
			ui_schema = excluded.ui_schema, mime_type_filter = excluded.mime_type_filter, max_files = excluded.max_files,
			max_file_size_mb = excluded.max_file_size_mb, updated_at = excluded.updated_at
		RETURNING m.xmax = 0`,
		m.Person, m.Secure, text(m.Name), text(m.Email), text(m.Slogan), m.Absent, text(m.AbsenceMessage), document(m.FieldsSchema),
		document(m.UISchema), filter, number(m.MaxFiles), number(m.MaxFileSizeMB), now).Scan(&created)
	if err != nil {
		return false, fmt.Errorf("store mailbox: %w", err)
	}
	return created, nil
}

// SetVanityLink gives a mailbox the link on the host of that organization, in place of its former one; an empty link
// only takes the former one away. ErrVanityLink when a mailbox or group of that host has it.
func (s *Store) SetVanityLink(ctx context.Context, mailbox id.Person, host id.Organization, link string) error {
	var err error
	if link == "" {
		_, err = s.q.Exec(ctx, `DELETE FROM transfer.vanity_links WHERE mailbox = $1`, mailbox)
	} else {
		_, err = s.q.Exec(ctx, `
			INSERT INTO transfer.vanity_links (host_organization, link, mailbox) VALUES ($1, $2, $3)
			ON CONFLICT ON CONSTRAINT vanity_links_mailbox_key DO UPDATE
			SET host_organization = excluded.host_organization, link = excluded.link`, host, link, mailbox)
	}
	if database.Constraint(err) == "vanity_links_pkey" {
		return transfer.ErrVanityLink
	}
	if err != nil {
		return fmt.Errorf("set vanity link: %w", err)
	}
	return nil
}

// MoveVanityLink brings a mailbox's link to the host of that organization. ErrVanityLink when it is taken there; then
// ClearVanityLink takes it away.
func (s *Store) MoveVanityLink(ctx context.Context, mailbox id.Person, host id.Organization) error {
	_, err := s.q.Exec(ctx, `UPDATE transfer.vanity_links SET host_organization = $2 WHERE mailbox = $1 AND host_organization <> $2`, mailbox, host)
	if database.Constraint(err) == "vanity_links_pkey" {
		return transfer.ErrVanityLink
	}
	if err != nil {
		return fmt.Errorf("move vanity link: %w", err)
	}
	return nil
}

// ClearVanityLink takes a mailbox's link away unless it is on the host of that organization, and returns it; empty where
// there was none.
func (s *Store) ClearVanityLink(ctx context.Context, mailbox id.Person, host id.Organization) (link string, err error) {
	err = s.q.QueryRow(ctx, `DELETE FROM transfer.vanity_links WHERE mailbox = $1 AND host_organization <> $2 RETURNING link`, mailbox, host).Scan(&link)
	if err != nil && !errors.Is(err, errNoRows) {
		return "", fmt.Errorf("clear vanity link: %w", err)
	}
	return link, nil
}

// DeleteMailbox removes a mailbox with its vanity link and its places in groups. ErrNotFound.
func (s *Store) DeleteMailbox(ctx context.Context, p id.Person) error {
	tag, err := s.q.Exec(ctx, `DELETE FROM transfer.mailboxes WHERE person = $1`, p)
	if err != nil {
		return fmt.Errorf("delete mailbox: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return transfer.ErrNotFound
	}
	return nil
}

// AddressVerified reports whether the address, in lower case, is a verified one of the person.
func (s *Store) AddressVerified(ctx context.Context, p id.Person, address string) (bool, error) {
	var verified bool
	err := s.q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM directory.addresses WHERE person = $1 AND address = $2 AND verified)`,
		p, address).Scan(&verified)
	if err != nil {
		return false, fmt.Errorf("look up address: %w", err)
	}
	return verified, nil
}

// LockHomes makes those who store what has a home host (shared) and those who move it after its home, or remove it, wait for each
// other until the transaction ends. What is read of the directory afterwards is what the last of them finds, so that the outcome
// does not depend on which of two jobs was faster.
func (s *Store) LockHomes(ctx context.Context, shared bool) error {
	_, err := s.q.Exec(ctx, `SELECT CASE WHEN $1::boolean THEN pg_advisory_xact_lock_shared(k) ELSE pg_advisory_xact_lock(k) END
		FROM hashtextextended('transfer.homes', 0) AS k`, shared)
	if err != nil {
		return fmt.Errorf("lock homes: %w", err)
	}
	return nil
}

// HomeOrganization returns the organization that owns a person's home host.
func (s *Store) HomeOrganization(ctx context.Context, host string) (id.Organization, error) {
	var o id.Organization
	err := s.q.QueryRow(ctx, `SELECT organization FROM directory.hosts WHERE host = $1`, host).Scan(&o)
	if errors.Is(err, errNoRows) {
		return o, transfer.ErrNotFound
	}
	if err != nil {
		return o, fmt.Errorf("find host: %w", err)
	}
	return o, nil
}

// MIMETypeFilter returns the types a mailbox takes; none: all.
func (s *Store) MIMETypeFilter(ctx context.Context, p id.Person) ([]string, error) {
	var filter []string
	err := s.q.QueryRow(ctx, `SELECT mime_type_filter FROM transfer.mailboxes WHERE person = $1`, p).Scan(&filter)
	if errors.Is(err, errNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read filter: %w", err)
	}
	return filter, nil
}
