package httpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
)

// underlying is a stand-in for net/http's writer. It records the calls that reach it.
type underlying struct {
	httptest.ResponseRecorder
	readFrom  int
	source    io.Reader
	deadlines int
	deadline  time.Time     // of the last call of SetWriteDeadline
	reads     []time.Time   // of the calls of SetReadDeadline
	cut       chan struct{} // gets a value when a deadline in the past is set
}

func (u *underlying) ReadFrom(r io.Reader) (int64, error) {
	u.readFrom++
	if limited, isLimited := r.(*io.LimitedReader); isLimited {
		u.source = limited.R
	}
	return io.Copy(struct{ io.Writer }{u.Body}, r)
}

func (u *underlying) SetWriteDeadline(at time.Time) error {
	u.deadlines++
	u.deadline = at
	if u.cut != nil && at.Before(time.Now()) {
		u.cut <- struct{}{}
	}
	return nil
}

func (u *underlying) SetReadDeadline(at time.Time) error {
	u.reads = append(u.reads, at)
	return nil
}

// file returns an open file of random bytes and its content.
func file(t *testing.T, size int) (*os.File, []byte) {
	t.Helper()
	content := make([]byte, size)
	rand.Read(content)
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, content
}

// TestFilesReachReadFrom: net/http's ReadFrom gets the *os.File itself, so that the kernel can send it (sendfile).
func TestFilesReachReadFrom(t *testing.T) {
	t.Parallel()
	const size = 3<<20 + 17
	for name, send := range map[string]func(http.ResponseWriter, *os.File) (int64, error){
		"whole":   func(w http.ResponseWriter, f *os.File) (int64, error) { return io.Copy(w, f) },
		"limited": func(w http.ResponseWriter, f *os.File) (int64, error) { return io.CopyN(w, f, size) },
		"longer":  func(w http.ResponseWriter, f *os.File) (int64, error) { return io.Copy(w, io.LimitReader(f, size*2)) },
	} {
		f, content := file(t, size)
		fx := newFixture(t, nil).route(func(w http.ResponseWriter, _ *http.Request) error {
			if n, err := send(w, f); n != size || err != nil {
				t.Errorf("%s: copied %d, %v", name, n, err)
			}
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
				t.Errorf("%s: ResponseController: %v", name, err)
			}
			return nil
		})
		u := &underlying{ResponseRecorder: *httptest.NewRecorder()}
		r := httptest.NewRequestWithContext(t.Context(), "GET", "https://consign.test/api/thing", nil)
		fx.api.Handler().ServeHTTP(u, r)
		if u.readFrom < 4 || !bytes.Equal(u.Body.Bytes(), content) || u.deadlines < 2 {
			t.Errorf("%s: ReadFrom called %d times, %d bytes, %d deadlines", name, u.readFrom, u.Body.Len(), u.deadlines)
		}
		if _, isSendable := u.source.(interface {
			io.Seeker
			Fd() uintptr
		}); !isSendable {
			t.Errorf("%s: the file arrives as %T", name, u.source)
		}
		if line := fx.log.lines(t, "request")[0]; line["bytes"] != float64(size) || line["status"] != 200.0 {
			t.Errorf("%s: logged %v", name, line)
		}
	}
}

// serveFixture runs the API on a real listener.
func serveFixture(t *testing.T, f *fixture) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(f.api.Handler())
	s.Config.ConnContext = f.api.Connected
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func TestDownloadOverTheNetwork(t *testing.T) {
	t.Parallel()
	f, content := file(t, 5<<20)
	s := serveFixture(t, newFixture(t, nil).route(func(w http.ResponseWriter, r *http.Request) error {
		http.ServeContent(w, r, "f.bin", time.Time{}, f)
		return nil
	}))
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/api/thing", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Range", "bytes=1000-4999999")
	response, err := s.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusPartialContent || !bytes.Equal(got, content[1000:5000000]) {
		t.Errorf("status %d, %d bytes, %v", response.StatusCode, len(got), err)
	}
}

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	read := func(w http.ResponseWriter, r *http.Request) error {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			return err
		}
		return httpapi.JSON(w, http.StatusOK, n)
	}
	f := newFixture(t, nil).mount(httpapi.Transfer,
		httpapi.Route{Method: "POST", Pattern: "/json", Handler: read},
		httpapi.Route{Method: "POST", Pattern: "/image", Handler: read, Body: 10},
		httpapi.Route{Method: "POST", Pattern: "/stream", Handler: read, Body: httpapi.StreamBody},
	)
	big := strings.Repeat("x", 1<<20+1)
	wantError(t, f.do("POST", "/api/json", big), 413001)
	wantStatus(t, f.do("POST", "/api/json", big[1:]), http.StatusOK)
	wantError(t, f.do("POST", "/api/image", big[:11]), 413001)
	wantError(t, f.do("POST", "/api/image", big[:11], func(r *http.Request) { r.ContentLength = -1 }), 413001)
	wantStatus(t, f.do("POST", "/api/image", big[:10]), http.StatusOK)
	wantStatus(t, f.do("POST", "/api/stream", big), http.StatusOK)
	wantError(t, f.do("POST", "/api/stream", "x", func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)), 5
	}), 400001)
}

