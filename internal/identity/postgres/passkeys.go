package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Passkey is a stored passkey.
type Passkey struct {
	Authenticator  id.Authenticator
	Person         id.Person
	Host           string // the RP ID
	CredentialID   []byte
	PublicKey      []byte
	SignCount      int64
	Transports     []string
	BackupEligible bool
	BackedUp       bool
	AAGUID         []byte
	Name           string // empty: unset
}

const passkeyColumns = `
		k.authenticator, a.person, k.host, k.credential_id, k.public_key, k.sign_count, k.transports, k.backup_eligible, k.backed_up, k.aaguid,
		coalesce(a.name, '') AS name
		FROM identity.passkeys k JOIN identity.authenticators a ON a.uid = k.authenticator AND a.verified`

// Passkeys lists a person's passkeys, the one used or registered last first.
func (s *Store) Passkeys(ctx context.Context, p id.Person) ([]Passkey, error) {
	return database.All[Passkey](ctx, s.q, "list passkeys", `
		SELECT `+passkeyColumns+` WHERE a.person = $1 ORDER BY coalesce(k.used_at, a.registered_at) DESC, a.uid`, p)
}

// Passkey returns the passkey with a credential id.
// Errors: identity.ErrCredentials.
func (s *Store) Passkey(ctx context.Context, credential []byte) (Passkey, error) {
	return database.One[Passkey](ctx, s.q, "look up passkey", identity.ErrCredentials, `SELECT `+passkeyColumns+` WHERE k.credential_id = $1`,
		credential)
}

// LoginOf returns what a login needs of a person.
// Errors: identity.ErrPersonNotFound, also when the person is suspended.
func (s *Store) LoginOf(ctx context.Context, p id.Person) (Login, error) {
	return database.One[Login](ctx, s.q, "read login", identity.ErrPersonNotFound, `
		SELECT p.uid AS person, p.epoch, p.device_epoch, NULL::bytea AS hash, `+homeColumns+`, '{}'::text[] AS factors
		FROM identity.persons p JOIN (`+homeTables+`) ON h.person = p.uid
		WHERE p.uid = $1 AND p.deleted_at IS NULL AND p.suspended_at IS NULL`, p)
}

// BeginPasskey stores an authenticator whose passkey does not exist yet. It replaces one that was never verified. Call it with the person
// locked.
// Errors: identity.ErrTooManyPasskeys.
func (s *Store) BeginPasskey(ctx context.Context, p id.Person, a id.Authenticator, name string, now time.Time) error {
	if _, err := database.Exec(ctx, s.q, "delete unverified passkey", `
		DELETE FROM identity.authenticators WHERE person = $1 AND type = 'webauthn' AND NOT verified`, p); err != nil {
		return err
	}
	return database.Changed(ctx, s.q, "insert passkey", identity.ErrTooManyPasskeys, `
		INSERT INTO identity.authenticators (uid, person, type, name, verified, registered_at, updated_at)
		SELECT $1, $2, 'webauthn', $3, false, $4, $4
		WHERE (SELECT count(*) FROM identity.authenticators WHERE person = $2 AND type = 'webauthn') < $5`,
		a, p, database.Null(name), now, identity.MaxPasskeys)
}

// StorePasskey stores the passkey of an authenticator and marks it verified. Call it with the person locked.
// Errors: identity.ErrVerificationFailed when it is verified already, or the credential id exists.
func (s *Store) StorePasskey(ctx context.Context, k Passkey, now time.Time) error {
	return database.Changed(ctx, s.q, "store passkey", identity.ErrVerificationFailed, `
		WITH verified AS (
			UPDATE identity.authenticators SET verified = true, updated_at = $10
			WHERE uid = $1 AND person = $2 AND type = 'webauthn' AND NOT verified RETURNING uid
		)
		INSERT INTO identity.passkeys (authenticator, host, credential_id, public_key, sign_count, transports, backup_eligible, backed_up, aaguid)
		SELECT uid, $3, $4, $5, $6, $7, $8, $9, $11 FROM verified`,
		k.Authenticator, k.Person, k.Host, k.CredentialID, k.PublicKey, k.SignCount, append([]string{}, k.Transports...), k.BackupEligible,
		k.BackedUp,
		now, append([]byte{}, k.AAGUID...))
}

// UsePasskey stores the counter of a signature that was checked. Counters grow; an authenticator without one always sends 0.
// Errors: identity.ErrCredentials when the counter did not grow since.
func (s *Store) UsePasskey(ctx context.Context, k Passkey, now time.Time) error {
	return database.Changed(ctx, s.q, "use passkey", identity.ErrCredentials, `
		UPDATE identity.passkeys SET sign_count = $2, backed_up = $3, used_at = $4
		WHERE authenticator = $1 AND (sign_count < $2 OR sign_count = 0 AND $2 = 0)`, k.Authenticator, k.SignCount, k.BackedUp, now)
}

// UseChallenge accepts a challenge once.
// Errors: identity.ErrCredentials.
func (s *Store) UseChallenge(ctx context.Context, hash []byte, expires time.Time) error {
	return database.Changed(ctx, s.q, "use challenge", identity.ErrCredentials, `
		INSERT INTO identity.used_challenges (hash, expires_at) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING`, hash, expires)
}

// MarkCloned records that the counter of a passkey went back, and reports whether the last time was before since.
func (s *Store) MarkCloned(ctx context.Context, a id.Authenticator, now, since time.Time) (bool, error) {
	n, err := database.Exec(ctx, s.q, "mark passkey", `
		UPDATE identity.passkeys SET cloned_at = $2 WHERE authenticator = $1 AND (cloned_at IS NULL OR cloned_at < $3)`, a, now, since)
	return n > 0, err
}

// RelatedHosts returns the active hostnames whose pages may use the passkeys of an organization's hostnames: its own, and those of
// organizations whose members have such passkeys.
func (s *Store) RelatedHosts(ctx context.Context, o id.Organization, limit int) ([]string, error) {
	return database.Scalar[[]string](ctx, s.q, "list related hosts", nil, `
		SELECT ARRAY(
			SELECT h.host FROM identity.hosts h
			WHERE h.active AND (h.organization = $1 OR h.organization IN (
				SELECT m.organization FROM identity.hosts o JOIN identity.passkeys k ON k.host = o.host
				JOIN identity.authenticators a ON a.uid = k.authenticator JOIN identity.memberships m ON m.person = a.person
				WHERE o.organization = $1))
			ORDER BY h.organization = $1 DESC, h.created_at, h.host LIMIT $2)`, o, limit)
}

// DiscardUnverified deletes the authenticators of a person that were never verified. Call it with the person locked.
func (s *Store) DiscardUnverified(ctx context.Context, p id.Person) error {
	_, err := database.Exec(ctx, s.q, "discard unverified authenticators", `
		DELETE FROM identity.authenticators WHERE person = $1 AND NOT verified`, p)
	return err
}
