package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/consign-dev/consign/internal/audit/stream"
	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/floor"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/httpserver"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/ratelimit/redis"
	"github.com/consign-dev/consign/internal/translog"
)

// Sources are the mechanisms whose numbers are read at each scrape. All but Shared and Volume are required.
type Sources struct {
	API      *httpserver.Server
	DB       *database.DB
	Listener *database.Listener
	Jobs     *jobs.Runner
	Mail     *mail.Mailer
	Receipts *translog.Log
	Limiter  *ratelimit.Limiter
	Shared   *redis.Store  // nil: buckets are in memory
	Volume   *floor.Volume // nil: without file storage

	Memory       func() (used, limit int64) // probe.Memory
	SlowSearches func() int64
	Integrity    func(ctx context.Context) (blob.Integrity, error) // of the stored files
	Writable     func(ctx context.Context) error                   // whether the database can be written

	StorageTrouble func() error     // why the storage did not work when it was last looked at
	Outdated       func() bool      // whether a newer program has migrated the database
	Certificate    func() time.Time // end of the certificate at the public URL; zero: not known

	Audit        func(ctx context.Context) (stream.State, error) // of the stream of the audit
	Scans        func() Scans
	WaitingScans func(ctx context.Context) (waiting int64, oldest time.Duration, err error)

	Webhooks        func() map[string]int64 // attempts of this process by outcome
	WaitingWebhooks func(ctx context.Context) (pending int64, oldestDue time.Duration, err error)
}

// Scans are the inspections of a process.
type Scans struct {
	Verdicts map[string]int64
	Bytes    int64
	Seconds  float64
}

// Watch adds the sources to each scrape.
func (m *Metrics) Watch(s Sources) { m.registry.MustRegister(&collector{Sources: s, metrics: m}) }

// askTimeout caps how long a scrape waits for the database. After that it serves the other metrics.
const askTimeout = 2 * time.Second

type collector struct {
	Sources
	metrics *Metrics
}

