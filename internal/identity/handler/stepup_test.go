package handler_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
)

// sensitiveRequests returns the requests for which a leaked access token must not suffice.
func sensitiveRequests(s *testkit.Server, organization string) map[string]func(p *testkit.Person, body map[string]any) *testkit.Response {
	with := func(body map[string]any, name, value string) map[string]any {
		out := map[string]any{name: value}
		for k, v := range body {
			out[k] = v
		}
		return out
	}
	return map[string]func(p *testkit.Person, body map[string]any) *testkit.Response{
		"add an address": func(p *testkit.Person, body map[string]any) *testkit.Response {
			return p.Post(s.Identity+"/profile/emails", with(body, "address", "attacker@example.com"))
		},
		"remove an address": func(p *testkit.Person, body map[string]any) *testkit.Response {
			return p.Do("DELETE", s.Identity+"/profile/emails/second@example.com", optional(body))
		},
		"make an address primary": func(p *testkit.Person, body map[string]any) *testkit.Response {
			return p.Do("POST", s.Identity+"/profile/emails/second@example.com/primary", optional(body))
		},
		"delete the organization": func(p *testkit.Person, body map[string]any) *testkit.Response {
			return p.Do("DELETE", s.Identity+"/organizations/"+organization, optional(body))
		},
		"delete the account": func(p *testkit.Person, body map[string]any) *testkit.Response {
			return p.Do("DELETE", s.Identity+"/profile", optional(body))
		},
	}
}

// optional returns nil for an empty body, so that the request has none.
func optional(body map[string]any) any {
	if body == nil {
		return nil
	}
	return body
}

// addAddressAndOrganization gives a person a second, verified address and an organization.
func addAddressAndOrganization(t *testing.T, s *testkit.Server, p *testkit.Person) (organization string) {
	t.Helper()
	p.Post(s.Identity+"/profile/emails", map[string]any{"address": "second@example.com"}).Want(http.StatusCreated)
	key := s.Mail.Wait(t, "second@example.com", "/confirm/", 1).Key(t, "/confirm/")
	s.Clock.Advance(time.Minute) // the bucket of confirmations
	p.Post(s.Identity+"/confirm/"+key, nil).Want(http.StatusNoContent)
	r := p.Post(s.Identity+"/organizations", map[string]any{"name": "Acme"}).Want(http.StatusCreated)
	if raw := bearer(r); raw != "" {
		p.ID = raw
	}
	p.Refresh()
	return r.String("uid")
}

// TestAttackLeakedToken: an access token of an older session, without the password, changes nothing that the account depends on.
func TestAttackLeakedToken(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	organization := addAddressAndOrganization(t, s, ann)
	s.Clock.Advance(16 * time.Minute)
	ann.Refresh()
	for name, do := range sensitiveRequests(s, organization) {
		t.Log(name)
		do(ann, nil).WantError(identity.ErrSessionNotYoung)
		do(ann, map[string]any{"authKey": "wrong horse battery"}).WantError(identity.ErrKeyChange)
		do(ann, map[string]any{"authKey": 1}).WantError(fault.ErrInvalid)
		s.Clock.Advance(time.Minute)
		ann.Refresh()
	}
	profile := ann.Get(s.Identity + "/profile").Want(http.StatusOK)
	if profile.Value("emails.2") != nil || profile.String("emails.0.address") != "ann@example.com" ||
		profile.String("membership.organization.uid") != organization {
		t.Errorf("the attack changed %s", profile.Body)
	}
	proof := map[string]any{"authKey": testkit.Password}
	all := sensitiveRequests(s, organization)
	all["add an address"](ann, proof).Want(http.StatusCreated)
	all["make an address primary"](ann, proof).Want(http.StatusNoContent)
	ann.Do("DELETE", s.Identity+"/profile/emails/ann@example.com", proof).Want(http.StatusNoContent)
	resp := all["delete the organization"](ann, proof).Want(http.StatusNoContent)
	ann.ID = bearer(resp)
	ann.Refresh()
	all["delete the account"](ann, proof).Want(http.StatusNoContent)
}

// TestStepUpFactor: a person with TOTP needs it too, unless the young session had it.
func TestStepUpFactor(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	organization := addAddressAndOrganization(t, s, ann)
	code := withTOTP(t, s, ann)
	all := sensitiveRequests(s, organization)
	remove := all["remove an address"]
	remove(ann, nil).WantError(identity.ErrFactorFirst) // young, of level 1
	factor := func(kind, key string) map[string]any {
		return map[string]any{"authKey": testkit.Password, "authFactor": map[string]any{"type": kind, "key": key}}
	}
	s.Clock.Advance(16 * time.Minute)
	ann.Refresh()
	remove(ann, map[string]any{"authFactor": map[string]any{"type": "totp", "key": code()}}).WantError(identity.ErrSessionNotYoung)
	remove(ann, map[string]any{"authKey": testkit.Password}).WantError(identity.ErrFactorFirst)
	remove(ann, factor("totp", "000000")).WantError(identity.ErrVerificationFailed)
	remove(ann, factor("recovery", "AAAAAAAAAA")).WantError(identity.ErrVerificationFailed)
	remove(ann, factor("sms", "1")).WantError(identity.ErrUnsupportedType)
	used := code()
	add := func() (*testkit.Response, error) {
		body := factor("totp", used)
		body["address"] = "third@example.com"
		return ann.Try(t.Context(), "POST", s.Identity+"/profile/emails", body)
	}
	if got := parallel(t, add, add, add, add); got[http.StatusCreated] != 1 {
		t.Errorf("four parallel requests with one code: %v", got)
	}
	s.Clock.Advance(time.Minute) // the three that failed delay the next code
	remove(ann, factor("totp", used)).WantError(identity.ErrVerificationFailed)
	s.Clock.Advance(time.Minute)
	ann.Refresh()
	remove(ann, factor("totp", code())).Want(http.StatusNoContent)
}

// TestStepUpExternal: a federated person logs in again.
func TestStepUpExternal(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	eva := a.login("eva@example.com", nil)
	a.Clock.Advance(16 * time.Minute)
	eva.Refresh()
	eva.Delete(a.Identity + "/profile").WantError(identity.ErrSessionNotYoung)
	eva.Do("DELETE", a.Identity+"/profile", map[string]any{"authKey": testkit.Password}).WantError(identity.ErrSessionNotYoung)
	a.login("eva@example.com", nil).Delete(a.Identity + "/profile").Want(http.StatusNoContent)
}

// TestStepUpGuesses: guesses at the password share the bucket of the caller's other guesses.
func TestStepUpGuesses(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	s.Clock.Advance(16 * time.Minute)
	ann.Refresh()
	refused := 0
	for range 12 {
		if ann.Do("DELETE", s.Identity+"/profile", map[string]any{"authKey": "guess"}).Status == 509 {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d of 12 guesses were refused, want 2", refused)
	}
}

// TestResetAddressAge: an address that was added and verified just now does not reset the password.
func TestResetAddressAge(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	addAddressAndOrganization(t, s, ann)
	ask := func() *testkit.Response {
		return s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": "second@example.com"})
	}
	ask().WantError(identity.ErrResetRefused)
	s.Stranger().Post(s.Identity+"/auth/reset", map[string]any{"address": ann.Email}).Want(http.StatusNoContent)
	s.Clock.Advance(7*24*time.Hour - time.Minute)
	ask().WantError(identity.ErrResetRefused)
	s.Clock.Advance(time.Minute)
	ask().Want(http.StatusNoContent)
}
