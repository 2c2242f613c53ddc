package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Login is what checking a password needs.
type Login struct {
	Person      id.Person
	Epoch       int64
	DeviceEpoch int64
	Hash        []byte // nil: the person has no password
	Factors     []string
	Home
}

// Login returns the person who logs in with an address: the one who has verified it, else the one who signed up with
// it. A suspended person has no password here, so that every password is wrong and takes as long as a wrong one.
// Errors: identity.ErrPersonNotFound.
func (s *Store) Login(ctx context.Context, address string) (Login, error) {
	return database.One[Login](ctx, s.q, "look up login", identity.ErrPersonNotFound, `
		SELECT p.uid AS person, p.epoch, p.device_epoch, CASE WHEN p.suspended_at IS NULL THEN b.secret END AS hash, `+homeColumns+`,
		       ARRAY(SELECT DISTINCT f.type FROM identity.authenticators f
		             WHERE f.person = p.uid AND f.verified AND f.type <> 'bcrypt' ORDER BY f.type DESC) AS factors
		FROM identity.addresses a
		JOIN identity.persons p ON p.uid = a.person AND p.deleted_at IS NULL
		JOIN (`+homeTables+`) ON h.person = p.uid
		LEFT JOIN identity.authenticators b ON b.person = p.uid AND b.type = 'bcrypt'
		WHERE a.address = $1 AND (a.is_primary OR a.verified_at IS NOT NULL)
		ORDER BY a.verified_at IS NOT NULL DESC LIMIT 1`, address)
}

// Claims are the facts about a person that tokens carry.
type Claims struct {
	Person        id.Person
	Epoch         int64
	Email         string
	EmailVerified bool
	Locale        string
	TimeZone      string
	Organization  id.Organization
	Roles         []string
	MFARequired   bool // the organization requires a second factor
}

// IDToken is the row of an ID token.
type IDToken struct {
	JTI              id.Token
	SID              id.Session
	State            string
	AuthLevel        int
	AuthTime         time.Time
	IssuedAt         time.Time
	ExpiresAt        time.Time
	Federated        bool
	SetPasswordUntil *time.Time
}

// Issued is a stored ID token with its claims.
type Issued struct {
	Claims
	IDToken
}

// issuedColumns are the columns of Issued, from identity.claims c and an ID token t. Every statement that creates or
// reads an ID token ends with them.
const issuedColumns = `
		c.person, c.epoch, c.email, c.email_verified, c.locale, c.time_zone, c.organization, c.roles, c.mfa_required,
		t.jti, t.sid, t.state, t.auth_level, t.auth_time, t.issued_at, t.expires_at, t.federated, t.set_password_until`

// NewSession is the input of BeginSession.
type NewSession struct {
	Person           id.Person
	Epoch            int64 // the session begins only if the person is still at this epoch
	JTI              id.Token
	SID              id.Session
	AuthLevel        int // lowered to 0 while the primary address is not verified
	Now              time.Time
	ExpiresAt        time.Time
	SignupExpiresAt  time.Time // expiry at level 0, instead of ExpiresAt
	UserAgent        string
	IP               string
	Federated        bool
	ExternalSID      string
	SetPasswordUntil time.Time // zero: never
	AuthTime         time.Time // zero: Now
	Login            bool      // counts as a login in the profile
}

// Begun is the first ID token of a session with the person's device epoch.
type Begun struct {
	Issued
	DeviceEpoch int64
	FirstLogin  bool // no login came before
}

// BeginSession stores the first ID token of a session and the time of the login.
// Errors: identity.ErrPersonNotFound, also when the epoch has changed or the person is suspended.
func (s *Store) BeginSession(ctx context.Context, n NewSession) (Begun, error) {
	return database.One[Begun](ctx, s.q, "begin session", identity.ErrPersonNotFound, `
		WITH person AS (
			UPDATE identity.persons SET last_login_at = CASE WHEN $14::boolean THEN $5 ELSE last_login_at END
			WHERE uid = $1 AND epoch = $2 AND deleted_at IS NULL AND suspended_at IS NULL
			RETURNING uid, device_epoch
		), t AS (
			INSERT INTO identity.id_tokens
			    (jti, person, sid, auth_level, auth_time, issued_at, expires_at, user_agent, ip, federated, external_sid, set_password_until)
			SELECT $3, c.person, $4, CASE WHEN c.email_verified THEN $6::smallint ELSE 0 END, coalesce($15::timestamptz, $5), $5,
			       CASE WHEN c.email_verified THEN $7::timestamptz ELSE $8 END, $9, $10, $11, $12, $13
			FROM person JOIN identity.claims c ON c.person = person.uid
			RETURNING person, jti, sid, state, auth_level, auth_time, issued_at, expires_at, federated, set_password_until
		)
		SELECT `+issuedColumns+`, person.device_epoch,
		       (SELECT b.last_login_at IS NULL FROM identity.persons b WHERE b.uid = person.uid) AS first_login -- as before the UPDATE
		FROM t JOIN identity.claims c ON c.person = t.person JOIN person ON person.uid = t.person`,
		n.Person, n.Epoch, n.JTI, n.SID, n.Now, n.AuthLevel, n.ExpiresAt, n.SignupExpiresAt, n.UserAgent, n.IP,
		n.Federated, database.Null(n.ExternalSID), database.Null(n.SetPasswordUntil), n.Login, database.Null(n.AuthTime))
}

