// Command testlog reads the output of go test -json and prints what go test prints without -json: a line for each package, and the output
// of tests that fail. At the end it prints how many tests passed and failed, and with -slowest the tests that took longest.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	slowest := flag.Int("slowest", 0, "how many of the slowest tests to print")
	flag.Parse()
	r := report{out: os.Stdout, output: map[test][]string{}, broken: map[string]bool{}}
	if err := r.read(os.Stdin); err != nil {
		log.Fatal("testlog: ", err)
	}
	r.end(*slowest)
	if err := r.figure(os.Getenv("FIGURE")); err != nil {
		log.Fatal("testlog: ", err)
	}
}

// event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// test is a test or subtest of a package.
type test struct{ pkg, name string }

type timed struct {
	test
	seconds float64
}

type report struct {
	out            io.Writer
	output         map[test][]string // of tests without a verdict
	took           []timed
	broken         map[string]bool // packages with a failed test
	passed, failed int
}

// read prints the events of a run. A line that is no event is printed as it is.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil {
				r.event(e)
			} else {
				fmt.Fprint(r.out, line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) event(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		switch {
		case e.Test != "":
			r.output[t] = append(r.output[t], e.Output)
		case e.Output != "PASS\n":
			fmt.Fprint(r.out, e.Output)
		}
	case "pass", "skip", "fail":
		r.verdict(t, e)
	}
}

// verdict ends a test, or a package. A package that fails prints what its unended tests had to say: one of them has ended the process.
func (r *report) verdict(t test, e event) {
	if e.Test == "" {
		if e.Action == "fail" && !r.broken[e.Package] { // it did not build, or ended without a verdict
			r.failed++
		}
		for unended := range r.output {
			if unended.pkg == e.Package {
				r.show(unended, e.Action == "fail")
			}
		}
		return
	}
	r.show(t, e.Action == "fail")
	if strings.Contains(e.Test, "/") {
		return
	}
	r.took = append(r.took, timed{t, e.Elapsed})
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		r.broken[e.Package] = true
	}
}

// show forgets the output of a test, and prints it when the test failed.
func (r *report) show(t test, failed bool) {
	for _, line := range r.output[t] {
		if failed && !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(r.out, line)
		}
	}
	delete(r.output, t)
}

func (r *report) end(slowest int) {
	slices.SortFunc(r.took, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	if slowest > 0 {
		fmt.Fprintln(r.out, "slowest tests:")
		for _, t := range r.took[:min(slowest, len(r.took))] {
			fmt.Fprintf(r.out, "%7.1f s  %s %s\n", t.seconds, t.pkg, t.name)
		}
	}
	fmt.Fprintf(r.out, "%d passed, %d failed\n", r.passed, r.failed)
}

// figure writes the number of passed tests into a file for docs/trust.md (scripts/figure.sh), if it is named.
func (r *report) figure(name string) error {
	if name == "" {
		return nil
	}
	return os.WriteFile(name, fmt.Appendf(nil, "%d tests passed\n%d failed\n", r.passed, r.failed), 0o600)
}
