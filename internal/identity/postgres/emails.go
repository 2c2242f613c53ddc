package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// LockAddress takes the advisory lock of an address until the transaction ends. Transactions that claim the address
// take it first.
func (s *Store) LockAddress(ctx context.Context, address string) error {
	_, err := database.Exec(ctx, s.q, "lock address", `SELECT pg_advisory_xact_lock(hashtextextended('identity.address ' || $1, 0))`, address)
	return err
}

// Holder is a person who has an address, verified or not.
type Holder struct {
	Person    id.Person
	IsPrimary bool
	Verified  bool
	CreatedAt time.Time
	Only      bool // the person has no other address
}

// Holders returns every person who has an address. Call it under LockAddress.
func (s *Store) Holders(ctx context.Context, address string) ([]Holder, error) {
	return database.All[Holder](ctx, s.q, "read holders of address", `
		SELECT a.person, a.is_primary, a.verified_at IS NOT NULL AS verified, a.created_at,
		       NOT EXISTS (SELECT FROM identity.addresses o WHERE o.person = a.person AND o.address <> a.address) AS only
		FROM identity.addresses a WHERE a.address = $1`, address)
}

// DeleteAddress removes an unverified address from a person.
func (s *Store) DeleteAddress(ctx context.Context, p id.Person, address string) error {
	_, err := database.Exec(ctx, s.q, "delete address", `
		DELETE FROM identity.addresses WHERE person = $1 AND address = $2 AND verified_at IS NULL`, p, address)
	return err
}

// Addresses lists a person's addresses, the primary one first, then by age.
func (s *Store) Addresses(ctx context.Context, p id.Person) ([]identity.Address, error) {
	return database.All[identity.Address](ctx, s.q, "list addresses", `
		SELECT address, is_primary AS "primary", verified_at IS NOT NULL AS verified, remove_at
		FROM identity.addresses WHERE person = $1 ORDER BY is_primary DESC, created_at, address`, p)
}

// AddressHeld reports whether any person has an address, verified or not.
func (s *Store) AddressHeld(ctx context.Context, address string) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "look for holder of address", nil,
		`SELECT EXISTS (SELECT FROM identity.addresses WHERE address = $1)`, address)
}

// NewAddress is the input of InsertAddress: a secondary address, not verified.
type NewAddress struct {
	Address      string
	RemoveAt     time.Time
	KeyHash      []byte // hash of the verification key
	KeyExpiresAt time.Time
	CreatedAt    time.Time
}

// InsertAddress stores a secondary address.
// Errors: identity.ErrAddressInUse.
func (s *Store) InsertAddress(ctx context.Context, p id.Person, n NewAddress) error {
	_, err := database.Exec(ctx, s.q, "insert address", `
		INSERT INTO identity.addresses (person, address, is_primary, remove_at, created_at, key_hash, key_expires_at)
		VALUES ($1, $2, false, $3, $4, $5, $6)`, p, n.Address, n.RemoveAt, n.CreatedAt, n.KeyHash, n.KeyExpiresAt)
	return err
}

// RemoveAddress removes a secondary address, verified or not, with the reset keys that were mailed to it.
func (s *Store) RemoveAddress(ctx context.Context, p id.Person, address string) error {
	_, err := database.Exec(ctx, s.q, "remove address", `
		WITH keys AS (
			DELETE FROM identity.reset_keys WHERE person = $1 AND address = $2
		)
		DELETE FROM identity.addresses WHERE person = $1 AND address = $2 AND NOT is_primary`, p, address)
	return err
}

// MakePrimary makes a verified address the primary one. The time of its verification then counts as that of the
// primary address. Call it with the person locked: it takes two statements, because the unique index allows one primary
// address at a time.
func (s *Store) MakePrimary(ctx context.Context, p id.Person, address string) error {
	if _, err := database.Exec(ctx, s.q, "clear primary address", `
		UPDATE identity.addresses SET is_primary = false WHERE person = $1 AND is_primary`, p); err != nil {
		return err
	}
	return database.Changed(ctx, s.q, "set primary address", identity.ErrAddressNotFound, `
		WITH chosen AS (
			UPDATE identity.addresses SET is_primary = true
			WHERE person = $1 AND address = $2 AND verified_at IS NOT NULL
			RETURNING person, verified_at
		)
		UPDATE identity.persons p SET email_proved_at = chosen.verified_at FROM chosen WHERE p.uid = chosen.person`, p, address)
}

