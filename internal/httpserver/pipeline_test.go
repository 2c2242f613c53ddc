// Tests of what happens to every request: HTTPS, host, headers, errors, panics and the access log.

package httpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/httpserver"
	"github.com/consign-dev/consign/internal/token"
)

func TestHTTPSRule(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpserver.Options) { o.RequireHTTPS = true }).route(ok)
	f.api.Probe("/healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	proto := header("X-Forwarded-Proto", "https")
	for name, c := range map[string]struct {
		change []func(*http.Request)
		served bool
	}{
		"own TLS":                   {nil, true},
		"plain":                     {[]func(*http.Request){plain}, false},
		"trusted proxy, https":      {[]func(*http.Request){plain, from("10.1.2.3:5"), proto}, true},
		"trusted IPv6 proxy":        {[]func(*http.Request){plain, from("[fd00::1]:5"), proto}, true},
		"trusted proxy, mapped":     {[]func(*http.Request){plain, from("[::ffff:10.1.2.3]:5"), proto}, true},
		"trusted proxy, http":       {[]func(*http.Request){plain, from("10.1.2.3:5"), header("X-Forwarded-Proto", "http")}, false},
		"trusted proxy, forged":     {[]func(*http.Request){plain, from("10.1.2.3:5"), header("X-Forwarded-Proto", "https, http")}, false},
		"trusted proxy, no header":  {[]func(*http.Request){plain, from("10.1.2.3:5")}, false},
		"untrusted peer says https": {[]func(*http.Request){plain, proto}, false},
	} {
		w := f.do("GET", "/api/thing", "", c.change...)
		if c.served {
			wantStatus(t, w, http.StatusNoContent)
			if w.Header().Get("Strict-Transport-Security") == "" {
				t.Errorf("%s: no HSTS", name)
			}
			continue
		}
		if details := wantError(t, w, 403001); !strings.Contains(strings.Join(details, ""), "CONSIGN_TRUSTED_PROXIES") {
			t.Errorf("%s: details %q", name, details)
		}
		if w.Header().Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: HSTS over plain HTTP", name)
		}
	}
	wantStatus(t, f.do("GET", "/healthz", "", plain, host("nobody.test")), http.StatusOK)
	if n := len(f.log.lines(t, "ignoring forwarding headers from a peer that is not listed in CONSIGN_TRUSTED_PROXIES")); n != 1 {
		t.Errorf("%d warnings about untrusted headers, want 1", n)
	}
}

func TestClientAddressAndHost(t *testing.T) {
	t.Parallel()
	var seen token.Client
	f := newFixture(t, nil).route(func(w http.ResponseWriter, r *http.Request) error {
		seen = httpapi.Client(r.Context())
		if seen.Host != token.CallerFrom(r.Context()).Client.Host {
			t.Error("the client in the context has another host")
		}
		return httpapi.NoContent(w)
	})
	forwarded := func(values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["X-Forwarded-For"] = values }
	}
	for name, c := range map[string]struct {
		change  []func(*http.Request)
		address string
		host    string
	}{
		"direct": {nil, "192.0.2.7", "consign.test"},
		"untrusted forwards": {[]func(*http.Request){forwarded("1.1.1.1"), header("X-Forwarded-Host", "acme.test")}, "192.0.2.7",
			"consign.test"},
		"one hop":       {[]func(*http.Request){from("10.0.0.1:1"), forwarded("1.1.1.1")}, "1.1.1.1", "consign.test"},
		"client forged": {[]func(*http.Request){from("10.0.0.1:1"), forwarded("9.9.9.9, 1.1.1.1")}, "1.1.1.1", "consign.test"},
		"two proxies": {[]func(*http.Request){from("10.0.0.1:1"), forwarded("9.9.9.9, 1.1.1.1, 10.0.0.2")}, "1.1.1.1",
			"consign.test"},
		"two header lines": {[]func(*http.Request){from("10.0.0.1:1"), forwarded("9.9.9.9", "1.1.1.1,10.0.0.2")}, "1.1.1.1",
			"consign.test"},
		"ports and brackets": {[]func(*http.Request){from("10.0.0.1:1"), forwarded("[2001:db8::1]:99, 10.0.0.3:80")}, "2001:db8::1",
			"consign.test"},
		"all trusted": {[]func(*http.Request){from("10.0.0.1:1"), forwarded("10.0.0.3, 10.0.0.2")}, "10.0.0.3", "consign.test"},
		"malformed address": {[]func(*http.Request){from("10.0.0.1:1"), forwarded("1.1.1.1, unknown, 10.0.0.2")}, "10.0.0.2",
			"consign.test"},
		"empty": {[]func(*http.Request){from("10.0.0.1:1"), forwarded("")}, "10.0.0.1", "consign.test"},
		"forwarded host": {[]func(*http.Request){from("10.0.0.1:1"), header("X-Forwarded-Host", "evil.test, Acme.test:443")},
			"10.0.0.1", "acme.test"},
		"inactive host":  {[]func(*http.Request){host("old.acme.test:8443")}, "192.0.2.7", "acme.test"},
		"any other host": {[]func(*http.Request){host("203.0.113.1")}, "192.0.2.7", "consign.test"},
		"malformed host from a proxy": {[]func(*http.Request){from("10.0.0.1:1"), header("X-Forwarded-Host", "a b\x00<>")}, "10.0.0.1",
			"consign.test"},
	} {
		seen = token.Client{}
		wantStatus(t, f.do("GET", "/api/thing", "", c.change...), http.StatusNoContent)
		if seen.Address.String() != c.address || seen.Host.Name != c.host {
			t.Errorf("%s: %s at %s, want %s at %s", name, seen.Address, seen.Host.Name, c.address, c.host)
		}
	}
	wantError(t, f.do("GET", "/api/thing", "", host("nobody.test")), 404001)
	wantError(t, f.do("GET", "/api/thing", "", host("broken.test")), 500001)
}

