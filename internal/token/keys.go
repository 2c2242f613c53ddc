// The signing keys in memory, when they are read again, and the public key set.

package token

import (
	"context"
	"crypto/ecdsa"
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/seal"
)

const (
	keyChannel    = "signing_keys"
	revokedPrefix = "revoked " // a notification that names the revoked kid; any other payload means "reload"

	unknownPause = 5 * time.Second        // between reloads for a kid that is not in the ring (contract 2.5)
	laggingPause = 400 * time.Millisecond // between reloads while the listener is not confirmed
	confirmLimit = 650 * time.Millisecond // maximum age of the listener's confirmation: it pings every 300 ms, the limit is 1 s
	reloadLimit  = 2 * time.Second        // maximum wait of a request for a reload
)

// KeyPolicy holds the lifetimes of keys (contract 2.5).
type KeyPolicy struct {
	Lead         time.Duration // from publishing a key to signing with it
	Lifetime     time.Duration // how long a key signs; longer than Lead
	LongestToken time.Duration // longest lifetime of a token other than a uid token; a key stays published that long after its last signature
}

// Key is a signing key without its private part.
type Key struct {
	KID            string
	Purpose        string // "session", or "uid" for uid tokens
	CreatedAt      time.Time
	SignsFrom      time.Time
	SignsUntil     time.Time
	PublishedUntil time.Time
	RevokedAt      *time.Time // nil: not revoked

	public     *ecdsa.PublicKey
	private    *ecdsa.PrivateKey // nil: no longer signs, or sealedShut
	sealedShut bool              // the secret keys of this process do not decrypt the private part
}

// State returns the state of the key at the time now: "revoked", "expired", "pending" (published, signs later), "signing"
// (may sign; the key that began last does), or "published" (only verifies).
func (k Key) State(now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case !now.Before(k.PublishedUntil):
		return "expired"
	case now.Before(k.SignsFrom):
		return "pending"
	case now.Before(k.SignsUntil):
		return "signing"
	}
	return "published"
}

func (k Key) verifies(now time.Time) bool { return k.RevokedAt == nil && now.Before(k.PublishedUntil) }

func (k Key) signs(now time.Time) bool { return k.private != nil && k.State(now) == "signing" }

// KeyRing is an in-memory copy of the signing keys. It reloads from the database on a notification, when a token names an
// unknown key, and every 400 ms while the listener is not confirmed. It is safe for concurrent use.
type KeyRing struct {
	db       *database.DB
	box      seal.Box
	policy   KeyPolicy
	now      func() time.Time
	log      *slog.Logger
	listener *database.Listener

	keys       atomic.Pointer[map[string]*Key] // by kid; the map is immutable
	generation atomic.Uint64                   // raised when a key is lost: earlier verifications are void
	stale      atomic.Bool                     // a change was notified and is not loaded yet
	loadedAt   atomic.Pointer[time.Time]

	loading sync.Mutex // held during a reload; locked before install
	install sync.Mutex // guards replacing keys, and revoked
	revoked map[string]bool

	unknown   sync.Mutex // guards unknownAt and unknownIs; locked before loading
	unknownAt time.Time  // last reload for an unknown kid
	unknownIs error      // its outcome
}

// NewKeyRing returns a ring that is empty until Load or Ensure.
func NewKeyRing(db *database.DB, sealer *seal.Sealer, policy KeyPolicy, now func() time.Time, log *slog.Logger) *KeyRing {
	r := &KeyRing{db: db, box: sealer.Box("signing key"), policy: policy, now: now, log: log, revoked: map[string]bool{}}
	r.keys.Store(&map[string]*Key{})
	r.loadedAt.Store(&time.Time{})
	return r
}

// Listen makes the ring follow changes by other processes. Call it once, before the listener runs. Short-lived commands
// do not need it.
func (r *KeyRing) Listen(l *database.Listener) {
	r.listener = l
	l.Handle(keyChannel, r.notified, r.Load)
}

// notified runs on the listener's goroutine. It applies a revocation immediately and leaves the reload to the next caller that
// needs a key.
func (r *KeyRing) notified(payload string) {
	if kid, ok := strings.CutPrefix(payload, revokedPrefix); ok {
		r.install.Lock()
		r.revoked[kid] = true
		r.replace(*r.keys.Load())
		r.install.Unlock()
	}
	r.stale.Store(true)
}

// Load reads the ring from the database.
func (r *KeyRing) Load(ctx context.Context) error {
	r.loading.Lock()
	defer r.loading.Unlock()
	return r.load(ctx)
}

func (r *KeyRing) load(ctx context.Context) error {
	r.stale.Store(false) // before the query, so that a change notified during it is not lost
	keys, err := r.selectKeys(ctx, r.db.Pool)
	if err != nil {
		r.stale.Store(true)
		return fmt.Errorf("load signing keys: %w", err)
	}
	byKID := make(map[string]*Key, len(keys))
	for i := range keys {
		byKID[keys[i].KID] = &keys[i]
		if keys[i].sealedShut {
			r.log.Error("cannot decrypt a signing key with CONSIGN_SECRET_KEY or CONSIGN_SECRET_KEY_PREVIOUS", "kid", keys[i].KID)
		}
	}
	r.install.Lock()
	defer r.install.Unlock()
	r.replace(byKID)
	at := time.Now()
	r.loadedAt.Store(&at)
	return nil
}

