package testkit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// SignUpOperator makes a person who operates the installation, with TOTP as second factor and a session that began with it. code
// returns the current code; each is good once.
func (s *Server) SignUpOperator(email string) (p *Person, code func() string) {
	s.T.Helper()
	p = s.SignUp(email)
	if err := s.App.Identity.AddOperator(s.T.Context(), Command, email, token.RoleOperator); err != nil {
		s.T.Fatal(err)
	}
	code = p.withTOTP()
	mfa := p.As("").Post(s.Identity+"/auth/login", map[string]any{"email": email, "type": "bcrypt", "key": Password}).Want(
		http.StatusOK).String("token")
	p.ID = p.As(mfa).Post(s.Identity+"/auth/login", map[string]any{"email": email, "type": "totp", "key": code()}).Want(http.StatusOK).String(
		"token")
	p.Refresh()
	return p, code
}

// withTOTP gives the person a verified TOTP authenticator.
func (p *Person) withTOTP() (code func() string) {
	s := p.Server
	s.T.Helper()
	sealer, err := seal.New(bytes.Repeat([]byte("k"), 32), nil) // the kit's secret key
	if err != nil {
		s.T.Fatal(err)
	}
	a, secret := id.New[id.Authenticator](), credential.NewTOTPSecret()
	err = postgres.New(s.App.DB).InsertTOTP(s.T.Context(), p.uid(), a, "", sealer.Box("totp").Seal(secret, a.UUID[:]), true, s.Clock.Now())
	if err != nil {
		s.T.Fatal(err)
	}
	return func() string { return credential.TOTPCode(secret, s.Clock.Now().Unix()/30) }
}

// uid returns the person's uid, as the ID token says it.
func (p *Person) uid() id.Person {
	t := p.Server.T
	t.Helper()
	var claims struct{ Sub string }
	parts := strings.Split(p.ID, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[min(1, len(parts)-1)])
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	uid, err := id.Parse[id.Person](claims.Sub)
	if err != nil {
		t.Fatal(err)
	}
	return uid
}

// Command is the actor of an operator's command.
var Command = audit.Actor{Kind: audit.Command, Name: "tester"}
