//go:build campaign

// Kills the server while a file is uploaded in parts at once.

package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	partSize    = 4 << 20 // a bucket makes it 5 MiB
	partsAtOnce = 4
)

// TestCrashParts kills the server with SIGKILL at random moments of uploads in parts: while parts arrive, and while they are joined. What a
// response or GET of parts has acknowledged of a part must be held after the restart.
func TestCrashParts(t *testing.T) {
	crashUploads(t, func(s *server, n int) received { return s.partsRound(n, randomBytes(fileSize+12345)) })
}

// partsJob is the upload of one round in parts.
type partsJob struct {
	job
	partSize int64
	held     []atomic.Int64 // by part, acknowledged
}

type partsState struct {
	PartSize, Joined int64
	Parts            []struct{ Number, Held int64 }
}

// planParts reserves and plans the upload of data.
func (s *server) planParts(data []byte) *partsJob {
	s.t.Helper()
	j := &partsJob{job: job{data: data}}
	var err error
	if j.c, j.reservation, j.object, err = s.reserve(int64(len(data))); err != nil {
		s.t.Fatal(err)
	}
	var plan partsState
	if _, err := j.c.call("POST", j.object+"/parts", map[string]any{"partSize": partSize}, &plan); err != nil {
		s.t.Fatal(err)
	}
	j.partSize = plan.PartSize
	j.held = make([]atomic.Int64, (int64(len(data))+j.partSize-1)/j.partSize)
	return j
}

// partsRound uploads one file in parts through one crash and confirms it.
func (s *server) partsRound(n int, data []byte) received {
	s.t.Helper()
	j := s.planParts(data)
	moment := rand.Int64N(fileSize)
	if n%3 == 2 {
		moment = int64(len(data)) // while the last parts are joined
	}
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = j.sendAll(3 * time.Millisecond)
	}()
	go func() {
		defer close(watched)
		for !closed(ended) {
			if state, err := j.state(); err == nil {
				j.acknowledge(state)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	for j.sent.Load() < moment && !closed(ended) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(rand.N(60 * time.Millisecond))
	s.signal(syscall.SIGKILL)
	_ = s.wait()
	<-ended
	<-watched
	s.start()

	state, err := j.state()
	if err != nil {
		s.t.Fatal(err)
	}
	now := make([]int64, len(j.held))
	for _, p := range state.Parts {
		now[p.Number-1] = p.Held
	}
	sum := int64(0)
	for i := range now {
		if ack := j.held[i].Load(); now[i] < ack {
			s.t.Fatalf("%d bytes of part %d were acknowledged, %d are held", ack, i+1, now[i])
		}
		sum += now[i]
		j.held[i].Store(now[i])
	}
	s.t.Logf("round %2d: sent %8d, held %8d, joined %8d of %d", n, j.sent.Load(), sum, state.Joined, len(data))
	if err := j.sendAll(0); err != nil {
		s.t.Fatal(err)
	}
	for err = j.confirm(); err != nil && strings.Contains(err.Error(), "409022"); err = j.confirm() {
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	whole := sha256.Sum256(data)
	return received{j.transfer, hex.EncodeToString(whole[:])}
}

func (j *partsJob) state() (state partsState, err error) {
	_, err = j.c.call("GET", j.object+"/parts", nil, &state)
	return state, err
}

func (j *partsJob) acknowledge(state partsState) {
	for _, p := range state.Parts {
		if held := &j.held[p.Number-1]; p.Held > held.Load() {
			held.Store(p.Held)
		}
	}
}

// sendAll sends what is not acknowledged, several parts at once, in an order of its own.
func (j *partsJob) sendAll(pace time.Duration) error {
	numbers := make(chan int, len(j.held))
	for _, n := range rand.Perm(len(j.held)) {
		numbers <- n
	}
	close(numbers)
	var all sync.WaitGroup
	errs := make(chan error, partsAtOnce)
	for range partsAtOnce {
		all.Go(func() {
			for n := range numbers {
				if err := j.sendPart(n, pace); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// sendPart sends the rest of a part, 200 KiB per pace.
func (j *partsJob) sendPart(n int, pace time.Duration) error {
	begin := int64(n) * j.partSize
	part := j.data[begin:min(begin+j.partSize, int64(len(j.data)))]
	held, size := j.held[n].Load(), int64(len(part))
	if held == size {
		return nil
	}
	header := http.Header{"Content-Range": {fmt.Sprintf("bytes %d-%d/%d", held, size-1, size)}, "Content-Type": {"application/octet-stream"}}
	body := &slow{r: bytes.NewReader(part[held:]), pace: pace, sent: &j.sent}
	resp, err := j.c.do(context.Background(), "PUT", fmt.Sprintf("%s/parts/%d", j.object, n+1), body, header)
	if err != nil {
		return err
	}
	if err := uploaded(resp); err != nil {
		return err
	}
	j.held[n].Store(size)
	return nil
}
