// SQL of reservations and their recipients.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// reservationColumns are a readReservation, with the tables of reservationTables.
const (
	reservationColumns = accountColumns + `, coalesce(m.name, '') AS mailbox_name, coalesce(` + mailboxEmail + `, '') AS mailbox_email,
	coalesce(q.fields_schema, m.fields_schema) AS fields_schema, coalesce(q.ui_schema, m.ui_schema) AS ui_schema,
	coalesce(m.verify_sender, false) AS verify_sender, coalesce(m.inspection, '') AS mailbox_inspection, r.uid,
		r.type AS kind, r.owner, r.creator, r.organization, r.limits_organization, r.sender,
	coalesce(r.subject, '') AS subject, coalesce(r.message, '') AS message, coalesce(r.anon_sender, '') AS anon_sender,
	coalesce(r.anon_email, '') AS anon_email,
	ARRAY(SELECT a.address FROM directory.addresses a WHERE a.person = r.sender AND a.verified AND r.sender_by_session
		UNION ALL SELECT c.verified_email FROM transfer.sender_codes c WHERE c.reservation = r.uid
			AND c.verified_email IS NOT NULL) AS proven_addresses, coalesce(r.locale, '') AS locale, r.delivery_notification, r.ttl,
	coalesce(r.priority, 0) AS priority, r.protection, coalesce(r.password_hash, '') AS password_hash, r.fields, coalesce(r.client::text,
		'') AS client, r.max_files,
	r.max_file_size_mb, r.max_recipients, r.object_count, r.metadata, r.transfer, r.request, r.party, r.created_at, r.expires_at`
	reservationTables = `transfer.reservations r
	JOIN directory.persons p ON p.person = r.owner` + accountJoins + `
	LEFT JOIN transfer.mailboxes m ON m.person = r.owner AND r.type = 'mailbox' AND r.party IS NULL
	LEFT JOIN transfer.requests q ON q.uid = r.request`
)

// notSuspended is false for a reservation r whose owner, sender or mailbox is suspended: then it is not found.
const notSuspended = `(SELECT bool_or(x.suspended) FROM directory.suspensions x WHERE x.person = ANY (ARRAY[r.owner, r.sender])) IS NOT TRUE
	AND (r.type <> 'mailbox' OR r.party IS NOT NULL OR NOT EXISTS (SELECT FROM transfer.mailbox_suspensions x WHERE x.mailbox = r.owner))`

// readReservation is a reservation with its owner's account and what its mailbox is called.
type readReservation struct {
	transfer.Reservation
	transfer.Account
	MailboxName, MailboxEmail string
	FieldsSchema, UISchema    []byte
	VerifySender              bool
	MailboxInspection         transfer.InspectionPolicy
	ObjectCount               int32
	Metadata                  int64
}

// HeldReservation is a reservation with the facts that the rules for it need.
type HeldReservation struct {
	transfer.Reservation
	Facts        transfer.Owner
	FieldsSchema []byte                    // of the mailbox or the request, or nil
	UISchema     []byte                    // of the mailbox or the request, or nil
	VerifySender bool                      // the mailbox requires a verified sender
	Inspection   transfer.InspectionPolicy // of the mailbox
	ObjectCount  int32
	Metadata     int64 // bytes of texts and names that are charged, without those of the objects
}

func (r readReservation) held(owner transfer.Owner) HeldReservation {
	h := HeldReservation{Reservation: r.Reservation, Facts: owner, FieldsSchema: r.FieldsSchema, UISchema: r.UISchema,
		VerifySender: r.VerifySender, Inspection: r.MailboxInspection, ObjectCount: r.ObjectCount, Metadata: r.Metadata}
	h.VolumeLimitExceeded = owner.VolumeExceeded()
	if h.Kind == transfer.KindMailbox {
		m := transfer.PublicMailbox{Mailbox: transfer.Mailbox{Name: r.MailboxName, Email: r.MailboxEmail}, Owner: owner}
		h.Recipients = []transfer.Recipient{{Person: r.Owner, Name: m.DisplayName(), Email: m.Address(), Destination: transfer.To}}
	}
	return h
}

