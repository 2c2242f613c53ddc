package handler_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit"
)

// claimsOf decodes the payload of a token without verifying it.
func claimsOf(t testing.TB, raw string) map[string]any {
	t.Helper()
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is not a token", raw)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// bearer returns the token in an answer's Authorization header.
func bearer(r *testkit.Response) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// uid returns the uid of the person of a token.
func uid(t testing.TB, raw string) id.Person {
	t.Helper()
	sub, _ := claimsOf(t, raw)["sub"].(string)
	p, err := id.Parse[id.Person](sub)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// withTOTP gives a person a verified TOTP authenticator. code returns its current code.
func withTOTP(t testing.TB, s *testkit.Server, p *testkit.Person) (code func() string) {
	t.Helper()
	sealer, err := seal.New(bytes.Repeat([]byte("k"), 32), nil) // the test kit's secret key
	if err != nil {
		t.Fatal(err)
	}
	a, secret := id.New[id.Authenticator](), credential.NewTOTPSecret()
	store := postgres.New(s.App.DB)
	if err := store.InsertTOTP(t.Context(), uid(t, p.ID), a, "", sealer.Box("totp").Seal(secret, a.UUID[:]), true, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	return func() string { return credential.TOTPCode(secret, s.Clock.Now().Unix()/30) }
}
