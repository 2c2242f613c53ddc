// The state of the installation: what is asked, and when it is a warning.

package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/operator"
	"github.com/consign-dev/consign/internal/translog"
)

// What is a warning in the overview.
const (
	checkTimeout = 2 * time.Second
	slowDatabase = 250 * time.Millisecond // of one round trip
	lateJob      = 10 * time.Minute
	lateScan     = 10 * time.Minute
	lateReceipts = 100 // that wait
)

// Overview returns the state of the installation. A part that does not answer within 2 s has failed; that is no error.
func (s *Service) Overview(ctx context.Context) operator.Overview {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	o := operator.Overview{
		Version: s.options.Version, Started: s.started, At: s.options.Now(), Maintenance: s.options.Maintenance().Begun(s.options.Now()),
		Traffic: s.options.Traffic(),
		Redis:   s.redis(),
	}
	var checks sync.WaitGroup
	checks.Go(func() { o.Database = s.database(ctx) })
	checks.Go(func() { o.Storage = s.storage(ctx) })
	checks.Go(func() { o.Mail = s.mail(ctx) })
	checks.Go(func() { o.Jobs = s.jobs(ctx) })
	checks.Go(func() { o.Receipts = s.receipts(ctx) })
	checks.Go(func() { o.Audit = s.audit(ctx) })
	checks.Go(func() { o.Scanner = s.scanner(ctx) })
	checks.Wait()
	return o
}

func (s *Service) database(ctx context.Context) operator.Database {
	pool := s.options.DB.Pool
	d := operator.Database{State: operator.OK, Connections: pool.Stat().AcquiredConns(), Maximum: pool.Stat().MaxConns()}
	begun := time.Now()
	err := pool.Ping(ctx)
	d.Latency = time.Since(begun)
	if err == nil {
		err = s.options.Writable(ctx)
	}
	switch {
	case err != nil:
		d.State = operator.Failed
	case d.Latency > slowDatabase:
		d.State = operator.Warning
	}
	return d
}

func (s *Service) storage(ctx context.Context) operator.Storage {
	if s.options.Volume == nil {
		return operator.Storage{State: operator.Off}
	}
	broken := s.options.Storage() != nil
	v := s.options.Volume.State()
	files, _ := s.options.Integrity(ctx) // an error shows as the state of the database
	o := operator.Storage{State: operator.OK, Free: v.Free, Size: v.Size, Floor: v.Floor, Damaged: files.Damaged, Problems: files.Problems}
	switch {
	case v.Low(), broken:
		o.State = operator.Failed
	case v.Free < 2*v.Floor, !v.Known, o.Damaged > 0, o.Problems > 0:
		o.State = operator.Warning
	}
	return o
}

func (s *Service) redis() operator.Redis {
	if s.options.Shared == nil {
		return operator.Redis{State: operator.Off}
	}
	stats := s.options.Shared.Stats()
	o := operator.Redis{State: operator.OK, Failures: stats.Failures}
	if stats.Away {
		o.State = operator.Warning // each replica counts alone until it answers
	}
	return o
}

func (s *Service) mail(ctx context.Context) operator.Mail {
	w, err := s.options.Mail.Waiting(ctx)
	o := operator.Mail{State: operator.OK, Queued: w.Queued, OldestDue: w.OldestDue, Refused: w.Refused, Sent: w.Sent, Failed: w.Failed}
	switch {
	case err != nil, w.Health() == mail.None:
		o.State = operator.Failed
	case w.Health() == mail.Partly:
		o.State = operator.Warning
	}
	return o
}

func (s *Service) jobs(ctx context.Context) operator.Jobs {
	o := operator.Jobs{State: operator.OK, Failures: s.options.Jobs.Failures()}
	queues, err := s.options.Jobs.Stats(ctx)
	if err != nil {
		o.State = operator.Failed
	}
	for _, q := range queues {
		o.Queues = append(o.Queues, operator.Queue{Name: q.Queue, Due: q.Due, Scheduled: q.Scheduled, Running: q.Running, OldestDue: q.OldestDue})
		if q.OldestDue > lateJob {
			o.State = operator.Warning
		}
	}
	return o
}

func (s *Service) receipts(ctx context.Context) operator.Receipts {
	o := operator.Receipts{State: operator.OK}
	waiting, err := s.options.Receipts.Waiting(ctx)
	o.Waiting = int64(waiting)
	attesters, unknown := s.options.Receipts.Attesters(ctx)
	switch {
	case err != nil, unknown != nil, s.options.Receipts.Trouble() != nil:
		o.State = operator.Failed
	case o.Waiting > lateReceipts, slices.ContainsFunc(attesters, translog.Attester.Late):
		o.State = operator.Warning
	}
	return o
}

func (s *Service) audit(ctx context.Context) operator.Audit {
	o, err := s.options.Audit(ctx)
	if err != nil {
		o.State = operator.Failed
	}
	return o
}

func (s *Service) scanner(ctx context.Context) operator.Scanner {
	o, err := s.options.Scanner(ctx)
	switch {
	case err != nil:
		o.State = operator.Failed
	case o.State == operator.OK && o.OldestDue > lateScan:
		o.State = operator.Warning
	}
	return o
}
