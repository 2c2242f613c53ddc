// SQL of second factors and password hashes, and of the level of authentication that follows from them.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Factor is the stored side of a second factor.
type Factor struct {
	UID    id.Authenticator
	Secret []byte // sealed TOTP secret
	Salt   []byte // salt of the recovery codes
}

// Factor returns a person's verified authenticator of a type.
// Errors: identity.ErrFactorNotVerified.
func (s *Store) Factor(ctx context.Context, p id.Person, kind string) (Factor, error) {
	return database.One[Factor](ctx, s.q, "read factor", identity.ErrFactorNotVerified, `
		SELECT uid, secret, salt FROM identity.authenticators WHERE person = $1 AND type = $2 AND verified`, p, kind)
}

// Factors returns the types of a person's verified second factors: webauthn, totp, recovery.
func (s *Store) Factors(ctx context.Context, p id.Person) ([]string, error) {
	return database.Scalar[[]string](ctx, s.q, "list factors", nil, `
		SELECT ARRAY(SELECT DISTINCT type FROM identity.authenticators
		             WHERE person = $1 AND verified AND type <> 'bcrypt' ORDER BY type DESC)`, p)
}

// UseStep accepts a TOTP step unless this or a later step was accepted before.
// Errors: identity.ErrCredentials.
func (s *Store) UseStep(ctx context.Context, a id.Authenticator, step int64) error {
	return database.Changed(ctx, s.q, "use TOTP step", identity.ErrCredentials, `
		UPDATE identity.authenticators SET last_step = $2 WHERE uid = $1 AND type = 'totp' AND (last_step IS NULL OR last_step < $2)`,
		a, step)
}

// UseRecoveryCode deletes a recovery code, also from what an undone change would restore. With the last code it deletes the
// authenticator. Call it with the person locked.
// Errors: identity.ErrCredentials.
func (s *Store) UseRecoveryCode(ctx context.Context, a id.Authenticator, hash []byte) error {
	if err := database.Changed(ctx, s.q, "use recovery code", identity.ErrCredentials, `
		DELETE FROM identity.recovery_codes WHERE authenticator = $1 AND hash = $2`, a, hash); err != nil {
		return err
	}
	_, err := database.Exec(ctx, s.q, "delete used up recovery", `
		WITH kept AS (
			UPDATE identity.security_change_factors SET codes = array_remove(codes, $2) WHERE uid = $1
		)
		DELETE FROM identity.authenticators a
		WHERE a.uid = $1 AND NOT EXISTS (SELECT FROM identity.recovery_codes c WHERE c.authenticator = a.uid)`, a, hash)
	return err
}

// PasswordHash returns the hash of a person's password.
// Errors: identity.ErrAuthenticatorNotFound.
func (s *Store) PasswordHash(ctx context.Context, p id.Person) ([]byte, error) {
	return database.Scalar[[]byte](ctx, s.q, "read password hash", identity.ErrAuthenticatorNotFound, `
		SELECT secret FROM identity.authenticators WHERE person = $1 AND type = 'bcrypt'`, p)
}

// UpgradeHash stores the hash of the same password at the current cost, if the stored hash is still old. It does not
// count as a change of the authenticator.
func (s *Store) UpgradeHash(ctx context.Context, p id.Person, old, hash []byte) error {
	_, err := database.Exec(ctx, s.q, "upgrade hash", `
		UPDATE identity.authenticators SET secret = $3 WHERE person = $1 AND type = 'bcrypt' AND secret = $2`, p, old, hash)
	return err
}

const authenticatorColumns = `
		a.uid, a.type, coalesce(a.name, '') AS name, a.registered_at, a.updated_at, a.verified,
		CASE WHEN a.type = 'recovery' THEN (SELECT count(*) FROM identity.recovery_codes c
			WHERE c.authenticator = a.uid) ELSE 1 END AS cardinality,
		k.used_at, coalesce(k.backed_up, false) AS backed_up, coalesce(k.host, '') AS host
		FROM identity.authenticators a LEFT JOIN identity.passkeys k ON k.authenticator = a.uid`

// Authenticators lists a person's verified authenticators, oldest first.
func (s *Store) Authenticators(ctx context.Context, p id.Person) ([]identity.Authenticator, error) {
	return database.All[identity.Authenticator](ctx, s.q, "list authenticators", `
		SELECT `+authenticatorColumns+` WHERE a.person = $1 AND a.verified ORDER BY a.registered_at, a.uid`, p)
}

// Authenticator returns one of a person's authenticators, verified or not.
// Errors: identity.ErrAuthenticatorNotFound.
func (s *Store) Authenticator(ctx context.Context, p id.Person, a id.Authenticator) (identity.Authenticator, error) {
	return database.One[identity.Authenticator](ctx, s.q, "read authenticator", identity.ErrAuthenticatorNotFound, `
		SELECT `+authenticatorColumns+` WHERE a.person = $1 AND a.uid = $2`, p, a)
}

