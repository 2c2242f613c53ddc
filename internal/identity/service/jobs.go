package service

import (
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/token"
)

// Recurring work that New registers, by the names jobs.Runner.RunOnce takes.
const (
	CleanJob     = "identity-clean"     // expired tokens and keys, rows of persons deleted long ago
	AddressesJob = "identity-addresses" // unverified addresses at removeAt, and persons who have no other
	HostnamesJob = "identity-hostnames" // custom hostnames whose TXT record has appeared
)

const (
	cleanInterval     = 10 * time.Minute
	addressesInterval = 5 * time.Minute
	hostnamesInterval = 5 * time.Minute
	addressesBatch    = 100
	// tombstone is how long the empty row of a deleted person is kept; access tokens live far shorter.
	tombstone = 30 * 24 * time.Hour
)

func (s *Service) periodic(r *jobs.Runner) {
	r.Every(CleanJob, cleanInterval, s.Clean)
	r.Every(AddressesJob, addressesInterval, s.RemoveAddresses)
	r.Every(HostnamesJob, hostnamesInterval, s.ProveHostnames)
}

// Clean deletes what has expired.
func (s *Service) Clean(ctx context.Context) error {
	now := s.now()
	return s.store.Clean(ctx, now, now.Add(-tombstone))
}

// RemoveAddresses removes unverified addresses whose time has come, each in a transaction of its own; a person whose only
// address it was goes with it.
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
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
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
			return s.erase(ctx, tx, o.Person, token.Caller{}, "address never verified")
		}
		return tx.DeleteAddress(ctx, o.Person, o.Address)
	})
	return describe("remove address", err)
}
