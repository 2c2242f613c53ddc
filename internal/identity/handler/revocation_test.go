// Tests of how soon an ended session is refused everywhere.

package handler_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/relay"
)

// revocationLimit is the time that contract 2.4 allows. slack is for a busy test machine.
const revocationLimit = time.Second

// TestRevocationReachesReplicas measures how long after a logout at one server another server refuses the token, with and without
// notifications.
func TestRevocationReachesReplicas(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	hop := relay.New(t, first.DatabaseURL)
	second := testkit.New(t, testkit.Beside(first))
	third := testkit.New(t, testkit.Beside(first), testkit.Env("CONSIGN_LISTEN_DATABASE_URL", hop.URL))
	ann := first.SignUp("ann@example.com")
	for _, s := range []*testkit.Server{first, second, third} {
		ann.At(s).Get(s.Identity + "/profile").Want(http.StatusOK)
	}
	hop.Down()
	bystander := ann.Login()
	out := time.Now()
	ann.As(ann.ID).Post(first.Identity+"/auth/logout", nil).Want(http.StatusNoContent)
	for name, s := range map[string]*testkit.Server{"the first": first, "the second": second, "the one cut off": third} {
		poll.Until(t, name+" ending access", func() bool {
			return ann.At(s).Get(s.Identity+"/profile").Status == http.StatusUnauthorized &&
				ann.At(s).Get(s.Transfer+"/mailbox").Status == http.StatusUnauthorized
		})
	}
	if took := time.Since(out); took > revocationLimit {
		t.Errorf("revocation took %v", took)
	}
	for _, s := range []*testkit.Server{first, second, third} {
		bystander.At(s).Get(s.Identity + "/profile").Want(http.StatusOK)
	}
}

// TestStreamEndsWithItsSession: a logout at another server ends an open event stream.
func TestStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	second := testkit.New(t, testkit.Beside(first))
	ann := first.SignUp("ann@example.com")
	stream, err := ann.At(second).Open(t.Context(), "GET", second.Identity+"/events", nil) //nolint:bodyclose // closed below, by the name of body
	if err != nil {
		t.Fatal(err)
	}
	body := stream.Body
	defer body.Close()
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("the stream answers %d", stream.StatusCode)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, body)
		close(ended)
	}()
	out := time.Now()
	ann.As(ann.ID).Post(first.Identity+"/auth/logout", nil).Want(http.StatusNoContent)
	select {
	case <-ended:
		if took := time.Since(out); took > 2*revocationLimit {
			t.Errorf("the stream ended after %v", took)
		}
	case <-time.After(10 * time.Second):
		t.Error("the stream was not ended")
	}
}

// TestRotationUnderLoad: no token is refused while keys are rotated.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	// The clock runs ahead while a request is on its way: no token may expire for that.
	lasting := testkit.Env("CONSIGN_ACCESS_TOKEN_LIFETIME", "4h")
	s := testkit.New(t, lasting)
	beside := testkit.New(t, testkit.Beside(s), lasting)
	ann := s.SignUp("ann@example.com")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	for _, at := range []*testkit.Server{s, beside} {
		p := ann.At(at)
		running.Go(func() {
			for ctx.Err() == nil {
				resp, err := p.As(p.ID).Try(t.Context(), "POST", at.Identity+"/auth/access", nil)
				if err != nil || resp.Status != http.StatusOK {
					t.Errorf("access during a rotation: %v, %v", resp, err)
					return
				}
				other := s
				if at == s {
					other = beside
				}
				if resp, err := p.As(resp.String("token")).At(other).Try(t.Context(), "GET", other.Identity+"/profile", nil); err != nil ||
					resp.Status != http.StatusOK {
					t.Errorf("profile during a rotation: %v, %v", resp, err)
					return
				}
			}
		})
	}
	for range 3 {
		if _, err := s.App.Keys.Rotate(t.Context()); err != nil {
			t.Error(err)
		}
		for range 65 { // past the lead, in steps that no access token notices
			s.Clock.Advance(time.Minute)
			ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).Want(http.StatusOK)
		}
	}
	stop()
	running.Wait()
}