func TestRouting(t *testing.T) {
	t.Parallel()
	var param string
	f := newFixture(t, nil).mount(httpapi.Identity,
		httpapi.Route{Method: "GET", Pattern: "/emails/{address}", Bucket: httpapi.NoBucket,
			Handler: func(w http.ResponseWriter, r *http.Request) error {
				param = httpapi.Param(r, "address")
				return httpapi.JSON(w, http.StatusOK, map[string]string{"a": "b&c"})
			}},
		httpapi.Route{Method: "DELETE", Pattern: "/emails/{address}", Handler: ok},
		httpapi.Route{Method: "POST", Pattern: "/gone", Gone: true},
		httpapi.Route{Method: "GET", Pattern: "/old", Handler: ok, Deprecated: `use "new"`, DeprecatedSince: time.Unix(1700000000, 0)},
		httpapi.Route{Method: "GET", Pattern: "/text", Handler: ok, Produces: []string{"text/plain", "application/json"}},
	)
	f.api.Gone("/api/v1")
	w := f.do("GET", "/api/emails/ann%2Fb%40x.test", "")
	wantStatus(t, w, http.StatusOK)
	if param != "ann/b@x.test" || w.Body.String() != "{\"a\":\"b&c\"}\n" {
		t.Errorf("param %q, body %q", param, w.Body)
	}
	if w = f.do("HEAD", "/api/emails/x", ""); w.Code != http.StatusOK {
		t.Errorf("HEAD of a GET route: %d", w.Code)
	}
	w = f.do("PUT", "/api/emails/x", "")
	wantError(t, w, 405001)
	if got := w.Header().Get("Allow"); got != "GET, HEAD, DELETE" {
		t.Errorf("Allow %q", got)
	}
	wantError(t, f.do("OPTIONS", "/api/emails/x", ""), 405001)
	wantError(t, f.do("BREW", "/api/emails/x", ""), 405001)
	wantError(t, f.do("BREW", "/nowhere", ""), 404001)
	wantError(t, f.do("GET", "/nowhere", ""), 404001)
	wantError(t, f.do("GET", "/api/emails/x/", ""), 404001)
	wantError(t, f.do("POST", "/api/gone", ""), 410001)
	for _, path := range []string{"/api/v1", "/api/v1/", "/api/v1/profile?x=y"} {
		wantError(t, f.do("POST", path, ""), 410001)
	}
	w = f.do("GET", "/api/old", "")
	if w.Header().Get("Warning") != `299 - "use \"new\""` || w.Header().Get("Deprecation") != "@1700000000" {
		t.Errorf("headers %v", w.Header())
	}
	for accept, status := range map[string]int{"text/plain": 204, "text/*;q=0.1": 204, "image/png": 406,
		"text/plain;q=0, application/json;q=0": 406, "": 204, "*/*": 204} {
		wantStatus(t, f.do("GET", "/api/text", "", header("Accept", accept)), status)
	}
	wantError(t, f.do("GET", "/api/old", "", header("Accept", "text/html")), 406001)
	wantStatus(t, f.do("GET", "/api/old", "", header("Accept", "text/html"), header("Accept", "application/*")), 204)
	if n := len(f.api.Routes()); n != 5 {
		t.Errorf("%d routes listed", n)
	}
}

