// Tests of rate limits of requests.

package httpserver_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/httpserver"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
)

func limited(t *testing.T, style httpapi.Style, b httpapi.Bucketing, change func(*httpserver.Options)) *fixture {
	t.Helper()
	return newFixture(t, change).mount(style, httpapi.Route{Method: "GET", Pattern: "/thing", Auth: token.NeedAccess.Optional(), Bucket: b,
		Handler: ok})
}

func sessionOf(w *httptest.ResponseRecorder) *http.Cookie {
	for _, c := range w.Result().Cookies() {
		if c.Name == "__Host-session" {
			return c
		}
	}
	return nil
}

func cookie(c *http.Cookie) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value}) }
}

func TestGeneralBucketBothStyles(t *testing.T) {
	t.Parallel()
	for style, code := range map[httpapi.Style]int{httpapi.Transfer: 429001, httpapi.Identity: 509001} {
		f := limited(t, style, httpapi.General, nil)
		bearer := header("Authorization", "Bearer good")
		for i := range 60 {
			w := f.do("GET", "/api/thing", "", bearer)
			wantStatus(t, w, http.StatusNoContent)
			if w.Header().Get("X-RateLimit-Limit") != "60" || w.Header().Get("X-RateLimit-Remaining") != "59" && i == 0 {
				t.Fatalf("headers %v", w.Header())
			}
			if w.Header().Get("RateLimit-Policy") != `"general";q=60;w=60` || w.Header().Get("RateLimit") != `"general";r=59` && i == 0 {
				t.Fatalf("headers %v", w.Header())
			}
			if sessionOf(w) != nil {
				t.Fatal("an authenticated caller got an anonymous session")
			}
		}
		w := f.do("GET", "/api/thing", "", bearer)
		if details := wantError(t, w, code); len(details) != 1 || !strings.Contains(details[0], "Retry-After") {
			t.Errorf("details %q do not say when to retry", details)
		}
		if w.Header().Get("Retry-After") != "1" || w.Header().Get("X-RateLimit-Remaining") != "0" ||
			w.Header().Get("RateLimit") != `"general";r=0;t=1` ||
			!strings.Contains(w.Body.String(), "Maximum number of concurrent API requests reached.") {
			t.Errorf("headers %v, body %s", w.Header(), w.Body)
		}
		f.now = f.now.Add(time.Second)
		wantStatus(t, f.do("GET", "/api/thing", "", bearer), http.StatusNoContent)
	}
}

