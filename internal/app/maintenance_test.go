package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestMaintenance: once maintenance is set on one replica, every replica answers 503 within a second. Once it is
// unset, they serve again as quickly (contract 1.9). Health checks still answer.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	second := testkit.New(t, testkit.Beside(first))
	ann := first.SignUp("ann@example.com")
	within := func(what string, holds func(*testkit.Server) bool) {
		t.Helper()
		began := time.Now()
		for _, s := range []*testkit.Server{first, second} {
			poll.Until(t, what, func() bool { return holds(s) })
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s after %v, want a second at most", what, took)
		}
	}
	if err := first.App.SetMaintenance(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	within("maintenance begins", func(s *testkit.Server) bool {
		return s.Stranger().Get(s.Transfer+"/environment").Status == http.StatusServiceUnavailable
	})
	for _, s := range []*testkit.Server{first, second} {
		for _, path := range []string{s.Identity + "/profile", s.Transfer + "/transfers", s.Identity + "/auth/keys", "/login", "/nowhere"} {
			checkUnavailable(t, "GET "+path, ann.At(s).Get(path))
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			s.Stranger().Get(path).Want(http.StatusOK)
		}
	}
	// A replica that starts meanwhile is under maintenance from its first request.
	third := testkit.New(t, testkit.Beside(first))
	checkUnavailable(t, "a new replica", third.Stranger().Get(third.Transfer+"/environment"))

	if err := second.App.SetMaintenance(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	within("maintenance ends", func(s *testkit.Server) bool {
		return s.Stranger().Get(s.Transfer+"/environment").Status == http.StatusOK
	})
	ann.Get(first.Identity + "/profile").Want(http.StatusOK)
}
