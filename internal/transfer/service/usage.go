// The volumes used this month, and over time for an organization.

package service

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// Usage returns what the caller and the caller's organization have uploaded this month.
// Errors: transfer.ErrNotFound.
func (s *Service) Usage(ctx context.Context, caller token.Caller) (transfer.Usage, error) {
	sc := s.scope(caller)
	o, err := s.store.Owner(ctx, caller.Person, sc)
	if err != nil {
		return transfer.Usage{}, err
	}
	return transfer.Usage{
		Month: transfer.Month(sc.Now).Format("2006-01"), UploadBytes: o.UploadHeld, ReservedBytes: o.UploadReserved, UploadLimit: o.UploadLimit,
		InOrganization: !o.Organization.IsZero(), OrganizationBytes: o.OrganizationHeld, OrganizationLimit: o.OrganizationLimit,
		StoredBytes: o.StorageHeld, StorageLimit: o.StorageLimit,
	}, nil
}

// sampleBatch is how many organizations one statement samples.
const sampleBatch = 1000

// SampleVolumes stores what organizations use now as the sample of the day.
func (s *Service) SampleVolumes(ctx context.Context) error {
	var after id.Organization
	for {
		last, err := s.store.SampleVolumes(ctx, s.now(), after, sampleBatch)
		if err != nil || last.IsZero() {
			return err
		}
		after = last
	}
}

// UsageOverTime returns what the caller's organization stored on the days of the last quarter, and uploaded in the months of the last year.
// The last day and month are as they are now.
// Errors: those of overseen.
func (s *Service) UsageOverTime(ctx context.Context, caller token.Caller) (u transfer.UsageOverTime, err error) {
	o, err := s.overseen(ctx, caller)
	if err != nil {
		return u, err
	}
	now, err := s.store.Owner(ctx, caller.Person, s.scope(caller))
	if err != nil {
		return u, err
	}
	today := s.now().UTC().Truncate(day)
	if u.Days, err = s.store.UsedDays(ctx, o, today.Add(-sampleAge)); err != nil {
		return u, err
	}
	months, err := s.store.UsedMonths(ctx, o)
	if err != nil {
		return u, err
	}
	if n := len(u.Days); n > 0 && !u.Days[n-1].Day.Before(today) {
		u.Days = u.Days[:n-1]
	}
	u.Days = append(u.Days, transfer.UsedDay{Day: today, Stored: now.StorageHeld, Held: now.OrganizationHeld})
	u.Months = allMonths(months, transfer.UsedMonth{Month: transfer.Month(today), Held: now.OrganizationHeld})
	u.VolumeLimit, u.StoredLimit = now.OrganizationLimit, now.StorageLimit
	return u, nil
}

// allMonths returns the months from the first one to the present one. What is missing between them is empty.
func allMonths(known []transfer.UsedMonth, present transfer.UsedMonth) (all []transfer.UsedMonth) {
	held := map[time.Time]int64{}
	first := present.Month
	for _, m := range known {
		held[m.Month.UTC()] = m.Held
		if m.Month.Before(first) {
			first = m.Month.UTC()
		}
	}
	for month := first; month.Before(present.Month); month = month.AddDate(0, 1, 0) {
		all = append(all, transfer.UsedMonth{Month: month, Held: held[month]})
	}
	return append(all, present)
}
