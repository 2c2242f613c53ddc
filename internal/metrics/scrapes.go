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

// scrapes answers in the text format that every Prometheus reads. promhttp knows others too, for which the program would be larger by
// 0.3 MB and touch as much more memory.
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
	if err != nil { // what could be gathered is told all the same
		s.log.Warn("a scrape misses metrics", "error", err)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(scrapeTimeout)) // not possible in a test's recorder
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
			s.log.Warn("a scrape was not taken", "error", err)
			return
		}
	}
}
