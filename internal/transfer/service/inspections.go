// Inspects files: a queue with leases, repeats, new signatures, and a scanner that is away.

package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/scan"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// ScanOptions say how files are inspected. Without a Scanner nothing is.
type ScanOptions struct {
	Scanner  scan.Scanner
	Limit    int64         // bytes of a file that are sent at most
	Streams  int           // files that a replica sends at a time
	Pool     int64         // bytes of the files that a replica sends at a time; a larger file goes alone
	Patience time.Duration // after which a file without a verdict is failed; it is tried again
	Rescan   time.Duration // how long after the delivery new signatures are applied
	Infected time.Duration // after which the bytes of an infected file are deleted
}

const (
	inspectQueue = "transfer_inspect"
	inspectRun   = time.Hour        // of one job
	inspectLease = time.Minute      // of a file that a server scans; renewed
	inspectBatch = 500              // rows of one statement
	inspectPause = 10 * time.Second // after the scanner did not answer
	triesToFail  = 3
	versionAge   = time.Minute // of the scanner's version that is stored with a verdict
)

// inspectJob inspects the files that are due.
type inspectJob struct{}

// Kind implements river.JobArgs.
func (inspectJob) Kind() string { return "transfer_inspect" }

// inspections is the state of the inspections of a process.
type inspections struct {
	ScanOptions

	room  *semaphore.Weighted
	away  atomic.Int64 // until when the scanner is not asked, Unix nanoseconds by the real clock
	stats scanStats

	mu    sync.Mutex
	taken map[id.Object]bool // contents that this process scans
}

// scanStats count what a process has done.
type scanStats struct {
	mu       sync.Mutex
	verdicts map[transfer.ScanState]int64
	bytes    int64
	seconds  float64
}

func newInspections(o ScanOptions) *inspections {
	return &inspections{ScanOptions: o, room: semaphore.NewWeighted(max(o.Pool, 1)), taken: map[id.Object]bool{},
		stats: scanStats{verdicts: map[transfer.ScanState]int64{}}}
}

func (s *Service) registerInspections() {
	if s.inspections.Scanner == nil {
		return
	}
	s.jobs.AddQueue(inspectQueue, 1)
	jobs.RegisterLong(s.jobs, inspectRun, func(ctx context.Context, _ inspectJob) error { return s.inspectAll(ctx) })
	s.jobs.Every(InspectJob, time.Minute, s.KeepInspections)
}

// queueInspection gives a new transfer the gate of its policy and queues its objects.
func (s *Service) queueInspection(ctx context.Context, tx *postgres.Store, r postgres.HeldReservation, t id.Transfer) error {
	if s.inspections.Scanner == nil {
		return nil
	}
	gate, inspected := r.Facts.Inspection.Gate(r.Kind, r.Inspection)
	if !inspected {
		return nil
	}
	queued, err := tx.InsertInspections(ctx, t, gate, s.now())
	if err != nil || !queued {
		return err
	}
	return s.inspectSoon(ctx, tx)
}

// inspectSoon enqueues the job for when tx's transaction has committed.
func (s *Service) inspectSoon(ctx context.Context, tx *postgres.Store) error {
	if err := s.jobs.Enqueue(ctx, tx.Tx(), inspectJob{}, jobs.On(inspectQueue)); err != nil {
		return fmt.Errorf("enqueue inspection: %w", err)
	}
	return nil
}

// KeepInspections is the periodic part. It deletes infected bytes after their retention, makes files due again when the signatures have
// changed, makes files failed that wait too long while the scanner does not answer, and enqueues the files that are due. A stopped server
// may have left some.
func (s *Service) KeepInspections(ctx context.Context) error {
	i, now := s.inspections, s.now()
	if n, err := s.store.RemoveInfected(ctx, now.Add(-i.Infected), now, inspectBatch); err != nil || n > 0 {
		if err != nil {
			return err
		}
		if err := s.store.InTx(ctx, func(tx *postgres.Store) error { return s.content.PurgeSoon(ctx, tx) }); err != nil {
			return err
		}
	}
	version, err := i.Scanner.Version(ctx)
	if err != nil {
		return s.scannerAway(ctx, err)
	}
	if version.Signatures != "" {
		if _, err := s.store.Rescan(ctx, version.Engine, version.Signatures, now.Add(-i.Rescan), now, inspectBatch); err != nil {
			return err
		}
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error { return s.inspectSoon(ctx, tx) })
}