// Registrant holds the facts that decide whether a person may register an authenticator.
type Registrant struct {
	Federated     bool
	EmailProvedAt *time.Time // nil: never
	Email         string     // the primary address
	HasTOTP       bool       // verified
}

// Registrant returns the facts that decide whether a person may register an authenticator.
// Errors: identity.ErrPersonNotFound.
func (s *Store) Registrant(ctx context.Context, p id.Person) (Registrant, error) {
	return database.One[Registrant](ctx, s.q, "read registrant", identity.ErrPersonNotFound, `
		SELECT p.federated_issuer IS NOT NULL AS federated, p.email_proved_at, coalesce(e.address, '') AS email,
		       EXISTS (SELECT FROM identity.authenticators a WHERE a.person = p.uid AND a.type = 'totp' AND a.verified) AS has_totp
		FROM identity.persons p
		LEFT JOIN identity.addresses e ON e.person = p.uid AND e.is_primary
		WHERE p.uid = $1 AND p.deleted_at IS NULL`, p)
}

// Secret is the stored secret of an authenticator, verified or not.
type Secret struct {
	Type     string
	Verified bool
	Secret   []byte // a bcrypt hash, or a sealed TOTP secret
	Salt     []byte // salt of the recovery codes
}

// Secret returns the secret of one of a person's authenticators.
// Errors: identity.ErrAuthenticatorNotFound.
func (s *Store) Secret(ctx context.Context, p id.Person, a id.Authenticator) (Secret, error) {
	return database.One[Secret](ctx, s.q, "read secret", identity.ErrAuthenticatorNotFound, `
		SELECT type, verified, secret, salt FROM identity.authenticators WHERE person = $1 AND uid = $2`, p, a)
}

// InsertTOTP stores a sealed TOTP secret. It replaces one that was never verified. Call it with the person locked.
// Errors: identity.ErrTypeRegistered.
func (s *Store) InsertTOTP(ctx context.Context, p id.Person, a id.Authenticator, name string, sealed []byte, verified bool,
	now time.Time) error {
	if _, err := database.Exec(ctx, s.q, "delete unverified totp", `
		DELETE FROM identity.authenticators WHERE person = $1 AND type = 'totp' AND NOT verified`, p); err != nil {
		return err
	}
	_, err := database.Exec(ctx, s.q, "insert totp", `
		INSERT INTO identity.authenticators (uid, person, type, name, verified, registered_at, updated_at, secret)
		VALUES ($1, $2, 'totp', $3, $4, $5, $5, $6)`, a, p, database.Null(name), verified, now, sealed)
	return err
}

// VerifyTOTP marks a TOTP authenticator verified and the step of its code used.
// Errors: identity.ErrVerificationFailed
// when it is verified already.
func (s *Store) VerifyTOTP(ctx context.Context, a id.Authenticator, step int64, now time.Time) error {
	return database.Changed(ctx, s.q, "verify totp", identity.ErrVerificationFailed, `
		UPDATE identity.authenticators SET verified = true, last_step = $2, updated_at = $3
		WHERE uid = $1 AND type = 'totp' AND NOT verified`, a, step, now)
}

// RenameAuthenticator changes the name of one of a person's authenticators; empty unsets it.
// Errors: identity.ErrAuthenticatorNotFound.
func (s *Store) RenameAuthenticator(ctx context.Context, p id.Person, a id.Authenticator, name string) error {
	return database.Changed(ctx, s.q, "rename authenticator", identity.ErrAuthenticatorNotFound, `
		UPDATE identity.authenticators SET name = $3 WHERE person = $1 AND uid = $2`, p, a, database.Null(name))
}

// ChangeHash replaces the hash of a person's password, if it is still old, and reports whether it was. It also deletes
// the person's reset keys and invalidates the device cookies, and no session may set the password without the old one any more. Call
// it with the person locked.
func (s *Store) ChangeHash(ctx context.Context, p id.Person, a id.Authenticator, old, hash []byte, now time.Time) (bool, error) {
	n, err := database.Exec(ctx, s.q, "change hash", `
		WITH changed AS (
			UPDATE identity.authenticators SET secret = $4, updated_at = $5
			WHERE person = $1 AND uid = $2 AND type = 'bcrypt' AND secret = $3
			RETURNING person
		), keys AS (
			DELETE FROM identity.reset_keys WHERE person = $1
		), tokens AS (
			UPDATE identity.id_tokens SET set_password_until = NULL WHERE person = $1 AND set_password_until IS NOT NULL
		), parked AS (
			UPDATE identity.parked_tokens SET set_password_until = NULL WHERE person = $1 AND set_password_until IS NOT NULL
		)
		UPDATE identity.persons p SET device_epoch = device_epoch + 1 FROM changed WHERE p.uid = changed.person`, p, a, old, hash, now)
	return n > 0, err
}

