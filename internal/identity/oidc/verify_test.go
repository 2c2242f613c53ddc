// Tests of which external ID tokens are accepted.

package oidc_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/oidc"
)

func TestVerifyAlgorithms(t *testing.T) {
	t.Parallel()
	for _, key := range []signer{{"rsa", jose.RS256, rsaKey()}, newES256(t, "ec"), newEdDSA(t, "ed"), newES256(t, "")} {
		t.Run(string(key.alg)+key.kid, func(t *testing.T) {
			t.Parallel()
			organization := id.New[id.Organization]()
			l := newLab(t, newIDP(t, key, newES256(t, "other")), func(o *oidc.Options) {
				o.Clients[0].Organization, o.Clients[0].Domains = organization, []string{"example.com"}
			})
			got, err := l.Verify(t.Context(), l.good(t), nonce("n-1"))
			want(t, err, nil)
			now := l.clock.Now()
			expected := oidc.Identity{
				Issuer: l.issuer, Subject: "person-1", Provider: l.issuer, ClientID: clientID, Type: oidc.Keycloak, SessionID: "session-9",
				Email: "ann@example.com", EmailVerified: true, Name: "Ann Lee", Nonce: "n-1", IssuedAt: now, ExpiresAt: now.Add(time.Hour),
				Organization: organization,
			}
			if d := cmp.Diff(expected, got, cmpopts.IgnoreFields(oidc.Identity{}, "Fingerprint")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestVerifyRefusesClaims(t *testing.T) {
	t.Parallel()
	l := newLab(t, newIDP(t, newES256(t, "k1")), nil)
	now := l.clock.Now()
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	for name, c := range map[string]struct {
		changes map[string]any
		expect  oidc.Expectation
		reason  error
	}{
		"good":                    {nil, nonce("n-1"), nil},
		"any nonce":               {nil, oidc.Expectation{AnyNonce: true}, nil},
		"client named":            {nil, oidc.Expectation{AnyNonce: true, ClientID: clientID}, nil},
		"other client named":      {nil, oidc.Expectation{AnyNonce: true, ClientID: "x"}, oidc.ErrInvalidToken},
		"nothing expected":        {nil, oidc.Expectation{}, oidc.ErrInvalidToken},
		"nothing expected or had": {map[string]any{"nonce": nil}, oidc.Expectation{}, oidc.ErrInvalidToken},
		"wrong nonce":             {nil, nonce("n-2"), oidc.ErrInvalidToken},
		"nonce missing":           {map[string]any{"nonce": nil}, nonce("n-1"), oidc.ErrInvalidToken},
		"nonce of another type":   {map[string]any{"nonce": []string{"n-1"}}, nonce("n-1"), oidc.ErrInvalidToken},
		"wrong aud":               {map[string]any{"aud": "somebody"}, nonce("n-1"), oidc.ErrInvalidToken},
		"no aud":                  {map[string]any{"aud": nil}, nonce("n-1"), oidc.ErrInvalidToken},
		"empty aud":               {map[string]any{"aud": []string{}}, nonce("n-1"), oidc.ErrInvalidToken},
		"aud of numbers":          {map[string]any{"aud": []int{1}}, nonce("n-1"), oidc.ErrInvalidToken},
		"aud as list":             {map[string]any{"aud": []string{clientID}}, nonce("n-1"), nil},
		"several without azp":     {map[string]any{"aud": []string{clientID, "b"}}, nonce("n-1"), oidc.ErrInvalidToken},
		"several, azp another":    {map[string]any{"aud": []string{clientID, "b"}, "azp": "b"}, nonce("n-1"), oidc.ErrInvalidToken},
		"several, azp not among":  {map[string]any{"aud": []string{"a", "b"}, "azp": clientID}, nonce("n-1"), oidc.ErrInvalidToken},
		"several, azp us":         {map[string]any{"aud": []string{"b", clientID}, "azp": clientID}, nonce("n-1"), nil},
		"wrong iss":               {map[string]any{"iss": "https://evil.example"}, nonce("n-1"), oidc.ErrInvalidToken},
		"iss with slash":          {map[string]any{"iss": l.issuer + "/"}, nonce("n-1"), oidc.ErrInvalidToken},
		"no iss":                  {map[string]any{"iss": nil}, nonce("n-1"), oidc.ErrInvalidToken},
		"no sub":                  {map[string]any{"sub": nil}, nonce("n-1"), oidc.ErrInvalidToken},
		"empty sub":               {map[string]any{"sub": ""}, nonce("n-1"), oidc.ErrInvalidToken},
		"long sub":                {map[string]any{"sub": strings.Repeat("s", 256)}, nonce("n-1"), oidc.ErrInvalidToken},
		"sub with NUL":            {map[string]any{"sub": "a\x00b"}, nonce("n-1"), oidc.ErrInvalidToken},
		"sub in capitals only":    {map[string]any{"sub": nil, "SUB": "person-1"}, nonce("n-1"), oidc.ErrInvalidToken},
		"expired":                 {map[string]any{"exp": at(-31 * time.Second)}, nonce("n-1"), oidc.ErrInvalidToken},
		"expired within leeway":   {map[string]any{"exp": at(-29 * time.Second)}, nonce("n-1"), nil},
		"no exp":                  {map[string]any{"exp": nil}, nonce("n-1"), oidc.ErrInvalidToken},
		"exp as text":             {map[string]any{"exp": "4102444800"}, nonce("n-1"), oidc.ErrInvalidToken},
		"exp beyond time":         {map[string]any{"exp": 1e300}, nonce("n-1"), oidc.ErrInvalidToken},
		"exp with fraction":       {map[string]any{"exp": float64(at(time.Hour)) + 0.5}, nonce("n-1"), nil},
		"no iat":                  {map[string]any{"iat": nil}, nonce("n-1"), oidc.ErrInvalidToken},
		"iat in the future":       {map[string]any{"iat": at(31 * time.Second)}, nonce("n-1"), oidc.ErrInvalidToken},
		"iat within leeway":       {map[string]any{"iat": at(29 * time.Second)}, nonce("n-1"), nil},
		"iat too old":             {map[string]any{"iat": at(-601 * time.Second)}, nonce("n-1"), oidc.ErrInvalidToken},
		"iat just young":          {map[string]any{"iat": at(-600 * time.Second)}, nonce("n-1"), nil},
		"old without MaxAge":      {map[string]any{"iat": at(-2 * time.Hour)}, oidc.Expectation{Nonce: "n-1"}, nil},
		"nbf in the future":       {map[string]any{"nbf": at(31 * time.Second)}, nonce("n-1"), oidc.ErrInvalidToken},
		"sid of another type":     {map[string]any{"sid": 7}, nonce("n-1"), oidc.ErrInvalidToken},
		"name of another type":    {map[string]any{"name": 7}, nonce("n-1"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := l.Verify(t.Context(), l.token(t, now, c.changes), c.expect)
			want(t, err, c.reason)
			if c.reason != nil && got != (oidc.Identity{}) {
				t.Errorf("an identity is returned with the error: %+v", got)
			}
		})
	}
	t.Cleanup(func() {
		if n := l.count(keysPath); n != 1 {
			t.Errorf("keys were read %d times", n)
		}
	})
}

func TestVerifyRefusesSignatures(t *testing.T) {
	t.Parallel()
	key := newES256(t, "k1")
	l := newLab(t, newIDP(t, key), nil)
	payload, err := json.Marshal(l.claims(l.clock.Now(), nil))
	if err != nil {
		t.Fatal(err)
	}
	good := key.sign(t, payload, nil)
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	public, err := json.Marshal(key.jwk())
	if err != nil {
		t.Fatal(err)
	}
	hs := func(secret []byte) string {
		input := b64([]byte(`{"alg":"HS256","kid":"k1"}`)) + "." + parts[1]
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(input))
		return input + "." + b64(mac.Sum(nil))
	}
	other := newES256(t, "k1")
	embedded := signer{"k1", jose.ES256, other.key}.sign(t, payload, map[jose.HeaderKey]any{"jwk": other.jwk()})
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string]string{
		"empty":                   "",
		"no token":                "nonsense",
		"alg none":                b64([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"alg None":                b64([]byte(`{"alg":"None","kid":"k1"}`)) + "." + parts[1] + "." + parts[2],
		"HS256 with public key":   hs(public),
		"HS256 with key of set":   hs([]byte{0, 0, 0}),
		"HS256 with secret":       hs([]byte(secret)),
		"another key, same kid":   other.sign(t, payload, nil),
		"another key in header":   embedded,
		"unknown kid":             signer{"k2", jose.ES256, key.key}.sign(t, payload, nil),
		"ES384":                   signer{"k1", jose.ES384, p384}.sign(t, payload, nil),
		"RS512":                   signer{"k1", jose.RS512, rsaKey()}.sign(t, payload, nil),
		"PS256":                   signer{"k1", jose.PS256, rsaKey()}.sign(t, payload, nil),
		"RS256 under EC kid":      signer{"k1", jose.RS256, rsaKey()}.sign(t, payload, nil),
		"signature cut off":       parts[0] + "." + parts[1] + ".",
		"signature missing":       parts[0] + "." + parts[1],
		"payload changed":         parts[0] + "." + b64([]byte(strings.Replace(string(payload), "person-1", "person-2", 1))) + "." + parts[2],
		"unknown critical header": key.sign(t, payload, map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}),
		"JSON serialization":      `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"huge":                    good + strings.Repeat("A", 64<<10),
		"payload no object":       key.sign(t, []byte(`[1]`), nil),
		"payload null":            key.sign(t, []byte(`null`), nil),
		"payload not UTF-8":       key.sign(t, []byte(strings.Replace(string(payload), "Lee", "L\xffe", 1)), nil),
		"a claim twice":           key.sign(t, []byte(strings.Replace(string(payload), `{`, `{"sub":"x",`, 1)), nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := l.Verify(t.Context(), raw, nonce("n-1"))
			want(t, err, oidc.ErrInvalidToken)
			if got != (oidc.Identity{}) {
				t.Errorf("an identity is returned with the error: %+v", got)
			}
			for _, part := range strings.Split(raw, ".") {
				if len(part) > 20 && strings.Contains(err.Error(), part) {
					t.Errorf("the error repeats the token: %v", err)
				}
			}
		})
	}
}

func TestVerifyEmail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind    oidc.Type
		trusted bool
		changes map[string]any
		reason  error
	}{
		"true":       {oidc.Google, false, nil, nil},
		"text true":  {oidc.Apple, false, map[string]any{"email_verified": "true"}, nil},
		"false":      {oidc.Keycloak, false, map[string]any{"email_verified": false}, oidc.ErrEmailNotVerified},
		"text false": {oidc.Apple, false, map[string]any{"email_verified": "false"}, oidc.ErrEmailNotVerified},
		"missing":    {oidc.Keycloak, false, map[string]any{"email_verified": nil}, oidc.ErrEmailNotVerified},
		"one":        {oidc.Keycloak, false, map[string]any{"email_verified": 1}, oidc.ErrEmailNotVerified},
		"other case": {oidc.Keycloak, false, map[string]any{"email_verified": nil, "Email_Verified": true},
			oidc.ErrEmailNotVerified},
		"list":                       {oidc.Keycloak, false, map[string]any{"email_verified": []bool{true}}, oidc.ErrEmailNotVerified},
		"trusted and false":          {oidc.Keycloak, true, map[string]any{"email_verified": false}, nil},
		"trusted and missing":        {oidc.Keycloak, true, map[string]any{"email_verified": nil}, nil},
		"edov":                       {oidc.Microsoft, false, map[string]any{"email_verified": nil, "xms_edov": true}, nil},
		"edov as Entra spells it":    {oidc.Microsoft, false, map[string]any{"email_verified": nil, "xms_edov": "1"}, nil},
		"edov false":                 {oidc.Microsoft, false, map[string]any{"email_verified": nil, "xms_edov": false}, oidc.ErrEmailNotVerified},
		"edov of another type of it": {oidc.Keycloak, false, map[string]any{"email_verified": nil, "xms_edov": true}, oidc.ErrEmailNotVerified},
		"no email":                   {oidc.Keycloak, false, map[string]any{"email": nil}, oidc.ErrEmailMissing},
		"no email, trusted":          {oidc.Keycloak, true, map[string]any{"email": nil}, oidc.ErrEmailMissing},
		"empty email":                {oidc.Keycloak, false, map[string]any{"email": ""}, oidc.ErrEmailMissing},
		"no address":                 {oidc.Keycloak, false, map[string]any{"email": "Ann <ann@example.com>"}, oidc.ErrEmailMissing},
		"two addresses":              {oidc.Keycloak, false, map[string]any{"email": "a@example.com,b@example.com"}, oidc.ErrEmailMissing},
		"email as list":              {oidc.Keycloak, false, map[string]any{"email": []string{"ann@example.com"}}, oidc.ErrInvalidToken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, newIDP(t, newES256(t, "k1")), func(o *oidc.Options) {
				o.Clients[0].Type, o.Clients[0].EmailTrusted = c.kind, c.trusted
			})
			got, err := l.Verify(t.Context(), l.token(t, l.clock.Now(), c.changes), nonce("n-1"))
			want(t, err, c.reason)
			genuine := !errors.Is(c.reason, oidc.ErrInvalidToken)
			if (got.Subject == "person-1") != genuine || got.EmailVerified != (c.reason == nil) {
				t.Errorf("identity %+v", got)
			}
		})
	}
}

// One token has several encodings: a second valid ECDSA signature, and unused bits of base64. All have one fingerprint.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	l := newLab(t, newIDP(t, newES256(t, "k1")), nil)
	raw := l.good(t)
	first, err := l.Verify(t.Context(), raw, nonce("n-1"))
	want(t, err, nil)
	dot := strings.LastIndexByte(raw, '.')
	signature, err := base64.RawURLEncoding.DecodeString(raw[dot+1:])
	if err != nil {
		t.Fatal(err)
	}
	s := new(big.Int).SetBytes(signature[32:])
	s.Sub(elliptic.P256().Params().N, s).FillBytes(signature[32:])
	second, err := l.Verify(t.Context(), raw[:dot+1]+base64.RawURLEncoding.EncodeToString(signature), nonce("n-1"))
	want(t, err, nil)
	third, err := l.Verify(t.Context(), raw[:dot-5]+"\n"+raw[dot-5:], nonce("n-1"))
	if err == nil && third.Fingerprint != first.Fingerprint || second.Fingerprint != first.Fingerprint {
		t.Error("one token has several fingerprints")
	}
	l.clock.Advance(time.Second)
	fourth, err := l.Verify(t.Context(), l.good(t), nonce("n-1"))
	want(t, err, nil)
	if fourth.Fingerprint == first.Fingerprint {
		t.Error("two tokens have one fingerprint")
	}
}

func TestMicrosoftTenants(t *testing.T) {
	t.Parallel()
	const (
		tenant   = "3aa4a235-b6e2-48d5-9195-7fcf05b459b0"
		stranger = "11111111-b6e2-48d5-9195-7fcf05b459b0"
		personal = "9188040d-6c67-4c5b-b112-36a304b66dad"
	)
	for name, c := range map[string]struct {
		path, documented string
		issued, tid      any // issued is the tenant in iss
		reason           error
	}{
		"common":                    {"common", "{tenantid}", tenant, tenant, nil},
		"common, personal":          {"common", "{tenantid}", personal, personal, nil},
		"tid of another tenant":     {"common", "{tenantid}", tenant, stranger, oidc.ErrInvalidToken},
		"no tid":                    {"common", "{tenantid}", tenant, nil, oidc.ErrInvalidToken},
		"tid no UUID":               {"common", "{tenantid}", "common", "common", oidc.ErrInvalidToken},
		"tid the template":          {"common", "{tenantid}", "{tenantid}", "{tenantid}", oidc.ErrInvalidToken},
		"organizations":             {"organizations", "{tenantid}", tenant, tenant, nil},
		"organizations, personal":   {"organizations", "{tenantid}", personal, personal, oidc.ErrInvalidToken},
		"consumers":                 {"consumers", personal, personal, personal, nil},
		"consumers, a company":      {"consumers", personal, tenant, tenant, oidc.ErrInvalidToken},
		"one tenant":                {tenant, tenant, tenant, tenant, nil},
		"one tenant, another's":     {tenant, tenant, stranger, stranger, oidc.ErrInvalidToken},
		"one tenant, template":      {tenant, "{tenantid}", tenant, tenant, oidc.ErrCommunicationFailed},
		"common, one tenant's":      {"common", tenant, tenant, tenant, oidc.ErrCommunicationFailed},
		"key of another tenant":     {"common", "{tenantid}", "key", "key", oidc.ErrInvalidToken},
		"common with its own name":  {"common", "common", tenant, tenant, oidc.ErrCommunicationFailed},
		"a name that is no tenants": {"commons", "{tenantid}", tenant, tenant, oidc.ErrInvalidToken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newIDP(t, newES256(t, "k1"))
			issuerOf := func(tenant string) string { return p.URL + "/" + tenant + "/v2.0" }
			p.issuer = issuerOf(c.path)
			l := newLab(t, p, func(o *oidc.Options) { o.Clients[0].Type = oidc.Microsoft })
			keyTenant := "{tenantid}"
			if c.issued == "key" {
				c.issued, c.tid, keyTenant = tenant, tenant, stranger
			}
			p.answer("/"+c.path+"/v2.0"+discoveryPath, func(w http.ResponseWriter, _ *http.Request) {
				writeJSON(w, http.StatusOK, map[string]any{"issuer": issuerOf(c.documented), "jwks_uri": p.URL + "/mskeys"})
			})
			p.answer("/mskeys", func(w http.ResponseWriter, _ *http.Request) {
				k := p.keys[0].jwk()
				delete(k, "alg") // Microsoft's keys have no alg
				k["issuer"] = issuerOf(keyTenant)
				writeJSON(w, http.StatusOK, map[string]any{"keys": []any{k}})
			})
			iss := issuerOf(c.issued.(string))
			got, err := l.Verify(t.Context(), l.token(t, l.clock.Now(), map[string]any{"iss": iss, "tid": c.tid}), nonce("n-1"))
			want(t, err, c.reason)
			if c.reason == nil && (got.Issuer != iss || got.Provider != p.issuer) {
				t.Errorf("issuer %s, provider %s", got.Issuer, got.Provider)
			}
		})
	}
}