// scannerAway fails what waits longer than the patience, and lets the scanner rest.
func (s *Service) scannerAway(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.inspections.away.Store(time.Now().Add(inspectPause).UnixNano())
	s.log.WarnContext(ctx, "the malware scanner does not answer", "error", cause)
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		waiting, err := tx.WaitingInspections(ctx, s.now().Add(-s.inspections.Patience), inspectBatch)
		if err != nil || len(waiting) == 0 {
			return 0, err
		}
		uids, err := tx.LockInspected(ctx, waiting)
		if err != nil {
			return 0, err
		}
		failed, err := tx.FailInspections(ctx, waiting)
		if err != nil {
			return 0, err
		}
		s.inspections.stats.add(transfer.Failed, int64(failed))
		return len(waiting), s.settle(ctx, tx, uids, false)
	})
}

// inspectAll inspects until nothing is due, several files at a time.
func (s *Service) inspectAll(ctx context.Context) error {
	i := s.inspections
	if time.Now().UnixNano() < i.away.Load() {
		return nil // KeepInspections enqueues another job
	}
	version, err := i.Scanner.Version(ctx)
	if err != nil {
		return s.scannerAway(ctx, err)
	}
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go s.renewInspections(work)
	errs := make([]error, i.Streams)
	var all sync.WaitGroup
	for n := range errs {
		all.Go(func() {
			if errs[n] = s.inspectSome(work, version); errs[n] != nil {
				stop(errs[n])
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if jobs.DeadlineNear(ctx) {
		return jobs.Again(0)
	}
	return nil
}

// inspectSome inspects one file after the other until none is due. It asks for the scanner's version again after a while. A verdict that
// named newer signatures than were used would not be renewed; one that names older ones is merely made again.
func (s *Service) inspectSome(ctx context.Context, version scan.Version) error {
	asked := time.Now()
	for !jobs.DeadlineNear(ctx) && time.Now().UnixNano() >= s.inspections.away.Load() {
		if time.Since(asked) > versionAge {
			newer, err := s.inspections.Scanner.Version(ctx)
			if err != nil {
				return s.scannerAway(ctx, err)
			}
			version, asked = newer, time.Now()
		}
		due, found, err := s.store.TakeInspection(ctx, s.now(), s.now().Add(inspectLease))
		if err != nil || !found {
			return err
		}
		if err := s.inspect(ctx, due, version); err != nil {
			return err
		}
	}
	return nil
}

// inspect inspects one file by a scanner of a version. A scanner that gives no verdict is no error: the file is due again later.
func (s *Service) inspect(ctx context.Context, due postgres.DueInspection, version scan.Version) error {
	i := s.inspections
	defer i.keep(due.Content)()
	weight := min(due.Bytes, i.Limit, i.Pool)
	if err := i.room.Acquire(ctx, weight); err != nil {
		return fmt.Errorf("wait for room to scan: %w", err)
	}
	defer i.room.Release(weight)
	start := time.Now()
	v, err := s.content.Inspect(ctx, i.Scanner, due.Content, due.Bytes)
	if ctx.Err() != nil {
		return context.Cause(ctx) // the lease ends, and another server goes on
	}
	if err != nil {
		return s.postpone(ctx, due, err)
	}
	i.stats.scanned(transfer.ScanState(v.State), min(due.Bytes, i.Limit), time.Since(start))
	return s.saveVerdict(ctx, due.Content, v, version)
}

// keep notes that this process scans a content; release ends that.
func (i *inspections) keep(o id.Object) (release func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.taken[o] = true
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.taken, o)
	}
}

// renewInspections keeps the leases of what this process scans until ctx ends.
func (s *Service) renewInspections(ctx context.Context) {
	every := time.NewTicker(inspectLease / 3)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		s.inspections.mu.Lock()
		taken := slices.Collect(maps.Keys(s.inspections.taken))
		s.inspections.mu.Unlock()
		if err := s.store.RenewInspections(ctx, taken, s.now().Add(inspectLease)); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "renewing leases of inspections failed", "error", err)
		}
	}
}

