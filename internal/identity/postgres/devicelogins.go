package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/ratelimit"
)

// NewDeviceLogin is the input of InsertDeviceLogin.
type NewDeviceLogin struct {
	identity.DeviceLogin
	DeviceHash, UserHash []byte
	Host                 id.Organization // served at the host of the request
	Network              string          // of the client
}

// InsertDeviceLogin stores a program that asks for a session.
// Errors: identity.ErrDeviceLogins when as many wait as are allowed.
func (s *Store) InsertDeviceLogin(ctx context.Context, d NewDeviceLogin) error {
	if _, err := database.Exec(ctx, s.q, "lock device logins",
		`SELECT pg_advisory_xact_lock(hashtextextended('identity.device_logins', 0))`); err != nil {
		return err
	}
	networks, most := ratelimit.Bounds(d.Network, ratelimit.NetworkShare, identity.MaxNetworksDeviceLogins)
	return database.Changed(ctx, s.q, "store device login", identity.ErrDeviceLogins, `
		INSERT INTO identity.device_logins (device_hash, user_hash, host, name, user_agent, ip, network, poll_seconds, created_at, expires_at)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
		WHERE (SELECT count(*) FROM identity.device_logins WHERE expires_at > $9) < $11
		  AND NOT EXISTS (SELECT FROM unnest($12::cidr[], $13::bigint[]) AS n (network, most) WHERE n.most <= (
		      SELECT count(*) FROM identity.device_logins d WHERE d.network BETWEEN n.network AND host(broadcast(n.network))::inet
		        AND expires_at > $9))`,
		d.DeviceHash, d.UserHash, d.Host, d.Name, d.UserAgent, d.IP, d.Network, int(identity.DeviceLoginPoll/time.Second), d.CreatedAt,
		d.ExpiresAt,
		identity.MaxDeviceLogins, networks, most)
}

// DeviceLogin returns a program that waits at a host, by the hashes of its user code.
// Errors: identity.ErrUserCode.
func (s *Store) DeviceLogin(ctx context.Context, userHashes [][]byte, host id.Organization, now time.Time) (identity.DeviceLogin, error) {
	return database.One[identity.DeviceLogin](ctx, s.q, "find device login", identity.ErrUserCode, `
		SELECT name, user_agent, ip, created_at, expires_at FROM identity.device_logins
		WHERE user_hash = ANY ($1) AND host = $2 AND expires_at > $3 AND person IS NULL AND NOT refused`, userHashes, host, now)
}

// Approval is the session that approves a program.
type Approval struct {
	Person    id.Person
	Session   id.Session
	Epoch     int64
	AuthLevel int
	AuthTime  time.Time
}

// ApproveDeviceLogin approves a program that waits, once, and returns it.
// Errors: identity.ErrUserCode.
func (s *Store) ApproveDeviceLogin(ctx context.Context, userHashes [][]byte, host id.Organization, a Approval,
	now time.Time) (identity.DeviceLogin, error) {
	return database.One[identity.DeviceLogin](ctx, s.q, "approve device login", identity.ErrUserCode, `
		UPDATE identity.device_logins d SET person = $4, epoch = $5, auth_level = $6, auth_time = $7,
		       federated = coalesce((SELECT bool_or(t.federated) FROM identity.id_tokens t WHERE t.sid = $8 AND t.person = $4), false),
		       external_sid = (SELECT max(t.external_sid) FROM identity.id_tokens t WHERE t.sid = $8 AND t.person = $4)
		WHERE user_hash = ANY ($1) AND host = $2 AND expires_at > $3 AND person IS NULL AND NOT refused
		RETURNING name, user_agent, ip, created_at, expires_at`,
		userHashes, host, now, a.Person, a.Epoch, a.AuthLevel, a.AuthTime, a.Session)
}

// RefuseDeviceLogin refuses a program that waits, once, and returns it.
// Errors: identity.ErrUserCode.
func (s *Store) RefuseDeviceLogin(ctx context.Context, userHashes [][]byte, host id.Organization,
	now time.Time) (identity.DeviceLogin, error) {
	return database.One[identity.DeviceLogin](ctx, s.q, "refuse device login", identity.ErrUserCode, `
		UPDATE identity.device_logins SET refused = true
		WHERE user_hash = ANY ($1) AND host = $2 AND expires_at > $3 AND person IS NULL AND NOT refused
		RETURNING name, user_agent, ip, created_at, expires_at`, userHashes, host, now)
}

// PolledLogin is a program that asks whether it was approved.
type PolledLogin struct {
	Person      id.Person // zero: not approved
	Epoch       int64
	AuthLevel   int
	AuthTime    *time.Time
	Federated   bool
	ExternalSID string
	Refused     bool
	TooEarly    bool
	Name        string
	ExpiresAt   time.Time
}

// PollDeviceLogin locks a program by its device code, records the request, and reports whether it came too early. A request that comes
// too early makes the program wait longer.
// Errors: identity.ErrDeviceCode.
func (s *Store) PollDeviceLogin(ctx context.Context, hash []byte, host id.Organization, now time.Time) (PolledLogin, error) {
	return database.One[PolledLogin](ctx, s.q, "poll device login", identity.ErrDeviceCode, `
		WITH before AS (
			SELECT *, coalesce(polled_at + make_interval(secs => poll_seconds - 1) > $3, false) AS too_early -- a second for jitter of the network
			FROM identity.device_logins WHERE device_hash = $1 AND host = $2 FOR UPDATE
		), polled AS (
			UPDATE identity.device_logins d SET polled_at = $3, poll_seconds = d.poll_seconds + CASE WHEN b.too_early THEN $4::integer ELSE 0 END
			FROM before b WHERE d.device_hash = b.device_hash
		)
		SELECT person, coalesce(epoch, 0) AS epoch, coalesce(auth_level, 0)::integer AS auth_level, auth_time, coalesce(federated,
			false) AS federated,
		       coalesce(external_sid, '') AS external_sid, refused, too_early, name, expires_at FROM before`,
		hash, host, now, int(identity.DeviceLoginPoll/time.Second))
}

// DeleteDeviceLogin deletes a locked program.
func (s *Store) DeleteDeviceLogin(ctx context.Context, hash []byte) error {
	_, err := database.Exec(ctx, s.q, "delete device login", `DELETE FROM identity.device_logins WHERE device_hash = $1`, hash)
	return err
}
