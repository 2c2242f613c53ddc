// Tests of CORS.

package httpserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/httpapi"
)

func TestCORS(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).route(ok)
	for _, c := range []struct {
		host, origin string
		allowed      bool
	}{
		{"consign.test", "https://consign.test", true},
		{"consign.test", "https://app.example", true},
		{"acme.test", "https://app.example", true},
		{"acme.test", "https://acme.test", true},
		{"acme.test", "https://old.acme.test", true},
		{"old.acme.test", "https://ACME.test", true},
		{"consign.test", "https://acme.test", false},
		{"consign.test", "https://evil.test", false}, // selects the free organization, but is not one of its hostnames
		{"acme.test", "http://acme.test", false},
		{"acme.test", "https://acme.test:8443", false},
		{"acme.test", "https://acme.test.evil.test", false},
		{"acme.test", "https://acme.test/", false},
		{"acme.test", "https://x@acme.test", false},
		{"acme.test", "null", false},
		{"acme.test", "", false},
	} {
		w := f.do("GET", "/api/thing", "", host(c.host), header("Origin", c.origin))
		got := w.Header().Get("Access-Control-Allow-Origin")
		if want := map[bool]string{true: c.origin, false: ""}[c.allowed]; got != want {
			t.Errorf("%s at %s: allowed origin %q", c.origin, c.host, got)
		}
		if w.Header().Get("Access-Control-Allow-Credentials") != "" || w.Header().Get("Vary") != "Origin" {
			t.Errorf("%s: headers %v", c.origin, w.Header())
		}
		preflight := f.do("OPTIONS", "/api/thing", "", host(c.host), header("Origin", c.origin), header("Access-Control-Request-Method", "PUT"))
		if want := map[bool]int{true: 204, false: 405}[c.allowed]; preflight.Code != want {
			t.Errorf("preflight of %s at %s: %d, want %d", c.origin, c.host, preflight.Code, want)
		}
	}
	w := f.do("GET", "/api/thing", "", header("Origin", "https://consign.test"))
	for _, name := range []string{"Authorization", "Location", "ETag", "Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining",
		"Content-Range", "Accept-Ranges", "Warning"} {
		if !strings.Contains(w.Header().Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("%s is not exposed", name)
		}
	}
}

// TestCORSOfUploadOrigins: an origin that Acme lists may call the paths of uploads at Acme's hosts, without a cookie, and nothing else.
func TestCORSOfUploadOrigins(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).mount(httpapi.Transfer, httpapi.Route{Method: "PUT", Pattern: "/uploads/{uid}", Bucket: httpapi.NoBucket,
		Handler: ok})
	for _, c := range []struct {
		host, origin, path string
		allowed            bool
	}{
		{"acme.test", "https://shop.example", "/api/uploads/1", true},
		{"old.acme.test", "https://SHOP.example", "/api/uploads/1", true},
		{"acme.test", "https://shop.example:8443", "/api/uploads/1", true},
		{"acme.test", "https://shop.example:444", "/api/uploads/1", false},
		{"acme.test", "http://shop.example", "/api/uploads/1", false},
		{"acme.test", "https://shop.example https://shop.example:8443", "/api/uploads/1", false},
		{"acme.test", "https://shop", "/api/uploads/1", false},
		{"consign.test", "https://shop.example", "/api/uploads/1", false},
		{"unknown.test", "https://shop.example", "/api/uploads/1", false},
		{"acme.test", "https://shop.example", "/api/thing", false},
		{"acme.test", "https://shop.example", "/api/uploads", false},
		{"acme.test", "https://shop.example", "/api/uploads%2f../thing", false},
		{"acme.test", "https://app.example", "/api/uploads/1", true},
	} {
		w := f.do("PUT", c.path, "", host(c.host), header("Origin", c.origin))
		preflight := f.do("OPTIONS", c.path, "", host(c.host), header("Origin", c.origin), header("Access-Control-Request-Method", "PUT"))
		for _, h := range []http.Header{w.Header(), preflight.Header()} {
			if want := map[bool]string{true: c.origin}[c.allowed]; h.Get("Access-Control-Allow-Origin") != want ||
				h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s at %s%s: headers %v", c.origin, c.host, c.path, h)
			}
		}
		if got := preflight.Header().Get("Access-Control-Max-Age"); (got != "") != c.allowed {
			t.Errorf("preflight of %s at %s%s: Max-Age %q", c.origin, c.host, c.path, got)
		}
	}
}