// postpone puts off a file that got no verdict: 10 s, then four times as long each time, at most an hour.
func (s *Service) postpone(ctx context.Context, due postgres.DueInspection, cause error) error {
	s.log.WarnContext(ctx, "a file was not inspected", "object", due.Content.String(), "attempt", due.Attempts, "error", cause)
	pause := min(inspectPause<<(2*min(due.Attempts-1, 5)), time.Hour)
	failed := due.Attempts >= triesToFail || due.CreatedAt.Before(s.now().Add(-s.inspections.Patience))
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		uids, err := tx.LockInspected(ctx, []id.Object{due.Content})
		if err != nil {
			return err
		}
		changed, err := tx.PostponeInspection(ctx, due.Content, s.now().Add(pause), failed)
		if err != nil || !changed {
			return err
		}
		s.inspections.stats.add(transfer.Failed, 1)
		return s.settle(ctx, tx, uids, false)
	})
}

// saveVerdict stores a verdict and tells the people concerned.
func (s *Service) saveVerdict(ctx context.Context, content id.Object, v scan.Verdict, version scan.Version) error {
	stored := transfer.Scan{State: transfer.ScanState(v.State), Engine: version.Engine, Signatures: version.Signatures, Finding: v.Finding,
		At: s.now()}
	for _, rule := range v.Content {
		if !slices.Contains(stored.Rules, string(rule)) {
			stored.Rules = append(stored.Rules, string(rule))
		}
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		uids, err := tx.LockInspected(ctx, []id.Object{content})
		if err != nil {
			return err
		}
		before, err := tx.SaveInspection(ctx, content, stored, time.Time{})
		if err != nil || before == stored.State {
			return err
		}
		return s.settle(ctx, tx, uids, stored.State == transfer.Infected)
	})
}

// errNoScanner refuses an inspection.
var errNoScanner = fault.ErrConflict.With("no scanner is configured: set CONSIGN_SCANNER_URL")

// InspectAgain lets a transfer, or one object, be inspected again.
// Errors: transfer.ErrNotFound when nothing of it can be inspected; fault.ErrConflict without a scanner.
func (s *Service) InspectAgain(ctx context.Context, by audit.Actor, uid id.Transfer) (int, error) {
	if !s.Inspects() {
		return 0, errNoScanner
	}
	n, err := 0, error(nil)
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if n, err = tx.InspectAgain(ctx, uid, id.Object(uid), s.now()); err != nil {
			return err
		}
		if n == 0 {
			return transfer.ErrNotFound
		}
		if err := s.record(ctx, tx, by, audit.Entry{Action: "transfer.inspect", Object: uid.String()}); err != nil {
			return err
		}
		return s.inspectSoon(ctx, tx)
	})
	return n, err
}

// Inspects reports whether files are inspected.
func (s *Service) Inspects() bool { return s.inspections.Scanner != nil }

// ScannerStatus is the scanner as it answers now, and what waits for it.
type ScannerStatus struct {
	Version  scan.Version
	Trouble  error    // why it does not answer
	Warnings []string // about its configuration
	Queue    postgres.InspectionCounts
}

// ScannerStatus asks the scanner.
func (s *Service) ScannerStatus(ctx context.Context) (st ScannerStatus, err error) {
	if st.Queue, err = s.store.InspectionQueue(ctx); err != nil || !s.Inspects() {
		return st, err
	}
	if st.Version, st.Trouble = s.inspections.Scanner.Version(ctx); st.Trouble == nil {
		st.Warnings, st.Trouble = s.inspections.Scanner.Warnings(ctx)
	}
	return st, nil
}

// ScanStats are what this process has scanned.
type ScanStats struct {
	Verdicts map[transfer.ScanState]int64
	Bytes    int64
	Seconds  float64
}

// ScanStats returns what this process has scanned.
func (s *Service) ScanStats() ScanStats {
	i := &s.inspections.stats
	i.mu.Lock()
	defer i.mu.Unlock()
	return ScanStats{Verdicts: maps.Clone(i.verdicts), Bytes: i.bytes, Seconds: i.seconds}
}

// InspectionQueue returns what waits in the whole installation.
func (s *Service) InspectionQueue(ctx context.Context) (postgres.InspectionCounts, error) {
	return s.store.InspectionQueue(ctx)
}

func (c *scanStats) add(state transfer.ScanState, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.verdicts[state] += n
}

func (c *scanStats) scanned(state transfer.ScanState, bytes int64, d time.Duration) {
	c.add(state, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += bytes
	c.seconds += d.Seconds()
}
