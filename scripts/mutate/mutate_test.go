package main

import (
	"slices"
	"strings"
	"testing"
)

// TestMutate: of a package with each kind of operator, the mutants are found that its tests look for, and no others.
func TestMutate(t *testing.T) {
	t.Chdir("../..")
	var out strings.Builder
	score, err := mutate(&out, "./scripts/mutate/testdata/sample", []string{"./scripts/mutate/testdata/sample"})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i := range lines {
		lines[i], _, _ = strings.Cut(lines[i], "\tfails without a mutant: --- FAIL: TestNeverPasses")
	}
	slices.Sort(lines)
	want := []string{
		"14 killed, 0 timed out, 1 lived, 1 not reached: 93.3 %",
		"LEFT OUT\tTestNeverPasses",
		"LIVED\tsample.go:19:44\tCONDITIONALS_BOUNDARY",
		"NOT REACHED\tsample.go:29:41\tCONDITIONALS_NEGATION",
	}
	if !slices.Equal(lines, want) || score < 93 || score > 94 {
		t.Errorf("%q, %g %%, want %q", lines, score, want)
	}
}
