//go:build growth

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// The limits of issue 27, of the largest size against the smallest.
const (
	ordinaryLimit, heavyLimit, searchLimit = 1.5, 3, 5
	slowest                                = 300 * time.Millisecond
	expiryLimit, othersLimit               = 20 * time.Second, 50 * time.Millisecond
	fillLimit                              = 10 * time.Minute
)

// report writes the tables of docs/benchmarks.md. It returns an error when a limit is not kept.
func report(w io.Writer, results []result) error {
	var b strings.Builder
	missed := 0
	verdict := func(ok bool) string {
		if ok {
			return "✓"
		}
		missed++
		return "✗"
	}
	b.WriteString("| request (p10, p50, p99 in ms) |")
	for _, r := range results {
		fmt.Fprintf(&b, " %v |", r.size)
	}
	b.WriteString(" ratio of p10 | ratio of p50 | limit |\n|---|" + strings.Repeat("---|", len(results)+3) + "\n")
	last := results[len(results)-1]
	for i, first := range results[0].rows {
		fmt.Fprintf(&b, "| %s |", first.name)
		for _, r := range results {
			fmt.Fprintf(&b, " %s, %s, %s |", ms(quantile(r.rows[i].times, 0.1)), ms(quantile(r.rows[i].times, 0.5)), ms(quantile(r.rows[i].times, 0.99)))
		}
		low, middle := ratio(results[0], last, i, 0.1), ratio(results[0], last, i, 0.5)
		limit := limitOf(first)
		ok := min(low, middle) <= limit && quantile(last.rows[i].times, 0.99) <= slowest
		fmt.Fprintf(&b, " %.2f× | %.2f× | ≤ %.1f×, p99 ≤ 300 ms %s |\n", low, middle, limit, verdict(ok))
	}
	for _, r := range results {
		fmt.Fprintf(&b, "\n%v: filled in %s (limit %s) %s; start %s ms, resident memory %d MB.\n", r.size, r.size.filled.Round(time.Second), fillLimit, verdict(r.size.filled <= fillLimit), ms(r.start), r.rss>>20)
		d := r.due
		fmt.Fprintf(&b, "%d transfers that fell due at once ended in %s (limit %s) %s; requests meanwhile: p50 %s ms, p99 %s ms (limit %s) %s. Bytes and objects were deleted after %s; requests meanwhile: p99 %s ms.\n",
			d.transfers, d.took.Round(100*time.Millisecond), expiryLimit, verdict(d.took <= expiryLimit), ms(quantile(d.others, 0.5)), ms(quantile(d.others, 0.99)),
			othersLimit, verdict(quantile(d.others, 0.99) <= othersLimit), d.purged.Round(100*time.Millisecond), ms(quantile(d.after, 0.99)))
		fmt.Fprintf(&b, "fsck: %s ms; %s\nJobs of more than 50 ms, longest run:", ms(r.fsck.took), r.fsck.result)
		for _, j := range r.jobs {
			fmt.Fprintf(&b, " %s %s ms;", j.name, ms(j.took))
		}
		b.WriteString("\nBytes of a row with indexes:")
		for _, t := range r.table {
			fmt.Fprintf(&b, " %s %.0f;", t.name, t.bytes)
		}
		b.WriteString("\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil || missed == 0 {
		return err
	}
	return errors.New("limits that were not kept: " + fmt.Sprint(missed))
}

// ratio compares a request at two sizes: a quantile of its times, of the list of members that for each member.
func ratio(small, large result, i int, q float64) float64 {
	x := float64(quantile(large.rows[i].times, q)) / float64(quantile(small.rows[i].times, q))
	if small.rows[i].name == membersRequest {
		x *= members(small.size) / members(large.size)
	}
	return x
}

// members returns how many members organization 1 has (fill.sql).
func members(s size) float64 { return float64(min(10_000, s.persons/4)) }

func limitOf(r row) float64 {
	switch {
	case strings.HasPrefix(r.name, "search"):
		return searchLimit
	case r.heavy:
		return heavyLimit
	}
	return ordinaryLimit
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3g", float64(d.Microseconds())/1000) }
