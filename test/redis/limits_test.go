//go:build redis

package redis

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/redistest"
)

// TestReplicas sends 200 parallel requests to two replicas: with Redis, while it is down, and after its restart.
func TestReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	shared, limited := testkit.Env("CONSIGN_REDIS_URL", server.URL), testkit.Env("CONSIGN_RATE_LIMIT", "on")
	a := testkit.New(t, shared, limited)
	b := testkit.New(t, testkit.Beside(a), shared, limited)
	ann := a.SignUp("ann@example.com")

	left := remaining(t, ann) // the manual clock stands still, so nothing drains
	if got := flood(t, ann, a, b); got[http.StatusOK] != left || got[509] != 200-left {
		t.Fatalf("with %d tokens left, 200 requests: %v; %+v, %+v", left, got, a.App.SharedLimits.Stats(), b.App.SharedLimits.Stats())
	}
	a.Clock.Advance(10 * time.Second)
	if got := flood(t, ann, a, b); got[http.StatusOK] != 10 {
		t.Errorf("10 s later: %v", got)
	}

	server.Kill()
	if got := flood(t, ann, a, b); got[http.StatusOK] != 120 || got[509] != 80 {
		t.Errorf("while Redis is down: %v", got)
	}
	for _, s := range []*testkit.Server{a, b} {
		if n := strings.Count(s.Log(), "counted by this replica alone"); n != 1 {
			t.Errorf("the failure is logged %d times", n)
		}
		if stats := s.App.SharedLimits.Stats(); !stats.Away || stats.Failures != 1 || stats.Fallbacks != 100 {
			t.Errorf("%+v", stats)
		}
	}

	server.Start()
	for _, s := range []*testkit.Server{a, b} {
		poll.Until(t, "the server uses Redis again", func() bool {
			if !s.App.SharedLimits.Stats().Away {
				return true
			}
			ann.At(s).Get(s.Identity + "/profile") // takes no token in Redis while it is away
			return false
		})
	}
	if got := flood(t, ann, a, b); got[http.StatusOK] != 60 || got[509] != 140 {
		t.Errorf("after the restart of Redis, which starts empty: %v", got)
	}
}

// remaining makes a request. It returns how many more the bucket allows.
func remaining(t *testing.T, p *testkit.Person) int {
	t.Helper()
	n, err := strconv.Atoi(p.Get(p.Server.Identity + "/profile").Want(http.StatusOK).Header.Get("X-RateLimit-Remaining"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// flood makes 200 parallel requests, at the servers in turn. It returns the number of answers by status.
func flood(t *testing.T, p *testkit.Person, servers ...*testkit.Server) map[int]int {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[int]int{}
	for i := range 200 {
		at := p.At(servers[i%len(servers)])
		all.Go(func() {
			resp, err := at.Try(context.Background(), http.MethodGet, at.Server.Identity+"/profile", nil)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			got[resp.Status]++
		})
	}
	all.Wait()
	return got
}
