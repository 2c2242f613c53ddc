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

	"github.com/consign-dev/consign/internal/operator"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

// pendingUpload is an upload in flight when the server stops.
type pendingUpload struct {
	sam                  *testkit.Person
	reservation, content string
	data                 []byte
	body                 *tap
	answer               chan *testkit.Response // nil if the request failed
	acknowledged         int
}

const uploadsAtOnce = 64

// beginUpload begins an upload. A first part is acknowledged, a second part is sent, and finish sends the rest.
func beginUpload(t *testing.T, s *testkit.Server, n int) *pendingUpload {
	t.Helper()
	f := &pendingUpload{data: bytes.Repeat([]byte(fmt.Sprintf("upload %d ", n)), 50_000), body: newTap(),
		answer: make(chan *testkit.Response, 1)}
	f.sam, f.reservation = reserve(s.Stranger(), "dr-ann", len(f.data))
	f.content = f.reservation + "/objects/a/content"
	f.acknowledged = 100_000 + 100*n
	f.sam.With("Content-Range", fmt.Sprintf("bytes 0-%d/%d", f.acknowledged-1, len(f.data))).Put(f.content,
		f.data[:f.acknowledged]).Want(http.StatusOK)
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

// finish sends the rest of the file.
func (f *pendingUpload) finish() {
	f.body.give(f.data[f.acknowledged+150_000:])
	f.body.end()
}

// TestStopUnderUploads stops the server during 64 uploads. Each client gets an answer: 200 if its last byte arrived in
// time, else 503 with Retry-After. After a restart all acknowledged bytes are there, and the uploads can be continued.
func TestStopUnderUploads(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	mailboxOwner(first)
	uploads := make([]*pendingUpload, uploadsAtOnce)
	for n := range uploads {
		uploads[n] = beginUpload(t, first, n)
		if n%10 == 9 {
			first.Clock.Advance(time.Hour) // the mailbox's bucket has 20 tokens and drains one a minute
		}
	}
	poll.Until(t, "all uploads are under way", func() bool { return scrape(t, first)["consign_uploads_in_flight"] == uploadsAtOnce })

	var finishing sync.WaitGroup
	for _, f := range uploads[:uploadsAtOnce/2] {
		finishing.Go(f.finish)
	}
	began := time.Now()
	first.Stop()
	took := time.Since(began)
	finishing.Wait()
	finished, refused := 0, 0
	for n, f := range uploads {
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
	for n, f := range uploads {
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

// TestShutdownDelay: a server that is told to stop is not ready at once, but serves during the configured delay. It
// closes each connection after one request, so that a load balancer moves to another server without a failed request.
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
	poll.Until(t, "the server is not ready", func() bool { return s.Stranger().Get("/readyz").Status == http.StatusServiceUnavailable })
	if took := time.Since(began); took > delay {
		t.Fatalf("it took %v until the server was not ready", took)
	}
	if status, closes, body := exchange(t, s, "GET "+s.Transfer+"/environment HTTP/1.1\r\nHost: localhost\r\n\r\n"); status != http.StatusOK ||
		!closes {
		t.Errorf("answered %d, closes its connection: %t: %s", status, closes, body)
	}
	<-stopped
	if took := time.Since(began); took < delay {
		t.Errorf("the server ended after %v", took)
	}
}

// TestMaintenanceSparesUploads: an upload in flight may finish during maintenance. Its confirmation is refused until
// maintenance ends.
func TestMaintenanceSparesUploads(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	mailboxOwner(s)
	f := beginUpload(t, s, 1)
	poll.Until(t, "the upload is under way", func() bool { return scrape(t, s)["consign_uploads_in_flight"] == 1 })
	if err := s.App.SetMaintenance(t.Context(), operator.Maintenance{On: true}); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "maintenance begins", func() bool { return f.sam.Head(f.content).Status == http.StatusServiceUnavailable })
	f.finish()
	if got := <-f.answer; got == nil || got.Status != http.StatusOK {
		t.Fatalf("the upload ended with %+v", got)
	}
	checkUnavailable(t, "the confirmation", f.sam.Post(f.reservation+"/confirm", nil))
	if err := s.App.SetMaintenance(t.Context(), operator.Maintenance{}); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "maintenance ends", func() bool { return f.sam.Head(f.content).Status == http.StatusOK })
	f.sam.Post(f.reservation+"/confirm", nil).Want(http.StatusOK)
}
