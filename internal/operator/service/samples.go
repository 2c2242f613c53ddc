// The samples of the console's charts: how often, what each replica adds, and how long they are kept.

package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/consign-dev/consign/internal/operator"
)

const (
	sampleLength   = 5 * time.Minute
	sampleInterval = time.Minute // at which a replica adds what it has counted: a kill loses no more
	sampleTimeout  = 10 * time.Second
	lastTimeout    = time.Second // at the end of a replica
	samplesKept    = 31 * 24 * time.Hour
	recountTime    = time.Hour // people and transfers are counted as often: it takes long when there are many
)

// period is one of the periods of charts.
type period struct{ length, step time.Duration }

// periods are the periods that Samples knows, with steps that have a chart of 144 or 180 points.
var periods = map[string]period{"24h": {24 * time.Hour, 10 * time.Minute}, "30d": {30 * 24 * time.Hour, 4 * time.Hour}}

// population is the last count of people and transfers.
type population struct {
	at                time.Time
	people, transfers int64
}

// RunSamples adds what this replica counts to the samples once a minute until ctx ends, and then what is left. A sample that could not be
// stored is added to the next one.
func (s *Service) RunSamples(ctx context.Context) error {
	tick := time.NewTicker(sampleInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
			defer cancel()
			_, _ = s.addCounters(last) // nobody is left to try again
			return nil
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(ctx, sampleTimeout)
		if err := s.Sample(limited); err != nil && ctx.Err() == nil {
			s.options.Log.Warn("a sample for the charts was not stored", slog.Any("error", err))
		}
		cancel()
	}
}

// Sample adds what this replica has counted since the last call to the current sample. The first call of a sample, of all replicas, also
// stores the levels and counts the events of samples that have ended.
func (s *Service) Sample(ctx context.Context) error {
	lacks, err := s.addCounters(ctx)
	if err != nil || !lacks {
		return err
	}
	now := s.options.Now()
	levels, unknown := s.levels(ctx)
	return errors.Join(unknown, s.options.Store.SetLevels(ctx, now.Truncate(sampleLength), levels),
		s.options.Store.CountEnded(ctx, now, sampleLength))
}

// addCounters adds what was counted since the last call that succeeded. Counters begin at 0 with the process, so a restart loses nothing
// but what a killed one had not added.
func (s *Service) addCounters(ctx context.Context) (lacks bool, err error) {
	s.sampling.Lock()
	defer s.sampling.Unlock()
	var free *int64
	if v := s.options.Volume; v != nil {
		if state := v.State(); state.Known {
			free = &state.Free
		}
	}
	counted := s.options.Counters()
	lacks, err = s.options.Store.AddCounters(ctx, s.options.Now().Truncate(sampleLength), counted.Minus(s.counted), free)
	if err == nil {
		s.counted = counted
	}
	return lacks, err
}

// levels returns what is known of the levels, and why the rest is not.
func (s *Service) levels(ctx context.Context) (l operator.Levels, err error) {
	if waiting, failed := s.options.Mail.Waiting(ctx); failed == nil {
		l.Mails = &waiting.Queued
	} else {
		err = failed
	}
	if queues, failed := s.options.Jobs.Stats(ctx); failed == nil {
		var due int64
		for _, q := range queues {
			due += q.Due
		}
		l.Jobs = &due
	} else {
		err = errors.Join(err, failed)
	}
	p, failed := s.population(ctx)
	if failed == nil {
		l.People, l.Transfers = &p.people, &p.transfers
	}
	return l, errors.Join(err, failed)
}

// population counts people and transfers, or returns the last count.
func (s *Service) population(ctx context.Context) (population, error) {
	s.sampling.Lock()
	last := s.inhabitants
	s.sampling.Unlock()
	now := s.options.Now()
	if !last.at.IsZero() && now.Sub(last.at) < recountTime {
		return last, nil
	}
	people, err := s.options.People(ctx)
	if err != nil {
		return last, err
	}
	transfers, err := s.options.Transfers(ctx)
	if err != nil {
		return last, err
	}
	last = population{now, people, transfers}
	s.sampling.Lock()
	s.inhabitants = last
	s.sampling.Unlock()
	return last, nil
}

// CleanSamples deletes samples that no chart shows any more.
func (s *Service) CleanSamples(ctx context.Context) error {
	return s.options.Store.DeleteSamples(ctx, s.options.Now().Add(-samplesKept))
}

// Periods are the names of the periods of Samples.
var Periods = []string{"24h", "30d"}

// Samples returns the steps of a period that have ended, oldest first, with the length of a step and the beginning and end of the period.
// A step in which no server ran is missing.
func (s *Service) Samples(ctx context.Context, name string) (list []operator.Sample, from, until time.Time, step time.Duration, err error) {
	p := periods[name]
	until = s.options.Now().Truncate(p.step)
	from = until.Add(-p.length)
	list, err = s.options.Store.Samples(ctx, from, until, p.step)
	return list, from, until, p.step, err
}
