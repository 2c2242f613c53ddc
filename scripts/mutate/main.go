// Command mutate changes one operator of a package at a time (a mutant) and runs the tests that reach it. They should fail. All mutants are
// compiled at once, and a number turns one of them on. The operators and their changes are those of gremlins: comparisons and their bounds,
// arithmetic, increments, signs. gremlins builds the tests once for each mutant: package translog took it over an hour, not 8 minutes.
// Other tools for Go that build all mutants at once (go-mutants, ditto, assay) have no version 1 yet.
//
// go run ./scripts/mutate [-least PERCENT] PACKAGE [PACKAGE-WITH-TESTS ...]
//
// It prints the mutants that lived or were not reached, with the number of tests in which they make a difference, and the score: how many
// of those that a test reaches were found. A score below -least fails.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutate: ")
	least := flag.Float64("least", 0, "the least score in percent")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("name a package: go run ./scripts/mutate ./internal/proof")
	}
	score, err := mutate(os.Stdout, flag.Arg(0), flag.Args()[min(1, flag.NArg()-1):])
	if err != nil {
		log.Fatal(err)
	}
	if score < *least {
		log.Fatalf("the score is below %g %%", *least)
	}
}

// mutate tests the mutants of a package with the tests of packages and returns the score in percent.
func mutate(w io.Writer, path string, testPackages []string) (float64, error) {
	out, err := os.MkdirTemp("", "consign-mutate-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(out)
	mutants, file, err := overlay(path, out)
	if err != nil {
		return 0, err
	}
	var all []test
	for _, p := range testPackages {
		tests, err := build(p, file, out)
		if err != nil {
			return 0, err
		}
		all = append(all, tests...)
	}
	tests, reached := choose(mutants, reach(w, all, out))
	count := map[result]int{}
	each(len(mutants), func(n int) func() {
		result := missed
		if reached[n] {
			result = try(n+1, tests[n])
		}
		return func() {
			count[result]++
			if result == lived || result == missed {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d tests\n", result, mutants[n].place, mutants[n].kind, len(tests[n]))
			}
		}
	})
	found := count[killed] + count[late]
	score := 100 * float64(found) / float64(max(1, found+count[lived]))
	fmt.Fprintf(w, "%d killed, %d timed out, %d lived, %d not reached: %.1f %%\n",
		count[killed], count[late], count[lived], count[missed], score)
	return score, nil
}

// command returns the output of a program.
func command(name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}
