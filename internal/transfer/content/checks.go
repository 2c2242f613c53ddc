// Checks of all stored files that operators start: one at a time, with a lease, and resumed after a kill.

package content

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Operators start a check of all stored files, which is Fsck as a job. One runs at a time. A server works on it while it has the lease,
// which it renews, and saves how far it is. When it dies, the lease ends, and ResumeChecksJob lets another server go on.
//
// ScrubJob starts one, too, so that damage is found while a backup still has the bytes. It reads so slowly that people do not notice, until
// an operator wants a check.

const (
	// ResumeChecksJob is the name of the periodic job that goes on with a check whose server died.
	ResumeChecksJob = "transfer-resume-checks"
	// CleanChecksJob is the name of the periodic job that deletes old checks.
	CleanChecksJob = "transfer-clean-checks"
	// ScrubJob is the name of the periodic job that starts a check when the last one is long ago.
	ScrubJob = "transfer-scrub"

	checkRun      = 24 * time.Hour // of one job; the next one goes on
	checkLease    = time.Minute
	checkBeat     = 5 * time.Second // between renewals, and before a cancelled check notices
	checkSave     = 2 * time.Second // between two saves
	checkProblems = 100             // that are kept
	checksKept    = 400 * 24 * time.Hour

	scrubEvery = 30 * 24 * time.Hour // after the last complete check
	scrubAgain = 24 * time.Hour      // after one that was cancelled
	scrubTime  = 20 * 24 * time.Hour // in which a scrub reads everything
	scrubRate  = 4 << 20             // bytes a second that it reads at least
	scrubFile  = 64 << 10            // bytes that a file counts at least: small ones cost queries instead
)

// checkJob works on a check.
type checkJob struct {
	Check id.StorageCheck `json:"check"`
}

// Kind implements river.JobArgs.
func (checkJob) Kind() string { return "transfer_check_storage" }

func (s *Service) registerChecks() {
	jobs.RegisterLong(s.jobs, checkRun, func(ctx context.Context, j checkJob) error { return s.workCheck(ctx, j.Check) })
	s.jobs.Every(ResumeChecksJob, time.Minute, s.ResumeChecks)
	s.jobs.Every(ScrubJob, time.Hour, s.Scrub)
	s.jobs.Every(RecheckJob, 15*time.Minute, s.RecheckDamaged)
	s.jobs.Every(CleanChecksJob, 24*time.Hour, func(ctx context.Context) error { return s.store.DeleteChecks(ctx, s.now().Add(-checksKept)) })
}

// StartCheck starts a check of all stored files, or returns the one that runs. A scrub goes on at full speed.
func (s *Service) StartCheck(ctx context.Context, by audit.Actor) (transfer.StorageCheck, error) {
	return s.startCheck(ctx, by, false)
}

// Scrub starts a check that reads slowly, when the last complete one is long ago.
func (s *Service) Scrub(ctx context.Context) error {
	now := s.now()
	due, err := s.store.ScrubDue(ctx, now.Add(-scrubEvery), now.Add(-scrubAgain))
	if err == nil && due {
		_, err = s.startCheck(ctx, audit.Actor{Kind: audit.Job}, true)
	}
	return err
}

func (s *Service) startCheck(ctx context.Context, by audit.Actor, scrub bool) (c transfer.StorageCheck, err error) {
	uid := id.New[id.StorageCheck]()
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		began, err := tx.InsertCheck(ctx, uid, scrub, s.now())
		if err != nil {
			return err
		}
		if !began {
			if !scrub {
				if err := tx.HurryCheck(ctx); err != nil {
					return err
				}
			}
			c, err = tx.RunningCheck(ctx)
			return err
		}
		if err := s.jobs.Enqueue(ctx, tx.Tx(), checkJob{uid}); err != nil {
			return err
		}
		if err := audit.Append(ctx, tx.Tx(), s.now(), audit.Entry{Actor: by, Action: "storage.check", Object: uid.String()}); err != nil {
			return err
		}
		c, err = tx.StorageCheck(ctx, uid)
		return err
	})
	return c, err
}

// CancelCheck ends a check that runs, within 5 s. One that has ended stays as it is.
// Errors: transfer.ErrNoCheck.
func (s *Service) CancelCheck(ctx context.Context, by audit.Actor, uid id.StorageCheck) (c transfer.StorageCheck, err error) {
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		ended, err := tx.CancelCheck(ctx, uid, s.now())
		if err == nil && ended {
			err = audit.Append(ctx, tx.Tx(), s.now(), audit.Entry{Actor: by, Action: "storage.check.cancel", Object: uid.String()})
		}
		if err != nil {
			return err
		}
		c, err = tx.StorageCheck(ctx, uid)
		return err
	})
	return c, err
}

// Checks returns the newest checks, the last first, without their problems.
func (s *Service) Checks(ctx context.Context, limit int) ([]transfer.StorageCheck, error) {
	return s.store.StorageChecks(ctx, limit)
}

// Check returns a check with its first problems.
// Errors: transfer.ErrNoCheck.
func (s *Service) Check(ctx context.Context, uid id.StorageCheck) (transfer.StorageCheck, error) {
	return s.store.StorageCheck(ctx, uid)
}

