//go:build growth

// Writes the tables, and counts the limits that were not kept.

package main

import (
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
	expiryUpdates                          = 4 // of one UPDATE of the same rows, where that is longer than expiryLimit
	fillLimit                              = 10 * time.Minute
)

// verdicts counts limits that were not kept.
type verdicts int

func (v *verdicts) of(ok bool) string {
	if ok {
		return "✓"
	}
	*v++
	return "✗"
}

// reportRequests writes the table of requests of docs/develop/benchmarks.md. It returns how many limits were not kept.
func reportRequests(w io.Writer, results []result) (int, error) {
	var b strings.Builder
	var missed verdicts
	b.WriteString("| request (p10, p50, p99 in ms) |")
	for _, r := range results {
		fmt.Fprintf(&b, " %v |", r.size)
	}
	b.WriteString(" ratio of p10 | ratio of p50 | limit |\n|---|" + strings.Repeat("---|", len(results)+3) + "\n")
	last := results[len(results)-1]
	for i, first := range results[0].rows {
		fmt.Fprintf(&b, "| %s |", first.name)
		for _, r := range results {
			fmt.Fprintf(&b, " %s, %s, %s |", ms(quantile(r.rows[i].times, 0.1)), ms(quantile(r.rows[i].times, 0.5)),
				ms(quantile(r.rows[i].times, 0.99)))
		}
		low, middle := ratio(results[0], last, i, 0.1), ratio(results[0], last, i, 0.5)
		limit, most := limitOf(first), ""
		if limit > 0 {
			most = fmt.Sprintf("≤ %.1f×, ", limit)
		}
		ok := (limit == 0 || min(low, middle) <= limit) && quantile(last.rows[i].times, 0.99) <= slowest
		fmt.Fprintf(&b, " %.2f× | %.2f× | %sp99 ≤ 300 ms %s |\n", low, middle, most, missed.of(ok))
	}
	_, err := io.WriteString(w, b.String())
	return int(missed), err
}

// reportJobs writes what a server does beside requests at one size. It returns how many limits were not kept.
func reportJobs(w io.Writer, r result) (int, error) {
	var b strings.Builder
	var missed verdicts
	fmt.Fprintf(&b, "\n%v: ", r.size)
	if r.size.filled > 0 {
		fmt.Fprintf(&b, "filled in %s (limit %s) %s; ", r.size.filled.Round(time.Second), fillLimit, missed.of(r.size.filled <= fillLimit))
	}
	fmt.Fprintf(&b, "start %s ms, resident memory %d MB.\n", ms(r.start), r.rss>>20)
	d := r.due
	fmt.Fprintf(&b, "%d transfers that fell due at once ended in %s, %.1f× one UPDATE of them (limit %s, or %d×) %s, %s of processor time "+
		"of server and Postgres; %d requests meanwhile: p50 %s ms, p99 %s ms (limit %s) %s.\n",
		d.transfers, d.took.Round(100*time.Millisecond), float64(d.took)/float64(d.update), expiryLimit, expiryUpdates,
		missed.of(d.took <= max(expiryLimit, expiryUpdates*d.update)), d.busy.Round(100*time.Millisecond),
		len(d.others), ms(quantile(d.others, 0.5)), ms(quantile(d.others, 0.99)), othersLimit, missed.of(quantile(d.others, 0.99) <= othersLimit))
	fmt.Fprintf(&b, "The log had their entries after %s. Bytes and objects were deleted after %s; requests meanwhile: p99 %s ms.\n",
		d.logged.Round(100*time.Millisecond), d.purged.Round(100*time.Millisecond), ms(quantile(d.after, 0.99)))
	if r.fsck.result != "" {
		fmt.Fprintf(&b, "fsck: %s ms; %s\n", ms(r.fsck.took), r.fsck.result)
	}
	b.WriteString("Jobs of more than 50 ms, longest run:")
	for _, j := range r.jobs {
		fmt.Fprintf(&b, " %s %s ms;", j.name, ms(j.took))
	}
	b.WriteString("\nBytes of a row with indexes:")
	for _, t := range r.table {
		fmt.Fprintf(&b, " %s %.0f;", t.name, t.bytes)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return int(missed), err
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

// limitOf returns the limit of a request's ratio, 0 for none.
func limitOf(r row) float64 {
	switch {
	case strings.HasPrefix(r.name, oftenRequest):
		return 0
	case strings.HasPrefix(r.name, "search"):
		return searchLimit
	case r.heavy:
		return heavyLimit
	}
	return ordinaryLimit
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3g", float64(d.Microseconds())/1000) }