// Usable returns an ID token that is neither ended nor expired and was used after idleSince; its state may be graced. It
// records the use at most once in five minutes, in a statement of its own: an UPDATE that matches nothing costs a third of POST
// /auth/access.
// Errors: identity.ErrTokenNotFound.
func (s *Store) Usable(ctx context.Context, p id.Person, jti id.Token, now, idleSince time.Time) (Issued, error) {
	t, err := database.One[struct {
		Issued
		UseIsOld bool
	}](ctx, s.q, "check ID token", identity.ErrTokenNotFound, `
		SELECT `+issuedColumns+`, coalesce(t.last_used_at, t.issued_at) <= $3::timestamptz - interval '5 minutes' AS use_is_old
		FROM identity.id_tokens t JOIN identity.claims c ON c.person = t.person
		WHERE t.jti = $1 AND t.person = $2 AND t.state <> 'ended' AND t.expires_at > $3
		  AND coalesce(t.last_used_at, t.issued_at) > $4`, jti, p, now, idleSince)
	if err != nil || !t.UseIsOld {
		return t.Issued, err
	}
	_, err = database.Exec(ctx, s.q, "record use of ID token", `
		UPDATE identity.id_tokens SET last_used_at = $2 WHERE jti = $1 AND state <> 'ended'`, jti, now)
	return t.Issued, err
}

// Sessions returns a person's usable ID tokens, newest first.
func (s *Store) Sessions(ctx context.Context, p id.Person, now, idleSince time.Time) ([]identity.Session, error) {
	return database.All[identity.Session](ctx, s.q, "list sessions", `
		SELECT jti, sid, issued_at, coalesce(last_used_at, issued_at) AS used_at, expires_at, user_agent, ip
		FROM identity.id_tokens WHERE person = $1 AND state = 'active' AND expires_at > $2 AND coalesce(last_used_at, issued_at) > $3
		ORDER BY issued_at DESC, jti DESC`, p, now, idleSince)
}

// Owner returns the person of an ID token.
// Errors: identity.ErrTokenNotFound.
func (s *Store) Owner(ctx context.Context, jti id.Token) (p id.Person, sid id.Session, err error) {
	row, err := database.One[struct {
		Person id.Person
		SID    id.Session
	}](ctx, s.q, "find owner of token", identity.ErrTokenNotFound, `
		SELECT person, sid FROM identity.id_tokens WHERE jti = $1`, jti)
	return row.Person, row.SID, err
}

// EndSession ends every ID token of a session and its parked tokens. Call it with the person locked.
func (s *Store) EndSession(ctx context.Context, p id.Person, sid id.Session, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "end session", `
		WITH parked AS (
			DELETE FROM identity.parked_tokens WHERE person = $1 AND (sid = $2 OR parent_sid = $2)
		)
		UPDATE identity.id_tokens SET state = 'ended', ended_at = $3 WHERE person = $1 AND sid = $2 AND state <> 'ended'`,
		p, sid, now)
	return err
}

// EndSessions ends every session of a person except keep (zero: all of them), and every login that waits for its second factor. Call it
// with the person locked.
func (s *Store) EndSessions(ctx context.Context, p id.Person, keep id.Session, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "end sessions", `
		WITH parked AS (
			DELETE FROM identity.parked_tokens WHERE person = $1 AND sid IS DISTINCT FROM $2::uuid AND parent_sid IS DISTINCT FROM $2::uuid
		), pending AS (
			DELETE FROM identity.pending_logins WHERE person = $1
		)
		UPDATE identity.id_tokens SET state = 'ended', ended_at = $3
		WHERE person = $1 AND sid IS DISTINCT FROM $2::uuid AND state <> 'ended'`, p, database.Null(keep), now)
	return err
}

// GraceSessions blacklists a person's ID tokens but lets each be replaced once. It follows a change of membership or
// roles by another person (contract 2.4). Call it with the person locked.
func (s *Store) GraceSessions(ctx context.Context, p id.Person) error {
	_, err := database.Exec(ctx, s.q, "grace sessions", `
		UPDATE identity.id_tokens SET state = 'graced' WHERE person = $1 AND state = 'active'`, p)
	return err
}

// InsertPending stores an mfa token that waits for its second factor, if the person is still at the epoch.
// Errors: identity.ErrPersonNotFound.
func (s *Store) InsertPending(ctx context.Context, p id.Person, epoch int64, jti id.Token, setPassword bool, expires time.Time) error {
	_, err := database.Scalar[id.Person](ctx, s.q, "store pending login", identity.ErrPersonNotFound, `
		WITH person AS (
			SELECT uid FROM identity.persons WHERE uid = $1 AND epoch = $2 AND deleted_at IS NULL AND suspended_at IS NULL FOR SHARE
		)
		INSERT INTO identity.pending_logins (jti, person, set_password, expires_at)
		SELECT $3, uid, $4, $5 FROM person RETURNING person`, p, epoch, jti, setPassword, expires)
	return err
}

// TakePending consumes an mfa token and reports whether it came from a password reset.
// Errors: identity.ErrMFAToken.
func (s *Store) TakePending(ctx context.Context, p id.Person, jti id.Token, now time.Time) (setPassword bool, err error) {
	return database.Scalar[bool](ctx, s.q, "take pending login", identity.ErrMFAToken, `
		DELETE FROM identity.pending_logins WHERE jti = $1 AND person = $2 AND expires_at > $3 RETURNING set_password`,
		jti, p, now)
}

// IsPending reports whether an mfa token still waits for its second factor.
func (s *Store) IsPending(ctx context.Context, p id.Person, jti id.Token, now time.Time) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "check pending login", nil, `
		SELECT EXISTS (SELECT FROM identity.pending_logins WHERE jti = $1 AND person = $2 AND expires_at > $3)`, jti, p, now)
}
