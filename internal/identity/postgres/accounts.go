package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// LockPerson locks a person's row until the transaction ends.
// Errors: identity.ErrPersonNotFound.
func (s *Store) LockPerson(ctx context.Context, p id.Person) error {
	_, err := database.Scalar[id.Person](ctx, s.q, "lock person", identity.ErrPersonNotFound,
		`SELECT uid FROM identity.persons WHERE uid = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`, p)
	return err
}

// RaiseEpoch locks a person's row and increments the epoch, which ends every access token issued before. It returns
// the new epoch, the lowest one that is still valid.
// Errors: identity.ErrPersonNotFound.
func (s *Store) RaiseEpoch(ctx context.Context, p id.Person) (int64, error) {
	return database.Scalar[int64](ctx, s.q, "raise epoch", identity.ErrPersonNotFound,
		`UPDATE identity.persons SET epoch = epoch + 1 WHERE uid = $1 AND deleted_at IS NULL RETURNING epoch`, p)
}

// Epoch returns a person's epoch.
// Errors: identity.ErrPersonNotFound.
func (s *Store) Epoch(ctx context.Context, p id.Person) (int64, error) {
	return database.Scalar[int64](ctx, s.q, "read epoch", identity.ErrPersonNotFound,
		`SELECT epoch FROM identity.persons WHERE uid = $1 AND deleted_at IS NULL`, p)
}

// NewPerson is the input of InsertPerson: a person with one address and, unless Hash is nil, a password.
type NewPerson struct {
	UID           id.Person
	Name          string
	Locale        string
	TimeZone      string
	Address       string
	VerifiedAt    time.Time // zero: not verified
	RemoveAt      time.Time // set unless verified
	KeyHash       []byte    // hash of the verification key; nil: none
	KeyExpiresAt  time.Time
	PasswordHash  []byte
	Authenticator id.Authenticator // uid of the password, if any
	Issuer        string           // with Subject: the person's identity at an external provider; empty: a local account
	Subject       string
	CreatedAt     time.Time
}

// InsertPerson stores a new person.
// Errors: identity.ErrAddressInUse.
func (s *Store) InsertPerson(ctx context.Context, n NewPerson) error {
	_, err := database.Exec(ctx, s.q, "insert person", `
		WITH person AS (
			INSERT INTO identity.persons (uid, name, locale, time_zone, created_at, email_proved_at, federated_issuer, federated_subject)
			VALUES ($1, $2, $3, $4, $5, $6, $13, $14)
		), address AS (
			INSERT INTO identity.addresses (person, address, is_primary, verified_at, remove_at, created_at, key_hash, key_expires_at)
			VALUES ($1, $7, true, $6, $8, $5, $9, $10)
		)
		INSERT INTO identity.authenticators (uid, person, type, verified, registered_at, updated_at, secret)
		SELECT $11, $1, 'bcrypt', true, $5, $5, $12::bytea WHERE $12::bytea IS NOT NULL`,
		n.UID, database.Null(n.Name), n.Locale, n.TimeZone, n.CreatedAt, database.Null(n.VerifiedAt), n.Address, database.Null(n.RemoveAt),
		n.KeyHash, database.Null(n.KeyExpiresAt), n.Authenticator, n.PasswordHash, database.Null(n.Issuer), database.Null(n.Subject))
	return err
}

// FindPerson returns the person with this verified or primary address, or with this uid as text. Errors:
// identity.ErrPersonNotFound.
func (s *Store) FindPerson(ctx context.Context, reference string) (id.Person, error) {
	uid, _ := id.Parse[id.Person](reference) // the zero uid for an address
	return database.Scalar[id.Person](ctx, s.q, "find person", identity.ErrPersonNotFound, `
		SELECT p.uid
		FROM (SELECT a.person, a.verified_at IS NOT NULL AS verified FROM identity.addresses a
		      WHERE a.address = $1 AND (a.is_primary OR a.verified_at IS NOT NULL)
		      UNION ALL SELECT $2::uuid, false) found
		JOIN identity.persons p ON p.uid = found.person AND p.deleted_at IS NULL
		ORDER BY found.verified DESC LIMIT 1`, reference, database.Null(uid))
}

// Existing is the answer of POST /auth/exists.
type Existing struct {
	Issuer string // of the external provider; empty: a local account
	Home
}

