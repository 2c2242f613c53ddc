// Package metrics owns the names, labels and help of every metric and serves them to Prometheus. The mechanisms count for themselves
// and do not import it: it reads their numbers at each scrape. Only histograms are observed as they happen: requests and
// revocations.
//
// A label never holds a value that a client chose: routes are patterns, methods and buckets are declared, and unknown ones share one
// name. docs/use/metrics.md describes each metric; a test compares the two.
package metrics

import (
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/httpserver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics are all metrics of one process.
type Metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.CounterVec
	latency    *prometheus.HistogramVec
	revocation prometheus.Histogram
	log        *slog.Logger

	// series caches the metrics of each kind, which is faster than a lookup by labels. A stored map is never written to: a new
	// kind stores a copy.
	series    atomic.Pointer[map[kind]series]
	beginning sync.Mutex // serializes copies of series
}

// kind is the label set of a request.
type kind struct{ route, method, class string }

type series struct {
	count   prometheus.Counter
	latency prometheus.Observer
}

// New returns the metrics of a program of this version, without sources.
func New(version string, log *slog.Logger) *Metrics {
	labels := []string{"route", "method", "status"}
	m := &Metrics{
		registry: prometheus.NewRegistry(), log: log,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "consign_http_requests_total",
			Help: "Requests that have ended, by route pattern, method and class of the status; 509: refused by a full bucket; aborted: the " +
				"connection was cut before the answer was complete.",
		}, labels),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "consign_http_request_duration_seconds",
			Help:    "Time from a request's header to the end of its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60},
		}, labels),
		revocation: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "consign_revocation_lag_seconds",
			Help:    "Time from the publication of a revocation to its being known on this replica.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
	}
	m.series.Store(&map[kind]series{})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "consign_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.latency, m.revocation, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Request counts a finished request: httpserver.Options.Observe.
func (m *Metrics) Request(f httpserver.Finished) {
	k := kind{route: f.Route, method: f.Method, class: class(f)}
	s, ok := (*m.series.Load())[k]
	if !ok {
		s = m.begin(k)
	}
	s.count.Inc()
	s.latency.Observe(f.Elapsed.Seconds())
}

// begin creates the metrics of a new kind.
func (m *Metrics) begin(k kind) series {
	s := series{
		count:   m.requests.WithLabelValues(k.route, k.method, k.class),
		latency: m.latency.WithLabelValues(k.route, k.method, k.class),
	}
	m.beginning.Lock()
	defer m.beginning.Unlock()
	all := maps.Clone(*m.series.Load())
	all[k] = s
	m.series.Store(&all)
	return s
}

// RevocationKnown records how long a revocation took to arrive: token.Revocations.OnKnown.
func (m *Metrics) RevocationKnown(lag time.Duration) { m.revocation.Observe(lag.Seconds()) }

// class returns the class of a request's status. 509 has its own: it is a rate limit of the identity API, not a server error.
func class(f httpserver.Finished) string {
	if f.Aborted {
		return "aborted"
	}
	if f.Status == 509 {
		return "509"
	}
	switch f.Status / 100 {
	case 2:
		return "2xx"
	case 3:
		return "3xx"
	case 4:
		return "4xx"
	}
	return "5xx"
}

// Handler serves scrapes.
func (m *Metrics) Handler() http.Handler {
	return &scrapes{registry: m.registry, log: m.log, places: make(chan struct{}, maxScrapes)}
}
