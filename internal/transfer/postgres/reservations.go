package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// reservationColumns are a reservation with its owner and, for a mailbox's, what the mailbox is called.
const (
	reservationColumns = ownerColumns + `, m.name AS mailbox_name, m.email AS mailbox_email, m.fields_schema,
	r.uid, r.type, r.creator, r.organization AS charged_organization, r.limits_organization AS charged_limits, r.sender, r.subject, r.message,
	r.anon_sender, r.anon_email, r.locale AS uploader_locale, r.delivery_notification, r.ttl, r.priority, r.protection, r.password_hash,
	r.fields, r.max_files, r.max_file_size_mb, r.max_recipients AS recipient_limit, r.object_count, r.transfer, r.created_at, r.expires_at`
	reservationTables = ownerTables + `
	JOIN transfer.reservations r ON r.owner = p.person
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

func (r reservationRow) held(d transfer.Defaults) HeldReservation {
	owner := r.owner(d)
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

// InsertMailboxReservation stores a stranger's reservation, as long as the mailbox is still there. ErrNotFound.
func (s *Store) InsertMailboxReservation(ctx context.Context, r transfer.Reservation) error {
	tag, err := s.q.Exec(ctx, `
		INSERT INTO transfer.reservations (uid, type, owner, organization, limits_organization, sender, subject, message, anon_sender, anon_email,
			locale, ttl, protection, max_files, max_file_size_mb, max_recipients, created_at, expires_at)
		SELECT $1, 'mailbox', m.person, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
		FROM transfer.mailboxes m WHERE m.person = $2 FOR KEY SHARE`,
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

// Reservation returns a reservation within its 48 hours, without objects. ErrNotFound, also when its owner is gone or
// at home on another host.
func (s *Store) Reservation(ctx context.Context, uid id.Reservation, sc Scope) (HeldReservation, error) {
	return s.reservation(ctx, uid, sc, "")
}

// LockReservation is Reservation, and keeps everybody else from changing or confirming it until the transaction ends.
func (s *Store) LockReservation(ctx context.Context, uid id.Reservation, sc Scope) (HeldReservation, error) {
	return s.reservation(ctx, uid, sc, " FOR NO KEY UPDATE OF r")
}

func (s *Store) reservation(ctx context.Context, uid id.Reservation, sc Scope, lock string) (HeldReservation, error) {
	row, err := one[reservationRow](s.q.Query(ctx, `SELECT `+reservationColumns+` FROM `+reservationTables+`
		WHERE r.uid = $3 AND ($4 = '*' OR p.host = $4) AND r.expires_at > $5`+lock,
		transfer.Month(sc.Now), sc.Defaults.UploadVolume, uid, sc.Host, sc.Now))
	if err != nil {
		return HeldReservation{}, fmt.Errorf("find reservation: %w", err)
	}
	h := row.held(sc.Defaults)
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
			priority = $8, protection = $9, password_hash = $10, fields = $11
		WHERE uid = $1 AND state = 'open'`,
		r.UID, text(r.Subject), text(r.Message), text(r.AnonSender), text(r.AnonEmail), r.DeliveryNotification, r.TTL, number(r.Priority),
		string(r.Protection), text(r.PasswordHash), document(r.Fields))
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

// LockExpiredReservations returns up to limit open reservations whose time is over, locked; others' locks are passed by.
func (s *Store) LockExpiredReservations(ctx context.Context, now time.Time, limit int) ([]id.Reservation, error) {
	return s.reservationIDs(ctx, `SELECT uid FROM transfer.reservations WHERE state = 'open' AND expires_at <= $1
		ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED`, now, limit)
}

// LockMailboxReservations returns the open reservations on a person's mailbox, locked.
func (s *Store) LockMailboxReservations(ctx context.Context, owner id.Person) ([]id.Reservation, error) {
	return s.reservationIDs(ctx, `SELECT uid FROM transfer.reservations WHERE state = 'open' AND owner = $1 AND type = 'mailbox'
		ORDER BY uid FOR UPDATE`, owner)
}

// LockReservationsOf returns every open reservation that uses a person's volume, locked.
func (s *Store) LockReservationsOf(ctx context.Context, owner id.Person) ([]id.Reservation, error) {
	return s.reservationIDs(ctx, `SELECT uid FROM transfer.reservations WHERE state = 'open' AND owner = $1
		ORDER BY uid FOR UPDATE`, owner)
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
