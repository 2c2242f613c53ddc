package httpserver_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/httpserver"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
)

// sink is a ResponseWriter that discards the answer.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(int)             {}

func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkPipeline measures the cost of the pipeline around a handler, including its log line, without the network.
func BenchmarkPipeline(b *testing.B) {
	answer := struct {
		ServerVersion string  `json:"serverVersion"`
		AvailableTTL  []int32 `json:"availableTtl"`
	}{"1", []int32{1, 3, 7}}
	environment := func(w http.ResponseWriter, _ *http.Request) error { return httpapi.JSON(w, http.StatusOK, answer) }
	for name, route := range map[string]httpapi.Route{
		"environment": {Method: "GET", Pattern: "/thing", Bucket: httpapi.NoBucket, Handler: environment},
		"bucket": {Method: "GET", Pattern: "/thing", Auth: token.NeedAccess, Handler: environment,
			Bucket: httpapi.PerSession("bench", ratelimit.Limit{Capacity: 1 << 30, PerSecond: 1})},
	} {
		b.Run(name, func(b *testing.B) {
			f := newFixture(b, func(o *httpserver.Options) {
				o.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
				o.Now = time.Now
			}).mount(httpapi.Transfer, route)
			handler := f.api.Handler()
			r := httptest.NewRequestWithContext(f.api.Connected(b.Context(), nil), "GET", "https://consign.test/api/thing", nil)
			r.Header.Set("Authorization", "Bearer good")
			w := &sink{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				handler.ServeHTTP(w, r)
			}
		})
	}
}
