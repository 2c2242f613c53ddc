package app_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

// TestStorageFloor: the volume runs full during Sam's upload. The upload ends with 503 and keeps what arrived, no other upload
// begins, /readyz says why, and Ann still signs in, reads and deletes. With room again, Sam continues.
func TestStorageFloor(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	var free atomic.Int64
	free.Store(50 * gib)
	s := testkit.New(t, testkit.Space(func(string) (int64, int64, error) { return free.Load(), 100 * gib, nil }))
	ann := mailboxOwner(s)
	const size = 30 << 20
	data := []byte(strings.Repeat("consign ", size/8))
	sam, reservation := reserve(s.Stranger(), "dr-ann", size)
	if _, text := fetch(t, s.Admin+"/readyz"); text != "ready\n" {
		t.Errorf("/readyz says %q", text)
	}
	body := newTap()
	type result struct {
		r   *testkit.Response
		err error
	}
	done := make(chan result, 1)
	go func() {
		r, err := sam.With("Content-Range", contentRange(0, size)).Try(context.WithoutCancel(t.Context()), http.MethodPut,
			reservation+"/objects/a/content", body)
		done <- result{r, err}
	}()
	body.give(data[:1<<20])
	poll.Until(t, "the upload is under way", func() bool { return scrape(t, s)["consign_http_request_bytes_total"] >= 1<<20 })
	free.Store(2*gib - 1)
	body.give(data[1<<20:])
	body.end()
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	checkUnavailable(t, "the upload", got.r.WantError(transfer.ErrStorageFull))
	held := number(sam.Head(reservation+"/objects/a/content").Want(http.StatusOK).Header, "Content-Length")
	if held < 1<<20 || held > 9<<20 {
		t.Errorf("%d bytes are held", held)
	}
	late, third := reserve(s.Stranger(), "dr-ann", 10)
	checkUnavailable(t, "another upload", late.Put(third+"/objects/a/content", []byte("0123456789")))
	poll.Until(t, "/readyz is degraded", func() bool {
		status, text := fetch(t, s.Admin+"/readyz")
		return status == http.StatusOK && strings.HasPrefix(text, "degraded: ") && strings.Contains(text, "CONSIGN_STORAGE_FLOOR")
	})
	now := scrape(t, s)
	if now["consign_storage_free_bytes"] != 2*gib-1 || now["consign_storage_floor_bytes"] != 2*gib {
		t.Errorf("metrics say %v free, floor %v", now["consign_storage_free_bytes"], now["consign_storage_floor_bytes"])
	}
	ann.Login().Get(s.Identity + "/profile").Want(http.StatusOK)
	ann.Get(s.Transfer + "/transfers").Want(http.StatusOK)
	if !strings.Contains(s.Log(), "uploads are refused: the volume has less free space") {
		t.Error("the log does not say so")
	}
	free.Store(50 * gib)
	finish(t, sam, reservation, data)
}