// TestRefusedBodies: a client that sends the whole body before it reads gets the error answer and can use the connection again.
func TestRefusedBodies(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).mount(httpapi.Transfer, httpapi.Route{Method: "PUT", Pattern: "/picture", Bucket: httpapi.NoBucket, Body: 1 << 20,
		Handler: func(http.ResponseWriter, *http.Request) error { return fault.ErrConflict }})
	s := serveFixture(t, f)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for size, want := range map[int]int{12 << 20: http.StatusRequestEntityTooLarge, 900 << 10: http.StatusConflict} {
		fmt.Fprintf(conn, "PUT /api/picture HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", s.Listener.Addr(), size)
		if _, err := conn.Write(make([]byte, size)); err != nil {
			t.Fatalf("while %d bytes are sent: %v", size, err)
		}
		response, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("after %d bytes: %v", size, err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%d bytes: status %d", size, response.StatusCode)
		}
	}
	fmt.Fprintf(conn, "PUT /api/picture HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", s.Listener.Addr(), int64(1)<<40)
	if response, err := http.ReadResponse(answers, nil); err != nil || response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("the server waits for a body of 1 TB: %v, %v", response, err)
	} else {
		response.Body.Close()
	}
}

// TestCanceledUploadAnswersTheCause: a shutdown cancels the requests' contexts. A handler that waits for bytes ends, and the answer
// is the cause of the cancellation.
func TestCanceledUploadAnswersTheCause(t *testing.T) {
	t.Parallel()
	base, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	reading := make(chan struct{})
	f := newFixture(t, nil).mount(httpapi.Transfer, httpapi.Route{Method: "PUT", Pattern: "/content", Body: httpapi.StreamBody,
		Handler: func(w http.ResponseWriter, r *http.Request) error {
			if _, err := io.ReadFull(r.Body, make([]byte, 4)); err != nil {
				return err
			}
			close(reading)
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return err
			}
			return httpapi.NoContent(w)
		}})
	s := httptest.NewUnstartedServer(f.api.Handler())
	s.Config.BaseContext = func(net.Listener) context.Context { return base }
	s.Start()
	defer s.Close()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "PUT /api/content HTTP/1.1\r\nHost: consign.test\r\nContent-Length: 1000\r\n\r\nhalf"); err != nil {
		t.Fatal(err)
	}
	<-reading
	cancel(fault.ErrUnavailable.With("shutting down").WithRetryAfter(time.Second))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "1" {
		t.Errorf("status %d, headers %v", response.StatusCode, response.Header)
	}
}

