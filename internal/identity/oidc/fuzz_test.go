package oidc_test

import (
	"log/slog"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/consign-dev/consign/internal/identity/oidc"
	"github.com/consign-dev/consign/internal/text"
)

func FuzzClients(f *testing.F) {
	f.Add([]byte(`[{"type":"keycloak","issuer":"https://sso.example.com","clientId":"c","clientSecret":"s","emailTrusted":true}]`))
	f.Add([]byte(`[{"type":"microsoft","issuer":"https://login.microsoftonline.com/common/v2.0","clientId":"c","organizationUid":"x"}]`))
	f.Add([]byte(`[{"type":"apple","issuer":"http://[::1]:1/a","clientId":"c","name":"\u0000"},{},7,null]`))
	f.Fuzz(func(t *testing.T, content []byte) {
		clients, err := oidc.ParseClients(content)
		if err != nil {
			if !utf8.ValidString(err.Error()) {
				t.Errorf("error %q", err)
			}
			return
		}
		p, err := oidc.New(oidc.Options{Clients: clients, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatalf("New refuses clients that Load accepted: %v", err)
		}
		for _, c := range clients {
			if _, ok := p.Client(c.Issuer, c.ClientID); !ok {
				t.Errorf("%s is not found", c)
			}
		}
	})
}

func FuzzClaims(f *testing.F) {
	f.Add([]byte(`{"iss":"https://a","sub":"s","aud":"c","exp":4102444800,"iat":1,"email":"a@example.com","email_verified":"true"}`))
	f.Add([]byte(`{"iss":"https://a","sub":"s","aud":["c","d"],"azp":"c","exp":1e9,"iat":1.5,"nbf":-1,"email_verified":false,"xms_edov":1}`))
	f.Add([]byte(`{"iss":"https://a","iss":"https://b","sub":null,"aud":[],"exp":"1","name":"\ud800"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		email, _, err := oidc.ParseClaims(payload)
		if err != nil {
			return
		}
		if again, err := text.Email(email); email != "" && (err != nil || again != email) {
			t.Errorf("email %q is not in stored form", email)
		}
	})
}

// FuzzToken looks for a token that is accepted without the provider's signature, or that makes the parser panic.
func FuzzToken(f *testing.F) {
	l := newLab(f, newIDP(f, newES256(f, "k1")), nil)
	raw := l.good(f)
	genuine, err := l.Verify(f.Context(), raw, nonce("n-1"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add("..")
	f.Fuzz(func(t *testing.T, other string) {
		if got, err := l.Verify(t.Context(), other, nonce("n-1")); err == nil && got != genuine {
			t.Errorf("%q is accepted as %+v", other, got)
		}
	})
}
