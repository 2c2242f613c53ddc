package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// LockExternal takes the advisory lock of an external identity until the transaction ends, so that its logins run one
// after the other. Take it before any other lock.
func (s *Store) LockExternal(ctx context.Context, issuer, subject string) error {
	_, err := database.Exec(ctx, s.q, "lock external identity", `
		SELECT pg_advisory_xact_lock(hashtextextended('identity.external ' || $1 || ' ' || $2, 0))`, issuer, subject)
	return err
}

// FederatedPerson returns the person with this issuer and subject.
// Errors: identity.ErrPersonNotFound.
func (s *Store) FederatedPerson(ctx context.Context, issuer, subject string) (id.Person, error) {
	return database.Scalar[id.Person](ctx, s.q, "find federated person", identity.ErrPersonNotFound, `
		SELECT uid FROM identity.persons WHERE federated_issuer = $1 AND federated_subject = $2 AND deleted_at IS NULL`, issuer, subject)
}

// RenewVerification records that the person's address was verified now, if it is the verified primary one (contract 3.4).
func (s *Store) RenewVerification(ctx context.Context, p id.Person, address string, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "renew verification", `
		UPDATE identity.persons p SET email_proved_at = $3
		FROM identity.addresses a
		WHERE p.uid = $1 AND a.person = p.uid AND a.address = $2 AND a.is_primary AND a.verified_at IS NOT NULL`, p, address, now)
	return err
}

// Home is a person's home organization and home host (contract 1.2).
type Home struct {
	Organization id.Organization // organization whose hosts serve the person
	Host         string          // home host, for links
	Everywhere   bool            // the person may sign in at every host: no organization with a hostname has them as a member
}

// ServedBy reports whether the person may sign in at the hosts of an organization.
func (h Home) ServedBy(o id.Organization) bool { return h.Everywhere || h.Organization == o }

// KnownAt reports whether a host may tell that the person exists: where the person may sign in, and the free
// organization's (contract 1.2).
func (h Home) KnownAt(host hosts.Host) bool { return host.Free || h.ServedBy(host.Organization) }

// homeColumns are the columns of Home, from homeTables.
const homeColumns = `h.organization, coalesce(h.host, '') AS host, coalesce(ho.free, true) AS everywhere`

const homeTables = `identity.homes h LEFT JOIN identity.organizations ho ON ho.uid = h.organization`

// Home returns a person's home.
// Errors: identity.ErrPersonNotFound.
func (s *Store) Home(ctx context.Context, p id.Person) (Home, error) {
	return database.One[Home](ctx, s.q, "read home", identity.ErrPersonNotFound, `
		SELECT `+homeColumns+` FROM `+homeTables+` WHERE h.person = $1`, p)
}

// InsertExternalToken records that an external ID token was accepted. Of parallel uses of a token one succeeds.
// Errors: identity.ErrExternalToken for a token that was accepted before.
func (s *Store) InsertExternalToken(ctx context.Context, fingerprint []byte, expires time.Time) error {
	return database.Changed(ctx, s.q, "accept external token", identity.ErrExternalToken.With("token: was used already; sign in again"), `
		INSERT INTO identity.external_tokens (fingerprint, expires_at) VALUES ($1, $2)
		ON CONFLICT ON CONSTRAINT external_tokens_pkey DO NOTHING`, fingerprint, expires)
}

// LockExternalSessions locks, in the order of their uids, the persons with sessions that are tied to a provider's
// session. If issuer is set, only persons of that provider count.
func (s *Store) LockExternalSessions(ctx context.Context, externalSID, issuer string) error {
	_, err := database.Exec(ctx, s.q, "lock persons of external session", `
		SELECT FROM identity.persons p
		WHERE p.uid IN (SELECT person FROM identity.id_tokens WHERE external_sid = $1
		          UNION SELECT person FROM identity.parked_tokens WHERE external_sid = $1
		          UNION SELECT person FROM identity.external_logins WHERE external_sid = $1)
		  AND ($2 = '' OR p.federated_issuer = $2)
		ORDER BY p.uid FOR NO KEY UPDATE`, externalSID, issuer)
	return err
}

// ExternalSession is a session of Consign that is tied to a provider's session.
type ExternalSession struct {
	Person id.Person
	SID    id.Session
	Ended  bool // ended by this call; false: it ended before, but its access tokens may still be valid
}

// EndExternalSessions ends what is tied to a provider's session: ID tokens, parked tokens and unclaimed logins. If
// issuer is set, only persons of that provider count. It returns every session that was tied to the provider's. Call
// it after LockExternalSessions.
func (s *Store) EndExternalSessions(ctx context.Context, externalSID, issuer string, now time.Time) ([]ExternalSession, error) {
	return database.All[ExternalSession](ctx, s.q, "end external session", `
		WITH of AS (
			SELECT p.uid FROM identity.persons p
			WHERE p.uid IN (SELECT person FROM identity.id_tokens WHERE external_sid = $1
			          UNION SELECT person FROM identity.parked_tokens WHERE external_sid = $1
			          UNION SELECT person FROM identity.external_logins WHERE external_sid = $1)
			  AND ($3 = '' OR p.federated_issuer = $3)
		), pending AS (
			DELETE FROM identity.external_logins WHERE external_sid = $1 AND claimed_at IS NULL AND person IN (SELECT uid FROM of)
		), parked AS (
			DELETE FROM identity.parked_tokens WHERE external_sid = $1 AND person IN (SELECT uid FROM of) RETURNING person, sid
		), active AS (
			UPDATE identity.id_tokens SET state = 'ended', ended_at = $2
			WHERE external_sid = $1 AND state <> 'ended' AND person IN (SELECT uid FROM of)
			RETURNING person, sid
		), ended AS (
			SELECT person, sid FROM parked UNION SELECT person, sid FROM active
		), tied AS (
			SELECT person, sid FROM identity.id_tokens WHERE external_sid = $1 AND person IN (SELECT uid FROM of)
			UNION SELECT person, sid FROM parked
		)
		SELECT tied.person, tied.sid, ended.sid IS NOT NULL AS ended
		FROM tied LEFT JOIN ended ON ended.sid = tied.sid AND ended.person = tied.person
		ORDER BY tied.sid`, externalSID, now, issuer)
}
