package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/powercut"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// tap is a request body that the test feeds piece by piece.
type tap struct {
	mu     sync.Mutex
	moved  *sync.Cond
	buffer []byte
	ended  bool
}

func newTap() *tap {
	t := &tap{}
	t.moved = sync.NewCond(&t.mu)
	return t
}

// Read implements io.Reader.
func (t *tap) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.buffer) == 0 && !t.ended {
		t.moved.Wait()
	}
	if len(t.buffer) == 0 {
		return 0, io.EOF
	}
	n := copy(p, t.buffer)
	t.buffer = t.buffer[n:]
	t.moved.Broadcast()
	return n, nil
}

func (t *tap) give(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buffer = append(t.buffer, p...)
	t.moved.Broadcast()
}

// drained waits until the client has read everything given so far.
func (t *tap) drained() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.buffer) > 0 {
		t.moved.Wait()
	}
}

func (t *tap) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.moved.Broadcast()
}

// contentRange returns the Content-Range of bytes first to the end of total bytes.
func contentRange(first, total int) string {
	return fmt.Sprintf("bytes %d-%d/%d", first, total-1, total)
}

// mailboxOwner makes Ann with her mailbox dr-ann.
func mailboxOwner(s *testkit.Server) *testkit.Person {
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "dr-ann"}).Want(http.StatusCreated)
	return ann
}

// begin reserves an upload of data to dr-ann and sends the first n bytes. content is the path of the object's bytes.
func begin(s *testkit.Server, data []byte, n int) (sam *testkit.Person, reservation, content string) {
	sam, reservation = reserve(s.Stranger(), "dr-ann", len(data))
	content = reservation + "/objects/a/content"
	sam.With("Content-Range", fmt.Sprintf("bytes 0-%d/%d", n-1, len(data))).Put(content, data[:n]).Want(http.StatusOK)
	return sam, reservation, content
}

// TestStopDuringUpload: a server that is told to stop answers an upload in flight with 503 at once and keeps the
// acknowledged bytes. A server started on the same data continues the upload.
func TestStopDuringUpload(t *testing.T) {
	t.Parallel()
	first := testkit.New(t)
	mailboxOwner(first)
	data := bytes.Repeat([]byte("consign "), 100_000)
	sam, reservation, content := begin(first, data, 300_000)

	body := newTap()
	uploaded := make(chan *testkit.Response, 1)
	go func() {
		got, err := sam.With("Content-Range", contentRange(300_000, len(data))).With("Content-Length", "500000").
			Try(context.WithoutCancel(t.Context()), http.MethodPut, content, body)
		if err != nil {
			t.Errorf("the upload got no answer: %v", err)
		}
		uploaded <- got
	}()
	body.give(data[300_000:500_000])
	body.drained()
	// Bytes are sent until the server reports a checkpoint.
	acknowledged, next := 0, 500_000
	poll.Until(t, "a part of the upload is held", func() bool {
		body.give(data[next : next+1])
		next++
		acknowledged = number(sam.Head(content).Header, "Content-Length")
		return acknowledged > 300_000
	})
	began := time.Now()
	first.Stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the server took %v to stop", took)
	}
	got := <-uploaded
	if got == nil {
		t.FailNow()
	}
	checkUnavailable(t, "the upload", got)
	got.WantError(transfer.ErrStopping)
	body.end()

	s := testkit.New(t, testkit.Beside(first))
	sam = sam.At(s)
	if held := number(sam.Head(content).Want(http.StatusOK).Header, "Content-Length"); held < acknowledged {
		t.Fatalf("%d bytes are held, %d were acknowledged", held, acknowledged)
	}
	finish(t, sam, reservation, data)
}

// TestClientVanishes: when a client disconnects in the middle of a chunk, the bytes that arrived stay, and it
// continues from HEAD.
func TestClientVanishes(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	mailboxOwner(s)
	data := bytes.Repeat([]byte("consign "), 100_000)
	sam, reservation := reserve(s.Stranger(), "dr-ann", len(data))
	content := reservation + "/objects/a/content"
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Range: %s\r\nContent-Length: "+
		"%d\r\n\r\n%s",
		content, sam.Access, contentRange(0, len(data)), len(data), data[:400_000])
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "what arrived is held", func() bool { return number(sam.Head(content).Header, "Content-Length") == 400_000 })
	finish(t, sam, reservation, data)
	if strings.Contains(s.Log(), `"status":500`) || strings.Contains(s.Log(), `"level":"ERROR"`) {
		t.Error("a client that leaves is logged as an error of ours")
	}
}

// TestDiskAway: while the file system of the objects is not mounted (the mount point is empty), uploads and downloads
// answer 503. Acknowledged bytes stay.
func TestDiskAway(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	mailboxOwner(s)
	data := bytes.Repeat([]byte("consign "), 1000)
	sam, reservation, content := begin(s, data, 3000)
	late, other := reserve(s.Stranger(), "dr-ann", 1000)

	dir := filepath.Join(s.DataDir, "objects")
	if err := errors.Join(os.Rename(dir, dir+".unmounted"), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	checkUnavailable(t, "the upload", sam.With("Content-Range", contentRange(3000, len(data))).Put(content, data[3000:]))
	checkUnavailable(t, "another upload", late.Put(other+"/objects/a/content", bytes.Repeat([]byte("y"), 1000)))
	if held := number(sam.Head(content).Want(http.StatusOK).Header, "Content-Length"); held != 3000 {
		t.Errorf("%d bytes are held, 3000 were acknowledged", held)
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".unmounted", dir)); err != nil {
		t.Fatal(err)
	}
	finish(t, sam, reservation, data)
	if strings.Contains(s.Log(), `"status":500`) {
		t.Error("something answered 500")
	}
}

// TestDiskFull: an upload on a full disk answers 503 and keeps the acknowledged bytes. Other uploads answer 503 too.
// Once there is room, they continue.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Blobs(powercut.New(powercut.Options{Capacity: 1_000_000})))
	mailboxOwner(s)
	big, other := reserve(s.Stranger(), "dr-ann", 600_000)
	big.Put(other+"/objects/a/content", bytes.Repeat([]byte("x"), 600_000)).Want(http.StatusOK)

	data := bytes.Repeat([]byte("consign "), 100_000)
	sam, reservation, path := begin(s, data, 300_000)
	full := sam.With("Content-Range", contentRange(300_000, len(data))).Put(path, data[300_000:]).WantError(transfer.ErrStorageFull)
	checkUnavailable(t, "the upload", full)
	held := number(sam.Head(path).Want(http.StatusOK).Header, "Content-Length")
	if held < 300_000 {
		t.Fatalf("%d bytes are held, 300000 were acknowledged", held)
	}
	late, third := reserve(s.Stranger(), "dr-ann", 1000)
	checkUnavailable(t, "another upload", late.Put(third+"/objects/a/content", bytes.Repeat([]byte("y"), 1000)))
	big.Get(other).Want(http.StatusOK) // what needs no room goes on

	big.Delete(other).Want(http.StatusNoContent)
	poll.Until(t, "there is room again", func() bool {
		if err := s.App.Jobs.RunOnce(t.Context(), content.PurgeBytesJob); err != nil {
			t.Fatal(err)
		}
		got := late.Put(third+"/objects/a/content", bytes.Repeat([]byte("y"), 1000))
		return got.Status == http.StatusOK
	})
	finish(t, sam, reservation, data)
	if strings.Contains(s.Log(), `"status":500`) {
		t.Error("something answered 500")
	}
}
