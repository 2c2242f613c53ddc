package app_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestOvertakenUploadClosesItsConnection: an upload that a newer request cuts off is answered with 409 and Connection: close, and the
// connection ends. A pooling proxy must not send somebody else's request on it.
func TestOvertakenUploadClosesItsConnection(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	mailboxOwner(s)
	data := strings.Repeat("consign ", 10_000)
	sam, reservation := reserve(s.Stranger(), "dr-ann", len(data))
	content := reservation + "/objects/a/content"
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
		content, sam.Access, len(data), data[:1000]); err != nil {
		t.Fatal(err)
	}
	answered := make(chan *http.Response, 1)
	reader := bufio.NewReader(conn)
	go func() {
		got, err := http.ReadResponse(reader, nil) //nolint:bodyclose // the test reads the connection to its end and closes it
		if err != nil {
			t.Errorf("no answer: %v", err)
		}
		answered <- got
	}()
	// A request that came before the older one had the lease is cut off itself, with 409. The next one overtakes the older one.
	var got *http.Response
	poll.Until(t, "the older upload is cut off", func() bool {
		if put := sam.Put(content, []byte(data)); put.Status != http.StatusConflict {
			put.Want(http.StatusOK)
		}
		select {
		case got = <-answered:
			return true
		default:
			return false
		}
	})
	if got == nil {
		t.FailNow()
	}
	if got.StatusCode != http.StatusConflict || !got.Close {
		t.Errorf("answered %d, close %v", got.StatusCode, got.Close)
	}
	if _, err := io.Copy(io.Discard, got.Body); err != nil {
		t.Error(err)
	}
	_ = got.Body.Close()
	if n, err := reader.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the connection goes on with %d bytes, %v", n, err)
	} else if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		t.Error("the connection stays open")
	}
}
