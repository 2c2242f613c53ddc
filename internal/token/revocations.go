// Ended sessions and raised epochs, and how each replica learns of them.

package token

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

const (
	revocationChannel = "revocations"
	// revocationLeeway is how much longer a revocation is kept than the tokens it ends: for tokens of a request that read
	// the rights just before the revocation, and for clocks that differ.
	revocationLeeway = 5 * time.Minute
	// noticeEntries is how many entries one notification carries: an entry has up to 58 bytes, a payload up to 7,999.
	noticeEntries = 120
)

// Revocation ends one of these before it expires: what Ended names, or the access tokens of a Person whose epoch is lower than Epoch.
type Revocation struct {
	Ended  uuid.UUID // a login session or API token, with all its tokens; a transfer or delivery, with its running downloads
	Person id.Person
	Epoch  int64 // the person's lowest valid epoch
}

// Revocations is this replica's set of what ended and of the lowest valid epoch per person. Notifications on the
// listener's connection feed it, and each connect of the listener loads it. While the listener is not confirmed, access
// tokens are checked in the database instead. It is safe for concurrent use.
type Revocations struct {
	db       *database.DB
	listener *database.Listener
	life     time.Duration // of an entry
	now      func() time.Time
	log      *slog.Logger

	known func(lag time.Duration) // see OnKnown

	mu       sync.RWMutex
	ended    map[uuid.UUID]time.Time // expiry of the entry
	persons  map[id.Person]lowest
	watchers watchers
}

type lowest struct {
	epoch   int64
	expires time.Time
}

// NewRevocations returns the set and registers it with the listener, which must not run yet. With a nil listener, for
// commands that only publish, every check asks the database. tokenLife is the longest lifetime of an access or download
// token.
func NewRevocations(db *database.DB, l *database.Listener, tokenLife time.Duration, now func() time.Time, log *slog.Logger) *Revocations {
	r := &Revocations{
		db: db, listener: l, life: tokenLife + revocationLeeway, now: now, log: log,
		ended: map[uuid.UUID]time.Time{}, persons: map[id.Person]lowest{}, watchers: newWatchers(),
	}
	if l != nil {
		l.Handle(revocationChannel, r.notified, r.Load)
	}
	return r
}

// OnKnown registers f, which is called on the listener's goroutine after each applied notification. lag is the time since
// it was published: from shortly before the commit, by the clock of Postgres, until now, by this machine's clock. Call
// OnKnown before the listener runs.
func (r *Revocations) OnKnown(f func(lag time.Duration)) { r.known = f }

// Load adds all unexpired rows. The listener calls it after each connect, when it already receives notifications, so that
// no revocation is missed.
func (r *Revocations) Load(ctx context.Context) error {
	return r.read(ctx, "load revocations", `expires_at > $1`, r.now())
}

// read applies the rows that meet a condition.
func (r *Revocations) read(ctx context.Context, operation, condition string, args ...any) error {
	rows, err := database.All[struct {
		Revocation
		ExpiresAt time.Time
	}](ctx, r.db.Pool, operation, `
		SELECT coalesce(ended, '00000000-0000-0000-0000-000000000000') AS ended, person, coalesce(epoch, 0) AS epoch, expires_at
		FROM revocations WHERE `+condition, args...)
	for _, row := range rows {
		r.apply(row.ExpiresAt, row.Revocation)
	}
	return err
}

// Publish revokes in the caller's transaction, with one statement for all entries. All replicas, including this one,
// receive the notification when the transaction commits.
func (r *Revocations) Publish(ctx context.Context, q database.Querier, entries ...Revocation) error {
	if len(entries) == 0 {
		return nil
	}
	var ended, persons []uuid.UUID
	var epochs []int64
	for _, e := range entries {
		switch {
		case (e.Ended == uuid.Nil) == e.Person.IsZero():
			return errors.New("publish revocation: need either what ended or a person")
		case e.Person.IsZero():
			ended = append(ended, e.Ended)
		default:
			persons, epochs = append(persons, e.Person.UUID), append(epochs, e.Epoch)
		}
	}
	expires := r.now().Add(r.life)
	_, err := database.Exec(ctx, q, "publish revocation", `
		WITH ended AS (
			INSERT INTO revocations (ended, expires_at) SELECT unnest($1::uuid[]), $4
		), ended_epochs AS (
			INSERT INTO revocations (person, epoch, expires_at)
			SELECT p.person, p.epoch, $4 FROM unnest($2::uuid[], $3::bigint[]) AS p (person, epoch)
		)
		SELECT pg_notify($5, n.notice || ' @' || (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
		FROM unnest($6::text[]) AS n (notice)`,
		ended, persons, epochs, expires, revocationChannel, notices(expires, entries))
	return err
}

