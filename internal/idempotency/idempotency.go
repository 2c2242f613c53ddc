// Package idempotency lets a client repeat a request whose answer was lost (the header Idempotency-Key, contract 1.15). It owns the table
// idempotency_keys.
//
// A request claims its key before it runs. The transaction of its effect marks the key as done (database.WithMark), and fails when
// another server has taken the key over. After that the answer is stored. A server that is killed before the mark has changed nothing, and
// the next request with the key runs. One that is killed after it leaves a key without an answer: the next request gets ErrLost, and
// nothing is created twice.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
)

// The errors of Begin.
var (
	// ErrKey: the header is malformed.
	ErrKey = fault.ErrInvalid.With(
		`Idempotency-Key: must be given once, as 1 to 255 visible ASCII characters, like "8e03978e-40d5-43dd-bc93-6894a57f9324"`)
	// ErrRunning: the first request with the key has no answer yet.
	ErrRunning = fault.New(409902, "Idempotency-Key: the first request with this key is still running; repeat this one").WithRetryAfter(
		time.Second)
	// ErrLost: the first request took effect, and its answer was not stored, or was erased with what it created.
	ErrLost = fault.New(409903, "Idempotency-Key: the first request with this key took effect, but its answer was lost; look at what it was "+
		"to create")
	// ErrOther: the key belongs to a request with another method, path, query or body.
	ErrOther = fault.New(422001, "Idempotency-Key: belongs to a request with another address or body; use a new key")
	// ErrTooMany: the caller has used as many keys within 24 hours as are allowed, or their answers hold too many bytes.
	ErrTooMany = fault.New(403906, "Idempotency-Key: you have used too many keys within 24 hours, or their answers are too large; leave the "+
		"header out")
)

const (
	kept       = 24 * time.Hour
	lease      = 30 * time.Second // after which a request that is not done is taken over; longer than a request takes
	maxAnswer  = 256 << 10        // bytes of an answer that are stored
	settleTime = 4 * time.Second
	cleanBatch = 1000
	attempts   = 3 // to claim a key that is dropped at the same time
)

// Quota is how many keys one caller may use within 24 hours, and how many bytes their answers may hold. A caller with fewer bytes may begin
// a request whose answer goes beyond.
type Quota struct{ Keys, Bytes int64 }

// The quotas of callers. An answer to a mailbox reservation has about 1 kB.
var (
	PersonQuota = Quota{Keys: 5000, Bytes: 20_000_000}
	// NetworksQuota is of anonymous callers: a quarter of it of a client network, up to three of the widest around it.
	NetworksQuota = Quota{Keys: 1200, Bytes: 8_000_000}
)

// Caller identifies who may repeat a request: one with a name, or the anonymous ones of a client network, which is then AddressKey.
type Caller struct {
	Name    string
	Network string
	Quota   Quota
}

// id returns what is stored of a caller.
func (c Caller) id() []byte {
	if c.Network != "" {
		address := ratelimit.NetworkOf(c.Network).Addr().As16()
		return address[:]
	}
	by := sha256.Sum256([]byte(c.Name))
	return by[:]
}

// counted are the ranges of stored callers that count for one, with their quotas: the caller, or the network and those around it.
type counted struct {
	first, last [][]byte
	keys, bytes []int64
}

func (c Caller) counted() counted {
	if c.Network == "" {
		return counted{[][]byte{c.id()}, [][]byte{c.id()}, []int64{c.Quota.Keys}, []int64{c.Quota.Bytes}}
	}
	var all counted
	var networks []netip.Prefix
	networks, all.keys = ratelimit.Bounds(c.Network, ratelimit.NetworkShare, c.Quota.Keys)
	_, all.bytes = ratelimit.Bounds(c.Network, ratelimit.NetworkShare, c.Quota.Bytes)
	for _, n := range networks {
		first := n.Addr().As16()
		last, fixed := first, n.Bits()
		if n.Addr().Is4() {
			fixed += 96
		}
		for i := fixed; i < 128; i++ {
			last[i/8] |= 0x80 >> (i % 8)
		}
		all.first, all.last = append(all.first, first[:]), append(all.last, last[:])
	}
	return all
}

