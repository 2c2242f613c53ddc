package httpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/httpserver"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit/output"
	"github.com/consign-dev/consign/internal/token"
)

// logbook keeps the log lines of one fixture.
type logbook struct{ output.Buffer }

// lines returns the log's entries with the given message.
func (l *logbook) lines(t *testing.T, message string) []map[string]any {
	t.Helper()
	var all []map[string]any
	decoder := json.NewDecoder(strings.NewReader(l.String()))
	for {
		var line map[string]any
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if line["msg"] == message {
			all = append(all, line)
		}
	}
}

// The hosts of every fixture.
var (
	freeOrg  = id.New[id.Organization]()
	acmeOrg  = id.New[id.Organization]()
	freeHost = hosts.Host{Name: "consign.test", Organization: freeOrg, Free: true, Own: true}
	acmeHost = hosts.Host{Name: "acme.test", Organization: acmeOrg, Own: true, UploadOrigins: "https://shop.example https://shop.example:8443"}
)

func lookup(_ context.Context, name string) (hosts.Host, error) {
	switch name {
	case "consign.test":
		return freeHost, nil
	case "acme.test", "old.acme.test":
		return acmeHost, nil
	case "broken.test":
		return hosts.Host{}, errors.New("connection refused to 10.0.0.1")
	case "nobody.test":
		return hosts.Host{}, fault.ErrNotFound
	}
	other := freeHost
	other.Own = false
	return other, nil
}

type fixture struct {
	api *httpserver.Server
	log *logbook
	now time.Time
}

// newFixture returns a server whose options change may edit. change may be nil.
func newFixture(t testing.TB, change func(*httpserver.Options)) *fixture {
	t.Helper()
	f := &fixture{log: &logbook{}, now: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)}
	now := func() time.Time { return f.now }
	public, err := url.Parse("https://consign.test")
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := seal.New(bytes.Repeat([]byte("k"), 32), nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o := httpserver.Options{
		Limiter: ratelimit.NewLimiter(ratelimit.NewMemory(now), true, log), Hosts: hosts.New(lookup, public, time.Minute, now),
		Sealer: sealer, PublicURL: public, Now: now, Log: log, Authenticate: authenticate,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
		CORSOrigins:    []string{"https://app.example"}, UploadPaths: []string{"/api/uploads/"},
		AddressBucket: ratelimit.Limit{Capacity: 600, PerSecond: 10}, AnonymousSession: 24 * time.Hour,
		Memory: func() (used, limit int64) { return 0, 0 },
	}
	if change != nil {
		change(&o)
	}
	f.api = httpserver.New(o)
	return f
}

// authenticate is a stand-in for the verifier: the bearer token "good" is an access token, any other is invalid.
func authenticate(r *http.Request, a token.Auth) (token.Caller, error) {
	raw, present := token.Bearer(r)
	switch {
	case !present && a.IsOptional():
		return token.Caller{}, nil
	case !present:
		return token.Caller{}, token.ErrMissing
	case raw == "good":
		return token.Caller{Kind: token.KindAccess, Session: goodSession, Person: goodPerson}, nil
	}
	return token.Caller{}, token.ErrInvalid
}

var (
	goodSession = id.New[id.Session]()
	goodPerson  = id.New[id.Person]()
)

// route mounts h at GET /api/thing in the transfer style, without a bucket.
func (f *fixture) route(h httpapi.HandlerFunc) *fixture {
	return f.mount(httpapi.Transfer, httpapi.Route{Method: "GET", Pattern: "/thing", Bucket: httpapi.NoBucket, Handler: h})
}

func (f *fixture) mount(style httpapi.Style, routes ...httpapi.Route) *fixture {
	f.api.Mount("/api", style, routes)
	return f
}

// do serves a request over HTTPS to consign.test; change may edit the request.
func (f *fixture) do(method, path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(context.Background(), method, "https://consign.test"+path, reader)
	r.RemoteAddr = "192.0.2.7:1234"
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	f.api.Handler().ServeHTTP(w, r)
	return w
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = address }
}

func host(name string) func(*http.Request) {
	return func(r *http.Request) { r.Host = name }
}

func plain(r *http.Request) { r.TLS = nil }

type errorAnswer struct {
	Error struct {
		Code    int
		Message string
		Details []string
	}
}

// wantError checks an answer with an error body and returns its details.
func wantError(t *testing.T, w *httptest.ResponseRecorder, code int) []string {
	t.Helper()
	var body errorAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("status %d, body %q: %v", w.Code, w.Body, err)
	}
	if w.Code != code/1000 || body.Error.Code != code || body.Error.Message == "" || body.Error.Details == nil {
		t.Errorf("status %d, body %s; want code %d", w.Code, w.Body, code)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
	return body.Error.Details
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status %d, want %d: %s", w.Code, status, w.Body)
	}
}

func ok(w http.ResponseWriter, _ *http.Request) error { return httpapi.NoContent(w) }
