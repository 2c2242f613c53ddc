package token

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// futureLeeway is how far iat may lie ahead, for replicas whose clocks differ.
	futureLeeway = 30 * time.Second
	// maxToken bounds what is parsed at all, in bytes. Ours have about one kilobyte.
	maxToken = 8 << 10
)

// Verifier turns tokens into callers. It is safe for concurrent use.
type Verifier struct {
	ring        *KeyRing
	issuer      string
	namespace   string
	revocations *Revocations
	now         func() time.Time
	parser      *jwt.Parser
	cache       tokenCache
}

// NewVerifier makes a Verifier of the tokens that an Issuer with the same issuerURL and namespace signs.
func NewVerifier(ring *KeyRing, issuerURL, namespace string, revocations *Revocations, now func() time.Time) *Verifier {
	return &Verifier{
		ring: ring, issuer: issuerURL, namespace: namespace, revocations: revocations, now: now,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodES256.Alg()}),
			jwt.WithIssuer(issuerURL),
			jwt.WithAudience(audienceID, audienceTransfer, audienceUID),
			jwt.WithExpirationRequired(),
			jwt.WithStrictDecoding(),
			jwt.WithTimeFunc(now),
		),
	}
}

// Verify returns whom a token of any kind speaks for, without Client. It checks signature, kid, issuer, the audience of
// the kind, times and the form of the claims, and for access tokens that neither session nor rights ended since. Whether
// an ID token was blacklisted, a pickup token used or a delivery withdrawn, its domain checks.
// It returns ErrInvalid, ErrExpired, ErrEnded, or an error that says the database could not be asked.
func (v *Verifier) Verify(ctx context.Context, raw string) (Caller, error) {
	v.ring.freshen()
	generation := v.ring.generation.Load() // before the keys are looked at
	c, ok := v.cache.get(raw, generation)
	if !ok {
		var err error
		if c, err = v.parse(ctx, raw); err != nil {
			return Caller{}, err
		}
		v.cache.put(detached(c), generation)
	}
	if !v.now().Before(c.ExpiresAt) {
		return Caller{}, ErrExpired
	}
	ended, err := v.revocations.Ended(ctx, c)
	if err != nil {
		return Caller{}, err
	}
	if ended {
		return Caller{}, ErrEnded
	}
	return c, nil
}

// know takes over what a token says that was signed here a moment ago, by a key of the ring of generation.
func (v *Verifier) know(c Caller, generation uint64) {
	if !c.IssuedAt.After(v.now().Add(futureLeeway)) { // as parse has it
		c.Roles, c.Authenticators = slices.Clone(c.Roles), slices.Clone(c.Authenticators)
		v.cache.put(c, generation)
	}
}

// parse does all that does not change while a token lives.
func (v *Verifier) parse(ctx context.Context, raw string) (Caller, error) {
	if raw == "" || len(raw) > maxToken {
		return Caller{}, ErrInvalid
	}
	p := &payload{orgClaim: orgClaim(v.namespace)}
	var keyErr error
	_, err := v.parser.ParseWithClaims(raw, p, func(t *jwt.Token) (any, error) {
		var key *ecdsa.PublicKey
		key, keyErr = v.key(ctx, t, p.Scope)
		return key, keyErr
	})
	switch {
	case keyErr != nil:
		return Caller{}, keyErr // ErrInvalid, or the database's
	case errors.Is(err, jwt.ErrTokenExpired):
		return Caller{}, ErrExpired
	case err != nil:
		return Caller{}, ErrInvalid.Because(err)
	}
	if !sameAudience(p.Audience, p.Scope.audience()) {
		return Caller{}, ErrInvalid.Because(jwt.ErrTokenInvalidAudience)
	}
	if p.IssuedAt == nil || p.IssuedAt.time().After(v.now().Add(futureLeeway)) {
		return Caller{}, ErrInvalid.Because(jwt.ErrTokenUsedBeforeIssued)
	}
	c, err := p.caller()
	if err != nil {
		return Caller{}, ErrInvalid.Because(err)
	}
	c.Raw = raw
	return c, nil
}

// key finds the key that the header names. The claims are read by then but not yet trusted: the scope only chooses which
// of the two kinds of key has to have signed.
func (v *Verifier) key(ctx context.Context, t *jwt.Token, k Kind) (*ecdsa.PublicKey, error) {
	kid, ok := t.Header["kid"].(string)
	if !ok || k.audience() == nil {
		return nil, ErrInvalid
	}
	return v.ring.verifier(ctx, kid, k.purpose())
}

func sameAudience(got, want []string) bool {
	got = slices.Sorted(slices.Values(got))
	return want != nil && slices.Equal(got, want) // want is sorted
}

// Authenticate returns the caller of a request as the route's rule a has it, with the Client that the request's context
// holds. The Authorization header counts; the cookie acct only where there is no header and the rule takes it.
//
// It returns what Verify returns, and ErrMissing, ErrKind, ErrUnverified or ErrFactorRequired; with the last three, and
// only with them, the caller is known all the same.
func (v *Verifier) Authenticate(r *http.Request, a Auth) (Caller, error) {
	anonymous := Caller{Client: CallerFrom(r.Context()).Client}
	if a&anyKind == 0 {
		return anonymous, nil
	}
	raw, present := Bearer(r)
	fromCookie := false
	if !present && a.TakesCookie() {
		if c, err := r.Cookie(CookieName); err == nil {
			raw, present, fromCookie = c.Value, true, true
		}
	}
	if !present {
		if a&optional != 0 {
			return anonymous, nil
		}
		return anonymous, ErrMissing
	}
	c, err := v.Verify(r.Context(), raw)
	if err != nil {
		return anonymous, err
	}
	c.Client = anonymous.Client
	if !a.Accepts(c.Kind) || fromCookie && c.Kind != KindAccess {
		return c, ErrKind
	}
	return c, a.permit(c)
}

// permit applies the rules about level and second factor.
func (a Auth) permit(c Caller) error {
	leveled := c.Kind == KindAccess && a&unverified == 0 || c.Kind == KindID && a&verified != 0
	if leveled && c.AuthLevel < 1 {
		return ErrUnverified
	}
	if c.Kind == KindAccess && c.FactorRequired && a&withoutFactor == 0 {
		return ErrFactorRequired
	}
	return nil
}