// InsertReservation stores a sender's reservation with its recipients.
func (s *Store) InsertReservation(ctx context.Context, r transfer.Reservation) error {
	persons, names, emails, kinds := recipientColumns(r.Recipients)
	_, err := database.Exec(ctx, s.q, "store reservation", `
		WITH r AS (
			INSERT INTO transfer.reservations (uid, type, owner, creator, organization, limits_organization, sender, subject, message, anon_sender,
				anon_email, locale, delivery_notification, ttl, priority, protection, password_hash, fields, max_files, max_file_size_mb,
				max_recipients, created_at, expires_at, metadata)
			VALUES ($1, $2, $3, $3, $4, $5, $3, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $26)
			RETURNING uid
		)
		INSERT INTO transfer.reservation_recipients (reservation, position, person, name, email, destination_type)
		SELECT r.uid, n.nr, n.person, nullif(n.name, ''), n.email, n.kind
		FROM r, unnest($22::uuid[], $23::text[], $24::text[], $25::text[]) WITH ORDINALITY AS n (person, name, email, kind, nr)`,
		r.UID, r.Kind, r.Owner, database.Null(r.Organization), r.LimitsOrganization, database.Null(r.Subject), database.Null(r.Message),
		database.Null(r.AnonSender),
		database.Null(r.AnonEmail), database.Null(r.Locale), r.DeliveryNotification, r.TTL, database.Null(r.Priority), r.Protection,
		database.Null(r.PasswordHash),
		database.Null(string(r.Fields)), r.MaxFiles, r.MaxFileSizeMB, r.MaxRecipients, r.CreatedAt, r.ExpiresAt, persons, names, emails, kinds,
		r.MetadataBytes())
	return err
}

// ReplaceRecipients replaces the recipients of a locked reservation.
func (s *Store) ReplaceRecipients(ctx context.Context, r transfer.Reservation) error {
	if _, err := database.Exec(ctx, s.q, "clear recipients", `DELETE FROM transfer.reservation_recipients WHERE reservation = $1`,
		r.UID); err != nil {
		return err
	}
	persons, names, emails, kinds := recipientColumns(r.Recipients)
	_, err := database.Exec(ctx, s.q, "store recipients", `
		INSERT INTO transfer.reservation_recipients (reservation, position, person, name, email, destination_type)
		SELECT $1, n.nr, n.person, nullif(n.name, ''), n.email, n.kind
		FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS n (person, name, email, kind, nr)`,
		r.UID, persons, names, emails, kinds)
	return err
}

// recipientColumns returns the recipients as array parameters.
func recipientColumns(list []transfer.Recipient) (persons []any, names, emails, kinds []string) {
	return column(list, func(r transfer.Recipient) any { return database.Null(r.Person) }),
		column(list, func(r transfer.Recipient) string { return r.Name }),
		column(list, func(r transfer.Recipient) string { return r.Email }),
		column(list, func(r transfer.Recipient) string { return string(r.Destination) })
}

// Reader is a person who reads mail at an address.
type Reader struct {
	Person           id.Person
	Locale, TimeZone string
	Host             string // home host, for links
}

// Readers returns the persons who have verified one of the addresses, by address; the addresses are in lower case.
func (s *Store) Readers(ctx context.Context, addresses []string) (map[string]Reader, error) {
	type row struct {
		Reader
		Address string
	}
	list, err := database.All[row](ctx, s.q, "find persons by address", `
		SELECT a.address, p.person, coalesce(p.locale, '') AS locale, coalesce(p.time_zone, '') AS time_zone,
		       coalesce(p.host, '') AS host
		FROM directory.addresses a JOIN directory.persons p ON p.person = a.person WHERE a.address = ANY ($1) AND a.verified`, addresses)
	out := make(map[string]Reader, len(list))
	for _, r := range list {
		out[r.Address] = r.Reader
	}
	return out, err
}

// Reservation returns a reservation within its 48 hours, without objects.
// Errors: transfer.ErrNotFound, also when the owner is
// deleted or has another home host than the scope's, when it is open and its mailbox is deleted, or when one of them is suspended.
func (s *Store) Reservation(ctx context.Context, uid id.Reservation, sc Scope) (HeldReservation, error) {
	return s.reservation(ctx, uid, sc, "")
}

// LockReservation is Reservation with a row lock until the transaction ends: nobody else can change or confirm it.
// Errors: transfer.ErrNotFound.
func (s *Store) LockReservation(ctx context.Context, uid id.Reservation, sc Scope) (HeldReservation, error) {
	return s.reservation(ctx, uid, sc, " FOR NO KEY UPDATE OF r")
}

func (s *Store) reservation(ctx context.Context, uid id.Reservation, sc Scope, lock string) (HeldReservation, error) {
	r, err := database.One[readReservation](ctx, s.q, "find reservation", transfer.ErrNotFound, `
		SELECT `+reservationColumns+` FROM `+reservationTables+`
		WHERE r.uid = $3 AND r.expires_at > $4 AND (m.person IS NOT NULL OR q.uid IS NOT NULL OR r.type <> 'mailbox' OR r.state <> 'open')
			AND `+notSuspended+lock,
		transfer.Month(sc.Now), sc.Defaults.UploadVolume, uid, sc.Now)
	if err != nil {
		return HeldReservation{}, err
	}
	owner, err := s.owner(ctx, r.Account, sc)
	if err == nil {
		err = sc.sees(owner.Host)
	}
	if err != nil {
		return HeldReservation{}, err
	}
	h := r.held(owner)
	if h.Kind == transfer.KindP2P {
		h.Recipients, err = s.recipients(ctx, uid)
	}
	return h, err
}

