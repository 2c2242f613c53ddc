//go:build bench

package main

import (
	"context"
	"fmt"
	"time"
)

// encryptionRow compares uploads and downloads of a replica that encrypts files with those of one that does not.
func encryptionRow(ctx context.Context, b *bench) ([]result, error) {
	encrypts, err := b.startReplica(ctx, "CONSIGN_STORAGE_ENCRYPTION=on")
	if err != nil {
		return nil, err
	}
	defer func() { _ = encrypts.stop() }()
	sides := [2]*process{encrypts, b.consign}
	size := sizeName(b.options.size)
	ours, plain, err := b.turns(func(i int, t *tally) error { return b.upload(ctx, t, sides[i], 1, b.options.size) })
	if err != nil {
		return nil, err
	}
	results := []result{fileResult("upload "+size+", encrypted: against one in plain", ours, plain,
		atLeast("MB/s", speedRatio(ours, plain), 0.90))}
	var paths [2]string
	for i, p := range sides {
		if paths[i], err = b.deliver(ctx, p); err != nil {
			return nil, err
		}
	}
	for _, conns := range []int{1, 4} {
		ours, plain, err := b.turns(func(i int, t *tally) error {
			return t.sample(b, sides[i].pid, func() (float64, []time.Duration, time.Duration, error) {
				return parallel(conns, func(int) (int64, error) { return fetch(ctx, sides[i].addr, paths[i], b.accessToken) })
			})
		})
		if err != nil {
			return nil, err
		}
		r := fileResult(fmt.Sprintf("download %s, encrypted, %d at once: against plain with sendfile", size, conns), ours, plain)
		if conns == 1 {
			r.checks = append(r.checks, atLeast("MB/s", speedRatio(ours, plain), 0.65))
		}
		results = append(results, r)
	}
	return results, nil
}

// turns measures two sides alternately. The first round of each is not counted.
func (b *bench) turns(run func(side int, t *tally) error) (first, second figures, err error) {
	var tallies [2]tally
	for round := range b.options.rounds + 1 {
		if round == 1 {
			tallies = [2]tally{}
		}
		for turn := range tallies {
			i := (round + turn) % 2
			if err := run(i, &tallies[i]); err != nil {
				return first, second, err
			}
		}
	}
	return tallies[0].figures(gib), tallies[1].figures(gib), nil
}