// Store keeps the keys and answers. It is safe for concurrent use.
type Store struct {
	db     *database.DB
	sealer *seal.Sealer
	box    seal.Box
	now    func() time.Time
}

// New returns a Store.
func New(db *database.DB, sealer *seal.Sealer, now func() time.Time) *Store {
	return &Store{db: db, sealer: sealer, box: sealer.Box("idempotency"), now: now}
}

// Answer is what a request was answered with.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Claim is the right to run a request.
type Claim struct {
	store *Store
	key   []byte
	uid   uuid.UUID
}

// Key reads the header Idempotency-Key: a string of RFC 9651, or bare. It is empty when there is none.
// Errors: ErrKey.
func Key(h http.Header) (string, error) {
	values := h.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(values[0])
	if len(key) > 1 && key[0] == '"' && key[len(key)-1] == '"' {
		key = key[1 : len(key)-1]
	}
	if len(values) > 1 || key == "" || len(key) > 255 ||
		strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' || r == '"' }) {
		return "", ErrKey
	}
	return key, nil
}

// Begin claims a key for a request, or returns the answer of the first request with it.
// Errors: ErrRunning, ErrLost, ErrOther, ErrTooMany.
func (s *Store) Begin(ctx context.Context, by Caller, key string, fingerprint [sha256.Size]byte) (*Claim, *Answer, error) {
	hash, now := sha256.Sum256(append(by.id(), key...)), s.now()
	c := &Claim{store: s, key: hash[:], uid: uuid.New()}
	// a body may have a password: its bare hash would help to guess it
	request := s.sealer.MAC("idempotency", fingerprint[:])
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime) // a client that leaves must not leave a claim behind
	defer cancel()
	for range attempts {
		claimed, err := s.claim(ctx, c, by, request, now)
		if err != nil {
			return nil, nil, err
		}
		if claimed {
			return c, nil, nil
		}
		answer, err := s.former(ctx, c.key, request)
		if !errors.Is(err, errNoKey) {
			return nil, answer, err
		}
	}
	return nil, nil, ErrTooMany
}

// errNoKey: the key was dropped since it could not be claimed, or there was no room for it.
var errNoKey = errors.New("no such idempotency key")

// claim stores a claim. It reports false when the key is another request's, or the caller has too many keys.
func (s *Store) claim(ctx context.Context, c *Claim, by Caller, fingerprint []byte, now time.Time) (bool, error) {
	counted := by.counted()
	n, err := database.Exec(ctx, s.db.Pool, "claim idempotency key", `
		INSERT INTO idempotency_keys AS k (key, caller, fingerprint, claim, busy_until, expires_at)
		SELECT $1, $2, $3, $4, $6, $7
		WHERE NOT EXISTS (
		           SELECT FROM unnest($8::bytea[], $9::bytea[], $10::bigint[], $11::bigint[]) AS n (first, last, keys, bytes)
		           WHERE (SELECT count(*) >= n.keys OR coalesce(sum(used), 0) >= n.bytes FROM (
		               SELECT octet_length(answer) AS used FROM idempotency_keys
		               WHERE caller BETWEEN n.first AND n.last AND expires_at > $5 LIMIT n.keys) AS x))
		   OR EXISTS (SELECT FROM idempotency_keys WHERE key = $1)
		ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE
		SET fingerprint = excluded.fingerprint, claim = excluded.claim, busy_until = excluded.busy_until, expires_at = excluded.expires_at,
			done = false, answer = NULL
		WHERE k.expires_at <= $5 OR NOT k.done AND k.busy_until <= $5 AND k.fingerprint = excluded.fingerprint`,
		c.key, by.id(), fingerprint, c.uid, now, now.Add(lease), now.Add(kept), counted.first, counted.last, counted.keys, counted.bytes)
	return n == 1, err
}