func (s *Store) recipients(ctx context.Context, uid id.Reservation) ([]transfer.Recipient, error) {
	return database.All[transfer.Recipient](ctx, s.q, "list recipients", `
		SELECT person, coalesce(name, '') AS name, email, destination_type AS destination
		FROM transfer.reservation_recipients WHERE reservation = $1 ORDER BY position`, uid)
}

// UpdateReservation stores the members that a client may change. The caller has locked the reservation.
func (s *Store) UpdateReservation(ctx context.Context, r transfer.Reservation) error {
	_, err := database.Exec(ctx, s.q, "update reservation", `
		UPDATE transfer.reservations SET subject = $2, message = $3, anon_sender = $4, anon_email = $5, delivery_notification = $6, ttl = $7,
			priority = $8, protection = $9, password_hash = $10, fields = $11, type = $12, metadata = $13
		WHERE uid = $1 AND state = 'open'`,
		r.UID, database.Null(r.Subject), database.Null(r.Message), database.Null(r.AnonSender), database.Null(r.AnonEmail),
		r.DeliveryNotification, r.TTL, database.Null(r.Priority),
		r.Protection, database.Null(r.PasswordHash), database.Null(string(r.Fields)), r.Kind, r.MetadataBytes())
	return err
}

// DeleteReservations removes open reservations whose objects are discarded already.
func (s *Store) DeleteReservations(ctx context.Context, uids []id.Reservation) error {
	_, err := database.Exec(ctx, s.q, "delete reservations", `DELETE FROM transfer.reservations WHERE uid = ANY ($1) AND state = 'open'`, uids)
	return err
}

// LockExpiredReservations locks expired open reservations, at most limit and as bounded allows, and returns them. It skips locked
// rows.
func (s *Store) LockExpiredReservations(ctx context.Context, now time.Time, limit int) ([]id.Reservation, error) {
	return database.Scalars[id.Reservation](ctx, s.q, "list reservations", `
		WITH due AS (
			SELECT uid, object_count, expires_at AS since FROM transfer.reservations WHERE state = 'open' AND expires_at <= $1
			ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
		)
		SELECT uid FROM `+bounded, now, limit)
}

// EndReservations expires the open reservations that use a person's volume, or only those on the person's mailbox: requests do not
// find them any more, LockExpiredReservations does.
func (s *Store) EndReservations(ctx context.Context, owner id.Person, mailboxOnly bool) error {
	_, err := database.Exec(ctx, s.q, "end reservations", `
		UPDATE transfer.reservations SET expires_at = created_at WHERE uid IN (
			SELECT uid FROM transfer.reservations WHERE state = 'open' AND owner = $1 AND (type = 'mailbox' AND party IS NULL OR NOT $2)
				ORDER BY uid FOR NO KEY UPDATE)`,
		owner, mailboxOnly)
	return err
}

// OpenReservation is a stranger's reservation on a mailbox as the mailbox's owner sees it.
type OpenReservation struct {
	UID       id.Reservation
	CreatedAt time.Time
	Bytes     int64 // held
	AnonEmail *string
}

// maxOpenReservations bounds the list; the rate limit of new transfers keeps it far shorter.
const maxOpenReservations = 10_000

// OpenReservations returns the open reservations on a person's mailbox, newest first.
func (s *Store) OpenReservations(ctx context.Context, owner id.Person, now time.Time) ([]OpenReservation, error) {
	return database.All[OpenReservation](ctx, s.q, "list open reservations", `
		SELECT r.uid, r.created_at, (SELECT coalesce(sum(`+segmentsHeld("o")+
		`), 0) FROM transfer.objects o WHERE o.reservation = r.uid)::bigint AS bytes, r.anon_email
		FROM transfer.reservations r WHERE r.state = 'open' AND r.owner = $1 AND r.type = 'mailbox' AND r.party IS NULL AND r.expires_at > $2
		ORDER BY r.created_at DESC, r.uid DESC LIMIT $3`, owner, now, maxOpenReservations)
}

// LockMailboxReservation locks one open reservation on a person's mailbox.
// Errors: transfer.ErrNotFound.
func (s *Store) LockMailboxReservation(ctx context.Context, owner id.Person, uid id.Reservation, now time.Time) error {
	_, err := database.Scalar[id.Reservation](ctx, s.q, "lock reservation", transfer.ErrNotFound, `
		SELECT uid FROM transfer.reservations WHERE state = 'open' AND owner = $1 AND type = 'mailbox' AND party IS NULL
		AND uid = $2 AND expires_at > $3 FOR UPDATE`, owner, uid, now)
	return err
}
