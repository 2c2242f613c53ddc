//go:build bench

package main

import (
	"fmt"
	"io"
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

// String is the value, the target, and a tick or a cross.
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
	ours, bare string // figures in words
	bareIs     string // what the other side is
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

// report is the table as it grows.
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
	return fmt.Sprintf("%s; %d cores, %s; %s; Postgres %s with fsync", f.when.Format("2006-01-02 15:04"), f.cores, f.processor, f.system, f.postgres)
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

Made by ` + "`make bench`" + `, which starts Consign on an embedded Postgres and, in turns with it, bare reference programs that do the same work with nothing
but net/http, pgx, golang-jwt and x/crypto. Client, servers and Postgres share one machine: only the ratios to *bare*, and the processor time of the
server, mean anything elsewhere. Requests come over %d keep-alive connections, logins over as many as are compared at once.

%s.
Consign %s; %d samples of %s for each side; files of %s.

| operation | against the target | Consign | bare |
|---|---|---|---|
`

// reading says why some rows are as they are.
const reading = `
## Reading it

- **environment**: what Consign adds to a request that does nothing is 12 to 20 µs: the client's address, the host's organization, metrics, the log's line, and six
  headers more to sort and write. The design's target was taken where a bare request takes 57 µs.
- **mailbox, from the database**: the bare statement reads the tables of both domains; Consign's goes through the views that keep the domains apart, and reads what
  holds for a whole organization once a moment instead of with each mailbox. One that many look at is kept for half a second.
- **reserve**: the ES256 signature of its token takes about a quarter of the processor time that Consign spends on a reservation, more than half of what the whole bare
  request takes. Both wait for the same disk: the slower it is, the closer the ratio comes to 1.
- **access**: no ID token is believed without a look at the database (contract 2.4), and each access token is signed. A cache saves the verification, which is what
  separates Consign from the bare program; it cannot save the rest.
- **start**: a third is the program itself before its first line (7 ms of it the metaschemas that the JSON Schema library compiles), the rest two connections to
  Postgres, each a process of its own there, and their first statements.
- **idle**: three quarters are pages of the program's file.
`

// write makes the document.
func (r *report) write(path string) error {
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
	b.WriteString(reading)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
