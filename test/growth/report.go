//go:build growth

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
)

// report writes the tables of docs/benchmarks.md.
func report(w io.Writer, sizes []size, results []result) error {
	var b strings.Builder
	b.WriteString("| request |")
	for _, s := range sizes {
		fmt.Fprintf(&b, " %d / %d |", s.persons, s.transfers)
	}
	b.WriteString(" ratio of p50 | limit |\n|---|" + strings.Repeat("---|", len(sizes)+2) + "\n")
	last := len(results) - 1
	for i, first := range results[0].rows {
		fmt.Fprintf(&b, "| %s |", first.name)
		for _, r := range results {
			fmt.Fprintf(&b, " %s, %s |", ms(quantile(r.rows[i].times, 0.5)), ms(quantile(r.rows[i].times, 0.99)))
		}
		limit := ordinaryLimit
		switch {
		case strings.HasPrefix(first.name, "search"):
			limit = searchLimit
		case first.heavy:
			limit = heavyLimit
		}
		ratio := float64(quantile(results[last].rows[i].times, 0.5)) / float64(quantile(first.times, 0.5))
		verdict := "✓"
		if ratio > limit || quantile(results[last].rows[i].times, 0.99) > slowest {
			verdict = "✗"
		}
		fmt.Fprintf(&b, " %.1f× | ≤ %.1f×, p99 ≤ 300 ms %s |\n", ratio, limit, verdict)
	}
	for i, r := range results {
		fmt.Fprintf(&b, "\n%d / %d: start %s, resident memory %d MB. %d transfers that fell due at once ended in %s; a page of an inbox meanwhile: p50 %s, p99 %s (limits %s, %s).\n",
			sizes[i].persons, sizes[i].transfers, ms(r.start), r.rss>>20, r.due, r.took.Round(100*time.Millisecond), ms(quantile(r.other, 0.5)), ms(quantile(r.other, 0.99)), expiryLimit, othersLimit)
		for _, t := range r.table {
			fmt.Fprintf(&b, "%s %.0f bytes a row; ", t.name, t.bytes)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1000) }