// Ended reports whether the caller's access token was revoked. It returns false for other kinds, which the domains check.
// While the listener is not confirmed it takes one statement.
// Errors: when the database did not answer.
func (r *Revocations) Ended(ctx context.Context, c Caller) (bool, error) {
	if c.Kind != KindAccess {
		return false, nil
	}
	confirmed := r.confirmed(confirmLimit) // before the look-up, which then sees all that is confirmed
	ended := r.Holds(c)
	if ended || confirmed {
		return ended, nil
	}
	ended, err := database.Scalar[bool](ctx, r.db.Pool, "check revocation", nil, `
		SELECT EXISTS (SELECT FROM revocations WHERE ended = $1)
		    OR EXISTS (SELECT FROM revocations WHERE person = $2 AND epoch > $3)`, c.Session, c.Person, c.Epoch)
	if err != nil && inOutage(ctx) {
		return false, nil // not ended when the database answered last
	}
	return ended, err
}

// Holds reports whether the set ends the caller's session or its person's rights at that time.
func (r *Revocations) Holds(c Caller) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.holds(c.Session.UUID, c.Person, c.Epoch)
}

// holds reports whether the set ends a token. The caller holds mu.
func (r *Revocations) holds(uid uuid.UUID, p id.Person, epoch int64) bool {
	if _, ok := r.ended[uid]; ok {
		return true
	}
	l, ok := r.persons[p]
	return ok && epoch < l.epoch
}

func (r *Revocations) confirmed(within time.Duration) bool {
	return r.listener != nil && r.listener.ConfirmedWithin(within)
}

// Clean deletes expired rows, and expired entries in memory. One replica runs it as a job; every replica also removes
// expired entries from memory in Run.
func (r *Revocations) Clean(ctx context.Context) error {
	now := r.now()
	r.sweep(now)
	_, err := database.Exec(ctx, r.db.Pool, "clean revocations", `DELETE FROM revocations WHERE expires_at <= $1`, now)
	return err
}

// sweep removes expired entries from memory.
func (r *Revocations) sweep(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, expires := range r.ended {
		if !now.Before(expires) {
			delete(r.ended, uid)
		}
	}
	for p, l := range r.persons {
		if !now.Before(l.expires) {
			delete(r.persons, p)
		}
	}
}

// apply adds entries to the set and ends the watchers they concern.
func (r *Revocations) apply(expires time.Time, entries ...Revocation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		if e.Ended != uuid.Nil {
			if r.ended[e.Ended].Before(expires) {
				r.ended[e.Ended] = expires
			}
			r.watchers.endAll(e.Ended)
			continue
		}
		l := r.persons[e.Person]
		l.epoch = max(l.epoch, e.Epoch)
		if l.expires.Before(expires) {
			l.expires = expires
		}
		r.persons[e.Person] = l
		r.watchers.endEpochs(e.Person, e.Epoch)
	}
}

// notified runs on the listener's goroutine for each notification.
func (r *Revocations) notified(notice string) {
	expires, published, entries, err := parseNotice(notice)
	if err != nil {
		r.log.Error("malformed revocation notification", "error", err)
		return
	}
	r.apply(expires, entries...)
	if r.known != nil && !published.IsZero() {
		r.known(max(0, time.Since(published)))
	}
}

// notices encodes entries as notification payloads: the expiry in Unix seconds, then each entry as e<ended> or
// p<person>:<epoch>, separated by spaces. Publish appends @<microseconds>, the time of publishing.
func notices(expires time.Time, entries []Revocation) []string {
	var out []string
	var b strings.Builder
	for i, e := range entries {
		if i%noticeEntries == 0 {
			if i > 0 {
				out = append(out, b.String())
			}
			b.Reset()
			b.WriteString(strconv.FormatInt(expires.Unix()+1, 10))
		}
		if e.Person.IsZero() {
			b.WriteString(" e" + e.Ended.String())
		} else {
			b.WriteString(" p" + e.Person.String() + ":" + strconv.FormatInt(e.Epoch, 10))
		}
	}
	return append(out, b.String())
}

// parseNotice decodes a payload of notices.
func parseNotice(notice string) (expires, published time.Time, entries []Revocation, err error) {
	fields := strings.Fields(notice)
	if len(fields) == 0 {
		return time.Time{}, time.Time{}, nil, errors.New("empty notice")
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return time.Time{}, time.Time{}, nil, fmt.Errorf("read expiry: %w", err)
	}
	for _, f := range fields[1:] {
		var e Revocation
		if at, ok := strings.CutPrefix(f, "@"); ok {
			micros, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				return time.Time{}, time.Time{}, nil, fmt.Errorf("read time of publishing: %w", err)
			}
			published = time.UnixMicro(micros)
			continue
		}
		if uid, ok := strings.CutPrefix(f, "e"); ok {
			e.Ended, err = uuid.Parse(uid)
		} else if p, ok := strings.CutPrefix(f, "p"); ok {
			uid, epoch, _ := strings.Cut(p, ":")
			if e.Person, err = id.Parse[id.Person](uid); err == nil {
				e.Epoch, err = strconv.ParseInt(epoch, 10, 64)
			}
		} else {
			err = errors.New("unknown form of entry")
		}
		if err != nil {
			return time.Time{}, time.Time{}, nil, fmt.Errorf("read entry: %w", err)
		}
		entries = append(entries, e)
	}
	return time.Unix(seconds, 0), published, entries, nil
}
