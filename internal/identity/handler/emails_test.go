package handler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
)

func TestConfirmRaisesLevel(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUpUnconfirmed("ann@example.com")
	elsewhere := ann.Login()
	before := claimsOf(t, ann.ID)
	key := s.Mail.Wait(t, "ann@example.com", "/confirm/", 1).Key(t, "/confirm/")

	// Opening the page of the link leaves the key as it is.
	s.Stranger().Get("/confirm/" + key).Want(http.StatusOK)
	resp := ann.Post(s.Identity+"/confirm/"+key, nil).Want(http.StatusNoContent)
	ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).Want(http.StatusUnauthorized)
	ann.ID = strings.TrimPrefix(resp.Header.Get("Authorization"), "Bearer ")
	after := claimsOf(t, ann.ID)
	if after["authLevel"] != 1.0 || after["email_verified"] != true || after["sid"] != before["sid"] || after["auth_time"] != before["auth_time"] {
		t.Errorf("from %v to %v", before, after)
	}
	if life := after["exp"].(float64) - after["iat"].(float64); life != 30*86400 {
		t.Errorf("the full token lives %v s", life)
	}
	ann.Refresh()
	if p := ann.Get(s.Identity + "/profile").Want(http.StatusOK); p.Value("emails.0.verified") != true || p.Value("emails.0.removeAt") != nil {
		t.Errorf("profile is %s", p.Body)
	}
	s.Clock.Advance(time.Minute)
	ann.Post(s.Identity+"/confirm/"+key, nil).WantError(identity.ErrKeyNotFound)

	upgraded := elsewhere.As(elsewhere.ID).Post(s.Identity+"/auth/upgrade", nil).Want(http.StatusOK)
	if c := claimsOf(t, upgraded.String("token")); c["authLevel"] != 1.0 || c["exp"].(float64)-c["iat"].(float64) != 30*86400 {
		t.Errorf("another session was upgraded to %v", c)
	}
}

func TestConfirmRefuses(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUpUnconfirmed("ann@example.com"), s.SignUp("bob@example.com")
	key := s.Mail.Wait(t, "ann@example.com", "/confirm/", 1).Key(t, "/confirm/")
	s.Stranger().Post(s.Identity+"/confirm/"+key, nil).Want(http.StatusUnauthorized)
	ann.As(ann.ID).Post(s.Identity+"/confirm/"+key, nil).Want(http.StatusUnauthorized)
	s.Clock.Advance(time.Minute)
	bob.Post(s.Identity+"/confirm/"+key, nil).WantError(identity.ErrKeyNotFound)
	ann.Post(s.Identity+"/confirm/nonsense", nil).WantError(identity.ErrKeyNotFound)

	refused := ann.Post(s.Identity+"/confirm/"+key, nil).WantError(identity.ErrEmailTooOften)
	if refused.Header.Get("Retry-After") != "60" || !strings.HasSuffix(refused.Details(), "\nretry later") {
		t.Errorf("refused with %v, %s", refused.Header, refused.Body)
	}
	s.Clock.Advance(24 * time.Hour)
	ann = ann.Login()
	ann.Post(s.Identity+"/confirm/"+key, nil).WantError(identity.ErrKeyNotFound)
}

func TestRequestVerification(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUpUnconfirmed("ann@example.com"), s.SignUp("bob@example.com")
	verify := s.Identity + "/profile/emails/ann%40example.com/verify"
	first := s.Mail.Wait(t, "ann@example.com", "/confirm/", 1).Key(t, "/confirm/")
	ann.Post(verify, nil).Want(http.StatusNoContent)
	second := s.Mail.Wait(t, "ann@example.com", "/confirm/", 2).Key(t, "/confirm/")
	refused := ann.Post(verify, nil).WantError(identity.ErrEmailTooOften)
	if refused.Header.Get("Retry-After") != "60" || refused.Header.Get("X-RateLimit-Limit") != "1" {
		t.Errorf("headers are %v", refused.Header)
	}
	bob.Post(verify, nil).WantError(identity.ErrAddressNotFound)
	ann.Post(s.Identity+"/confirm/"+first, nil).WantError(identity.ErrKeyNotFound)
	s.Clock.Advance(time.Minute)
	ann.Post(s.Identity+"/confirm/"+second, nil).Want(http.StatusNoContent)
	ann.Post(strings.Replace(verify, "ann", "ANN", 1), nil).Want(http.StatusNoContent)
	s.Clock.Advance(time.Minute)
	ann.Post(s.Identity+"/profile/emails/nonsense/verify", nil).WantError(identity.ErrAddressNotFound)
	if n := len(s.Mail.To("ann@example.com")); n != 2 {
		t.Errorf("%d mails came, want none for the verified address", n)
	}
}
