package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// KnownClient is a client without cookies in which a person has logged in.
type KnownClient struct {
	Person      id.Person
	Hash        []byte // of its family and network
	DeviceEpoch int64  // the person's; a greater one makes the client unknown
	Now         time.Time
	Since       time.Time // logins before do not count
}

// RememberClient stores the login of a client and reports whether it was known before. It keeps the
// identity.MaxKnownClients clients of the person that logged in last. Call it with the person locked.
func (s *Store) RememberClient(ctx context.Context, c KnownClient) (known bool, err error) {
	return database.Scalar[bool](ctx, s.q, "remember client", nil, `
		WITH stored AS (
			INSERT INTO identity.known_clients (person, client_hash, device_epoch, seen_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (person, client_hash) DO UPDATE SET device_epoch = excluded.device_epoch, seen_at = excluded.seen_at
		), forgotten AS (
			DELETE FROM identity.known_clients WHERE person = $1 AND client_hash IN (
				SELECT client_hash FROM identity.known_clients WHERE person = $1 AND client_hash <> $2
				ORDER BY seen_at DESC, client_hash OFFSET $6)
		)
		SELECT EXISTS (SELECT FROM identity.known_clients WHERE person = $1 AND client_hash = $2 AND device_epoch = $3 AND seen_at > $5)`,
		c.Person, c.Hash, c.DeviceEpoch, c.Now, c.Since, identity.MaxKnownClients-1)
}

// KnownClients returns the last logins of a person's clients without cookies, latest first.
func (s *Store) KnownClients(ctx context.Context, p id.Person) ([]time.Time, error) {
	return database.Scalars[time.Time](ctx, s.q, "list clients",
		`SELECT seen_at FROM identity.known_clients WHERE person = $1 ORDER BY seen_at DESC, client_hash`, p)
}
