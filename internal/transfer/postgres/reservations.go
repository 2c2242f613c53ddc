package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// reservationColumns are a reservation with its owner and, for a mailbox's, what the mailbox is called.
const (
	reservationColumns = ownerColumns + `, m.name AS mailbox_name, ` + mailboxEmail + ` AS mailbox_email, m.fields_schema,
	r.uid, r.type, r.creator, r.organization AS charged_organization, r.limits_organization AS charged_limits, r.sender, r.subject, r.message,
	r.anon_sender, r.anon_email, r.locale AS uploader_locale, r.delivery_notification, r.ttl, r.priority, r.protection, r.password_hash,
	r.fields, r.max_files, r.max_file_size_mb, r.max_recipients AS recipient_limit, r.object_count, r.transfer, r.created_at, r.expires_at`
	reservationTables = `transfer.reservations r
	JOIN directory.persons p ON p.person = r.owner` + ownerJoins + `
	LEFT JOIN transfer.mailboxes m ON m.person = r.owner AND r.type = 'mailbox'`
)

type reservationRow struct {
	ownerRow
	MailboxName, MailboxEmail *string
	FieldsSchema              []byte
	UID                       id.Reservation
	Type                      string
	Creator                   id.Person
	ChargedOrganization       id.Organization
	ChargedLimits             id.Organization
	Sender                    id.Person
	Subject, Message          *string
	AnonSender, AnonEmail     *string
	UploaderLocale            *string
	DeliveryNotification      bool
	TTL                       int32
	Priority                  *int32
	Protection                string
	PasswordHash              *string
	Fields                    []byte
	MaxFiles                  int32
	MaxFileSizeMB             int64
	RecipientLimit            int32
	ObjectCount               int32
	Transfer                  id.Transfer
	CreatedAt, ExpiresAt      time.Time
}

// HeldReservation is a reservation with what the rules for it look at.
type HeldReservation struct {
	transfer.Reservation
	Facts        transfer.Owner
	FieldsSchema []byte // of the mailbox, or nil
	ObjectCount  int32
}

func (r reservationRow) held(owner transfer.Owner) HeldReservation {
	h := HeldReservation{
		Reservation: transfer.Reservation{
			UID: r.UID, Kind: transfer.Kind(r.Type), Owner: r.Person, Creator: r.Creator,
			Organization: r.ChargedOrganization, LimitsOrganization: r.ChargedLimits, Sender: r.Sender,
			Subject: or(r.Subject), Message: or(r.Message), AnonSender: or(r.AnonSender), AnonEmail: or(r.AnonEmail),
			Locale: or(r.UploaderLocale), DeliveryNotification: r.DeliveryNotification, TTL: r.TTL, Priority: or(r.Priority),
			Protection: transfer.Protection(r.Protection), PasswordHash: or(r.PasswordHash), Fields: r.Fields,
			MaxFiles: r.MaxFiles, MaxFileSizeMB: r.MaxFileSizeMB, MaxRecipients: r.RecipientLimit,
			VolumeLimitExceeded: owner.VolumeExceeded(), Transfer: r.Transfer, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
		},
		Facts: owner, FieldsSchema: r.FieldsSchema, ObjectCount: r.ObjectCount,
	}
	if h.Kind == transfer.KindMailbox {
		mailbox := transfer.PublicMailbox{Mailbox: transfer.Mailbox{Name: or(r.MailboxName), Email: or(r.MailboxEmail)}, Owner: owner}
		h.Recipients = []transfer.Recipient{{Person: r.Person, Name: mailbox.DisplayName(), Email: mailbox.Address(), Destination: transfer.To}}
	}
	return h
}

