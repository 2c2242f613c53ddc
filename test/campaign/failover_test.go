//go:build campaign

// The database fails over to its standby under load.

package campaign

import (
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestFailover delivers files while the primary ends and the standby is promoted (test/failover.sh), through one URL that names both. The
// server is not restarted, delivers again by itself, and says so at /readyz. With synchronous replication each acknowledged delivery is
// there.
func TestFailover(t *testing.T) {
	promote, mode := os.Getenv("FAILOVER_PROMOTE"), os.Getenv("FAILOVER_MODE")
	if promote == "" {
		t.Fatal("FAILOVER_PROMOTE is not set: run make test-failover")
	}
	key := make([]byte, 32)
	_, _ = crand.Read(key)
	s := newServer(t, "CONSIGN_DATABASE_URL="+os.Getenv("FAILOVER_URL"), "CONSIGN_SECRET_KEY="+base64.StdEncoding.EncodeToString(key),
		"CONSIGN_NEW_TRANSFER_BUCKET=100000,1000/s", "CONSIGN_STRANGER_RESERVATIONS=10000", "CONSIGN_STRANGER_SHARE=100")
	s.args = append(s.args, "--migrate")
	s.start()
	var mu sync.Mutex
	var sent []received
	var refused atomic.Int64
	var again atomic.Pointer[time.Time] // first delivery that began after the promotion
	var promoted atomic.Pointer[time.Time]
	stop, all := make(chan struct{}), sync.WaitGroup{}
	for range 6 {
		all.Go(func() {
			for !closed(stop) {
				began := time.Now()
				r, err := s.handOver(randomBytes(20_000))
				if err != nil {
					refused.Add(1)
					time.Sleep(20 * time.Millisecond)
					continue
				}
				if at := promoted.Load(); at != nil && began.After(*at) {
					now := time.Now()
					again.CompareAndSwap(nil, &now)
				}
				mu.Lock()
				sent = append(sent, r)
				mu.Unlock()
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(sent)
	}
	s.within("100 files are delivered", func() bool { return count() >= 100 })
	ended := time.Now()
	before := count()
	if out, err := exec.CommandContext(t.Context(), promote).CombinedOutput(); err != nil {
		t.Fatalf("promote: %v: %s", err, out)
	}
	now, during := time.Now(), count()-before
	promoted.Store(&now)
	s.within("files are delivered again", func() bool { return again.Load() != nil && count() >= before+100 })
	close(stop)
	all.Wait()
	s.within("the server is ready", func() bool { return answers(t, s.url+"/readyz") })

	owner, err := s.owner()
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for _, r := range sent {
		got, err := owner.download(r.transfer)
		if err == nil && got == r.sum {
			continue
		}
		if lost++; mode == "synchronous" {
			t.Errorf("transfer %s: SHA-256 %s, sent %s: %v", r.transfer, got, r.sum, err)
		}
	}
	figure(t, lost, "acknowledged deliveries lost in a failover, "+mode)
	t.Logf("%s: %d deliveries acknowledged, %d before the failover and %d during it, %d refused, %d lost; again %v after the end of the "+
		"primary, %v after the promotion",
		mode, len(sent), before, during, refused.Load(), lost, again.Load().Sub(ended).Round(10*time.Millisecond),
		again.Load().Sub(now).Round(10*time.Millisecond))
}

// handOver sends a file and confirms it.
func (s *server) handOver(data []byte) (received, error) {
	j := &job{data: data}
	var err error
	if j.c, j.reservation, j.object, err = s.reserve(int64(len(data))); err != nil {
		return received{}, err
	}
	if err := j.put(0, int64(len(data)), 0); err != nil {
		return received{}, err
	}
	if err := j.confirm(); err != nil {
		return received{}, err
	}
	sum := sha256.Sum256(data)
	return received{j.transfer, hex.EncodeToString(sum[:])}, nil
}

// within waits until something is done.
func (s *server) within(what string, done func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: not within two minutes", what)
		}
	}
}
