package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/clock"
)

// TestKinds: each kind of token has the documented claims and lifetime, and verifies to the right Caller.
func TestKinds(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	now := clk.Now()
	c := Claims{
		Person: id.New[id.Person](), Session: id.New[id.Session](), JTI: id.New[id.Token](),
		Organization: id.New[id.Organization](), Roles: []string{"Organization.Admin"}, AuthLevel: 2,
		AuthTime: now.Add(-time.Hour), Email: "ann@example.com", EmailVerified: true, Locale: "de_DE",
		ZoneInfo: "Europe/Berlin", Epoch: 7, SetPassword: true, FactorRequired: true, Authenticators: []string{"totp"},
		Nonce: "client state", State: "form state", Reservation: id.New[id.Reservation](), Delivery: id.New[id.Delivery](),
	}
	base := Caller{JTI: c.JTI, IssuedAt: now}
	personal := base
	personal.Person, personal.Session, personal.Organization, personal.Roles = c.Person, c.Session, c.Organization, c.Roles
	personal.AuthLevel, personal.AuthTime, personal.Email, personal.SetPassword = 2, c.AuthTime, c.Email, true
	for k, tc := range map[Kind]struct {
		life   time.Duration
		caller func(*Caller)
		claims map[string]any // beyond iss, iat, exp, jti, scope
	}{
		KindID: {30 * 24 * time.Hour, func(w *Caller) {
			*w = personal
			w.EmailVerified, w.Locale, w.ZoneInfo = true, c.Locale, c.ZoneInfo
		}, map[string]any{
			"sub": c.Person.String(), "aud": []any{"id"}, "ver": "3.0", "email": c.Email, "email_verified": true,
			"locale": "de_DE", "zoneinfo": "Europe/Berlin", "roles": []any{"Organization.Admin"}, "authLevel": 2.0,
			"https://ns.test/org_id": c.Organization.String(), "auth_time": float64(c.AuthTime.Unix()),
			"sid": c.Session.String(), "setPassword": true,
		}},
		KindAccess: {10 * time.Minute, func(w *Caller) {
			*w = personal
			w.Epoch, w.FactorRequired = 7, true
		}, map[string]any{
			"sub": c.Person.String(), "aud": []any{"id", "transfer"}, "email": c.Email, "epoch": 7.0, "authLevel": 2.0,
			"https://ns.test/org_id": c.Organization.String(), "auth_time": float64(c.AuthTime.Unix()),
			"roles": []any{"Organization.Admin"}, "sid": c.Session.String(), "setPassword": true, "factorRequired": true,
		}},
		KindMFA: {5 * time.Minute, func(w *Caller) {
			w.Person, w.Session, w.Authenticators, w.SetPassword = c.Person, c.Session, c.Authenticators, true
		}, map[string]any{
			"sub": c.Person.String(), "aud": []any{"id"}, "sid": c.Session.String(), "authenticators": []any{"totp"},
			"setPassword": true,
		}},
		KindPickup: {time.Minute, func(w *Caller) {
			w.Person, w.Session, w.Nonce = c.Person, c.Session, c.Nonce
		}, map[string]any{
			"sub": c.Person.String(), "aud": []any{"id"}, "sid": c.Session.String(), "nonce": c.Nonce,
		}},
		KindPreflight: {10 * time.Minute, func(w *Caller) { w.State = c.State },
			map[string]any{"sub": c.State, "aud": []any{"id"}, "state": c.State}},
		KindUID: {UIDLifetime, func(w *Caller) { w.Person, w.Epoch = c.Person, 7 },
			map[string]any{"sub": c.Person.String(), "aud": []any{"uid"}, "epoch": 7.0}},
		KindReservation: {48 * time.Hour, func(w *Caller) { w.Reservation = c.Reservation },
			map[string]any{"sub": c.Reservation.String(), "aud": []any{"transfer"}}},
		KindDownload: {time.Hour, func(w *Caller) { w.Delivery, w.Epoch = c.Delivery, 7 },
			map[string]any{"sub": c.Delivery.String(), "aud": []any{"transfer"}, "epoch": 7.0}},
	} {
		t.Run(string(k), func(t *testing.T) {
			raw := r.issue(t, k, c)
			want := base
			tc.caller(&want)
			want.Kind, want.Raw, want.ExpiresAt = k, raw, now.Add(tc.life)
			for range 2 { // the second comes from the cache
				got, err := r.verifier.Verify(t.Context(), raw)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(), cmp.Comparer(sameClient)); diff != "" {
					t.Errorf("Caller (-want +got):\n%s", diff)
				}
			}
			tc.claims["iss"], tc.claims["scope"], tc.claims["jti"] = testIssuer, string(k), c.JTI.String()
			tc.claims["iat"], tc.claims["exp"] = float64(now.Unix()), float64(now.Add(tc.life).Unix())
			if diff := cmp.Diff(tc.claims, decode(t, raw, 1)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			head := decode(t, raw, 0)
			if head["alg"] != "ES256" || head["kid"] == "" || head["kid"] == nil {
				t.Errorf("header %v", head)
			}
		})
	}
}

