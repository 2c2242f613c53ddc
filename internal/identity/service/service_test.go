// Tests of parallel calls, of which one succeeds.

package service_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

const parallel = 50

func TestSignUpRace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	once(t, 20, func() error {
		_, err := k.SignUp(t.Context(), k.client(), service.NewAccount{Address: "Ann@Example.com", Password: password})
		return err
	}, identity.ErrSignupAddressInUse)
}

func TestUnverifiedAddressYieldsToSignup(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	squatter := k.access(k.signUp("ann@example.com"))
	squatted := k.key("ann@example.com", "/confirm/", 1)
	again := service.NewAccount{Address: "ann@example.com", Password: password}
	if _, err := k.SignUp(t.Context(), k.client(), again); !errors.Is(err, identity.ErrSignupAddressInUse) {
		t.Fatalf("a fresh signup was displaced: %v", err)
	}
	k.clock.Advance(time.Hour)
	ann := k.signUp("ann@example.com")
	if k.deleted.Load() != 1 {
		t.Errorf("%d persons were deleted, want the squatter alone", k.deleted.Load())
	}
	if _, err := k.ConfirmEmail(t.Context(), squatter, squatted); !errors.Is(err, identity.ErrKeyNotFound) {
		t.Errorf("the squatter's key still works: %v", err)
	}
	if _, err := k.ConfirmEmail(t.Context(), k.access(ann), k.key("ann@example.com", "/confirm/", 2)); err != nil {
		t.Fatal(err)
	}
	k.clock.Advance(100 * time.Hour)
	if _, err := k.SignUp(t.Context(), k.client(), again); !errors.Is(err, identity.ErrSignupAddressInUse) {
		t.Errorf("a verified address was taken: %v", err)
	}
}

func TestVerifiedSecondaryDisplacesSignup(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signUp("bob@example.com")
	ann := k.access(k.person("ann@example.com"))
	_, err := k.db.Pool.Exec(t.Context(), `INSERT INTO identity.addresses (person, address, is_primary, remove_at, created_at)
		VALUES ($1, 'bob@example.com', false, $2, $3)`, ann.Person.UUID, k.clock.Now().Add(time.Hour), k.clock.Now())
	must(t, err)
	must(t, k.RequestVerification(t.Context(), ann, "Bob@example.com", ""))
	raw, err := k.ConfirmEmail(t.Context(), ann, k.key("bob@example.com", "/confirm/", 2))
	if err != nil || raw != "" {
		t.Fatalf("confirming a secondary address: %q, %v", raw, err)
	}
	if k.deleted.Load() != 1 {
		t.Error("the person with the unverified address still exists")
	}
	p, err := k.Profile(t.Context(), ann)
	must(t, err)
	if len(p.Emails) != 2 || !p.Emails[0].Primary || p.Emails[0].Address != "ann@example.com" || !p.Emails[1].Verified ||
		p.Emails[1].RemoveAt != nil {
		t.Errorf("addresses are %+v", p.Emails)
	}
	if _, err := k.login("bob@example.com", "bcrypt", password, ""); err != nil {
		t.Errorf("login with a verified secondary address: %v", err)
	}
}

func TestConfirmRace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ann := k.access(k.signUp("ann@example.com"))
	key := k.key("ann@example.com", "/confirm/", 1)
	bob := k.access(k.person("bob@example.com"))
	if _, err := k.ConfirmEmail(t.Context(), bob, key); !errors.Is(err, identity.ErrKeyNotFound) {
		t.Errorf("another person's key: %v", err)
	}
	once(t, parallel, func() error {
		raw, err := k.ConfirmEmail(t.Context(), ann, key)
		if err == nil && k.caller(raw).AuthLevel != 1 {
			t.Error("confirming does not raise authLevel")
		}
		return err
	}, identity.ErrKeyNotFound)
}

