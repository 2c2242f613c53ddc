package disk_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit/powercut"
)

// site identifies an fsync by its call stack within package disk and by the depth of the directory, because the fan-out is
// created in a loop.
func site(s powercut.Sync) string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var lines []string
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, "/internal/blob/disk.") {
			lines = append(lines, fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line))
		}
		if !more {
			return fmt.Sprintf("%s at depth %d", strings.Join(lines, " < "), strings.Count(s.Name, "/"))
		}
	}
}

// TestEveryFsyncMatters skips one fsync at a time and expects a broken promise each time.
func TestEveryFsyncMatters(t *testing.T) {
	t.Parallel()
	sites := map[string][]int{} // and the work that each occurs in
	for i, steps := range work {
		if err := explore(steps, func(s powercut.Sync) bool {
			if at := site(s); !slices.Contains(sites[at], i) {
				sites[at] = append(sites[at], i)
			}
			return false
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(sites)) {
		var broken error
		for _, i := range sites[at] {
			if broken = explore(work[i], func(s powercut.Sync) bool { return site(s) == at }); broken != nil {
				break
			}
		}
		if broken == nil {
			t.Errorf("nothing breaks without the fsync in %s", at)
		} else {
			t.Logf("without the fsync in %s: %v", at, broken)
		}
	}
	for _, line := range fsyncsInSource(t) {
		seen := func(at string) bool { return strings.HasPrefix(at, line+" ") }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(sites)), seen) {
			t.Errorf("the fsync in %s was never reached", line)
		}
	}
}

// fsyncsInSource returns file:line of each fsync that the store asks its FS for.
func fsyncsInSource(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "fs") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Sync" || f.Sel.Name == "SyncDir") {
					lines = append(lines, fmt.Sprintf("%s:%d", name, set.Position(f.Sel.Pos()).Line))
				}
			}
			return true
		})
	}
	if len(lines) < 5 {
		t.Fatalf("found only %v", lines)
	}
	return lines
}