// former returns the answer of the first request with a key.
// Errors: ErrRunning, ErrLost, ErrOther, errNoKey.
func (s *Store) former(ctx context.Context, key, fingerprint []byte) (*Answer, error) {
	k, err := database.One[struct {
		Same, Done, Busy bool
		Answer           []byte
	}](ctx, s.db.Pool, "read idempotency key", errNoKey, `
		SELECT fingerprint = $2 AS same, done, busy_until > $3 AS busy, answer FROM idempotency_keys WHERE key = $1`, key, fingerprint, s.now())
	switch {
	case err != nil:
		return nil, err
	case !k.Same:
		return nil, ErrOther
	case !k.Done, k.Answer == nil && k.Busy: // or it is about to store its answer
		return nil, ErrRunning
	case k.Answer == nil:
		return nil, ErrLost
	}
	plain, err := s.box.Open(k.Answer, key)
	if err != nil { // the secret key was changed
		return nil, ErrLost.Because(err)
	}
	var a Answer
	if err := json.Unmarshal(plain, &a); err != nil {
		return nil, fmt.Errorf("read stored answer: %w", err)
	}
	return &a, nil
}

// Context returns a context under which the transactions of the request mark the key as done.
func (c *Claim) Context(ctx context.Context) context.Context {
	return database.WithMark(ctx, database.Statement{SQL: `SELECT mark_idempotent($1, $2)`, Args: []any{c.key, c.uid}})
}

// Keep stores the answer of a request that succeeded. An answer over maxAnswer is not kept: the next request gets ErrLost. Forget finds it
// by the first uid in its Location.
func (c *Claim) Keep(ctx context.Context, a Answer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	var sealed []byte
	if len(a.Body) <= maxAnswer {
		plain, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("encode answer: %w", err)
		}
		sealed = c.store.box.Seal(plain, c.key)
	}
	_, err := database.Exec(ctx, c.store.db.Pool, "keep answer", `
		UPDATE idempotency_keys SET done = true, answer = $3, busy_until = $4, about = $5 WHERE key = $1 AND claim = $2`,
		c.key, c.uid, sealed, c.store.now(), about(a.Header.Get("Location")))
	return err
}

// about returns the first uid in a URL's path, nil when there is none.
func about(location string) *uuid.UUID {
	for part := range strings.SplitSeq(location, "/") {
		if uid, err := uuid.Parse(part); err == nil {
			return &uid
		}
	}
	return nil
}

// Forget erases the answers about things that a transaction erases: the next request with their key gets ErrLost.
func Forget(ctx context.Context, tx database.Tx, erased ...uuid.UUID) error {
	_, err := database.Exec(ctx, tx, "forget answers", `
		UPDATE idempotency_keys SET answer = NULL WHERE about = ANY ($1) AND answer IS NOT NULL`, erased)
	return err
}

// Drop ends the claim of a request that failed, so that the next one with the key runs. sure means that it has changed nothing; else the
// key stays while it is marked as done.
func (c *Claim) Drop(ctx context.Context, sure bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	_, err := database.Exec(ctx, c.store.db.Pool, "drop idempotency key",
		`DELETE FROM idempotency_keys WHERE key = $1 AND claim = $2 AND (NOT done OR $3)`, c.key, c.uid, sure)
	return err
}

// Clean deletes expired keys.
func (s *Store) Clean(ctx context.Context) error {
	for {
		n, err := database.Exec(ctx, s.db.Pool, "delete expired idempotency keys", `
			DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY (SELECT ctid FROM idempotency_keys WHERE expires_at <= $1
				ORDER BY expires_at LIMIT $2))`, s.now(), cleanBatch)
		if err != nil || n < cleanBatch {
			return err
		}
	}
}