// InsertMailboxReservation stores a stranger's reservation, as long as the mailbox is still there. ErrNotFound. It does not lock the
// mailbox, which many may be reserving at once: whoever removes it at the same moment may miss this one, which then is not found.
func (s *Store) InsertMailboxReservation(ctx context.Context, r transfer.Reservation) error {
	tag, err := s.q.Exec(ctx, `
		INSERT INTO transfer.reservations (uid, type, owner, organization, limits_organization, sender, subject, message, anon_sender, anon_email,
			locale, ttl, protection, max_files, max_file_size_mb, max_recipients, created_at, expires_at)
		SELECT $1, 'mailbox', m.person, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
		FROM transfer.mailboxes m WHERE m.person = $2`,
		r.UID, r.Owner, opt(r.Organization), r.LimitsOrganization, opt(r.Sender), text(r.Subject), text(r.Message), text(r.AnonSender),
		text(r.AnonEmail), text(r.Locale), r.TTL, string(r.Protection), r.MaxFiles, r.MaxFileSizeMB, r.MaxRecipients, r.CreatedAt, r.ExpiresAt)
	if err != nil {
		return fmt.Errorf("store reservation: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return transfer.ErrNotFound
	}
	return nil
}

// InsertReservation stores a sender's reservation with its recipients.
func (s *Store) InsertReservation(ctx context.Context, r transfer.Reservation) error {
	persons, names, emails, kinds := recipientColumns(r.Recipients)
	_, err := s.q.Exec(ctx, `
		WITH r AS (
			INSERT INTO transfer.reservations (uid, type, owner, creator, organization, limits_organization, sender, subject, message, anon_sender,
				anon_email, locale, delivery_notification, ttl, priority, protection, password_hash, fields, max_files, max_file_size_mb,
				max_recipients, created_at, expires_at)
			VALUES ($1, $2, $3, $3, $4, $5, $3, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
			RETURNING uid
		)
		INSERT INTO transfer.reservation_recipients (reservation, position, person, name, email, destination_type)
		SELECT r.uid, n.nr, n.person, n.name, n.email, n.kind
		FROM r, unnest($22::uuid[], $23::text[], $24::text[], $25::text[]) WITH ORDINALITY AS n (person, name, email, kind, nr)`,
		r.UID, string(r.Kind), r.Owner, opt(r.Organization), r.LimitsOrganization, text(r.Subject), text(r.Message), text(r.AnonSender),
		text(r.AnonEmail), text(r.Locale), r.DeliveryNotification, r.TTL, number(r.Priority), string(r.Protection), text(r.PasswordHash),
		document(r.Fields), r.MaxFiles, r.MaxFileSizeMB, r.MaxRecipients, r.CreatedAt, r.ExpiresAt, persons, names, emails, kinds)
	if err != nil {
		return fmt.Errorf("store reservation: %w", err)
	}
	return nil
}

// ReplaceRecipients stores the recipients of a locked reservation in place of the former ones.
func (s *Store) ReplaceRecipients(ctx context.Context, r transfer.Reservation) error {
	if _, err := s.q.Exec(ctx, `DELETE FROM transfer.reservation_recipients WHERE reservation = $1`, r.UID); err != nil {
		return fmt.Errorf("clear recipients: %w", err)
	}
	persons, names, emails, kinds := recipientColumns(r.Recipients)
	_, err := s.q.Exec(ctx, `
		INSERT INTO transfer.reservation_recipients (reservation, position, person, name, email, destination_type)
		SELECT $1, n.nr, n.person, n.name, n.email, n.kind
		FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS n (person, name, email, kind, nr)`,
		r.UID, persons, names, emails, kinds)
	if err != nil {
		return fmt.Errorf("store recipients: %w", err)
	}
	return nil
}

func recipientColumns(list []transfer.Recipient) (persons []*uuid.UUID, names []*string, emails, kinds []string) {
	for _, r := range list {
		persons, names = append(persons, opt(r.Person)), append(names, text(r.Name))
		emails, kinds = append(emails, r.Email), append(kinds, string(r.Destination))
	}
	return persons, names, emails, kinds
}

// Reader is a person who reads mail at an address.
type Reader struct {
	Person           id.Person
	Locale, TimeZone string
}

// Readers returns the persons who have verified one of the addresses, by address; the addresses are in lower case.
func (s *Store) Readers(ctx context.Context, addresses []string) (map[string]Reader, error) {
	type readerRow struct {
		Address          string
		Person           id.Person
		Locale, TimeZone *string
	}
	rows, err := all[readerRow](s.q.Query(ctx, `SELECT a.address, p.person, p.locale, p.time_zone
		FROM directory.addresses a JOIN directory.persons p ON p.person = a.person WHERE a.address = ANY ($1) AND a.verified`, addresses))
	if err != nil {
		return nil, fmt.Errorf("find persons by address: %w", err)
	}
	out := make(map[string]Reader, len(rows))
	for _, r := range rows {
		out[r.Address] = Reader{Person: r.Person, Locale: or(r.Locale), TimeZone: or(r.TimeZone)}
	}
	return out, nil
}

// Reservation returns a reservation within its 48 hours, without objects. ErrNotFound, also when its owner is gone or
// at home on another host, or while it is open the mailbox it is for.
func (s *Store) Reservation(ctx context.Context, uid id.Reservation, sc Scope) (HeldReservation, error) {
	return s.reservation(ctx, uid, sc, "")
}

// LockReservation is Reservation, and keeps everybody else from changing or confirming it until the transaction ends.
func (s *Store) LockReservation(ctx context.Context, uid id.Reservation, sc Scope) (HeldReservation, error) {
	return s.reservation(ctx, uid, sc, " FOR NO KEY UPDATE OF r")
}

func (s *Store) reservation(ctx context.Context, uid id.Reservation, sc Scope, lock string) (HeldReservation, error) {
	row, err := one[reservationRow](s.q.Query(ctx, `SELECT `+reservationColumns+` FROM `+reservationTables+`
		WHERE r.uid = $2 AND r.expires_at > $3 AND (m.person IS NOT NULL OR r.type <> 'mailbox' OR r.state <> 'open')`+lock,
		transfer.Month(sc.Now), uid, sc.Now))
	var owner transfer.Owner
	if err == nil {
		owner, err = s.ownerOf(ctx, row.ownerRow, sc)
	}
	if err == nil {
		err = sc.sees(owner.Host)
	}
	if err != nil {
		return HeldReservation{}, fmt.Errorf("find reservation: %w", err)
	}
	h := row.held(owner)
	if h.Kind == transfer.KindP2P {
		if h.Recipients, err = s.recipients(ctx, uid); err != nil {
			return HeldReservation{}, err
		}
	}
	return h, nil
}

func (s *Store) recipients(ctx context.Context, uid id.Reservation) ([]transfer.Recipient, error) {
	type recipientRow struct {
		Person          id.Person
		Name            *string
		Email           string
		DestinationType string
	}
	rows, err := all[recipientRow](s.q.Query(ctx, `
		SELECT person, name, email, destination_type FROM transfer.reservation_recipients WHERE reservation = $1 ORDER BY position`, uid))
	if err != nil {
		return nil, fmt.Errorf("list recipients: %w", err)
	}
	out := make([]transfer.Recipient, len(rows))
	for i, r := range rows {
		out[i] = transfer.Recipient{Person: r.Person, Name: or(r.Name), Email: r.Email, Destination: transfer.Destination(r.DestinationType)}
	}
	return out, nil
}

// UpdateReservation stores the members that a client may change; the caller holds the lock.
func (s *Store) UpdateReservation(ctx context.Context, r transfer.Reservation) error {
	_, err := s.q.Exec(ctx, `
		UPDATE transfer.reservations SET subject = $2, message = $3, anon_sender = $4, anon_email = $5, delivery_notification = $6, ttl = $7,
			priority = $8, protection = $9, password_hash = $10, fields = $11, type = $12
		WHERE uid = $1 AND state = 'open'`,
		r.UID, text(r.Subject), text(r.Message), text(r.AnonSender), text(r.AnonEmail), r.DeliveryNotification, r.TTL, number(r.Priority),
		string(r.Protection), text(r.PasswordHash), document(r.Fields), string(r.Kind))
	if err != nil {
		return fmt.Errorf("update reservation: %w", err)
	}
	return nil
}

// DeleteReservations removes open reservations whose objects are discarded already.
func (s *Store) DeleteReservations(ctx context.Context, uids []id.Reservation) error {
	if _, err := s.q.Exec(ctx, `DELETE FROM transfer.reservations WHERE uid = ANY ($1) AND state = 'open'`, uuids(uids)); err != nil {
		return fmt.Errorf("delete reservations: %w", err)
	}
	return nil
}

// LockExpiredReservations returns up to limit open reservations whose time is over, as few as bounded takes, locked; others' locks are
// passed by.
func (s *Store) LockExpiredReservations(ctx context.Context, now time.Time, limit int) ([]id.Reservation, error) {
	return s.reservationIDs(ctx, `
		WITH due AS (
			SELECT uid, object_count, expires_at AS since FROM transfer.reservations WHERE state = 'open' AND expires_at <= $1
			ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
		)
		SELECT uid FROM `+bounded, now, limit)
}

// EndReservations ends the time of the open reservations that use a person's volume, or only of those on the person's mailbox: nobody
// finds them any more, and LockExpiredReservations does.
func (s *Store) EndReservations(ctx context.Context, owner id.Person, mailboxOnly bool) error {
	_, err := s.q.Exec(ctx, `
		UPDATE transfer.reservations SET expires_at = created_at WHERE uid IN (
			SELECT uid FROM transfer.reservations WHERE state = 'open' AND owner = $1 AND (type = 'mailbox' OR NOT $2) ORDER BY uid FOR NO KEY UPDATE)`,
		owner, mailboxOnly)
	if err != nil {
		return fmt.Errorf("end reservations: %w", err)
	}
	return nil
}

// OpenReservation is a stranger's reservation on a mailbox as the mailbox's owner sees it.
type OpenReservation struct {
	UID       id.Reservation
	CreatedAt time.Time
	Bytes     int64 // held
	AnonEmail *string
}

// maxOpenReservations bounds a list that the bucket of new transfers keeps far shorter.
const maxOpenReservations = 10_000

// OpenReservations returns the open reservations on a person's mailbox, newest first.
func (s *Store) OpenReservations(ctx context.Context, owner id.Person, now time.Time) ([]OpenReservation, error) {
	rows, err := all[OpenReservation](s.q.Query(ctx, `
		SELECT r.uid, r.created_at, (SELECT coalesce(sum(o.held), 0) FROM transfer.objects o WHERE o.reservation = r.uid)::bigint AS bytes, r.anon_email
		FROM transfer.reservations r WHERE r.state = 'open' AND r.owner = $1 AND r.type = 'mailbox' AND r.expires_at > $2
		ORDER BY r.created_at DESC, r.uid DESC LIMIT $3`, owner, now, maxOpenReservations))
	if err != nil {
		return nil, fmt.Errorf("list open reservations: %w", err)
	}
	return rows, nil
}

// LockMailboxReservation locks one open reservation on a person's mailbox. ErrNotFound.
func (s *Store) LockMailboxReservation(ctx context.Context, owner id.Person, uid id.Reservation, now time.Time) error {
	uids, err := s.reservationIDs(ctx, `SELECT uid FROM transfer.reservations WHERE state = 'open' AND owner = $1 AND type = 'mailbox'
		AND uid = $2 AND expires_at > $3 FOR UPDATE`, owner, uid, now)
	if err == nil && len(uids) == 0 {
		return transfer.ErrNotFound
	}
	return err
}

func (s *Store) reservationIDs(ctx context.Context, sql string, args ...any) ([]id.Reservation, error) {
	type uidRow struct{ UID id.Reservation }
	rows, err := all[uidRow](s.q.Query(ctx, sql, args...))
	if err != nil {
		return nil, fmt.Errorf("list reservations: %w", err)
	}
	out := make([]id.Reservation, len(rows))
	for i, r := range rows {
		out[i] = r.UID
	}
	return out, nil
}
