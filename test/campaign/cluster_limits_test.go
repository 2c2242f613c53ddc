//go:build campaign

package campaign

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestClusterLimits checks that replicas share rate limits through Redis, and that each counts alone while Redis is down.
func TestClusterLimits(t *testing.T) {
	c := newCluster(t, "CONSIGN_RATE_LIMIT=on")
	caller, err := c.front.owner()
	if err != nil {
		t.Fatal(err)
	}
	// A session's general bucket has a capacity of 60 tokens and drains one per second.
	began := time.Now()
	admitted := c.flood(caller, 300)
	most := int64(60 + time.Since(began)/time.Second + 1)
	t.Logf("of 300 requests at three replicas %d were admitted in %v", admitted, time.Since(began).Round(time.Millisecond))
	if admitted < 50 || admitted > most {
		t.Errorf("%d requests were admitted, the bucket has room for %d", admitted, most)
	}
	refused := 0.0
	for _, s := range c.replicas {
		refused += s.metric(`consign_ratelimit_refusals_total{bucket="general"}`)
	}
	if int64(refused) != 300-admitted {
		t.Errorf("the metrics count %v refusals, want %d", refused, 300-admitted)
	}

	c.redis.Kill()
	began = time.Now()
	alone := c.flood(caller, 300)
	most = 3 * int64(60+time.Since(began)/time.Second+1)
	t.Logf("without Redis %d of 300 were admitted; each replica counted alone", alone)
	if alone < 100 || alone > most {
		t.Errorf("without Redis %d requests were admitted, want at most %d (three full buckets)", alone, most)
	}
	for n, s := range c.replicas {
		away, failures, tokens := s.metric("consign_ratelimit_redis_away"), s.metric("consign_ratelimit_redis_failures_total"),
			s.metric("consign_ratelimit_redis_fallbacks_total")
		lines := s.logged("rate limits are counted by this replica alone")
		t.Logf("replica %d: redis_away %v, %v Redis failures, %v local fallbacks, %d log lines", n+1, away, failures, tokens, lines)
		if away != 1 || failures != 1 || tokens == 0 || lines != 1 {
			t.Errorf("replica %d does not report that Redis is down", n+1)
		}
	}

	c.redis.Start()
	began = time.Now()
	for _, s := range c.replicas {
		within(t, "Redis is used again", 10*time.Second, began, func() bool {
			_, _ = caller.at(s).call("GET", "/id/v3/profile", nil, nil)
			return s.metric("consign_ratelimit_redis_away") == 0
		})
	}
	t.Logf("all replicas use the restarted Redis after %v", time.Since(began).Round(time.Millisecond))
}

// flood sends n parallel requests, round-robin over the replicas, and returns how many were admitted. All others must be refused.
func (c *cluster) flood(caller client, n int) int64 {
	var admitted atomic.Int64
	var group sync.WaitGroup
	for worker := range 12 {
		group.Go(func() {
			for i := worker; i < n; i += 12 {
				resp, err := caller.at(c.replicas[i%3]).do(c.t.Context(), "GET", "/id/v3/profile", nil, http.Header{})
				if err != nil {
					c.t.Error(err)
					return
				}
				resp.Body.Close()
				switch resp.StatusCode {
				case http.StatusOK:
					admitted.Add(1)
				case 509:
				default:
					c.t.Errorf("GET /profile answered %d", resp.StatusCode)
				}
			}
		})
	}
	group.Wait()
	return admitted.Load()
}