func TestMountRefusesDuplicates(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).route(ok)
	defer func() {
		if recover() == nil {
			t.Error("mounted one operation twice")
		}
	}()
	f.route(ok)
}

func TestHeadersOnEveryAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).route(ok)
	ids := map[string]bool{}
	for _, path := range []string{"/api/thing", "/nowhere"} {
		h := f.do("GET", path, "", header("X-Request-Id", "client-chosen-id")).Header()
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, h)
		}
		ids[h.Get("X-Request-Id")] = true
	}
	if len(ids) != 2 || ids[""] || ids["client-chosen-id"] {
		t.Errorf("request ids %v", ids)
	}
	proxy := from("10.0.0.1:1")
	if got := f.do("GET", "/api/thing", "", proxy, header("X-Request-Id", "proxy-chosen-id")).Header().Get(
		"X-Request-Id"); got != "proxy-chosen-id" {
		t.Errorf("id from a trusted proxy: %q", got)
	}
	for _, bad := range []string{"short", "white space", strings.Repeat("x", 65), "new\nline-new"} {
		if got := f.do("GET", "/api/thing", "", proxy, header("X-Request-Id", bad)).Header().Get("X-Request-Id"); got == bad {
			t.Errorf("accepted the id %q", bad)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	var result error
	f := newFixture(t, func(o *httpserver.Options) {
		o.Classify = func(err error) error {
			if err.Error() == "no database" {
				return fault.ErrUnavailable.WithRetryAfter(5 * time.Second).Because(err)
			}
			return err
		}
	}).route(func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("ETag", `"x"`)
		return result
	})
	for _, c := range []struct {
		err        error
		code       int
		retryAfter string
	}{
		{fault.ErrConflict.With("reread"), 409001, ""},
		{errors.Join(errors.New("x"), fault.ErrForbidden), 403001, ""},
		{fault.ErrUnavailable.WithRetryAfter(1500 * time.Millisecond), 503001, "2"},
		{errors.New("no database"), 503001, "5"},
		{errors.New("secret /path"), 500001, ""},
		{context.DeadlineExceeded, 503001, "5"},
		{fmt.Errorf("store: %w", &fs.PathError{Op: "open", Path: "/secret", Err: syscall.EMFILE}), 503001, "5"}, // of the process
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.ENFILE)}, 503001, "5"},              // of the machine
		{context.Canceled, 503001, "5"},                                                                         // not the request's own context
		{&http.MaxBytesError{Limit: 7}, 413001, ""},
		{fault.ErrUnauthenticated, 401001, ""},
	} {
		result = c.err
		w := f.do("GET", "/api/thing", "")
		wantError(t, w, c.code)
		if strings.Contains(w.Body.String(), "secret") || w.Header().Get("Retry-After") != c.retryAfter || w.Header().Get("ETag") != "" {
			t.Errorf("%v: headers %v, body %s", c.err, w.Header(), w.Body)
		}
		if (w.Header().Get("WWW-Authenticate") == "Bearer") != (c.code == 401001) {
			t.Errorf("%v: WWW-Authenticate %q", c.err, w.Header().Get("WWW-Authenticate"))
		}
	}
	lines := f.log.lines(t, "request")
	if !slices.ContainsFunc(lines, func(l map[string]any) bool { return l["error"] == "secret /path" && l["level"] == "ERROR" }) {
		t.Error("the cause of a 500 is not in the log")
	}
}

func TestCanceledContext(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).route(func(_ http.ResponseWriter, r *http.Request) error { return r.Context().Err() })
	within := func(cause error) func(*http.Request) {
		return func(r *http.Request) {
			ctx, cancel := context.WithCancelCause(r.Context())
			cancel(cause)
			*r = *r.WithContext(ctx)
		}
	}
	wantError(t, f.do("GET", "/api/thing", "", within(fault.ErrUnavailable.With("shutting down"))), 503001)
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
				t.Error("the connection of a client that left was not cut")
			}
		}()
		f.do("GET", "/api/thing", "", within(nil))
	}()
	lines := f.log.lines(t, "request")
	if last := lines[len(lines)-1]; last["status"] != 499.0 || last["level"] != "INFO" {
		t.Errorf("logged %v", last)
	}
}

