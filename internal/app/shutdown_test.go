package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
)

// flight is one of the uploads that a shutdown finds under way.
type flight struct {
	sam                  *testkit.Person
	reservation, content string
	data                 []byte
	body                 *tap
	answer               chan *testkit.Response // nil if there was none
	acknowledged         int
}

const uploadsAtOnce = 64

// takeOff begins an upload: a first part is acknowledged, a second has left, and the rest waits for the test.
func takeOff(t *testing.T, s *testkit.Server, n int) *flight {
	t.Helper()
	f := &flight{data: bytes.Repeat([]byte(fmt.Sprintf("upload %d ", n)), 50_000), body: newTap(), answer: make(chan *testkit.Response, 1)}
	f.sam, f.reservation = reserve(s.Stranger(), "dr-ann", len(f.data))
	f.content = f.reservation + "/objects/a/content"
	f.acknowledged = 100_000 + 100*n
	f.sam.With("Content-Range", fmt.Sprintf("bytes 0-%d/%d", f.acknowledged-1, len(f.data))).Put(f.content, f.data[:f.acknowledged]).Want(http.StatusOK)
	rest := f.data[f.acknowledged:]
	go func() {
		got, err := f.sam.With("Content-Range", contentRange(f.acknowledged, len(f.data))).With("Content-Length", strconv.Itoa(len(rest))).
			Try(context.WithoutCancel(t.Context()), http.MethodPut, f.content, f.body)
		if err != nil {
			t.Errorf("upload %d got no answer: %v", n, err)
		}
		f.answer <- got
	}()
	f.body.give(rest[:150_000])
	return f
}

// land sends what is missing.
func (f *flight) land() {
	f.body.give(f.data[f.acknowledged+150_000:])
	f.body.end()
}

// TestStopUnderUploads: 64 uploads are under way when the server is told to stop. Each client gets an answer: 200 if its bytes still came
// in time, else 503 with Retry-After. Whatever was acknowledged is there after a restart, where the rest is uploaded and arrives whole.
func TestStopUnderUploads(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	mailboxOwner(first)
	flights := make([]*flight, uploadsAtOnce)
	for n := range flights {
		flights[n] = takeOff(t, first, n)
		if n%10 == 9 {
			first.Clock.Advance(time.Hour) // a mailbox takes 20 at once, and one more each minute
		}
	}
	eventually(t, "all uploads are under way", func() bool { return scrape(t, first)["consign_uploads_in_flight"] == uploadsAtOnce })

	var landing sync.WaitGroup
	for _, f := range flights[:uploadsAtOnce/2] {
		landing.Go(f.land)
	}
	began := time.Now()
	first.Stop()
	took := time.Since(began)
	landing.Wait()
	finished, refused := 0, 0
	for n, f := range flights {
		got := <-f.answer
		switch {
		case got == nil: // reported already
		case got.Status == http.StatusOK:
			f.acknowledged = len(f.data)
			finished++
		default:
			checkUnavailable(t, fmt.Sprintf("upload %d", n), got)
			got.WantError(transfer.ErrStopping)
			refused++
		}
		f.body.end()
	}
	if finished == 0 || refused < uploadsAtOnce/2 || took > 10*time.Second {
		t.Errorf("%d uploads finished, %d were refused, the server took %v to stop", finished, refused, took)
	}
	t.Logf("%d uploads finished and %d were refused while the server stopped, which took %v", finished, refused, took)

	s := testkit.New(t, testkit.Beside(first))
	for n, f := range flights {
		f.sam = f.sam.At(s)
		held := number(f.sam.Head(f.content).Want(http.StatusOK).Header, "Content-Length")
		if held < f.acknowledged {
			t.Errorf("upload %d: %d bytes are held, %d were acknowledged", n, held, f.acknowledged)
			continue
		}
		if held < len(f.data) {
			f.sam.With("Content-Range", contentRange(held, len(f.data))).Put(f.content, f.data[held:]).Want(http.StatusOK)
		}
		sent := f.sam.Post(f.reservation+"/confirm", nil).Want(http.StatusOK)
		if got, want := sent.String("objects.0.sha256"), fmt.Sprintf("%x", sha256.Sum256(f.data)); got != want {
			t.Errorf("upload %d arrived as %s, was sent as %s", n, got, want)
		}
	}
}

// TestShutdownDelay: told to stop, a server says at once that it is not ready, and goes on to serve for as long as it was configured to,
// one request a connection, so that a load balancer can turn away from it without a failed request.
func TestShutdownDelay(t *testing.T) {
	t.Parallel()
	const delay = 3 * time.Second
	s := testkit.New(t, testkit.Env("CONSIGN_SHUTDOWN_DELAY", delay.String()))
	began := time.Now()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.Stop()
	}()
	eventually(t, "the server is not ready", func() bool { return s.Stranger().Get("/readyz").Status == http.StatusServiceUnavailable })
	if took := time.Since(began); took > delay {
		t.Fatalf("it took %v until the server said so", took)
	}
	if status, closes, body := exchange(t, s, "GET "+s.Transfer+"/environment HTTP/1.1\r\nHost: localhost\r\n\r\n"); status != http.StatusOK || !closes {
		t.Errorf("answered %d, closes its connection: %t: %s", status, closes, body)
	}
	<-stopped
	if took := time.Since(began); took < delay {
		t.Errorf("the server ended after %v", took)
	}
}

// TestMaintenanceSparesUploads: an upload that is under way when maintenance begins may end; its confirmation waits.
func TestMaintenanceSparesUploads(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	mailboxOwner(s)
	f := takeOff(t, s, 1)
	eventually(t, "the upload is under way", func() bool { return scrape(t, s)["consign_uploads_in_flight"] == 1 })
	if err := s.App.SetMaintenance(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	eventually(t, "maintenance begins", func() bool { return f.sam.Head(f.content).Status == http.StatusServiceUnavailable })
	f.land()
	if got := <-f.answer; got == nil || got.Status != http.StatusOK {
		t.Fatalf("the upload ended with %+v", got)
	}
	checkUnavailable(t, "the confirmation", f.sam.Post(f.reservation+"/confirm", nil))
	if err := s.App.SetMaintenance(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "maintenance ends", func() bool { return f.sam.Head(f.content).Status == http.StatusOK })
	f.sam.Post(f.reservation+"/confirm", nil).Want(http.StatusOK)
}
