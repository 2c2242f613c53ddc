package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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
		"LIVED\tsample.go:19:44\tCONDITIONALS_BOUNDARY\t0 tests",
		"NOT REACHED\tsample.go:29:41\tCONDITIONALS_NEGATION\t0 tests",
	}
	if !slices.Equal(lines, want) || score < 93 || score > 94 {
		t.Errorf("%q, %g %%, want %q", lines, score, want)
	}
}

// TestChoose: of many tests, the few that saw a condition come out the other way are tried early, though they are slow. A bound is tried by
// those that reached it.
func TestChoose(t *testing.T) {
	mutants := []mutant{{"a.go:1:5", negation}, {"a.go:1:9", negation}, {"a.go:1:9", "CONDITIONALS_BOUNDARY"},
		{"a.go:7:1", negation}, {"b.go:1:1", negation}}
	var tests []test
	for n := range 70 {
		saw := map[outcome]bool{{1, true}: true, {2, false}: true, {3, false}: true}
		tests = append(tests, test{name: strconv.Itoa(n), took: time.Second, saw: saw})
	}
	tests[50].took, tests[50].saw[outcome{2, true}] = time.Minute, true
	tests[60].saw[outcome{3, true}] = true
	tests[40].took, tests[40].saw[outcome{4, true}] = time.Minute, true
	chosen, reached := choose(mutants, tests)
	if len(chosen[0]) != 70 || !slices.ContainsFunc(chosen[0][quick:quick+2], func(t test) bool { return t.name == "50" }) {
		t.Errorf("%d tests of a negation", len(chosen[0]))
	}
	if tried := chosen[0][quick : quick+3]; !slices.ContainsFunc(tried, func(t test) bool { return t.name == "40" }) {
		t.Error("a test that saw another rare branch of the file is late")
	}
	if len(chosen[2]) != 1 || chosen[2][0].name != "60" || !reached[2] || reached[4] {
		t.Errorf("the bound is tried by %d tests", len(chosen[2]))
	}
}
