// The tests of the mutants: which reach one, and whether they notice it.

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// test is a test function in a test program.
type test struct {
	program, dir, name string
	took               time.Duration
	saw                map[outcome]bool
	rare               map[string]float64 // by file: how much it saw there that few tests see
}

// outcome is what a test sees at the place of a mutant: whether the mutant makes a difference there. A negation always makes one: then it
// is the value of the condition.
type outcome struct {
	mutant int
	is     bool
}

// result is what became of a mutant.
type result string

const (
	killed result = "KILLED"
	late   result = "TIMED OUT"
	lived  result = "LIVED"
	missed result = "NOT REACHED"
)

// A mutant that lives would need all tests that reach its place, often hundreds: so the score is a lower bound.
const (
	quick     = 6
	mostTests = 60
)

// build builds the test program of a package and lists its tests.
func build(path, overlay, out string) ([]test, error) {
	program := filepath.Join(out, strings.ReplaceAll(strings.Trim(path, "./"), "/", "_")+".test")
	if _, err := command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", program, path); err != nil {
		return nil, fmt.Errorf("build the tests of %s: %w", path, err)
	}
	dir, err := command("go", "list", "-f", "{{.Dir}}", path)
	if err != nil {
		return nil, err
	}
	names, err := command(program, "-test.list", "^Test")
	if err != nil {
		return nil, err
	}
	var tests []test
	for _, name := range strings.Fields(string(names)) {
		tests = append(tests, test{program: program, dir: strings.TrimSpace(string(dir)), name: name})
	}
	return tests, nil
}

// reach runs each test once without a mutant and returns those that pass, with what they saw. Those that fail are printed: most of them
// wait for longer than the short limit of poll.Until.
func reach(w io.Writer, tests []test, out string) (passed []test) {
	each(len(tests), func(n int) func() {
		t, numbers := tests[n], filepath.Join(out, strconv.Itoa(n)+".reached")
		begin := time.Now()
		result, said := run([]test{t}, 3*time.Minute, "MUTANTS_REACHED="+numbers)
		t.took, t.saw = time.Since(begin), map[outcome]bool{}
		return func() {
			if result != lived {
				fmt.Fprintf(w, "LEFT OUT\t%s\tfails without a mutant: %s\n", t.name, strings.Join(strings.Fields(said), " "))
				return
			}
			raw, _ := os.ReadFile(numbers) // there is none if the test reaches no mutant
			for line := range strings.Lines(string(raw)) {
				var o outcome
				var is int
				if _, err := fmt.Sscan(line, &o.mutant, &is); err == nil {
					o.is = is == 1
					t.saw[o] = true
				}
			}
			passed = append(passed, t)
		}
	})
	return passed
}

// sights is what all tests saw.
type sights struct {
	count  map[outcome]int  // how many tests saw it
	onLine map[string][]int // mutants
}

// rarest returns how many tests saw what the fewest of them saw at a line, of what t saw there.
func (s sights) rarest(t test, line string) (tests int) {
	for _, number := range s.onLine[line] {
		for _, o := range []outcome{{number, false}, {number, true}} {
			if t.saw[o] && (tests == 0 || s.count[o] < tests) {
				tests = s.count[o]
			}
		}
	}
	return tests
}

// choose returns the tests that may find each mutant, and whether any test reaches it. First come the fastest, then those that saw what few
// tests see: at its line, then in its file. The others mostly pass it by.
func choose(mutants []mutant, tests []test) (chosen [][]test, reached []bool) {
	s := sights{map[outcome]int{}, map[string][]int{}}
	for i, m := range mutants {
		s.onLine[m.line()] = append(s.onLine[m.line()], i+1)
	}
	for _, t := range tests {
		for o := range t.saw {
			s.count[o]++
		}
	}
	for i, t := range tests {
		tests[i].rare = map[string]float64{}
		for o := range t.saw {
			tests[i].rare[mutants[o.mutant-1].file()] += 1 / float64(s.count[o])
		}
	}
	chosen, reached = make([][]test, len(mutants)), make([]bool, len(mutants))
	for i, m := range mutants {
		passed, differs := outcome{i + 1, false}, outcome{i + 1, true}
		reached[i] = s.count[passed]+s.count[differs] > 0
		for _, t := range tests {
			if t.saw[differs] || t.saw[passed] && m.kind == negation {
				chosen[i] = append(chosen[i], t)
			}
		}
		slices.SortFunc(chosen[i], func(a, b test) int { return cmp.Compare(a.took, b.took) })
		slices.SortStableFunc(chosen[i][min(quick, len(chosen[i])):], func(a, b test) int {
			return cmp.Or(s.rarest(a, m.line())-s.rarest(b, m.line()), cmp.Compare(b.rare[m.file()], a.rare[m.file()]))
		})
	}
	return chosen, reached
}

// try runs the tests of a mutant until one fails.
func try(number int, tests []test) result {
	if len(tests) == 0 {
		return lived
	}
	tests = tests[:min(mostTests, len(tests))]
	first := min(quick, len(tests))
	for _, group := range append(programs(tests[:first]), programs(tests[first:])...) {
		longest := slices.MaxFunc(group, func(a, b test) int { return cmp.Compare(a.took, b.took) })
		limit := 30*time.Second + 3*longest.took
		for _, t := range group {
			limit += t.took / 2 // many run in parallel
		}
		if result, _ := run(group, limit, "MUTANT="+strconv.Itoa(number)); result != lived {
			return result
		}
	}
	return lived
}

// programs groups tests by their program.
func programs(tests []test) (groups [][]test) {
	for _, t := range tests {
		i := slices.IndexFunc(groups, func(g []test) bool { return g[0].program == t.program })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], t)
	}
	return groups
}

// run runs tests of one program, and returns the last lines of what it said.
func run(tests []test, limit time.Duration, env string) (result, string) {
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = t.name
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, tests[0].program, "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	var said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = tests[0].dir, &said, &said, time.Second
	cmd.Env = append(os.Environ(), env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what a test has started ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return late, ""
	case err != nil:
		return killed, said.String()[max(0, said.Len()-300):]
	}
	return lived, ""
}

// each calls do for 0 to n-1, on all processors, and what it returns one after the other.
func each(n int, do func(int) func()) {
	numbers := make(chan int)
	var all sync.WaitGroup
	var mu sync.Mutex
	for range runtime.NumCPU() {
		all.Go(func() {
			for number := range numbers {
				then := do(number)
				mu.Lock()
				then()
				mu.Unlock()
			}
		})
	}
	for number := range n {
		numbers <- number
	}
	close(numbers)
	all.Wait()
}
