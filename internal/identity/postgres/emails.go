package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// LockAddress makes every other transaction that wants to claim the address wait until this one ends.
func (s *Store) LockAddress(ctx context.Context, address string) error {
	_, err := s.exec(ctx, "lock address", `SELECT pg_advisory_xact_lock(hashtextextended('identity.address ' || $1, 0))`, address)
	return err
}

// Holder is a person's hold on an address.
type Holder struct {
	Person    id.Person
	IsPrimary bool
	Verified  bool
	CreatedAt time.Time
	Only      bool // the person has no other address
}

// Holders returns everybody who holds an address. Call it under LockAddress.
func (s *Store) Holders(ctx context.Context, address string) ([]Holder, error) {
	return all[Holder](ctx, s.q, "read holders of address", `
		SELECT a.person, a.is_primary, a.verified_at IS NOT NULL AS verified, a.created_at,
		       NOT EXISTS (SELECT FROM identity.addresses o WHERE o.person = a.person AND o.address <> a.address) AS only
		FROM identity.addresses a WHERE a.address = $1`, address)
}

// DeleteAddress removes an unverified address from a person.
func (s *Store) DeleteAddress(ctx context.Context, p id.Person, address string) error {
	_, err := s.exec(ctx, "delete address", `
		DELETE FROM identity.addresses WHERE person = $1 AND address = $2 AND verified_at IS NULL`, p.UUID, address)
	return err
}

// SetVerificationKey replaces the verification key of an unverified address. verified reports that there was nothing to
// do because the address is verified already. Errors: identity.ErrAddressNotFound.
func (s *Store) SetVerificationKey(ctx context.Context, p id.Person, address string, hash []byte, expires time.Time) (verified bool, err error) {
	return scalar[bool](ctx, s.q, "set verification key", identity.ErrAddressNotFound, `
		WITH changed AS (
			UPDATE identity.addresses SET key_hash = $3, key_expires_at = $4
			WHERE person = $1 AND address = $2 AND verified_at IS NULL
		)
		SELECT verified_at IS NOT NULL FROM identity.addresses WHERE person = $1 AND address = $2`,
		p.UUID, address, hash, expires)
}

// AddressOfKey returns the address that a verification key confirms for a person. Errors: identity.ErrKeyNotFound, also
// for another person's key.
func (s *Store) AddressOfKey(ctx context.Context, p id.Person, hash []byte, now time.Time) (string, error) {
	return scalar[string](ctx, s.q, "find verification key", identity.ErrKeyNotFound, `
		SELECT address FROM identity.addresses WHERE person = $1 AND key_hash = $2 AND key_expires_at > $3`, p.UUID, hash, now)
}

// VerifyAddress consumes a verification key and reports whether it confirmed the primary address, which counts as its
// proof. Errors: identity.ErrKeyNotFound, identity.ErrAddressInUse when somebody else has verified it.
func (s *Store) VerifyAddress(ctx context.Context, p id.Person, hash []byte, now time.Time) (primary bool, err error) {
	primary, err = scalar[bool](ctx, s.q, "verify address", identity.ErrKeyNotFound, `
		WITH verified AS (
			UPDATE identity.addresses
			SET verified_at = $3, remove_at = NULL, key_hash = NULL, key_expires_at = NULL
			WHERE person = $1 AND key_hash = $2 AND key_expires_at > $3 AND verified_at IS NULL
			RETURNING is_primary
		), proved AS (
			UPDATE identity.persons SET email_proved_at = $3 WHERE uid = $1 AND (SELECT is_primary FROM verified)
		)
		SELECT is_primary FROM verified`, p.UUID, hash, now)
	return primary, constraint(err)
}

// MarkVerified verifies an address without a key, for an operator. Errors: identity.ErrAddressNotFound,
// identity.ErrAddressInUse.
func (s *Store) MarkVerified(ctx context.Context, p id.Person, address string, now time.Time) error {
	_, err := scalar[bool](ctx, s.q, "mark address verified", identity.ErrAddressNotFound, `
		WITH verified AS (
			UPDATE identity.addresses
			SET verified_at = coalesce(verified_at, $3), remove_at = NULL, key_hash = NULL, key_expires_at = NULL
			WHERE person = $1 AND address = $2
			RETURNING is_primary
		), proved AS (
			UPDATE identity.persons SET email_proved_at = $3 WHERE uid = $1 AND (SELECT is_primary FROM verified)
		)
		SELECT is_primary FROM verified`, p.UUID, address, now)
	return constraint(err)
}

// Overdue is an unverified address whose time has come.
type Overdue struct {
	Person  id.Person
	Address string
	Only    bool // the person has no other address
}

// OverdueAddresses returns unverified addresses to be removed, at most limit of them.
func (s *Store) OverdueAddresses(ctx context.Context, now time.Time, limit int) ([]Overdue, error) {
	return all[Overdue](ctx, s.q, "read overdue addresses", `
		SELECT a.person, a.address,
		       NOT EXISTS (SELECT FROM identity.addresses o WHERE o.person = a.person AND o.address <> a.address) AS only
		FROM identity.addresses a WHERE a.remove_at <= $1 ORDER BY a.remove_at LIMIT $2`, now, limit)
}

// StillOverdue reports whether an address is still to be removed, now that its person is locked.
func (s *Store) StillOverdue(ctx context.Context, p id.Person, address string, now time.Time) (bool, error) {
	return scalar[bool](ctx, s.q, "check overdue address", nil, `
		SELECT EXISTS (SELECT FROM identity.addresses WHERE person = $1 AND address = $2 AND remove_at <= $3)`, p.UUID, address, now)
}
