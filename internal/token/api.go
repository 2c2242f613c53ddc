// The form of API tokens, their verification, and the cache of look-ups.

package token

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math/big"
	"net/netip"
	"strings"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/microcache"
	"github.com/consign-dev/consign/internal/ratelimit"
)

// The form of an API token: the prefix, 256 random bits and a CRC-32 of these characters, both in base62. Scanners for secrets find
// it by prefix and checksum, and a mistyped one costs no query.
const (
	apiPrefix   = "cns_"
	apiSecret   = 43 // characters of 256 bits
	apiChecksum = 6  // characters of 32 bits
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// APIHash identifies an API token without revealing it: the SHA-256 of its text.
type APIHash [sha256.Size]byte

// NewAPIToken returns a new API token and its hash. Only the hash is stored.
func NewAPIToken() (raw string, hash APIHash) {
	var secret [32]byte
	rand.Read(secret[:]) // never fails
	text := encode62(secret[:], apiSecret)
	raw = apiPrefix + text + checksum(text)
	return raw, sha256.Sum256([]byte(raw))
}

// checksum returns the checksum of the secret part of an API token.
func checksum(text string) string {
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text)))
	return encode62(sum, apiChecksum)
}

// encode62 returns a number in base62, with leading zeros.
func encode62(number []byte, length int) string {
	n, digit, base := new(big.Int).SetBytes(number), new(big.Int), big.NewInt(int64(len(base62)))
	out := make([]byte, length)
	for i := length - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = base62[digit.Int64()]
	}
	return string(out)
}

// hashAPI returns the hash of an API token. ok is false when the form or the checksum is wrong.
func hashAPI(raw string) (hash APIHash, ok bool) {
	text, found := strings.CutPrefix(raw, apiPrefix)
	if !found || len(text) != apiSecret+apiChecksum || checksum(text[:apiSecret]) != text[apiSecret:] {
		return hash, false
	}
	return sha256.Sum256([]byte(raw)), true
}

// APITokens finds the callers of API tokens. The identity domain implements it.
type APITokens interface {
	// APICaller returns the caller of a token with its present rights, and records its use by the client.
	// Errors: ErrInvalid when there is no such token, or it was revoked.
	APICaller(ctx context.Context, hash APIHash, client Client) (Caller, error)
	// APIOwner returns the caller of the token with that session, as APICaller does.
	// Errors: ErrEnded.
	APIOwner(ctx context.Context, session id.Session) (Caller, error)
}

// apiUse is the use of an API token from one client network. Each is looked up, so that the first use from a network is recorded.
type apiUse struct {
	hash    APIHash
	network netip.Prefix
}

// apiVerifier verifies API tokens. Its caches live 500 ms, so that a revocation shows within a second on every replica even without
// notification. Uploads with a token of a reservation that an API token made depend on owners.
type apiVerifier struct {
	tokens  APITokens
	callers *microcache.Cache[apiUse, Caller]
	owners  *microcache.Cache[id.Session, Caller]
}

// AcceptAPITokens makes routes whose rule names scopes accept API tokens. Call it before the first request.
func (v *Verifier) AcceptAPITokens(t APITokens) {
	v.api = &apiVerifier{tokens: t, callers: microcache.New[apiUse, Caller](nil), owners: microcache.New[id.Session, Caller](nil)}
}

// isAPI reports whether a token has the prefix of API tokens.
func isAPI(raw string) bool { return strings.HasPrefix(raw, apiPrefix) }

// verifyAPI is Verify for an API token.
func (v *Verifier) verifyAPI(ctx context.Context, raw string) (Caller, error) {
	hash, ok := hashAPI(raw)
	if !ok || v.api == nil {
		return Caller{}, ErrInvalid
	}
	client := CallerFrom(ctx).Client
	use := apiUse{hash, ratelimit.Network(client.Address)}
	return current(v, v.api.callers, use, func() (Caller, error) { return v.api.tokens.APICaller(ctx, hash, client) })
}

// verifyOwner checks the API token behind a reservation token, if one made the reservation. It adds the person and epoch of that token,
// which revocations name.
// Errors: ErrEnded, ErrExpired.
func (v *Verifier) verifyOwner(ctx context.Context, c Caller) (Caller, error) {
	if c.Kind != KindReservation || c.Session.IsZero() {
		return c, nil
	}
	if v.api == nil {
		return Caller{}, ErrEnded
	}
	owner, err := current(v, v.api.owners, c.Session, func() (Caller, error) { return v.api.tokens.APIOwner(ctx, c.Session) })
	c.Person, c.Epoch = owner.Person, owner.Epoch
	return c, err
}

// current returns a cached caller, or loads it. A caller that was revoked since is loaded again: its person's rights may have changed
// only.
// Errors: ErrExpired, those of load.
func current[K comparable](v *Verifier, cache *microcache.Cache[K, Caller], key K, load func() (Caller, error)) (Caller, error) {
	c, stamp, ok := cache.Lookup(key)
	if !ok || v.revocations.Holds(c) {
		var err error
		if c, err = load(); err != nil {
			return Caller{}, err
		}
		cache.Store(key, c, stamp)
	}
	if !v.now().Before(c.ExpiresAt) {
		return Caller{}, ErrExpired
	}
	return c, nil
}