func TestPanics(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).mount(httpapi.Transfer,
		httpapi.Route{Method: "GET", Pattern: "/early", Handler: func(http.ResponseWriter, *http.Request) error { panic("boom") }},
		httpapi.Route{Method: "GET", Pattern: "/late", Handler: func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = io.WriteString(w, "begun")
			panic("boom")
		}},
		httpapi.Route{Method: "GET", Pattern: "/broken", Handler: func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = io.WriteString(w, "begun")
			return errors.New("disk read failed")
		}},
		httpapi.Route{Method: "GET", Pattern: "/abort", Handler: func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) }},
	)
	w := f.do("GET", "/api/early", "")
	if wantError(t, w, 500001); strings.Contains(w.Body.String(), "boom") {
		t.Error("the answer shows the panic")
	}
	for _, path := range []string{"/api/late", "/api/broken", "/api/abort"} {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("%s: the connection was not cut", path)
				}
			}()
			f.do("GET", path, "")
		}()
	}
	lines := f.log.lines(t, "request")
	if len(lines) != 4 || lines[0]["stack"] == nil || lines[0]["error"] != "panic: boom" || lines[2]["error"] != "disk read failed" ||
		lines[2]["aborted"] != true {
		t.Errorf("logged %v", lines)
	}
	for i, want := range []string{"ERROR", "ERROR", "ERROR", "INFO"} { // a server error is logged as an error even after bytes were sent
		if lines[i]["level"] != want {
			t.Errorf("logged %v", lines[i])
		}
	}
}

func TestAccessLine(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).mount(httpapi.Transfer, httpapi.Route{Method: "GET", Pattern: "/t/{key}", Auth: token.NeedAccess,
		Handler: func(w http.ResponseWriter, _ *http.Request) error {
			return httpapi.JSON(w, http.StatusOK, 12345)
		}})
	w := f.do("GET", "/api/t/SECRETKEY?otk=SECRETQUERY", "", header("Authorization", "Bearer good"))
	f.do("GET", "/SECRETPATH", "")
	f.do("SECRETMETHOD", "/", "")
	f.do("GET", "/api/t/SECRETKEY", "", header("Authorization", "Bearer SECRETTOKEN"))
	lines := f.log.lines(t, "request")
	if len(lines) != 4 {
		t.Fatalf("%d lines for 4 requests", len(lines))
	}
	first := lines[0]
	for k, v := range map[string]any{"method": "GET", "route": "/api/t/{key}", "status": 200.0, "bytes": 6.0,
		"request_id": w.Header().Get("X-Request-Id"), "client": "192.0.2.7", "host": "consign.test", "level": "INFO"} {
		if first[k] != v {
			t.Errorf("%s = %v, want %v", k, first[k], v)
		}
	}
	if strings.Contains(f.log.String(), "SECRET") {
		t.Errorf("the log holds a secret:\n%s", f.log)
	}
}

func TestMaintenance(t *testing.T) {
	t.Parallel()
	on := true
	f := newFixture(t, func(o *httpserver.Options) { o.Maintenance = func() bool { return on } }).route(ok)
	f.api.Probe("/readyz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	w := f.do("GET", "/api/thing", "", header("Origin", "https://consign.test"))
	wantError(t, w, 503001)
	if w.Header().Get("Retry-After") != "60" || w.Header().Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("headers %v", w.Header())
	}
	wantStatus(t, f.do("GET", "/readyz", ""), http.StatusOK)
	on = false
	wantStatus(t, f.do("GET", "/api/thing", ""), http.StatusNoContent)
}

func TestPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.api.Handle("/m/{key}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if httpapi.Client(r.Context()).Host.Name != "consign.test" {
			t.Error("the page's request has no host")
		}
		if httpapi.Param(r, "key") == "bad" {
			httpapi.WriteError(w, r, fault.ErrNotFound)
			return
		}
		_, _ = io.WriteString(w, "page")
	}))
	if w := f.do("GET", "/m/demo", ""); w.Body.String() != "page" {
		t.Errorf("body %q", w.Body)
	}
	wantError(t, f.do("GET", "/m/bad", ""), 404001)
	if line := f.log.lines(t, "request")[0]; line["route"] != "/m/{key}" {
		t.Errorf("logged %v", line)
	}
}

func TestWriteErrorOutsideOfAnAPI(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	httpapi.WriteError(w, nil, fault.ErrNotFound)
	wantError(t, w, 404001)
	w = httptest.NewRecorder()
	httpapi.WriteError(w, nil, errors.New("x"))
	wantError(t, w, 500001)
}