// AcceptOrphans is AcceptStorage by an operator. Parallel calls follow each other.
func (s *Service) AcceptOrphans(ctx context.Context, by audit.Actor) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockStorageMark(ctx); err != nil {
			return err
		}
		if err := audit.Append(ctx, tx.Tx(), s.now(), audit.Entry{Actor: by, Action: "storage.accept"}); err != nil {
			return err
		}
		return s.AcceptStorage(ctx)
	})
}

// SweepOff reports whether orphans are not removed until an operator accepts the storage: its mark is not that of the database, or the
// newest check that has ended found it so, by real time as AcceptStorage.
func (s *Service) SweepOff(ctx context.Context, newest []transfer.StorageCheck) (bool, error) {
	mark, err := s.checkMark(ctx)
	if errors.Is(err, errSweepOff) {
		return true, nil
	}
	for _, c := range newest {
		if c.State == transfer.CheckDone {
			return c.SweepOff && c.StartedAt.After(mark.Accepted), err
		}
	}
	return false, err
}

// StorageSize counts what is stored, at most once a minute.
func (s *Service) StorageSize(ctx context.Context) (transfer.StorageSize, error) {
	return s.size.Get(struct{}{}, func() (transfer.StorageSize, error) { return s.store.StorageSize(ctx) })
}

// ResumeChecks enqueues a job for a check that no server works on. A job too many finds the lease taken.
func (s *Service) ResumeChecks(ctx context.Context) error {
	abandoned, err := s.store.AbandonedChecks(ctx)
	if err != nil || len(abandoned) == 0 {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		return s.jobs.Enqueue(ctx, tx.Tx(), checkJob{abandoned[0]})
	})
}

// errCheckTaken ends the work on a check that was cancelled or that another server works on.
var errCheckTaken = errors.New("the check was cancelled, or another server works on it")

// workCheck goes on with a check until it has ended or ctx ends.
func (s *Service) workCheck(ctx context.Context, uid id.StorageCheck) error {
	epoch, err := s.store.LeaseCheck(ctx, uid, checkLease)
	if err != nil || epoch == 0 {
		return err
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer func() { // another server goes on at once
		_, _, _ = s.store.RenewCheck(context.WithoutCancel(ctx), uid, epoch, 0)
	}()
	pace := rate.NewLimiter(rate.Inf, bufferSize)
	go s.renewCheck(working, stop, uid, epoch, pace)
	err = s.runCheck(working, uid, epoch, pace)
	if errors.Is(err, errCheckTaken) || errors.Is(context.Cause(working), errCheckTaken) {
		return nil
	}
	return err
}

// renewCheck renews the lease until ctx ends, and stops the work when the lease is lost. It takes the pace away when an operator wants the
// check.
func (s *Service) renewCheck(ctx context.Context, stop context.CancelCauseFunc, uid id.StorageCheck, epoch int64, pace *rate.Limiter) {
	beat := time.NewTicker(checkBeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		switch ours, scrub, err := s.store.RenewCheck(ctx, uid, epoch, checkLease); {
		case err != nil && ctx.Err() == nil: // the next beat comes before the lease ends
			s.log.Warn("the lease of a check of all files was not renewed", slog.Any("error", err))
		case err == nil && !ours:
			stop(errCheckTaken)
			return
		case err == nil && !scrub:
			pace.SetLimit(rate.Inf)
		}
	}
}

// runCheck runs Fsck from where the check is, and saves how far it comes. What is found without a row is saved at the end only: after an
// interruption it is looked for again.
func (s *Service) runCheck(ctx context.Context, uid id.StorageCheck, epoch int64, pace *rate.Limiter) error {
	c, err := s.store.StorageCheck(ctx, uid)
	if err != nil {
		return err
	}
	if c.Total == nil || c.Scrub {
		size, err := s.store.StorageSize(ctx)
		if err != nil {
			return err
		}
		if c.Total == nil {
			c.Total = &size.Objects
		}
		if c.Scrub {
			pace.SetLimit(rate.Limit(max(scrubRate, float64(size.Bytes+size.Objects*scrubFile)/scrubTime.Seconds())))
		}
	}
	save := func(now *time.Time) error {
		ours, err := s.store.SaveCheck(ctx, c, epoch, now)
		if err == nil && !ours {
			err = errCheckTaken
		}
		return err
	}
	if err := save(nil); err != nil {
		return err
	}
	at := fsckPosition{
		FsckResult: FsckResult{Objects: int(c.Objects), Bytes: c.Bytes, Findings: int(c.Findings)}, After: c.Compared, Listed: c.Listed,
		pace: pace,
	}
	take := func() {
		c.Compared, c.Listed, c.Objects, c.Bytes, c.Findings, c.SweepOff = at.After, at.Listed, int64(at.Objects), at.Bytes, int64(at.Findings),
			at.SweepOff
	}
	saved := time.Now()
	err = s.fsck(ctx, &at, func(f Finding) error {
		if len(c.Problems) < checkProblems {
			c.Problems = append(c.Problems, transfer.StorageProblem{Kind: f.Kind, Object: f.Object, Detail: f.Detail})
		}
		return nil
	}, func() error {
		if time.Since(saved) < checkSave && !at.Listed {
			return nil
		}
		saved = time.Now()
		take()
		return save(nil)
	})
	if err != nil {
		return err
	}
	take()
	now := s.now()
	return save(&now)
}
