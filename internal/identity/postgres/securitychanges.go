package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// SecurityChange is the input of KeepChange.
type SecurityChange struct {
	Kind     string // the template of its mails, and the type of a factor
	UndoHash []byte // hash of the key that undoes it
	EndHash  []byte // hash of the key that only ends the sessions
	Now      time.Time
	Since    time.Time // one change of a kind is kept from here on; further ones are not
}

// Addressee is what mails about a change of an account need.
type Addressee struct {
	Name       string
	Locale     string
	TimeZone   string
	Host       string      // home host, for links
	Addresses  []string    // the verified ones, the primary one first
	VerifiedAt []time.Time // of each address
}

// addresseeColumns are the columns of Addressee but Addresses and VerifiedAt, from identity.persons p and identity.homes h.
const addresseeColumns = `coalesce(p.name, '') AS name, p.locale, p.time_zone, coalesce(h.host, '') AS host`

// verifiedAddresses is the row of a person's verified addresses, for LATERAL; $1 is the person.
const verifiedAddresses = `(
		SELECT coalesce(array_agg(address ORDER BY is_primary DESC, verified_at, address), '{}') AS addresses,
		       coalesce(array_agg(verified_at ORDER BY is_primary DESC, verified_at, address), '{}') AS verified_at
		FROM identity.addresses WHERE person = $1 AND verified_at IS NOT NULL)`

// KeepChange stores the state of an account before a change, and returns who is mailed about it. It stores nothing and
// returns the zero Addressee for an account without verified address, and if a change of the kind was kept after c.Since.
// Call it with the person locked and before the change.
func (s *Store) KeepChange(ctx context.Context, p id.Person, c SecurityChange) (Addressee, error) {
	return database.One[Addressee](ctx, s.q, "keep security change", nil, `
		WITH kept AS (
			INSERT INTO identity.security_changes (person, kind, made_at, undo_hash, end_hash, addresses, verified_at, email_proved_at)
			SELECT p.uid, $2, $3, $4, $5, a.addresses, a.verified_at, p.email_proved_at
			FROM identity.persons p, LATERAL `+verifiedAddresses+` a
			WHERE p.uid = $1 AND cardinality(a.addresses) > 0
			  AND NOT EXISTS (SELECT FROM identity.security_changes e WHERE e.person = $1 AND e.kind = $2 AND e.made_at > $6)
			RETURNING seq, person, addresses, verified_at
		), factors AS (
			INSERT INTO identity.security_change_factors (change, uid, type, name, registered_at, updated_at, secret, salt, codes, passkey)
			SELECT kept.seq, f.uid, f.type, f.name, f.registered_at, f.updated_at, f.secret, f.salt,
			       ARRAY(SELECT r.hash FROM identity.recovery_codes r WHERE r.authenticator = f.uid),
			       (SELECT to_jsonb(k) FROM identity.passkeys k WHERE k.authenticator = f.uid)
			FROM kept JOIN identity.authenticators f ON f.person = kept.person AND f.verified AND f.type <> 'bcrypt'
		)
		SELECT `+addresseeColumns+`, kept.addresses, kept.verified_at
		FROM kept JOIN identity.persons p ON p.uid = kept.person JOIN identity.homes h ON h.person = p.uid`,
		p, c.Kind, c.Now, c.UndoHash, c.EndHash, c.Since)
}

// Addressee returns who is mailed about an account.
// Errors: identity.ErrPersonNotFound.
func (s *Store) Addressee(ctx context.Context, p id.Person) (Addressee, error) {
	return database.One[Addressee](ctx, s.q, "read addressee", identity.ErrPersonNotFound, `
		SELECT `+addresseeColumns+`, a.addresses, a.verified_at
		FROM identity.persons p JOIN identity.homes h ON h.person = p.uid, LATERAL `+verifiedAddresses+` a
		WHERE p.uid = $1`, p)
}

// KeptChange is a change that a key of a mailed link belongs to.
type KeptChange struct {
	Seq       int64
	Person    id.Person
	Kind      string
	Undoes    bool     // the key undoes the change; else it only ends the sessions
	Addresses []string // the verified ones before the change, the primary one first
}

// ChangeOfKey returns the change of a key that was made after since.
// Errors: identity.ErrKeyNotFound.
func (s *Store) ChangeOfKey(ctx context.Context, hash []byte, since time.Time) (KeptChange, error) {
	return database.One[KeptChange](ctx, s.q, "find security change", identity.ErrKeyNotFound, `
		SELECT seq, person, kind, undo_hash IS NOT DISTINCT FROM $1 AS undoes, addresses
		FROM identity.security_changes WHERE (undo_hash = $1 OR end_hash = $1) AND made_at > $2`, hash, since)
}

// TakeChangeKey consumes a key of a change. Call it with the person locked.
// Errors: identity.ErrKeyNotFound.
func (s *Store) TakeChangeKey(ctx context.Context, seq int64, hash []byte, since time.Time) error {
	return database.Changed(ctx, s.q, "take key of security change", identity.ErrKeyNotFound, `
		UPDATE identity.security_changes
		SET undo_hash = nullif(undo_hash, $2), end_hash = nullif(end_hash, $2)
		WHERE seq = $1 AND (undo_hash = $2 OR end_hash = $2) AND made_at > $3`, seq, hash, since)
}