func TestPickupRace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ann := k.caller(k.person("ann@example.com"))
	verifier := strings.Repeat("v", 43)
	sum := sha256.Sum256([]byte(verifier))
	challenge, method, redirect, state := base64.RawURLEncoding.EncodeToString(sum[:]), "S256", "http://localhost:8080/x", "st"
	raw, err := k.ParkToken(t.Context(), ann, identity.Parking{RedirectURI: &redirect, State: &state, Challenge: &challenge,
		ChallengeMethod: &method})
	must(t, err)
	pickup := k.caller(raw)
	if pickup.Nonce != state || pickup.Session != ann.Session {
		t.Errorf("pickup token has %+v", pickup)
	}
	for _, wrong := range []string{"", "x", verifier + "v"} {
		if _, err := k.PickUpToken(t.Context(), pickup, wrong); !errors.Is(err, identity.ErrVerifier) {
			t.Errorf("verifier %q: %v", wrong, err)
		}
	}
	if _, err := k.IssueAccess(t.Context(), ann); !errors.Is(err, token.ErrEnded) {
		t.Errorf("a parked ID token still works: %v", err)
	}
	k.clock.Advance(30 * time.Second)
	once(t, parallel, func() error {
		raw, err := k.PickUpToken(t.Context(), pickup, verifier)
		if err == nil {
			if c := k.caller(raw); c.Session != ann.Session || !c.ExpiresAt.Equal(ann.ExpiresAt) || c.AuthLevel != 1 {
				t.Errorf("picked up %+v", c)
			}
		}
		return err
	}, identity.ErrNothingParked)
}

func TestUpgradeRace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ann := k.caller(k.person("ann@example.com"))
	once(t, parallel, func() error {
		raw, err := k.UpgradeToken(t.Context(), ann)
		if err == nil {
			if c := k.caller(raw); c.Session != ann.Session || !c.ExpiresAt.Equal(ann.ExpiresAt) {
				t.Errorf("upgraded to %+v", c)
			}
		}
		return err
	}, token.ErrEnded)
}

// TestLogoutMissesNoUpgrade races upgrades with the end of all sessions. Every token that an upgrade creates must end,
// too.
func TestLogoutMissesNoUpgrade(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.person("ann@example.com")
	for range 10 {
		var sessions []token.Caller
		for range 6 {
			raw, err := k.login("ann@example.com", "bcrypt", password, "")
			must(t, err)
			sessions = append(sessions, k.caller(raw))
		}
		var running sync.WaitGroup
		for _, s := range sessions[1:] {
			running.Go(func() {
				for c := s; ; {
					raw, err := k.UpgradeToken(t.Context(), c)
					if err != nil {
						if !errors.Is(err, token.ErrEnded) {
							t.Error(err)
						}
						return
					}
					c = k.caller(raw)
				}
			})
		}
		must(t, k.Logout(t.Context(), sessions[0], session.LogoutAll))
		running.Wait() // an upgrade that was missed would go on for ever
	}
	left, err := k.PersonSessions(t.Context(), "ann@example.com")
	if err != nil || len(left) != 0 {
		t.Errorf("%d sessions are left, %v", len(left), err)
	}
}

func TestResetRace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ann := k.caller(k.person("ann@example.com"))
	annAccess, err := k.IssueAccess(t.Context(), ann)
	must(t, err)
	must(t, k.RequestPasswordReset(t.Context(), k.client(), "ann@example.com", false))
	must(t, k.RequestPasswordReset(t.Context(), k.client(), "ann@example.com", false))
	first, second := k.key("ann@example.com", "/reset/", 1), k.key("ann@example.com", "/reset/", 2)
	once(t, parallel, func() error {
		signedIn, err := k.ResetPassword(t.Context(), k.client(), first)
		if err == nil {
			c := k.access(signedIn.Token)
			if !c.SetPassword || c.AuthLevel != 1 {
				t.Errorf("the session of a reset is %+v", c)
			}
			k.clock.Advance(16 * time.Minute)
			if k.access(signedIn.Token).SetPassword {
				t.Error("setPassword does not expire")
			}
		}
		return err
	}, identity.ErrKeyNotFound)
	if _, err := k.ResetPassword(t.Context(), k.client(), second); !errors.Is(err, identity.ErrKeyNotFound) {
		t.Errorf("the other key outlived the reset: %v", err)
	}
	if _, err := k.IssueAccess(t.Context(), ann); !errors.Is(err, token.ErrEnded) {
		t.Errorf("a session outlived the reset: %v", err)
	}
	if _, err := k.verifier.Verify(t.Context(), annAccess.Token); err == nil {
		t.Error("an access token outlived the reset")
	}
}