// TestAmbiguousBodies: a request whose headers contradict each other about its end is refused, and what follows it is not taken for another
// request. Where Transfer-Encoding counts, Content-Length is ignored (RFC 9112, 6.3).
func TestAmbiguousBodies(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 8)
	f := newFixture(t, nil).mount(httpapi.Transfer, httpapi.Route{Method: "PUT", Pattern: "/picture", Bucket: httpapi.NoBucket, Body: 1 << 20,
		Handler: func(w http.ResponseWriter, r *http.Request) error {
			body, err := io.ReadAll(r.Body)
			bodies <- string(body)
			w.WriteHeader(http.StatusNoContent)
			return err
		}})
	s := serveFixture(t, f)
	const smuggled = "PUT /api/picture HTTP/1.1\r\nHost: consign.test\r\nContent-Length: 8\r\n\r\nsmuggled"
	for headers, want := range map[string]int{
		"Content-Length: 3\r\nContent-Length: 80":               http.StatusBadRequest,
		"Content-Length: 3, 80":                                 http.StatusBadRequest,
		"Content-Length: +3":                                    http.StatusBadRequest,
		"Content-Length : 3":                                    http.StatusBadRequest,
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip": http.StatusNotImplemented,
		"Transfer-Encoding: gzip, chunked":                      http.StatusNotImplemented,
		"Transfer-Encoding: xchunked":                           http.StatusNotImplemented,
		"Transfer-Encoding: chunked\r\nContent-Length: 100":     http.StatusNoContent,
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		chunked := "3\r\nabc\r\n0\r\n\r\n"
		fmt.Fprintf(conn, "PUT /api/picture HTTP/1.1\r\nHost: consign.test\r\nConnection: close\r\n%s\r\n\r\n%s%s", headers, chunked, smuggled)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", headers, err)
		}
		response.Body.Close()
		conn.Close()
		if response.StatusCode != want {
			t.Errorf("%s: status %d", headers, response.StatusCode)
		}
	}
	if len(bodies) != 1 {
		t.Errorf("%d requests reached the handler", len(bodies))
	} else if body := <-bodies; body != "abc" {
		t.Errorf("the body is %q", body)
	}
}

// TestCutWhenDone: a download ends when its session is revoked, even when the client does not read.
func TestCutWhenDone(t *testing.T) {
	t.Parallel()
	blocked, ended := make(chan struct{}), make(chan error, 1)
	ctx, revoke := context.WithCancelCause(context.Background())
	f := newFixture(t, nil).route(func(w http.ResponseWriter, _ *http.Request) error {
		stop := httpapi.CutWhenDone(ctx, w)
		defer stop()
		close(blocked)
		chunk := make([]byte, 1<<20)
		for {
			if _, err := w.Write(chunk); err != nil {
				ended <- err
				return err
			}
		}
	})
	s := serveFixture(t, f)
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /api/thing HTTP/1.1\r\nHost: consign.test\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-blocked
	revoke(errors.New("revoked"))
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the handler saw no error")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the write is still blocked")
	}
}

// TestKeepAliveAfterBodies: requests on one connection do not inherit each other's deadlines.
func TestKeepAliveAfterBodies(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).mount(httpapi.Transfer, httpapi.Route{Method: "POST", Pattern: "/echo", Bucket: httpapi.NoBucket,
		Body: httpapi.StreamBody,
		Handler: func(w http.ResponseWriter, r *http.Request) error {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			return httpapi.JSON(w, http.StatusOK, string(b))
		}})
	s := serveFixture(t, f)
	for i := range 20 {
		request, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/api/echo", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := s.Client().Do(request)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		b, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if string(b) != "\"hello\"\n" {
			t.Fatalf("request %d: %q", i, b)
		}
	}
}

func TestEventStreamNeedsItsMediaType(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).mount(httpapi.Identity, httpapi.Route{Method: "GET", Pattern: "/events", Produces: []string{httpapi.TypeEvents},
		Handler: func(w http.ResponseWriter, r *http.Request) error { return httpapi.NewStream(w, r).Comment() }})
	w := f.do("GET", "/api/events", "", header("Accept", "text/event-stream"))
	if w.Body.String() != ":\n\n" || !w.Flushed || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("body %q, headers %v", w.Body, w.Header())
	}
	wantError(t, f.do("GET", "/api/events", "", header("Accept", "application/json")), 406001)
}

// TestContentLength: every JSON answer has a Content-Length, and HEAD answers that of GET.
func TestContentLength(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 2040, 2048, 2100, 100_000} {
		s := serveFixture(t, newFixture(t, nil).route(func(w http.ResponseWriter, _ *http.Request) error {
			return httpapi.JSON(w, http.StatusOK, strings.Repeat("x", size))
		}))
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			request, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/thing", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := s.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			want := size + len("\"\"\n")
			if err != nil || response.ContentLength != int64(want) || method == http.MethodGet && len(body) != want {
				t.Errorf("%s of %d bytes: Content-Length %d, %d bytes, %v", method, want, response.ContentLength, len(body), err)
			}
		}
	}
}
