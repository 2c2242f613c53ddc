package metrics

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/consign-dev/consign/internal/httpapi"
)

const (
	maxScrapes    = 4 // at once; more are answered with 503
	scrapeTimeout = 5 * time.Second
)

// scrapes answers in the Prometheus text format. promhttp supports more formats and adds 0.3 MB to the binary.
type scrapes struct {
	registry *prometheus.Registry
	log      *slog.Logger
	places   chan struct{}
}

// ServeHTTP implements http.Handler.
func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		http.Error(w, "too many scrapes at once; try again", http.StatusServiceUnavailable)
		return
	}
	families, err := s.registry.Gather()
	if err != nil { // serve what was gathered
		s.log.Warn("a scrape lacks metrics", "error", err)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(scrapeTimeout)) // a test's recorder does not support it
	w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	w.Header().Set("Vary", "Accept-Encoding")
	var out io.Writer = w
	if httpapi.AcceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		compressed := gzip.NewWriter(w)
		defer compressed.Close()
		out = compressed
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(out, f); err != nil {
			s.log.Warn("writing a scrape failed", "error", err)
			return
		}
	}
}
