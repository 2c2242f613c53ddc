//go:build bench

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// figures are what one side of a comparison came to.
type figures struct {
	rate     float64 // requests a second, or bytes a second
	p50, p99 time.Duration
	cpu      time.Duration // of the server, for each request or GiB
	postgres time.Duration // of all of Postgres, likewise
	rates    []float64     // of each round
}

// tally gathers samples of one side.
type tally struct {
	units         float64 // requests or bytes
	elapsed       time.Duration
	took          []time.Duration
	cpu, postgres time.Duration
	rates         []float64
}

// sample runs what is measured once, between two looks at the processor times.
func (t *tally) sample(b *bench, pid int, run func() (units float64, took []time.Duration, elapsed time.Duration, err error)) error {
	before, err := b.clocks(pid)
	if err != nil {
		return err
	}
	units, took, elapsed, err := run()
	if err != nil {
		return err
	}
	after, err := b.clocks(pid)
	if err != nil {
		return err
	}
	if units == 0 {
		return errors.New("nothing was done within one sample")
	}
	t.units += units
	t.elapsed += elapsed
	t.took = append(t.took, took...)
	t.cpu += after[0] - before[0]
	t.postgres += after[1] - before[1]
	t.rates = append(t.rates, units/elapsed.Seconds())
	return nil
}

// clocks are the processor times of a server and of Postgres.
func (b *bench) clocks(pid int) ([2]time.Duration, error) {
	own, err := processorTime(pid)
	if err != nil {
		return [2]time.Duration{}, err
	}
	db, err := familyTime(b.postmaster)
	return [2]time.Duration{own, db}, err
}

// figures sums up. unit is what processor time is given for: 1 for a request, 1<<30 for a GiB.
func (t *tally) figures(unit float64) figures {
	slices.Sort(t.took)
	return figures{
		rate: t.units / t.elapsed.Seconds(), p50: percentile(t.took, 50), p99: percentile(t.took, 99),
		cpu: time.Duration(float64(t.cpu) / t.units * unit), postgres: time.Duration(float64(t.postgres) / t.units * unit), rates: t.rates,
	}
}

func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// faster is how many times as fast ours was: the median of the rounds, in each of which both ran one after the other.
func faster(ours, bare figures) float64 {
	ratios := make([]float64, min(len(ours.rates), len(bare.rates)))
	for i := range ratios {
		ratios[i] = ours.rates[i] / bare.rates[i]
	}
	return median(ratios)
}

// costlier is how many times as much processor time ours took.
func costlier(ours, bare figures) float64 { return float64(ours.cpu) / float64(bare.cpu) }

func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

const warmUp = 300 * time.Millisecond

// duel has two servers answer requests in turns, on so many connections each.
func (b *bench) duel(ctx context.Context, name string, ours, bare *party, conns int) (o, r figures, err error) {
	sides := [2]*party{ours, bare}
	var tallies [2]tally
	for _, p := range sides {
		if err := p.connect(ctx, conns); err != nil {
			return o, r, err
		}
		defer p.hangUp()
		if _, _, err := p.press(ctx, warmUp); err != nil {
			return o, r, err
		}
	}
	profiled := b.profile(ctx, name, ours.pid, time.Duration(b.options.rounds)*2*b.options.sample)
	for round := range b.options.rounds {
		for turn := range sides {
			i := (round + turn) % 2 // who begins changes
			err := tallies[i].sample(b, sides[i].pid, func() (float64, []time.Duration, time.Duration, error) {
				took, elapsed, err := sides[i].press(ctx, b.options.sample)
				return float64(len(took)), took, elapsed, err
			})
			if err != nil {
				return o, r, err
			}
		}
	}
	return tallies[0].figures(1), tallies[1].figures(1), profiled()
}

// profile takes a processor profile of a Consign from its admin listener meanwhile, if the flag asks for it.
func (b *bench) profile(ctx context.Context, name string, pid int, d time.Duration) (wait func() error) {
	if b.options.profile == "" {
		return func() error { return nil }
	}
	failed := make(chan error, 1)
	go func() {
		failed <- func() error {
			url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", b.admin[pid], max(1, int(d.Seconds())))
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			f, err := os.Create(filepath.Join(b.options.profile, name+".pprof"))
			if err != nil {
				return err
			}
			_, err = io.Copy(f, resp.Body)
			return errors.Join(err, f.Close())
		}()
	}()
	return func() error { return <-failed }
}