func sameClient(a, b Client) bool { return a == b }

// decode returns a part of a token as JSON: 0 the header, 1 the claims.
func decode(t *testing.T, raw string, part int) map[string]any {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(strings.Split(raw, ".")[part])
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNoOrganization(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{})
	raw := r.issue(t, KindAccess, Claims{Person: id.New[id.Person](), Session: id.New[id.Session]()})
	claims := decode(t, raw, 1)
	if org, ok := claims["https://ns.test/org_id"]; !ok || org != nil {
		t.Errorf("org_id = %v, %t; want null", org, ok)
	}
	if diff := cmp.Diff([]any{}, claims["roles"]); diff != "" {
		t.Errorf("roles:\n%s", diff)
	}
	for _, name := range []string{"setPassword", "factorRequired"} {
		if _, ok := claims[name]; ok {
			t.Errorf("the claim %s is present, want none", name)
		}
	}
	c, err := r.verifier.Verify(t.Context(), raw)
	if err != nil || !c.Organization.IsZero() || len(c.Roles) != 0 || c.Has("Organization.Admin") {
		t.Errorf("Caller = %+v, %v", c, err)
	}
}

func TestLifetimes(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	signup := claimsOf(KindID)
	signup.AuthLevel = 0
	c, err := r.verifier.Verify(t.Context(), r.issue(t, KindID, signup))
	if err != nil || !c.ExpiresAt.Equal(clk.Now().Add(time.Hour)) {
		t.Errorf("signup token: %v, %v", c.ExpiresAt, err)
	}
	explicit := claimsOf(KindID)
	explicit.ExpiresAt = clk.Now().Add(11*24*time.Hour + 700*time.Millisecond)
	c, err = r.verifier.Verify(t.Context(), r.issue(t, KindID, explicit))
	if err != nil || !c.ExpiresAt.Equal(clk.Now().Add(11*24*time.Hour)) {
		t.Errorf("explicit expiry: %v, %v", c.ExpiresAt, err)
	}
}

func TestIssueInvalidClaims(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{})
	noSession := claimsOf(KindAccess)
	noSession.Session = id.Session{}
	for name, tc := range map[string]struct {
		kind   Kind
		claims Claims
	}{
		"no kind":                  {"", claimsOf(KindID)},
		"unknown kind":             {"delay", claimsOf(KindID)},
		"access without session":   {KindAccess, noSession},
		"access without person":    {KindAccess, Claims{Session: id.New[id.Session]()}},
		"reservation without uid":  {KindReservation, claimsOf(KindID)},
		"download without uid":     {KindDownload, claimsOf(KindID)},
		"preflight without state":  {KindPreflight, claimsOf(KindID)},
		"uid token without person": {KindUID, Claims{}},
	} {
		if raw, err := r.issuer.Issue(t.Context(), tc.kind, tc.claims); err == nil {
			t.Errorf("%s: issued %s", name, raw)
		}
	}
}

