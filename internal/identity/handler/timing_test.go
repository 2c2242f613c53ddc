//go:build timing

package handler_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
)

// TestEqualCost: the time of an answer does not reveal whether an address is known. It compares the medians of 400 interleaved
// samples for each call, which may differ by 15 %. It needs a quiet machine and half a minute: make test-timing.
func TestEqualCost(t *testing.T) {
	s := testkit.New(t, testkit.Env("CONSIGN_BCRYPT_COST", "8"), testkit.Env("CONSIGN_ENUMERATION", "strict"),
		testkit.Env("CONSIGN_LOG_LEVEL", "warn"))
	s.SignUp("ann@example.com")
	for name, call := range map[string]struct {
		path   string
		body   func(address string) map[string]any
		status int
	}{
		"login":  {"/auth/login", func(a string) map[string]any { return credentials(a, "bcrypt", "wrong password") }, http.StatusUnauthorized},
		"exists": {"/auth/exists", func(a string) map[string]any { return map[string]any{"address": a} }, http.StatusOK},
		"reset":  {"/auth/reset", func(a string) map[string]any { return map[string]any{"address": a} }, http.StatusNoContent},
	} {
		var known, unknown []time.Duration
		for i := range 400 {
			s.Clock.Advance(3 * time.Hour) // the buckets drain meanwhile: a network causes five mails a day to an address
			address, samples := "ann@example.com", &known
			if i%2 == 1 {
				address, samples = fmt.Sprintf("b%02d@example.com", i%7), &unknown
			}
			start := time.Now()
			s.Stranger().Post(s.Identity+call.path, call.body(address)).Want(call.status)
			*samples = append(*samples, time.Since(start))
		}
		k, u := median(known), median(unknown)
		t.Logf("%s: known %v, unknown %v", name, k, u)
		if ratio := float64(k) / float64(u); ratio < 0.85 || ratio > 1.15 {
			t.Errorf("%s: a known address takes %v, an unknown one %v", name, k, u)
		}
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
