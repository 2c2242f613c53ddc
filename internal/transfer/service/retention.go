package service

import (
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// retentionJob applies changed rules to the transfers of an organization. It does one batch, and enqueues the job for the next in the same
// transaction.
type retentionJob struct {
	Organization id.Organization `json:"organization"`
	After        postgres.Place  `json:"after"`
}

// Kind implements river.JobArgs.
func (retentionJob) Kind() string { return "transfer_retention" }

func (s *Service) workRetention(ctx context.Context, job retentionJob) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		next, err := tx.Retain(ctx, job.Organization, job.After, endBatch)
		if err != nil || next == nil {
			return err
		}
		return s.enqueue(ctx, tx.Tx(), retentionJob{Organization: job.Organization, After: *next})
	})
}

// ApplyRetention erases receipts, rows of mails and entries of the audit that their organization keeps no longer. Transfers go with those
// that expire.
func (s *Service) ApplyRetention(ctx context.Context) error {
	now := s.now()
	receipts := s.inBatches(ctx, func(tx *postgres.Store) (int, error) { return tx.EraseOldReceipts(ctx, now, expireBatch) })
	mails := s.deleteOverdue(ctx, now, s.store.OverdueMails, s.mailer.DeleteOf)
	return errors.Join(receipts, mails, s.deleteOverdue(ctx, now, s.store.OverdueAudit, audit.DeleteOf))
}

// deleteOverdue deletes what is due by the rules that list returns, in batches.
func (s *Service) deleteOverdue(ctx context.Context, now time.Time, list func(context.Context, time.Time) ([]postgres.Overdue, error),
	remove func(context.Context, database.Querier, []id.Organization, []time.Time) (int, error)) error {
	rules, err := list(ctx, now)
	if err != nil || len(rules) == 0 {
		return err
	}
	of, before := make([]id.Organization, len(rules)), make([]time.Time, len(rules))
	for i, r := range rules {
		of[i], before[i] = r.Organization, r.Before
	}
	for {
		n, err := remove(ctx, s.store.Querier(), of, before)
		if err != nil || n == 0 {
			return err
		}
		if jobs.DeadlineNear(ctx) {
			return jobs.Again(0)
		}
	}
}