func TestParallelRequestsNeverExceedTheBucket(t *testing.T) {
	t.Parallel()
	f := limited(t, httpapi.Transfer, httpapi.General, nil)
	var passed, refused atomic.Int64
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			switch w := f.do("GET", "/api/thing", ""); w.Code {
			case http.StatusNoContent:
				passed.Add(1)
			case http.StatusTooManyRequests:
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if passed.Load() != 60 || refused.Load() != 140 {
		t.Errorf("%d passed, %d refused of 200", passed.Load(), refused.Load())
	}
}

func TestAnonymousSession(t *testing.T) {
	t.Parallel()
	f := limited(t, httpapi.Transfer, httpapi.General, nil)
	c := sessionOf(f.do("GET", "/api/thing", ""))
	if c == nil || !c.HttpOnly || !c.Secure || c.Domain != "" || c.SameSite != http.SameSiteLaxMode || c.Path != "/" {
		t.Fatalf("cookie %+v", c)
	}
	for range 59 { // the other tokens of the address's bucket
		f.do("GET", "/api/thing", "")
	}
	w := f.do("GET", "/api/thing", "")
	wantError(t, w, 429001)
	if sessionOf(w) != nil {
		t.Error("a refused client got a session")
	}
	w = f.do("GET", "/api/thing", "", cookie(c))
	wantStatus(t, w, http.StatusNoContent)
	if sessionOf(w) != nil || w.Header().Get("X-RateLimit-Remaining") != "59" {
		t.Errorf("the session has no bucket of its own: %v", w.Header())
	}
	forged := *c
	forged.Value = "A" + c.Value[1:]
	if c.Value[0] == 'A' {
		forged.Value = "B" + c.Value[1:]
	}
	wantError(t, f.do("GET", "/api/thing", "", cookie(&forged)), 429001)
	wantError(t, f.do("GET", "/api/thing", "", cookie(&http.Cookie{Name: "__Host-session", Value: "x"})), 429001)
	wantError(t, f.do("GET", "/api/thing", "", cookie(&http.Cookie{Name: "session", Value: c.Value})), 429001) // a subdomain can set that name
	f.now = f.now.Add(25 * time.Hour)
	w = f.do("GET", "/api/thing", "", cookie(c))
	if sessionOf(w) == nil {
		t.Error("an expired session was not replaced")
	}
	c = sessionOf(w)
	w = f.do("GET", "/api/thing", "", cookie(c), host("acme.test"))
	if sessionOf(w) == nil {
		t.Error("the session of another host was accepted")
	}
}

func TestAddressesOfAnIPv6NetworkShareABucket(t *testing.T) {
	t.Parallel()
	f := limited(t, httpapi.Transfer, httpapi.PerAddress("probe", ratelimit.Limit{Capacity: 2, PerSecond: 0.1}), nil)
	wantStatus(t, f.do("GET", "/api/thing", "", from("[2001:db8:0:1::1]:1")), 204)
	wantStatus(t, f.do("GET", "/api/thing", "", from("[2001:db8:0:1:ffff::2]:1")), 204)
	w := f.do("GET", "/api/thing", "", from("[2001:db8:0:1:1:2:3:4]:1"))
	wantStatus(t, w, 429)
	if w.Header().Get("Retry-After") != "10" || w.Header().Get("X-RateLimit-Limit") != "2" {
		t.Errorf("headers %v", w.Header())
	}
	wantStatus(t, f.do("GET", "/api/thing", "", from("[2001:db8:0:2::1]:1")), 204)
	wantStatus(t, f.do("GET", "/api/thing", "", from("192.0.2.1:1")), 204)
	wantStatus(t, f.do("GET", "/api/thing", "", from("@")), 204)
}

func TestInvalidTokensTakeFromTheAddressBucket(t *testing.T) {
	t.Parallel()
	for style, code := range map[httpapi.Style]int{httpapi.Transfer: 429001, httpapi.Identity: 509001} {
		f := limited(t, style, httpapi.NoBucket, nil)
		for range 600 {
			w := f.do("GET", "/api/thing", "", header("Authorization", "Bearer bad"))
			if w.Code != http.StatusUnauthorized || w.Header().Get("X-RateLimit-Limit") != "" {
				t.Fatalf("status %d, headers %v", w.Code, w.Header())
			}
		}
		w := f.do("GET", "/api/thing", "", header("Authorization", "Bearer bad"))
		wantError(t, w, code)
		if w.Header().Get("X-RateLimit-Limit") != "600" {
			t.Errorf("headers %v", w.Header())
		}
		w = f.do("GET", "/api/thing", "", header("Authorization", "Bearer good"))
		wantStatus(t, w, http.StatusNoContent)
		if w.Header().Get("X-RateLimit-Limit") != "" || sessionOf(f.do("GET", "/api/thing", "")) != nil {
			t.Error("a route without a bucket took a token")
		}
	}
}

func TestRateLimitOff(t *testing.T) {
	t.Parallel()
	f := limited(t, httpapi.Transfer, httpapi.General, func(o *httpserver.Options) {
		o.Limiter = ratelimit.NewLimiter(ratelimit.NewMemory(o.Now), false, slog.New(slog.DiscardHandler))
	})
	for range 100 {
		w := f.do("GET", "/api/thing", "")
		if w.Code != http.StatusNoContent || w.Header().Get("X-RateLimit-Limit") != "" || sessionOf(w) != nil {
			t.Fatalf("status %d, headers %v", w.Code, w.Header())
		}
	}
}