func TestGrace(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ann := k.caller(k.person("ann@example.com"))
	before, err := k.IssueAccess(t.Context(), ann)
	must(t, err)
	must(t, k.SetMember(t.Context(), testkit.Command, "free", "ann@example.com", []string{identity.RoleTransferUse}))
	if _, err := k.verifier.Verify(t.Context(), before.Token); err == nil {
		t.Error("an access token outlived a change of roles")
	}
	if _, err := k.Sessions(t.Context(), ann); !errors.Is(err, token.ErrEnded) {
		t.Errorf("a blacklisted ID token lists sessions: %v", err)
	}
	var replaced string
	won := race(t, parallel, func() error {
		a, err := k.IssueAccess(t.Context(), ann)
		if err == nil {
			replaced = a.IDToken
			if c := k.caller(a.Token); !c.Has(identity.RoleTransferUse) || c.Organization != k.host.Organization {
				t.Errorf("access after the change: %+v", c)
			}
		}
		return err
	}, token.ErrEnded)
	if won != 1 || replaced == "" {
		t.Fatalf("a token was replaced with grace %d times", won)
	}
	if c := k.caller(replaced); c.Session != ann.Session || !c.Has(identity.RoleTransferUse) || !c.ExpiresAt.Equal(ann.ExpiresAt) {
		t.Errorf("the replacement is %+v", c)
	}
	if a, err := k.IssueAccess(t.Context(), k.caller(replaced)); err != nil || a.IDToken != "" {
		t.Errorf("access with the replacement: %v", err)
	}
	if err := k.SetMember(t.Context(), testkit.Command, "free", "ann@example.com", []string{"King"}); err == nil {
		t.Error("an unknown role was accepted")
	}
}

func TestFactorRequired(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ann := k.caller(k.person("ann@example.com"))
	_, err := k.db.Pool.Exec(t.Context(), `UPDATE identity.organizations SET mfa_required = true WHERE free`)
	must(t, err)
	must(t, k.SetMember(t.Context(), testkit.Command, "free", "ann@example.com", nil))
	a, err := k.IssueAccess(t.Context(), ann)
	must(t, err)
	if !k.caller(a.Token).FactorRequired {
		t.Error("the access token does not say that a factor is required")
	}
	redirect := "http://localhost:8080/"
	if _, err := k.ParkToken(t.Context(), k.caller(a.IDToken), identity.Parking{RedirectURI: &redirect}); !errors.Is(err,
		token.ErrFactorRequired) {
		t.Errorf("park without the factor: %v", err)
	}
	if _, err := k.IssueUIDToken(t.Context(), k.caller(a.IDToken)); !errors.Is(err, token.ErrFactorRequired) {
		t.Errorf("uid token without the factor: %v", err)
	}
	secret := k.totp(ann.Person)
	mfa, err := k.login("ann@example.com", "bcrypt", password, "")
	must(t, err)
	raw, err := k.login("ann@example.com", "totp", credential.TOTPCode(secret, k.clock.Now().Unix()/30), mfa)
	must(t, err)
	if k.access(raw).FactorRequired {
		t.Error("two factors are not enough")
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(s *service.Settings) {
		s.RedirectOrigins = []string{"https://app.example.org", "http://localhost:3000", "http://dev.localhost:3000", "http://app.example.org"}
	})
	ann := k.caller(k.person("ann@example.com"))
	for redirect, allowed := range map[string]bool{
		"http://localhost:8080/x?y":          true,
		"https://localhost:8080/":            true,
		"https://app.example.org/in":         true,
		"https://APP.example.org:443/in":     true,
		"http://localhost:3000/dev":          true,
		"http://dev.localhost:3000/":         true,
		"http://other.localhost:3000/":       false,
		"http://dev.localhost.evil.com/":     false,
		"http://localhost:3001/":             false,
		"http://localhost/":                  false,
		"http://app.example.org/":            false,
		"https://app.example.org:8443/":      false,
		"https://app.example.org.evil.com/":  false,
		"https://user@app.example.org/":      false,
		"https://evil.com/":                  false,
		"https:app.example.org":              false,
		"javascript:alert(1)":                false,
		"//app.example.org/":                 false,
		"https://app.example.org\\@evil.com": false,
		"https://app.example.org/\r\nX: y":   false,
		"":                                   false,
	} {
		_, err := k.ParkToken(t.Context(), ann, identity.Parking{RedirectURI: &redirect, KeepSession: true})
		if (err == nil) != allowed {
			t.Errorf("redirect to %q: %v", redirect, err)
		}
	}
}

func TestStrictEnumeration(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(s *service.Settings) { s.StrictEnumeration = true })
	k.person("ann@example.com")
	for _, address := range []string{"ann@example.com", "nobody@example.com"} {
		if issuer, err := k.Exists(t.Context(), k.client(), address); err != nil || issuer != "http://localhost:8080/id/v3" {
			t.Errorf("exists %s: %s, %v", address, issuer, err)
		}
		must(t, k.RequestPasswordReset(t.Context(), k.client(), address, false))
	}
	if _, err := k.ResetPassword(t.Context(), k.client(), k.key("ann@example.com", "/reset/", 1)); err != nil {
		t.Error(err)
	}
}