// MaySetPassword reports whether a session may set the password without the old one. Call it with the person locked.
func (s *Store) MaySetPassword(ctx context.Context, p id.Person, sid id.Session, now time.Time) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "check set password", nil, `
		SELECT EXISTS (SELECT FROM identity.id_tokens
		               WHERE person = $1 AND sid = $2 AND state <> 'ended' AND set_password_until > $3)`, p, sid, now)
}

// DeleteAuthenticator removes one of a person's authenticators.
// Errors: identity.ErrAuthenticatorNotFound.
func (s *Store) DeleteAuthenticator(ctx context.Context, p id.Person, a id.Authenticator) error {
	return database.Changed(ctx, s.q, "delete authenticator", identity.ErrAuthenticatorNotFound, `
		DELETE FROM identity.authenticators WHERE person = $1 AND uid = $2 AND type <> 'bcrypt'`, p, a)
}

// RaiseLevel raises a session from authLevel 1 to 2. Call it with the person locked.
func (s *Store) RaiseLevel(ctx context.Context, p id.Person, sid id.Session) error {
	_, err := database.Exec(ctx, s.q, "raise level", `
		UPDATE identity.id_tokens SET auth_level = 2 WHERE person = $1 AND sid = $2 AND state <> 'ended' AND auth_level = 1`, p, sid)
	return err
}

// LowerLevels sets every session of a person back to authLevel 1, because no second factor is left. Call it with the
// person locked.
func (s *Store) LowerLevels(ctx context.Context, p id.Person) error {
	_, err := database.Exec(ctx, s.q, "lower levels", `
		WITH parked AS (
			UPDATE identity.parked_tokens SET auth_level = 1 WHERE person = $1 AND auth_level = 2
		)
		UPDATE identity.id_tokens SET auth_level = 1 WHERE person = $1 AND auth_level = 2`, p)
	return err
}

// ReplaceRecovery stores a set of recovery codes and deletes the earlier set. Call it with the person locked.
func (s *Store) ReplaceRecovery(ctx context.Context, p id.Person, a id.Authenticator, name string, salt []byte, hashes [][]byte,
	now time.Time) error {
	if _, err := database.Exec(ctx, s.q, "delete recovery", `
		DELETE FROM identity.authenticators WHERE person = $1 AND type = 'recovery'`, p); err != nil {
		return err
	}
	_, err := database.Exec(ctx, s.q, "insert recovery", `
		WITH stored AS (
			INSERT INTO identity.authenticators (uid, person, type, verified, registered_at, updated_at, salt, name)
			VALUES ($1, $2, 'recovery', true, $3, $3, $4, $6)
		)
		INSERT INTO identity.recovery_codes (authenticator, hash) SELECT $1, unnest($5::bytea[])`,
		a, p, now, salt, hashes, database.Null(name))
	return err
}

// DeleteFactors removes every second factor of a person.
func (s *Store) DeleteFactors(ctx context.Context, p id.Person) error {
	_, err := database.Exec(ctx, s.q, "delete factors", `DELETE FROM identity.authenticators WHERE person = $1 AND type <> 'bcrypt'`, p)
	return err
}

// Sealed is a sealed TOTP secret with its person.
type Sealed struct {
	UID    id.Authenticator
	Secret []byte
}

// SealedAfter returns sealed TOTP secrets, also those that an undone change would restore, in the order of their uids,
// starting after a secret (keyset pagination).
func (s *Store) SealedAfter(ctx context.Context, after Sealed, limit int) ([]Sealed, error) {
	return database.All[Sealed](ctx, s.q, "list sealed secrets", `
		SELECT uid, secret FROM identity.authenticators WHERE type = 'totp' AND (uid, secret) > ($1, $2::bytea)
		UNION
		SELECT uid, secret FROM identity.security_change_factors WHERE type = 'totp' AND (uid, secret) > ($1, $2::bytea)
		ORDER BY uid, secret LIMIT $3`, after.UID, append([]byte{}, after.Secret...), limit)
}

// ReplaceSealed stores a secret that was sealed with another key, unless the stored secret has changed since it was
// read.
func (s *Store) ReplaceSealed(ctx context.Context, old Sealed, secret []byte) error {
	_, err := database.Exec(ctx, s.q, "replace sealed secret", `
		WITH kept AS (
			UPDATE identity.security_change_factors SET secret = $3 WHERE uid = $1 AND secret = $2
		)
		UPDATE identity.authenticators SET secret = $3 WHERE uid = $1 AND secret = $2`, old.UID, old.Secret, secret)
	return err
}
