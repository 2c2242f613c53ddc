//go:build bench

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// check is a measured value with its target.
type check struct {
	what         string
	value, limit float64
	least        bool // the value must be at least the limit, else at most
}

func atLeast(what string, value, limit float64) check { return check{what, value, limit, true} }
func atMost(what string, value, limit float64) check  { return check{what, value, limit, false} }

func (c check) met() bool {
	if c.least {
		return c.value >= c.limit
	}
	return c.value <= c.limit
}

// String returns the value, the target, and a tick or a cross.
func (c check) String() string {
	sign, relation, times := "✗", "≤", "×"
	if c.met() {
		sign = "✓"
	}
	if c.least {
		relation = "≥"
	}
	if strings.HasPrefix(c.what, "MB") && !c.least || strings.HasSuffix(c.what, " ms") {
		return fmt.Sprintf("%s %.4g %s %g %s", c.what, c.value, relation, c.limit, sign)
	}
	return fmt.Sprintf("%s %.2f%s %s %.2f%s %s", c.what, c.value, times, relation, c.limit, times, sign)
}

// result is a line of the table.
type result struct {
	name       string
	checks     []check
	ours, bare string // figures as text
	bareIs     string // label of the other side
}

func requestResult(name string, o, r figures, checks ...check) result {
	return result{name: name, checks: checks, ours: requestFigures(o), bare: requestFigures(r), bareIs: "bare"}
}

func requestFigures(f figures) string {
	s := fmt.Sprintf("%.0f/s, p50 %s, p99 %s", f.rate, milliseconds(f.p50), milliseconds(f.p99))
	if f.cpu > 0 {
		s += fmt.Sprintf(", CPU %d µs", f.cpu.Microseconds())
	}
	if f.postgres > 2*time.Microsecond {
		s += fmt.Sprintf(" + %d µs in Postgres", f.postgres.Microseconds())
	}
	return s
}

func fileResult(name string, o, r figures, checks ...check) result {
	return result{name: name, checks: checks, ours: fileFigures(o), bare: fileFigures(r), bareIs: "bare"}
}

func fileFigures(f figures) string {
	return fmt.Sprintf("%.0f MB/s, CPU %.2f s/GiB", f.rate/1e6, f.cpu.Seconds())
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.3g ms", d.Seconds()*1e3) }

func megabytes(n int64) float64 { return float64(n) / 1e6 }

func megabytesName(n int64) string { return fmt.Sprintf("%.1f MB", megabytes(n)) }

// report collects the lines of the table.
type report struct {
	facts   facts
	began   time.Time
	results []result
}

func newReport(f facts) *report { return &report{facts: f, began: time.Now()} }

func (r *report) begin(w io.Writer) {
	fmt.Fprintf(w, "Consign %s; %s\n", r.facts.version, r.facts.machine())
}

func (f facts) machine() string {
	return fmt.Sprintf("%s; %d cores, %s; %s; Postgres %s with fsync", f.when.Format("2006-01-02 15:04"), f.cores, f.processor, f.system,
		f.postgres)
}

// add keeps a result and prints it.
func (r *report) add(w io.Writer, line result) {
	r.results = append(r.results, line)
	fmt.Fprintf(w, "\n%s\n", line.name)
	for _, c := range line.checks {
		fmt.Fprintf(w, "  %s\n", c)
	}
	fmt.Fprintf(w, "  %-12s %s\n", "Consign", line.ours)
	if line.bare != "" {
		fmt.Fprintf(w, "  %-12s %s\n", line.bareIs, line.bare)
	}
}

// end counts the targets that were met.
func (r *report) end(w io.Writer) {
	met, all := 0, 0
	for _, line := range r.results {
		for _, c := range line.checks {
			all++
			if c.met() {
				met++
			}
		}
	}
	fmt.Fprintf(w, "\n%d of %d targets met, in %s\n", met, all, time.Since(r.began).Round(time.Second))
}

const intro = `# Benchmarks

Made by ` + "`make bench`" + `. It measures Consign on an embedded Postgres alternately with *bare* reference programs, which do the same work with net/http, Consign's own SQL
statements, golang-jwt and x/crypto alone. Client, servers and Postgres share one machine. Only the ratios to bare, and the server's processor time, carry over to other machines. Requests use
%d keep-alive connections; logins use as many as the server compares passwords in parallel.

%s.
Consign %s; %d samples of %s for each side; files of %s.

| operation | against the target | Consign | bare |
|---|---|---|---|
`

// readingHeading begins the part of the document that is written by hand.
const readingHeading = "\n## Reading it\n"

// write replaces the document's intro and table, and keeps what follows readingHeading.
func (r *report) write(path string) error {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the document: %w", err)
	}
	var b strings.Builder
	f := r.facts
	fmt.Fprintf(&b, intro, connections, f.machine(), f.version, f.rounds, f.sample, sizeName(f.size))
	for _, line := range r.results {
		checks := make([]string, len(line.checks))
		for i, c := range line.checks {
			checks[i] = c.String()
		}
		bare := line.bare
		if bare != "" && line.bareIs != "bare" {
			bare = line.bareIs + ": " + bare
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", line.name, strings.Join(checks, "<br>"), line.ours, bare)
	}
	if _, reading, found := strings.Cut(string(before), readingHeading); found {
		b.WriteString(readingHeading + reading)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