// replace installs keys and marks those that were notified as revoked. The caller holds install.
func (r *KeyRing) replace(keys map[string]*Key) {
	next := maps.Clone(keys)
	for kid := range r.revoked {
		if k := next[kid]; k != nil && k.RevokedAt == nil {
			c, at := *k, r.now()
			c.RevokedAt, c.private = &at, nil
			next[kid] = &c
		}
	}
	lost := false
	for kid, k := range *r.keys.Load() {
		n := next[kid]
		lost = lost || k.RevokedAt == nil && (n == nil || n.RevokedAt != nil)
	}
	r.keys.Store(&next)
	if lost {
		r.generation.Add(1) // after the store, so that a reader of the new generation sees the new keys
	}
}

// freshen reloads after a notified change, and every 400 ms while the listener is not confirmed (single flight). Other
// callers continue with the current keys. The next caller retries after a failure.
func (r *KeyRing) freshen() {
	if !r.stale.Load() && !r.lagging() {
		return
	}
	if !r.loading.TryLock() {
		return
	}
	defer r.loading.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), reloadLimit)
	defer cancel()
	if err := r.load(ctx); err != nil {
		r.log.Warn("signing keys not reloaded", "error", err)
	}
}

// lagging reports whether to reload because the listener is not confirmed. It uses real time, not the ring's clock, because
// it measures a connection.
func (r *KeyRing) lagging() bool {
	return r.listener != nil && !r.listener.ConfirmedWithin(confirmLimit) && time.Since(*r.loadedAt.Load()) > laggingPause
}

// verifier returns the public key for tokens of the purpose with this kid.
// Errors: ErrInvalid when the key is unknown,
// expired, revoked or of another purpose, or another error when the database did not answer.
func (r *KeyRing) verifier(ctx context.Context, kid string, p purpose) (*ecdsa.PublicKey, error) {
	k := (*r.keys.Load())[kid]
	if k == nil {
		var err error
		if k, err = r.find(ctx, kid); err != nil {
			return nil, err
		}
	}
	if k == nil || k.Purpose != string(p) || !k.verifies(r.now()) {
		return nil, ErrInvalid
	}
	return k.public, nil
}

// find reloads for a kid that is not in the ring, at most once per unknownPause because any client can invent a kid. It
// returns nil for a kid that is not in the database either.
func (r *KeyRing) find(ctx context.Context, kid string) (*Key, error) {
	r.unknown.Lock()
	defer r.unknown.Unlock()
	if k := (*r.keys.Load())[kid]; k != nil {
		return k, nil
	}
	if now := r.now(); r.unknownAt.IsZero() || now.Sub(r.unknownAt) >= unknownPause {
		r.unknownAt = now
		// Other callers share the outcome, so it must not depend on this caller's context.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reloadLimit)
		defer cancel()
		r.unknownIs = r.Load(ctx)
	}
	return (*r.keys.Load())[kid], r.unknownIs
}

// signer returns the key that signs now: among those within their signing window, the one that began last. If there is
// none, as on the first start or after a long downtime, it creates one.
func (r *KeyRing) signer(ctx context.Context, p purpose) (*Key, error) {
	r.freshen()
	if k := r.current(p); k != nil {
		return k, nil
	}
	if err := r.Ensure(ctx); err != nil {
		return nil, err
	}
	if k := r.current(p); k != nil {
		return k, nil
	}
	return nil, fault.ErrUnavailable.Because(fmt.Errorf("no %s key can sign", p))
}

func (r *KeyRing) current(p purpose) *Key {
	now := r.now()
	var best *Key
	for _, k := range *r.keys.Load() {
		if k.Purpose == string(p) && k.signs(now) && (best == nil || later(k, best)) {
			best = k
		}
	}
	return best
}

// later orders keys by SignsFrom and then by kid, so that all replicas agree.
func later(a, b *Key) bool {
	if !a.SignsFrom.Equal(b.SignsFrom) {
		return a.SignsFrom.After(b.SignsFrom)
	}
	return a.KID > b.KID
}

// JWKSet is the public key set of GET /auth/keys (RFC 7517).
type JWKSet struct {
	Keys []JWK `json:"keys"`
}

// JWK is a public key on the curve P-256 (RFC 7518, 6.2).
type JWK struct {
	KID string `json:"kid"`
	KTY string `json:"kty"`
	CRV string `json:"crv"`
	X   string `json:"x"`
	Y   string `json:"y"`
	Use string `json:"use"`
	Alg string `json:"alg"`
}

// JWKS returns every published key that is not revoked, oldest first.
func (r *KeyRing) JWKS() JWKSet {
	r.freshen()
	now := r.now()
	keys := slices.SortedFunc(maps.Values(*r.keys.Load()), func(a, b *Key) int {
		if later(a, b) {
			return 1
		}
		return -1
	})
	set := JWKSet{Keys: []JWK{}}
	for _, k := range keys {
		if !k.verifies(now) {
			continue
		}
		point, err := k.public.Bytes() // 4, X, Y
		if err != nil {
			continue // not a point of the curve; selectKeys refuses such a key
		}
		set.Keys = append(set.Keys, JWK{
			KID: k.KID, KTY: "EC", CRV: "P-256", Use: "sig", Alg: "ES256",
			X: base64.RawURLEncoding.EncodeToString(point[1:33]),
			Y: base64.RawURLEncoding.EncodeToString(point[33:]),
		})
	}
	return set
}