// Existing finds the person that can log in with an address.
// Errors: identity.ErrPersonNotFound.
func (s *Store) Existing(ctx context.Context, address string) (Existing, error) {
	return database.One[Existing](ctx, s.q, "look up address", identity.ErrPersonNotFound, `
		SELECT coalesce(p.federated_issuer, '') AS issuer, `+homeColumns+`
		FROM identity.addresses a
		JOIN identity.persons p ON p.uid = a.person AND p.deleted_at IS NULL
		JOIN (`+homeTables+`) ON h.person = p.uid
		WHERE a.address = $1 AND (a.is_primary OR a.verified_at IS NOT NULL)
		ORDER BY a.verified_at IS NOT NULL DESC LIMIT 1`, address)
}

// Contact is what a mail to a person needs.
type Contact struct {
	Name     string
	Locale   string
	TimeZone string
	Host     string // home host, for links
	Email    string // the primary address
}

// PersonContact is a Contact with whether the person is at home at every host (contract 1.2).
type PersonContact struct {
	Contact
	Everywhere bool
}

// Contact returns what a mail to a person needs.
// Errors: identity.ErrPersonNotFound.
func (s *Store) Contact(ctx context.Context, p id.Person) (PersonContact, error) {
	return database.One[PersonContact](ctx, s.q, "read contact", identity.ErrPersonNotFound, `
		SELECT coalesce(p.name, '') AS name, p.locale, p.time_zone, coalesce(h.host, '') AS host,
		       coalesce(a.address, '') AS email, coalesce(ho.free, true) AS everywhere
		FROM identity.persons p
		JOIN (`+homeTables+`) ON h.person = p.uid
		LEFT JOIN identity.addresses a ON a.person = p.uid AND a.is_primary
		WHERE p.uid = $1`, p)
}

// MemberContact is a Contact with its person.
type MemberContact struct {
	Person id.Person
	Contact
}

// Contacts returns what mails to persons with a verified primary address need.
func (s *Store) Contacts(ctx context.Context, persons []id.Person) ([]MemberContact, error) {
	return database.All[MemberContact](ctx, s.q, "read contacts", `
		SELECT p.uid AS person, coalesce(p.name, '') AS name, p.locale, p.time_zone, coalesce(h.host, '') AS host, a.address AS email
		FROM identity.persons p
		JOIN identity.homes h ON h.person = p.uid
		JOIN identity.addresses a ON a.person = p.uid AND a.is_primary AND a.verified_at IS NOT NULL
		WHERE p.uid = ANY ($1)`, persons)
}

// MemberContacts returns up to limit members of an organization, those after a person, in the order of their uids.
func (s *Store) MemberContacts(ctx context.Context, o id.Organization, after id.Person, limit int) ([]MemberContact, error) {
	return database.All[MemberContact](ctx, s.q, "list contacts of members", `
		SELECT p.uid AS person, coalesce(p.name, '') AS name, p.locale, p.time_zone, coalesce(h.host, '') AS host,
		       coalesce(a.address, '') AS email
		FROM identity.memberships m
		JOIN identity.persons p ON p.uid = m.person
		JOIN identity.homes h ON h.person = p.uid
		LEFT JOIN identity.addresses a ON a.person = p.uid AND a.is_primary
		WHERE m.organization = $1 AND m.person > $2 ORDER BY m.person LIMIT $3`, o, after, limit)
}

// ErasePerson deletes everything that belongs to a person. The empty row stays, so that nothing new can be created for
// the person. It returns the new epoch.
// Errors: identity.ErrPersonNotFound.
func (s *Store) ErasePerson(ctx context.Context, p id.Person, now time.Time) (int64, error) {
	epoch, err := database.Scalar[int64](ctx, s.q, "erase person", identity.ErrPersonNotFound, `
		UPDATE identity.persons
		SET name = NULL, federated_issuer = NULL, federated_subject = NULL, email_proved_at = NULL, last_login_at = NULL,
		    epoch = epoch + 1, deleted_at = $2
		WHERE uid = $1 AND deleted_at IS NULL
		RETURNING epoch`, p, now)
	if err != nil {
		return 0, err
	}
	for _, table := range []string{"addresses", "authenticators", "id_tokens", "pending_logins", "parked_tokens", "reset_keys",
		"external_logins", "memberships", "avatars", "security_changes", "known_clients", "api_tokens", "device_logins", "operators"} {
		if _, err := database.Exec(ctx, s.q, "erase "+table, `DELETE FROM identity.`+table+` WHERE person = $1`, p); err != nil {
			return 0, err
		}
	}
	_, err = database.Exec(ctx, s.q, "forget inviter", `UPDATE identity.invitations SET inviter = NULL WHERE inviter = $1`, p)
	return epoch, err
}