// RestoreAddresses gives a person the verified addresses from before a change, and no others. It leaves out an address
// that another person has verified since. Call it with these addresses and the person locked.
// Errors: identity.ErrAddressInUse when none can be restored.
func (s *Store) RestoreAddresses(ctx context.Context, p id.Person, seq int64) (primary string, err error) {
	if _, err := database.Exec(ctx, s.q, "remove later addresses", `
		WITH keys AS (
			DELETE FROM identity.reset_keys WHERE person = $1
		), demoted AS (
			UPDATE identity.addresses a SET is_primary = false
			FROM identity.security_changes c WHERE c.seq = $2 AND a.person = $1 AND a.address = ANY (c.addresses)
		)
		DELETE FROM identity.addresses a USING identity.security_changes c
		WHERE c.seq = $2 AND a.person = $1 AND a.address <> ALL (c.addresses)`, p, seq); err != nil {
		return "", err
	}
	if _, err := database.Exec(ctx, s.q, "restore addresses", `
		INSERT INTO identity.addresses (person, address, is_primary, verified_at, created_at)
		SELECT $1, before.address, false, before.verified_at, before.verified_at
		FROM identity.security_changes c, unnest(c.addresses, c.verified_at) AS before (address, verified_at)
		WHERE c.seq = $2 AND NOT EXISTS (SELECT FROM identity.addresses o
		                                 WHERE o.address = before.address AND o.person <> $1 AND o.verified_at IS NOT NULL)
		ON CONFLICT (person, address) DO UPDATE
		SET verified_at = excluded.verified_at, remove_at = NULL, key_hash = NULL, key_expires_at = NULL`, p, seq); err != nil {
		return "", err
	}
	return database.Scalar[string](ctx, s.q, "restore primary address", identity.ErrAddressInUse, `
		WITH chosen AS (
			SELECT a.address, c.email_proved_at
			FROM identity.security_changes c, unnest(c.addresses) WITH ORDINALITY AS before (address, place)
			JOIN identity.addresses a ON a.person = $1 AND a.address = before.address
			WHERE c.seq = $2 ORDER BY place LIMIT 1
		), proved AS (
			UPDATE identity.persons SET email_proved_at = chosen.email_proved_at FROM chosen WHERE uid = $1
		)
		UPDATE identity.addresses a SET is_primary = true FROM chosen
		WHERE a.person = $1 AND a.address = chosen.address RETURNING a.address`, p, seq)
}

// RestoreFactors gives a person the second factors from before a change, and no others. A factor that still exists stays as
// it is, with its used codes and counter. A restored TOTP authenticator accepts only steps after step. Call it with the person locked.
func (s *Store) RestoreFactors(ctx context.Context, p id.Person, seq, step int64) error {
	if _, err := database.Exec(ctx, s.q, "delete later factors", `
		DELETE FROM identity.authenticators a
		WHERE a.person = $1 AND a.type <> 'bcrypt'
		  AND NOT EXISTS (SELECT FROM identity.security_change_factors f WHERE f.change = $2 AND f.uid = a.uid)`, p, seq); err != nil {
		return err
	}
	_, err := database.Exec(ctx, s.q, "restore factors", `
		WITH restored AS (
			INSERT INTO identity.authenticators (uid, person, type, name, verified, registered_at, updated_at, secret, salt, last_step)
			SELECT f.uid, $1, f.type, f.name, true, f.registered_at, f.updated_at, f.secret, f.salt, CASE WHEN f.type = 'totp' THEN $3::bigint END
			FROM identity.security_change_factors f
			WHERE f.change = $2 AND (f.type <> 'recovery' OR cardinality(f.codes) > 0)
			  AND NOT EXISTS (SELECT FROM identity.passkeys o, jsonb_populate_record(NULL::identity.passkeys, f.passkey) b
			                  WHERE o.credential_id = b.credential_id AND o.authenticator <> b.authenticator)
			ON CONFLICT (uid) DO NOTHING
			RETURNING uid
		), passkeys AS (
			INSERT INTO identity.passkeys
			SELECT b.* FROM restored JOIN identity.security_change_factors f ON f.change = $2 AND f.uid = restored.uid AND f.passkey IS NOT NULL,
			     jsonb_populate_record(NULL::identity.passkeys, f.passkey) b
		)
		INSERT INTO identity.recovery_codes (authenticator, hash)
		SELECT f.uid, unnest(f.codes) FROM identity.security_change_factors f JOIN restored ON restored.uid = f.uid
		WHERE f.change = $2`, p, seq, step)
	return err
}

// LockPassword replaces the hash of a person's password and reports whether there is one. It also deletes the person's reset
// keys, and no device of the person is known any more. Call it with the person locked and all sessions ended.
func (s *Store) LockPassword(ctx context.Context, p id.Person, hash []byte, now time.Time) (bool, error) {
	n, err := database.Exec(ctx, s.q, "lock password", `
		WITH keys AS (
			DELETE FROM identity.reset_keys WHERE person = $1
		), devices AS (
			UPDATE identity.persons SET device_epoch = device_epoch + 1 WHERE uid = $1
		)
		UPDATE identity.authenticators SET secret = $2, updated_at = $3 WHERE person = $1 AND type = 'bcrypt'`, p, hash, now)
	return n > 0, err
}

// DropChanges deletes a change and all later ones of a person. Call it with the person locked.
func (s *Store) DropChanges(ctx context.Context, p id.Person, seq int64) error {
	_, err := database.Exec(ctx, s.q, "drop security changes", `
		DELETE FROM identity.security_changes WHERE person = $1 AND seq >= $2`, p, seq)
	return err
}
