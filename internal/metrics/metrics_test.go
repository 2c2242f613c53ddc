package metrics_test

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/httpserver"
	"github.com/consign-dev/consign/internal/metrics"
)

// TestRequest: requests of one kind share a series, and an answer that was cut off has another series than a complete one.
func TestRequest(t *testing.T) {
	t.Parallel()
	m := metrics.New("1.2.3", slog.New(slog.DiscardHandler))
	for _, f := range []httpserver.Finished{
		{Route: "/a/{uid}", Method: "GET", Status: 200, Elapsed: 3 * time.Millisecond},
		{Route: "/a/{uid}", Method: "GET", Status: 206, Elapsed: 30 * time.Millisecond},
		{Route: "/a/{uid}", Method: "GET", Status: 200, Aborted: true},
		{Route: "/a/{uid}", Method: "GET", Status: 509},
		{Route: "/a/{uid}", Method: "GET", Status: 503},
		{Route: "unmatched", Method: "other", Status: 404},
	} {
		m.Request(f)
	}
	m.RevocationKnown(2 * time.Millisecond)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	for _, want := range []string{
		`consign_http_requests_total{method="GET",route="/a/{uid}",status="2xx"} 2`,
		`consign_http_requests_total{method="GET",route="/a/{uid}",status="aborted"} 1`,
		`consign_http_requests_total{method="GET",route="/a/{uid}",status="5xx"} 1`,
		`consign_http_requests_total{method="GET",route="/a/{uid}",status="509"} 1`,
		`consign_http_requests_total{method="other",route="unmatched",status="4xx"} 1`,
		`consign_http_request_duration_seconds_bucket{method="GET",route="/a/{uid}",status="2xx",le="0.0025"} 0`,
		`consign_http_request_duration_seconds_bucket{method="GET",route="/a/{uid}",status="2xx",le="0.005"} 1`,
		`consign_revocation_lag_seconds_bucket{le="0.0025"} 1`,
		`version="1.2.3"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestRequestAllocates checks that counting a known kind of request allocates nothing, because every request is counted.
func TestRequestAllocates(t *testing.T) {
	m := metrics.New("test", slog.New(slog.DiscardHandler))
	f := httpserver.Finished{Route: "/transfer/v2/public/mailbox/{key}", Method: "GET", Status: 200, Elapsed: time.Millisecond}
	if n := testing.AllocsPerRun(100, func() { m.Request(f) }); n > 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	m := metrics.New("test", slog.New(slog.DiscardHandler))
	f := httpserver.Finished{Route: "/transfer/v2/public/mailbox/{key}", Method: "GET", Status: 200, Elapsed: time.Millisecond}
	b.ReportAllocs()
	for b.Loop() {
		m.Request(f)
	}
}

// TestScrapes: a scraper that accepts gzip gets it, and each answer states its format.
func TestScrapes(t *testing.T) {
	t.Parallel()
	m := metrics.New("1.2.3", slog.New(slog.DiscardHandler))
	m.RevocationKnown(time.Millisecond)
	server := httptest.NewServer(m.Handler())
	t.Cleanup(server.Close)
	for encoding, want := range map[string]string{"": "", "gzip": "gzip", "gzip;q=0, identity": ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", encoding)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body := io.Reader(resp.Body)
		if got := resp.Header.Get("Content-Encoding"); got != want {
			t.Errorf("%q is answered as %q", encoding, got)
		} else if got == "gzip" {
			if body, err = gzip.NewReader(resp.Body); err != nil {
				t.Fatal(err)
			}
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"# HELP consign_build_info Always 1; the labels say what runs.",
			"# TYPE consign_revocation_lag_seconds histogram", "consign_revocation_lag_seconds_count 1"} {
			if !strings.Contains(string(text), line+"\n") {
				t.Errorf("%q: %s is missing", encoding, line)
			}
		}
		if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain; version=0.0.4") {
			t.Errorf("Content-Type %s", got)
		}
	}
}