// Describe implements prometheus.Collector. Describing nothing makes the collector unchecked.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	out := samples{ch}
	c.http(out)
	c.limits(out)
	c.memory(out)
	c.storage(out)
	c.pool(out)
	c.work(out)
	err := c.waiting(out)
	if err != nil {
		c.metrics.log.Warn("a scrape lacks the metrics that the database provides", "error", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	out.gauge(databaseUp, number(err == nil && c.Writable(ctx) == nil))
}

func (c *collector) http(out samples) {
	s := c.API.Stats()
	out.counter(bytesIn, float64(s.BytesIn))
	out.counter(bytesOut, float64(s.BytesOut))
	out.gauge(uploads, float64(s.Uploads))
	out.gauge(downloads, float64(s.Downloads))
	out.gauge(streams, float64(s.Streams))
	out.counter(slowSearches, float64(c.SlowSearches()))
}

func (c *collector) limits(out samples) {
	for bucket, n := range c.Limiter.Refusals() {
		out.counter(refusals, float64(n), bucket)
	}
	var s redis.Stats
	if c.Shared != nil {
		s = c.Shared.Stats()
	}
	out.gauge(redisAway, number(s.Away))
	out.counter(redisFailures, float64(s.Failures))
	out.counter(redisFallbacks, float64(s.Fallbacks))
}

// memory adds what is used of the limit that the kernel enforces.
func (c *collector) memory(out samples) {
	if used, limit := c.Memory(); limit > 0 {
		out.gauge(memoryUsed, float64(used))
		out.gauge(memoryLimit, float64(limit))
	}
}

// storage adds the last measurement: a scrape never waits for the volume.
func (c *collector) storage(out samples) {
	out.gauge(storageUp, number(c.StorageTrouble() == nil))
	out.gauge(schemaNewer, number(c.Outdated()))
	out.gauge(certificateEnd, seconds(c.Certificate()))
	if c.Volume == nil {
		return
	}
	if s := c.Volume.State(); s.Known {
		out.gauge(storageFree, float64(s.Free))
		out.gauge(storageFloor, float64(s.Floor))
	}
}

func (c *collector) pool(out samples) {
	s := c.DB.Pool.Stat()
	out.gauge(poolMax, float64(s.MaxConns()))
	out.gauge(poolConnections, float64(s.AcquiredConns()), "acquired")
	out.gauge(poolConnections, float64(s.IdleConns()), "idle")
	out.gauge(poolConnections, float64(s.ConstructingConns()), "constructing")
	out.counter(poolAcquires, float64(s.AcquireCount()))
	out.counter(poolEmptyAcquires, float64(s.EmptyAcquireCount()))
	out.counter(poolCanceledAcquires, float64(s.CanceledAcquireCount()))
	out.counter(poolWait, s.EmptyAcquireWaitTime().Seconds())
	out.counter(poolNew, float64(s.NewConnsCount()))
	out.gauge(listenAge, c.Listener.Silence().Seconds())
	out.gauge(listenConfirmed, number(c.Listener.ConfirmedWithin(time.Second)))
}

// work adds the jobs and mails that this process has done, and whether it signs receipts.
func (c *collector) work(out samples) {
	out.counter(jobFailures, float64(c.Jobs.Failures()))
	s := c.Mail.Outcomes()
	out.counter(mailAttempts, float64(s.Sent), "sent")
	out.counter(mailAttempts, float64(s.Postponed), "postponed")
	out.counter(mailAttempts, float64(s.Failed), "failed")
	for outcome, n := range c.Webhooks() {
		out.counter(webhookAttempts, float64(n), outcome)
	}
	scans := c.Scans()
	for verdict, n := range scans.Verdicts {
		out.counter(scanVerdicts, float64(n), verdict)
	}
	out.counter(scanBytes, float64(scans.Bytes))
	out.counter(scanSeconds, scans.Seconds)
	out.gauge(logRefuses, number(c.Receipts.Trouble() != nil))
}

// waiting adds the jobs, mails and log entries that wait in the database.
func (c *collector) waiting(out samples) error {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	queues, err := c.Jobs.Stats(ctx)
	if err != nil {
		return err
	}
	for _, q := range queues {
		out.gauge(jobDepth, float64(q.Due), q.Queue, "due")
		out.gauge(jobDepth, float64(q.Scheduled), q.Queue, "scheduled")
		out.gauge(jobDepth, float64(q.Running), q.Queue, "running")
		out.gauge(jobOldest, q.OldestDue.Seconds(), q.Queue)
	}
	mails, err := c.Mail.Waiting(ctx)
	if err != nil {
		return err
	}
	out.gauge(mailsWaiting, float64(mails.Queued))
	out.gauge(mailOldest, mails.OldestDue.Seconds())
	out.gauge(mailsRefused, float64(mails.Since))
	out.gauge(mailsFailed, float64(mails.Failed))
	deliveries, oldest, err := c.WaitingWebhooks(ctx)
	if err != nil {
		return err
	}
	out.gauge(webhooksWaiting, float64(deliveries))
	out.gauge(webhookOldest, oldest.Seconds())
	scans, longest, err := c.WaitingScans(ctx)
	if err != nil {
		return err
	}
	out.gauge(scansWaiting, float64(scans))
	out.gauge(scanOldest, longest.Seconds())
	unsigned, err := c.Receipts.Waiting(ctx)
	if err != nil {
		return err
	}
	out.gauge(logPending, float64(unsigned))
	attesters, err := c.Receipts.Attesters(ctx)
	if err != nil {
		return err
	}
	for _, a := range attesters {
		out.gauge(logWaiting, a.Waiting.Seconds(), a.Name)
	}
	files, err := c.Integrity(ctx)
	if err != nil {
		return err
	}
	out.gauge(damagedFiles, float64(files.Damaged))
	out.gauge(storageChecked, seconds(files.Checked))
	out.gauge(storageFindings, float64(files.Problems))
	out.gauge(backedUp, seconds(files.BackedUp))
	sent, err := c.Audit(ctx)
	if err != nil {
		return err
	}
	out.gauge(auditWaiting, float64(sent.Waiting))
	out.gauge(auditOldest, sent.Oldest.Seconds())
	return nil
}

// seconds returns a time as Prometheus has it, 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// samples collects the metrics of a scrape.
type samples struct{ ch chan<- prometheus.Metric }

func (s samples) counter(d *prometheus.Desc, value float64, labels ...string) {
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
}

func (s samples) gauge(d *prometheus.Desc, value float64, labels ...string) {
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
