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

// figures are the results of one side of a comparison.
type figures struct {
	rate     float64 // requests a second, or bytes a second
	p50, p99 time.Duration
	cpu      time.Duration // processor time of the server per request or GiB
	postgres time.Duration // processor time of all Postgres processes per request or GiB
	rates    []float64     // of each round
}

// tally sums the samples of one side.
type tally struct {
	units         float64 // requests or bytes
	elapsed       time.Duration
	took          []time.Duration
	cpu, postgres time.Duration
	rates         []float64
}

// sample calls run once and adds its result and the processor time that was used meanwhile.
func (t *tally) sample(b *bench, pid int, run func() (units float64, took []time.Duration, elapsed time.Duration, err error)) error {
	before, err := b.processorTimes(pid)
	if err != nil {
		return err
	}
	units, took, elapsed, err := run()
	if err != nil {
		return err
	}
	after, err := b.processorTimes(pid)
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

// processorTimes returns the processor time of a server and of Postgres.
func (b *bench) processorTimes(pid int) ([2]time.Duration, error) {
	own, err := processorTime(pid)
	if err != nil {
		return [2]time.Duration{}, err
	}
	db, err := processTreeTime(b.postmaster)
	return [2]time.Duration{own, db}, err
}

// figures returns the results. Processor time is given per unit: 1 is a request, 1<<30 a GiB.
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

// speedRatio returns the median over all rounds of our rate divided by theirs. In each round one side runs after the other.
func speedRatio(ours, bare figures) float64 {
	ratios := make([]float64, min(len(ours.rates), len(bare.rates)))
	for i := range ratios {
		ratios[i] = ours.rates[i] / bare.rates[i]
	}
	return median(ratios)
}

// cpuRatio returns our processor time divided by theirs.
func cpuRatio(ours, bare figures) float64 { return float64(ours.cpu) / float64(bare.cpu) }

func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

const warmUp = 300 * time.Millisecond

// compare measures two servers alternately, each with requests on conns connections.
func (b *bench) compare(ctx context.Context, name string, ours, bare *side, conns int) (o, r figures, err error) {
	sides := [2]*side{ours, bare}
	var tallies [2]tally
	for _, p := range sides {
		if err := p.connect(ctx, conns); err != nil {
			return o, r, err
		}
		defer p.close()
		if _, _, err := p.saturate(ctx, warmUp); err != nil {
			return o, r, err
		}
	}
	profiled := b.profile(ctx, name, ours.pid, time.Duration(b.options.rounds)*2*b.options.sample)
	for round := range b.options.rounds {
		for turn := range sides {
			i := (round + turn) % 2 // the sides take turns in being first
			err := tallies[i].sample(b, sides[i].pid, func() (float64, []time.Duration, time.Duration, error) {
				took, elapsed, err := sides[i].saturate(ctx, b.options.sample)
				return float64(len(took)), took, elapsed, err
			})
			if err != nil {
				return o, r, err
			}
		}
	}
	return tallies[0].figures(1), tallies[1].figures(1), profiled()
}

// profile starts to take a processor profile of a Consign from its admin listener, if the flag is set. wait returns once the profile
// is written.
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
