// Verifies the token of a request and whether its kind is allowed.

package token

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/consign-dev/consign/internal/fault"
)

const (
	// futureLeeway is how far iat may be in the future, because the clocks of replicas differ.
	futureLeeway = 30 * time.Second
	// maxToken is the longest token that is parsed, in bytes. Issued tokens have about 1 KB.
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
	cookie      string       // name of the session cookie; empty: none is accepted
	api         *apiVerifier // nil: no API tokens are accepted
	operators   operators
}

// NewVerifier returns a Verifier of the tokens that an Issuer with the same issuerURL and namespace signs.
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

// AcceptSessionCookie makes routes whose rule says so accept the session cookie of that name. Call it before the first
// request.
func (v *Verifier) AcceptSessionCookie(name string) { v.cookie = name }

// Verify returns the caller of a token of any kind, without Client. It checks signature, kid, issuer, the audience of the
// kind, times and the form of the claims. For access tokens it also checks the revocations. The domains check whether an
// ID token is blacklisted, a pickup token used or a delivery revoked.
// Errors: ErrInvalid, ErrExpired, ErrEnded, or another error when the database did not answer.
func (v *Verifier) Verify(ctx context.Context, raw string) (Caller, error) {
	if isAPI(raw) {
		return v.verifyAPI(ctx, raw)
	}
	v.ring.freshen()
	generation := v.ring.generation.Load() // read before the keys are
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
	return v.verifyOwner(ctx, c)
}

// addToCache caches the caller of a token that this replica signed with a key of that generation of the ring.
func (v *Verifier) addToCache(c Caller, generation uint64) {
	if !c.IssuedAt.After(v.now().Add(futureLeeway)) { // as in parse
		c.Roles, c.Authenticators = slices.Clone(c.Roles), slices.Clone(c.Authenticators)
		v.cache.put(c, generation)
	}
}

// parse does all checks whose result cannot change while the token is valid.
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
		return Caller{}, keyErr // ErrInvalid, or a database error
	case errors.Is(err, jwt.ErrTokenExpired):
		return Caller{}, ErrExpired
	case err != nil:
		return Caller{}, ErrInvalid.Because(err)
	}
	if !sameAudience(p.Audience, p.Scope.audience()) {
		return Caller{}, ErrInvalid.Because(jwt.ErrTokenInvalidAudience)
	}
	if p.IssuedAt == nil || p.IssuedAt.After(v.now().Add(futureLeeway)) {
		return Caller{}, ErrInvalid.Because(jwt.ErrTokenUsedBeforeIssued)
	}
	c, err := p.caller()
	if err != nil {
		return Caller{}, ErrInvalid.Because(err)
	}
	c.Raw = raw
	return c, nil
}

// key returns the key that the header names. The claims are parsed but not yet trusted: the scope only selects the purpose
// that the key must have.
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

// Authenticate returns the caller of a request under the route's rule a, with the Client of the request's context. It
// reads the Authorization header, or a cookie when there is no header and the rule accepts the cookie: acct with an access
// token, or the session cookie with an ID token.
//
// Errors: those of Verify, ErrMissing, ErrCrossOrigin, ErrKind, ErrNoScope, ErrScope, ErrUnverified, ErrFactorRequired, ErrNotOperator,
// ErrOperatorFactor, ErrOperatorSession. From ErrKind on it also returns the verified caller.
func (v *Verifier) Authenticate(r *http.Request, a Auth) (Caller, error) {
	anonymous := Caller{Client: CallerFrom(r.Context()).Client}
	if a&anyKind == 0 {
		return anonymous, nil
	}
	raw, present := Bearer(r)
	var inCookie Kind // the kind that a cookie holds
	if !present && a.TakesCookie() {
		if c, err := r.Cookie(CookieName); err == nil {
			raw, present, inCookie = c.Value, true, KindAccess
		}
	}
	if !present && a.TakesSessionCookie() && v.cookie != "" {
		if raw, _, present = SessionToken(r, v.cookie); present {
			inCookie = KindID
		}
		if present && !anonymous.Client.SameOrigin {
			return anonymous, ErrCrossOrigin
		}
	}
	if !present {
		if a&optional != 0 {
			return anonymous, nil
		}
		return anonymous, ErrMissing
	}
	ctx := r.Context()
	if a&outage != 0 {
		ctx = context.WithValue(ctx, outageKey{}, true)
	}
	c, err := v.Verify(ctx, raw)
	ignored := a&ignoreUnusable != 0 && !isAPI(raw)
	var refused *fault.Error
	if ignored && errors.As(err, &refused) && refused.Kind == fault.Unauthenticated {
		return anonymous, nil
	}
	if err != nil {
		return anonymous, err
	}
	c.Client, c.Cookie = anonymous.Client, inCookie == KindID
	if !a.Accepts(c.Kind) && (a.IgnoresOthers() || ignored) {
		return anonymous, nil
	}
	if c.Kind == KindAPI {
		if err := a.checkScopes(c); err != nil {
			return c, err
		}
		return c, a.permit(c)
	}
	if !a.Accepts(c.Kind) || inCookie != "" && c.Kind != inCookie {
		return c, ErrKind
	}
	if err := a.permit(c); err != nil || !a.IsOperator() {
		return c, err
	}
	return c, v.operators.permit(r.Context(), c, a, v.now())
}

// permit applies the rules about authLevel and second factor.
// Errors: ErrUnverified, ErrFactorRequired.
func (a Auth) permit(c Caller) error {
	leveled := c.IsPerson() && a&unverified == 0 || c.Kind == KindID && a&verified != 0
	if leveled && c.AuthLevel < 1 {
		return ErrUnverified
	}
	if c.IsPerson() && c.FactorRequired && a&withoutFactor == 0 {
		return ErrFactorRequired
	}
	return nil
}
