package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// SetSenderCode stores the hash of a locked reservation's new code for an address, unless limit codes were mailed for the
// reservation. It reports whether it did.
func (s *Store) SetSenderCode(ctx context.Context, r id.Reservation, email string, hash []byte, expires time.Time,
	limit int) (bool, error) {
	n, err := database.Exec(ctx, s.q, "set sender's code", `
		INSERT INTO transfer.sender_codes AS c (reservation, email, code_hash, expires_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT ON CONSTRAINT sender_codes_pkey DO UPDATE SET email = excluded.email, code_hash = excluded.code_hash,
			expires_at = excluded.expires_at, tries = 0, mailed = c.mailed + 1 WHERE c.mailed < $5`, r, email, hash, expires, limit)
	return n == 1, err
}

// TrySenderCode counts a try at a reservation's code and reports whether the code was right, was mailed to the address that the
// reservation states, and no more than the given number of tries were made. The right code is consumed, and its address is
// verified.
func (s *Store) TrySenderCode(ctx context.Context, r id.Reservation, hash []byte, now time.Time, tries int) (bool, error) {
	n, err := database.Exec(ctx, s.q, "try sender's code", `
		WITH tried AS (
			UPDATE transfer.sender_codes c SET tries = tries + 1, verified_email = CASE WHEN code_hash = $2 THEN email ELSE verified_email END,
				code_hash = CASE WHEN code_hash = $2 THEN NULL ELSE code_hash END
			WHERE reservation = $1 AND code_hash IS NOT NULL AND expires_at > $3 AND tries < $4
				AND email = (SELECT r.anon_email FROM transfer.reservations r WHERE r.uid = $1)
			RETURNING code_hash
		)
		SELECT FROM tried WHERE code_hash IS NULL`, r, hash, now, tries)
	return n == 1, err
}

// PersonOfEpoch returns a person whose epoch is the given one, else zero.
func (s *Store) PersonOfEpoch(ctx context.Context, p id.Person, epoch int64) (id.Person, error) {
	return database.Scalar[id.Person](ctx, s.q, "find person", nil, `SELECT person FROM directory.persons WHERE person = $1 AND epoch = $2`, p,
		epoch)
}

// VerifiedAddresses returns the verified addresses of a person.
func (s *Store) VerifiedAddresses(ctx context.Context, p id.Person) ([]string, error) {
	return database.Scalars[string](ctx, s.q, "list addresses", `SELECT address FROM directory.addresses WHERE person = $1 AND verified`, p)
}