// SetVerificationKey replaces the verification key of an unverified address. verified reports that the address is
// verified already, and then nothing changes.
// Errors: identity.ErrAddressNotFound.
func (s *Store) SetVerificationKey(ctx context.Context, p id.Person, address string, hash []byte,
	expires time.Time) (verified bool, err error) {
	return database.Scalar[bool](ctx, s.q, "set verification key", identity.ErrAddressNotFound, `
		WITH changed AS (
			UPDATE identity.addresses SET key_hash = $3, key_expires_at = $4
			WHERE person = $1 AND address = $2 AND verified_at IS NULL
		)
		SELECT verified_at IS NOT NULL FROM identity.addresses WHERE person = $1 AND address = $2`,
		p, address, hash, expires)
}

// AddressOfKey returns the address that a verification key confirms for a person.
// Errors: identity.ErrKeyNotFound, also
// for another person's key.
func (s *Store) AddressOfKey(ctx context.Context, p id.Person, hash []byte, now time.Time) (string, error) {
	return database.Scalar[string](ctx, s.q, "find verification key", identity.ErrKeyNotFound, `
		SELECT address FROM identity.addresses WHERE person = $1 AND key_hash = $2 AND key_expires_at > $3`, p, hash, now)
}

// VerifyAddress consumes a verification key and reports whether it confirmed the primary address, which then counts as
// verified again (email_proved_at).
// Errors: identity.ErrKeyNotFound; identity.ErrAddressInUse when another person has verified the address.
func (s *Store) VerifyAddress(ctx context.Context, p id.Person, hash []byte, now time.Time) (primary bool, err error) {
	return database.Scalar[bool](ctx, s.q, "verify address", identity.ErrKeyNotFound, `
		WITH verified AS (
			UPDATE identity.addresses
			SET verified_at = $3, remove_at = NULL, key_hash = NULL, key_expires_at = NULL
			WHERE person = $1 AND key_hash = $2 AND key_expires_at > $3 AND verified_at IS NULL
			RETURNING is_primary
		), proved AS (
			UPDATE identity.persons SET email_proved_at = $3 WHERE uid = $1 AND (SELECT is_primary FROM verified)
		)
		SELECT is_primary FROM verified`, p, hash, now)
}

// MarkVerified verifies an address without a key, for an operator.
// Errors: identity.ErrAddressNotFound,
// identity.ErrAddressInUse.
func (s *Store) MarkVerified(ctx context.Context, p id.Person, address string, now time.Time) error {
	_, err := database.Scalar[bool](ctx, s.q, "mark address verified", identity.ErrAddressNotFound, `
		WITH verified AS (
			UPDATE identity.addresses
			SET verified_at = coalesce(verified_at, $3), remove_at = NULL, key_hash = NULL, key_expires_at = NULL
			WHERE person = $1 AND address = $2
			RETURNING is_primary
		), proved AS (
			UPDATE identity.persons SET email_proved_at = $3 WHERE uid = $1 AND (SELECT is_primary FROM verified)
		)
		SELECT is_primary FROM verified`, p, address, now)
	return err
}

// Overdue is an unverified address that is due to be deleted.
type Overdue struct {
	Person  id.Person
	Address string
	Only    bool // the person has no other address
}

// OverdueAddresses returns at most limit unverified addresses that are due to be deleted.
func (s *Store) OverdueAddresses(ctx context.Context, now time.Time, limit int) ([]Overdue, error) {
	return database.All[Overdue](ctx, s.q, "read overdue addresses", `
		SELECT a.person, a.address,
		       NOT EXISTS (SELECT FROM identity.addresses o WHERE o.person = a.person AND o.address <> a.address) AS only
		FROM identity.addresses a WHERE a.remove_at <= $1 ORDER BY a.remove_at LIMIT $2`, now, limit)
}

// StillOverdue reports whether an address is still due to be deleted. Call it with the person locked.
func (s *Store) StillOverdue(ctx context.Context, p id.Person, address string, now time.Time) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "check overdue address", nil, `
		SELECT EXISTS (SELECT FROM identity.addresses WHERE person = $1 AND address = $2 AND remove_at <= $3)`, p, address, now)
}
