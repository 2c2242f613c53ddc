package handler_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

// TestSessionIdle: an unused session ends. A session in use stays.
func TestSessionIdle(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_SESSION_IDLE", "5d"))
	ann := s.SignUp("ann@example.com")
	idle := ann.Login()
	const day = 24 * time.Hour
	s.Clock.Advance(4 * day)
	ann.Refresh()
	s.Clock.Advance(30 * time.Minute)
	ann.Refresh() // within the hour: not written
	s.Clock.Advance(4 * day)
	ann.Refresh()
	for _, path := range []string{"/auth/access", "/auth/upgrade", "/auth/logout", "/auth/park?redirect_uri=" + s.URL + "/login"} {
		idle.As(idle.ID).Post(s.Identity+path, nil).WantError(token.ErrEnded)
	}
	if n := ann.As(ann.ID).Get(s.Identity + "/auth").Want(http.StatusOK).Value("tokens.1"); n != nil {
		t.Errorf("an idle session is listed: %v", n)
	}
	ann.As(ann.ID).Post(s.Identity+"/auth/upgrade", nil).Want(http.StatusOK)
}