// forge signs claims that Issue refuses.
func forge(t *testing.T, method jwt.SigningMethod, key any, kid string, p *payload) string {
	t.Helper()
	tok := jwt.NewWithClaims(method, p)
	if kid != "" {
		tok.Header["kid"] = kid
	}
	raw, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// es384 signs with a P-256 key but states alg ES384. The signature is padded to the size of ES384.
func es384(t *testing.T, key *ecdsa.PrivateKey, kid string, p *payload) string {
	t.Helper()
	claims, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	signed := b64([]byte(`{"alg":"ES384","kid":"`+kid+`"}`)) + "." + b64(claims)
	sum := sha512.Sum384([]byte(signed))
	x, y, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	sig := make([]byte, 96)
	x.FillBytes(sig[:48])
	y.FillBytes(sig[48:])
	return signed + "." + b64(sig)
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	now := clk.Now()
	key, uidKey := r.ring.current(purposeSession), r.ring.current(purposeUID)
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.public.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	with := func(k Kind, change func(*payload)) *payload {
		c := claimsOf(k)
		c.JTI, c.IssuedAt, c.AuthTime, c.ExpiresAt = id.New[id.Token](), now, now, now.Add(time.Minute)
		p := payloadOf(k, c, testIssuer, testNamespace)
		if change != nil {
			change(p)
		}
		return p
	}
	sign := func(p *payload) string { return forge(t, jwt.SigningMethodES256, key.private, key.KID, p) }
	good := sign(with(KindAccess, nil))
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	admin, err := json.Marshal(with(KindAccess, func(p *payload) { p.Roles = &[]string{"Organization.Admin"} }))
	if err != nil {
		t.Fatal(err)
	}
	date := jwt.NewNumericDate

	for name, tc := range map[string]struct {
		raw  string
		want error
	}{
		"empty":              {"", ErrInvalid},
		"not a token":        {"not a token", ErrInvalid},
		"two parts":          {parts[0] + "." + parts[1], ErrInvalid},
		"no signature":       {parts[0] + "." + parts[1] + ".", ErrInvalid},
		"four parts":         {good + ".x", ErrInvalid},
		"base64 padding":     {good + "==", ErrInvalid},
		"too long":           {good + strings.Repeat("A", maxToken), ErrInvalid},
		"null claims":        {parts[0] + "." + b64([]byte("null")) + "." + parts[2], ErrInvalid},
		"alg none":           {forge(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, key.KID, with(KindAccess, nil)), ErrInvalid},
		"alg unknown":        {b64([]byte(`{"alg":"XX999","kid":"`+key.KID+`"}`)) + "." + parts[1] + "." + parts[2], ErrInvalid},
		"alg missing":        {b64([]byte(`{"kid":"`+key.KID+`"}`)) + "." + parts[1] + "." + parts[2], ErrInvalid},
		"HS256, point":       {forge(t, jwt.SigningMethodHS256, point, key.KID, with(KindAccess, nil)), ErrInvalid},
		"HS256, kid":         {forge(t, jwt.SigningMethodHS256, []byte(key.KID), key.KID, with(KindAccess, nil)), ErrInvalid},
		"ES384":              {es384(t, key.private, key.KID, with(KindAccess, nil)), ErrInvalid},
		"no kid":             {forge(t, jwt.SigningMethodES256, key.private, "", with(KindAccess, nil)), ErrInvalid},
		"foreign kid":        {forge(t, jwt.SigningMethodES256, foreign, "0123456789abcdef", with(KindAccess, nil)), ErrInvalid},
		"foreign key":        {forge(t, jwt.SigningMethodES256, foreign, key.KID, with(KindAccess, nil)), ErrInvalid},
		"tampered claims":    {parts[0] + "." + b64(admin) + "." + parts[2], ErrInvalid},
		"tampered signature": {good[:len(good)-4] + "AAAA", ErrInvalid},
		"uid key":            {forge(t, jwt.SigningMethodES256, uidKey.private, uidKey.KID, with(KindAccess, nil)), ErrInvalid},
		"uid token, key":     {sign(with(KindUID, nil)), ErrInvalid},
		"expired":            {sign(with(KindAccess, func(p *payload) { p.ExpiresAt = date(now) })), ErrExpired},
		"no exp":             {sign(with(KindAccess, func(p *payload) { p.ExpiresAt = nil })), ErrInvalid},
		"no iat":             {sign(with(KindAccess, func(p *payload) { p.IssuedAt = nil })), ErrInvalid},
		"future":             {sign(with(KindAccess, func(p *payload) { p.IssuedAt = date(now.Add(31 * time.Second)) })), ErrInvalid},
		"wrong iss":          {sign(with(KindAccess, func(p *payload) { p.Issuer = "https://evil.test/id/v3" })), ErrInvalid},
		"no iss":             {sign(with(KindAccess, func(p *payload) { p.Issuer = "" })), ErrInvalid},
		"wrong aud":          {sign(with(KindAccess, func(p *payload) { p.Audience = []string{"drive"} })), ErrInvalid},
		"aud of another":     {sign(with(KindAccess, func(p *payload) { p.Audience = []string{"id"} })), ErrInvalid},
		"too wide aud":       {sign(with(KindID, func(p *payload) { p.Audience = []string{"id", "transfer"} })), ErrInvalid},
		"no aud":             {sign(with(KindAccess, func(p *payload) { p.Audience = nil })), ErrInvalid},
		"wrong scope":        {sign(with(KindAccess, func(p *payload) { p.Scope = "delay" })), ErrInvalid},
		"no scope":           {sign(with(KindAccess, func(p *payload) { p.Scope = "" })), ErrInvalid},
		"scope of another":   {sign(with(KindMFA, func(p *payload) { p.Scope = KindID })), ErrInvalid},
		"no jti":             {sign(with(KindAccess, func(p *payload) { p.JTI = "" })), ErrInvalid},
		"no sub":             {sign(with(KindAccess, func(p *payload) { p.Subject = "" })), ErrInvalid},
		"no sid":             {sign(with(KindAccess, func(p *payload) { p.Session = "" })), ErrInvalid},
		"no epoch":           {sign(with(KindAccess, func(p *payload) { p.Epoch = nil })), ErrInvalid},
		"no authLevel":       {sign(with(KindID, func(p *payload) { p.AuthLevel = nil })), ErrInvalid},
		"other version":      {sign(with(KindID, func(p *payload) { p.Version = "2.0" })), ErrInvalid},
		"other namespace":    {sign(with(KindID, func(p *payload) { p.orgClaim = "https://evil.test/org_id" })), ErrInvalid},
	} {
		for range 2 { // the cache must not turn a refusal into a success
			if c, err := r.verifier.Verify(t.Context(), tc.raw); !errors.Is(err, tc.want) {
				t.Errorf("%s: Verify = %+v, %v; want %v", name, c, err, tc.want)
			}
		}
	}
	if _, err := r.verifier.Verify(t.Context(), good); err != nil {
		t.Errorf("the good one: %v", err)
	}
	near := sign(with(KindAccess, func(p *payload) { p.IssuedAt = date(now.Add(29 * time.Second)) }))
	if _, err := r.verifier.Verify(t.Context(), near); err != nil {
		t.Errorf("iat within the leeway: %v", err)
	}
}

func TestExpiryOfCachedToken(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	raw := r.issue(t, KindAccess, claimsOf(KindAccess))
	if _, err := r.verifier.Verify(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	clk.Advance(10*time.Minute - time.Second)
	if _, err := r.verifier.Verify(t.Context(), raw); err != nil {
		t.Errorf("a second before it expires: %v", err)
	}
	clk.Advance(time.Second)
	if _, err := r.verifier.Verify(t.Context(), raw); !errors.Is(err, ErrExpired) {
		t.Errorf("when it expires: %v", err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var v tokenCache
	for range 10 * cacheSize {
		v.put(Caller{Raw: id.New[id.Token]().String()}, 0)
	}
	if n := len(v.young) + len(v.old); n > 2*cacheSize {
		t.Errorf("the cache holds %d entries, want at most %d", n, 2*cacheSize)
	}
	v.put(Caller{Raw: "in use"}, 0)
	for range 5 * cacheSize {
		v.put(Caller{Raw: id.New[id.Token]().String()}, 0)
		if _, ok := v.get("in use", 0); !ok {
			t.Fatal("the cache evicted an entry in use")
		}
	}
	if _, ok := v.get("in use", 1); ok {
		t.Error("an entry of an old generation is served")
	}
	v.put(Caller{Raw: "new"}, 1)
	v.put(Caller{Raw: "late"}, 0)
	if _, ok := v.get("late", 1); ok || len(v.young)+len(v.old) != 1 {
		t.Error("an entry of an old generation was stored")
	}
}

// BenchmarkVerify measures the cost of a known token, which each authenticated request pays. The target is 1 µs.
func BenchmarkVerify(b *testing.B) {
	url := testURL(b)
	r := newReplica(b, url, replicaOptions{listenURL: url})
	for _, k := range []Kind{KindAccess, KindReservation} {
		raw := r.issue(b, k, claimsOf(k))
		b.Run("hit "+string(k), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.verifier.Verify(context.Background(), raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	raw := r.issue(b, KindAccess, claimsOf(KindAccess))
	b.Run("miss", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.verifier.parse(context.Background(), raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("issue", func(b *testing.B) {
		c := claimsOf(KindAccess)
		for b.Loop() {
			if _, err := r.issuer.Issue(context.Background(), KindAccess, c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestEncode62(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		number []byte
		want   string
	}{
		{nil, "000"}, {[]byte{9}, "009"}, {[]byte{61}, "00z"}, {[]byte{62}, "010"}, {[]byte{0x03, 0xa2, 0xf7}, "zzz"},
	} {
		if got := encode62(c.number, 3); got != c.want {
			t.Errorf("encode62(%x) = %q, want %q", c.number, got, c.want)
		}
	}
}

// TestAPITokenForm: an API token is refused for each wrong character, before any look-up.
func TestAPITokenForm(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		raw, hash := NewAPIToken()
		got, ok := hashAPI(raw)
		if !ok || got != hash || seen[raw] || len(raw) != 53 {
			t.Fatalf("%q: %v", raw, ok)
		}
		seen[raw] = true
		for i := range raw {
			wrong := []byte(raw)
			wrong[i]++
			if _, ok := hashAPI(string(wrong)); ok {
				t.Errorf("%q passes for %q", wrong, raw)
			}
		}
	}
}
