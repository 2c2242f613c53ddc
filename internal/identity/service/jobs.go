// The periodic jobs of the domain and their intervals.

package service

import (
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/jobs"
)

// The names of the periodic jobs. jobs.Runner.RunOnce runs one of them on demand.
const (
	CleanJob     = "identity-clean"     // deletes expired tokens and keys, and old rows of deleted persons
	AddressesJob = "identity-addresses" // deletes unverified addresses at removeAt, and persons without another address
	HostnamesJob = "identity-hostnames" // activates claimed hostnames whose TXT record exists
	APITokensJob = "identity-tokens"    // mails about API tokens that expire soon
)

// addressesBatch is how many overdue addresses one query returns.
const addressesBatch = 100

func (s *Service) registerJobs() {
	s.jobs.Every(CleanJob, 10*time.Minute, s.Clean)
	s.jobs.Every(AddressesJob, 5*time.Minute, s.RemoveAddresses)
	s.jobs.Every(HostnamesJob, 5*time.Minute, s.VerifyHostnames)
	s.jobs.Every(APITokensJob, time.Hour, s.WarnAPITokens)
	jobs.Register(s.jobs, s.workReset)
	jobs.Register(s.jobs, s.workFactorMails)
}

// Clean deletes expired tokens and keys, changes that can no longer be undone, and rows of persons whose retention after
// deletion is over.
func (s *Service) Clean(ctx context.Context) error {
	now := s.now()
	return s.store.Clean(ctx, now, now.Add(-identity.DeletedPersonRetention), s.notices.UndoableSince(), s.DeviceSince())
}

// RemoveAddresses deletes unverified addresses whose removeAt has passed, each in its own transaction. A person without
// another address is deleted too.
func (s *Service) RemoveAddresses(ctx context.Context) error {
	for {
		overdue, err := s.store.OverdueAddresses(ctx, s.now(), addressesBatch)
		if err != nil {
			return err
		}
		for _, o := range overdue {
			if err := s.removeOverdue(ctx, o); err != nil {
				return err
			}
		}
		if len(overdue) < addressesBatch {
			return nil
		}
	}
}

func (s *Service) removeOverdue(ctx context.Context, o postgres.Overdue) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockAddress(ctx, o.Address); err != nil {
			return err
		}
		if err := tx.LockPerson(ctx, o.Person); errors.Is(err, identity.ErrPersonNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		still, err := tx.StillOverdue(ctx, o.Person, o.Address, s.now())
		if err != nil || !still {
			return err
		}
		if o.Only {
			_, err := s.erase(ctx, tx, o.Person, audit.Actor{Kind: audit.Job}, "address never verified")
			return err
		}
		return tx.DeleteAddress(ctx, o.Person, o.Address)
	})
}
