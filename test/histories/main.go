// Histories decides with porcupine whether recorded histories are linearizable: whether the answers that several clients got of one object
// could have been given by one server that does one operation at a time. Its argument is a file with a history on each line.
//
// With -stale the histories come through a cache that answers from an old reading. Then some of each kind must not be linearizable.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// most is how long one history may take. None took a second so far.
const most = time.Minute

// shown is how many histories of a kind that are not linearizable are printed.
const shown = 3

// History is what several clients did with one object.
type History struct {
	Kind string
	Ops  []Op
}

// Op is an operation. Times are nanoseconds of one clock.
type Op struct {
	Client, At int    // who asked which replica
	Do         string // the operation, and its numbers
	From, To   int64
	Call       int64
	Return     int64  // 0: the outcome is unknown
	Got        string // the error's code, or the status
	Value      int64  // what the answer says
	Text       string
}

// String returns the operation in a line.
func (o Op) String() string {
	got := "unknown"
	if o.Return != 0 {
		got = strings.TrimSpace(fmt.Sprintf("%s %d %s in %d ms", o.Got, o.Value, o.Text, (o.Return-o.Call)/1e6))
	}
	return fmt.Sprintf("%9.3f s client %d at replica %d: %s %d %d: %s", float64(o.Call)/1e9, o.Client, o.At, o.Do, o.From, o.To, got)
}

// count is the sum over the histories of a kind.
type count struct{ histories, ops, unknown, wrong int }

func main() {
	stale := flag.Bool("stale", false, "some histories of each kind must not be linearizable")
	pictures := flag.String("pictures", "", "directory for a picture of each kind's first history that is not linearizable")
	flag.Parse()
	if err := run(flag.Arg(0), *stale, *pictures); err != nil {
		fmt.Fprintln(os.Stderr, "histories:", err)
		os.Exit(1)
	}
}

func run(file string, stale bool, pictures string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	counts := map[string]*count{}
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var h History
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
			return err
		}
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			result, info, err := check(h)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			n := counts[h.Kind]
			if n == nil {
				n = &count{}
				counts[h.Kind] = n
			}
			n.add(h, result)
			if result == porcupine.Illegal {
				show(h, info, n.wrong, stale, pictures)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failed, lines.Err()); err != nil {
		return err
	}
	return report(counts, stale)
}

// check decides about a history.
func check(h History) (porcupine.CheckResult, porcupine.LinearizationInfo, error) {
	m, ok := models[h.Kind]
	if !ok {
		return "", porcupine.LinearizationInfo{}, fmt.Errorf("no model of %q", h.Kind)
	}
	ops := make([]porcupine.Operation, 0, len(h.Ops))
	for _, o := range h.Ops {
		p := porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call, Return: o.Return}
		if o.Return == 0 {
			p.Return = math.MaxInt64 // it happens at any later time; after all others is as good as never
		} else if m.late != nil {
			p.Call -= int64(m.late(o)) // it may have read what was true that long ago
		}
		ops = append(ops, p)
	}
	result, info := porcupine.CheckOperationsVerbose(m.porcupine(), ops, most)
	if result == porcupine.Unknown {
		return result, info, fmt.Errorf("a history of kind %s was not decided within %v", h.Kind, most)
	}
	return result, info, nil
}

func (n *count) add(h History, result porcupine.CheckResult) {
	n.histories++
	n.ops += len(h.Ops)
	for _, o := range h.Ops {
		if o.Return == 0 {
			n.unknown++
		}
	}
	if result != porcupine.Ok {
		n.wrong++
	}
}

// show prints a history, and draws the first of its kind. Of those behind a stale cache it shows none.
func show(h History, info porcupine.LinearizationInfo, number int, stale bool, pictures string) {
	if stale || number > shown {
		return
	}
	fmt.Printf("not linearizable: %s\n", h.Kind)
	slices.SortFunc(h.Ops, func(a, b Op) int { return int(a.Call - b.Call) })
	for _, o := range h.Ops {
		fmt.Println("  ", o)
	}
	if pictures == "" || number > 1 {
		return
	}
	path := filepath.Join(pictures, h.Kind+".html")
	if err := porcupine.VisualizePath(models[h.Kind].porcupine(), info, path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Println("   drawn in", path)
}

func (n *count) print(kind string) {
	fmt.Printf("%-10s %6d histories, %7d operations, %5d of unknown outcome, %d not linearizable\n",
		kind, n.histories, n.ops, n.unknown, n.wrong)
}

// report prints the sums and says whether they are what they must be.
func report(counts map[string]*count, stale bool) error {
	var all count
	var kinds, missed []string
	for kind := range models {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		n := counts[kind]
		if n == nil {
			n = &count{}
		}
		n.print(kind)
		if n.wrong == 0 {
			missed = append(missed, kind)
		}
		all = count{all.histories + n.histories, all.ops + n.ops, all.unknown + n.unknown, all.wrong + n.wrong}
	}
	all.print("all")
	switch {
	case all.histories == 0:
		return errors.New("there are no histories")
	case !stale && all.wrong > 0:
		return fmt.Errorf("%d histories are not linearizable", all.wrong)
	case stale && len(missed) > 0:
		return fmt.Errorf("the stale cache was not found by: %s", strings.Join(missed, ", "))
	}
	return nil
}
