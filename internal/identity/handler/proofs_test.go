// Tests of proofs that count for a session for ten minutes (contract 3.21).

package handler_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
)

// byPassword and byBoth are proofs.
func byPassword() map[string]any { return map[string]any{"authKey": testkit.Password} }

func byBoth(code string) map[string]any {
	return map[string]any{"authKey": testkit.Password, "authFactor": map[string]any{"type": "totp", "key": code}}
}

// adds asks for another address of an account.
func adds(p *testkit.Person, address string, proof map[string]any) *testkit.Response {
	body := map[string]any{"address": address}
	for name, value := range proof {
		body[name] = value
	}
	return p.Post(p.Server.Identity+"/profile/emails", body)
}

// TestProofCountsTenMinutes: one proof is enough for all changes of ten minutes, also after the session's token was replaced.
func TestProofCountsTenMinutes(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	s.Clock.Advance(16 * time.Minute)
	ann.Refresh()
	adds(ann, "a@example.com", nil).WantError(identity.ErrSessionNotYoung)
	adds(ann, "ann@example.com", byPassword()).WantError(identity.ErrAddressInUse) // the change fails, the proof counts
	adds(ann, "a@example.com", nil).Want(http.StatusCreated)
	ann.Post(s.Identity+"/profile/export", nil).Want(http.StatusOK)
	ann.ID = ann.As(ann.ID).Post(s.Identity+"/auth/upgrade", nil).Want(http.StatusOK).String("token")
	ann.Refresh()
	s.Clock.Advance(9 * time.Minute)
	ann.Refresh()
	adds(ann, "b@example.com", nil).Want(http.StatusCreated)
	s.Clock.Advance(2 * time.Minute)
	ann.Refresh()
	adds(ann, "c@example.com", nil).WantError(identity.ErrSessionNotYoung)
}

// TestProofsCountByStrength: a password counts as a password, a code as a second factor.
func TestProofsCountByStrength(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	code := withTOTP(t, s, ann)
	s.Clock.Advance(16 * time.Minute)
	ann.Refresh()
	adds(ann, "a@example.com", byPassword()).WantError(identity.ErrFactorFirst)
	s.Clock.Advance(6 * time.Minute)
	ann.Refresh()
	onlyCode := map[string]any{"authFactor": map[string]any{"type": "totp", "key": code()}}
	adds(ann, "a@example.com", onlyCode).Want(http.StatusCreated)
	adds(ann, "b@example.com", nil).Want(http.StatusCreated)
	s.Clock.Advance(5 * time.Minute)
	ann.Refresh()
	adds(ann, "c@example.com", nil).WantError(identity.ErrSessionNotYoung) // the password is of 11 minutes ago, the code of 5
	adds(ann, "c@example.com", byPassword()).Want(http.StatusCreated)
	s.Clock.Advance(6 * time.Minute)
	ann.Refresh()
	adds(ann, "d@example.com", nil).WantError(identity.ErrFactorFirst)
}

// TestAttackProofOfAnotherSession: a thief of another session gains nothing from what the owner's session has proved. After a change of the
// second factors what other sessions have proved with one ends, and after a change of the password all proofs do.
func TestAttackProofOfAnotherSession(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	own := ann.Get(s.Identity + "/profile/authenticators").Want(http.StatusOK).String("authenticators.0.uid")
	stolen := ann.Login()
	code := withTOTP(t, s, ann)
	s.Clock.Advance(16 * time.Minute)
	ann.Refresh()
	stolen.Refresh()
	refused := func() {
		t.Helper()
		adds(stolen, "thief@example.com", nil).WantError(identity.ErrSessionNotYoung)
		stolen.Delete(s.Identity + "/profile").WantError(identity.ErrSessionNotYoung)
	}
	adds(ann, "a@example.com", byBoth(code())).Want(http.StatusCreated)
	adds(ann, "b@example.com", nil).Want(http.StatusCreated)
	refused()
	stolen.ID = stolen.As(stolen.ID).Post(s.Identity+"/auth/upgrade", nil).Want(http.StatusOK).String("token")
	stolen.Refresh()
	refused()

	// The thief knows the password, and has got one code.
	s.Clock.Advance(time.Minute)
	adds(stolen, "c@example.com", byBoth(code())).Want(http.StatusCreated)
	s.Clock.Advance(time.Minute)
	recovery := ann.Post(s.Identity+"/profile/authenticators", map[string]any{"type": "recovery"}).Want(http.StatusCreated)
	ann.Refresh()
	stolen.Refresh()
	stolen.Delete(s.Identity + "/profile/authenticators/" + recovery.String("uid")).WantError(identity.ErrFactorFirst)
	adds(stolen, "d@example.com", nil).WantError(identity.ErrFactorFirst)

	adds(ann, "e@example.com", nil).Want(http.StatusCreated)
	changed := map[string]any{"pubKey": "a new battery staple", "authKey": testkit.Password}
	ann.Put(s.Identity+"/profile/authenticators/"+own, changed).Want(http.StatusOK)
	ann.Refresh()
	adds(ann, "f@example.com", nil).WantError(identity.ErrSessionNotYoung)
}
