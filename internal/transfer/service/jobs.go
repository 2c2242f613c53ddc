package service

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

const (
	expireBatch = 100 // rows that one transaction of a job handles at most
	endBatch    = 500 // transfers that one transaction ends: requests do not wait for their rows
)

// The names of the periodic jobs. jobs.Runner.RunOnce runs one of them on demand.
const (
	ExpireReservationsJob = "transfer-expire-reservations"
	ExpireTransfersJob    = "transfer-expire-transfers"
	WarnExpiringJob       = "transfer-warn-expiring"
	RemindUnfinishedJob   = "transfer-remind-unfinished"
	RemindJob             = "transfer-remind"
	PurgeJob              = "transfer-purge"
	ReleasePinsJob        = "transfer-release-pins"
	SampleVolumesJob      = "transfer-sample-volumes"
	InspectJob            = "transfer-inspect"
	RetentionJob          = "transfer-retention"
)

func (s *Service) registerJobs() {
	s.jobs.Every(ExpireReservationsJob, time.Minute, s.ExpireReservations)
	s.jobs.Every(ExpireTransfersJob, time.Minute, s.ExpireTransfers)
	s.jobs.Every(WarnExpiringJob, time.Hour, s.WarnExpiring)
	s.jobs.Every(RemindUnfinishedJob, time.Hour, s.RemindUnfinished)
	s.jobs.Every(RemindJob, time.Hour, s.RemindDue)
	s.jobs.Every(PurgeJob, time.Hour, s.Purge)
	s.jobs.Every(ReleasePinsJob, time.Hour, s.ReleasePins)
	s.jobs.Every(SampleVolumesJob, time.Hour, s.SampleVolumes)
	s.jobs.Every(CertifyErasureJob, time.Minute, s.CertifyErasure)
	s.jobs.Every(CertifyPersonsJob, time.Minute, s.CertifyPersons)
	s.jobs.Every(RetentionJob, time.Hour, s.ApplyRetention)
	jobs.Register(s.jobs, s.workRetention)
	s.registerIdentityHooks()
	s.registerInspections()
}

// inBatches repeats a transaction until it processes no row, and calls committed after each. Near ctx's deadline it returns
// jobs.Again.
func (s *Service) inBatches(ctx context.Context, batch func(tx *postgres.Store) (int, error), committed ...func()) error {
	for {
		var n int
		err := s.store.InTx(ctx, func(tx *postgres.Store) error {
			var err error
			n, err = batch(tx)
			return err
		})
		if err != nil || n == 0 {
			return err
		}
		for _, call := range committed {
			call()
		}
		if jobs.DeadlineNear(ctx) {
			return jobs.Again(0)
		}
	}
}
