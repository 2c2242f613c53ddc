//go:build growth

// Command growth fills databases of several sizes and measures which requests and jobs of bin/consign cost more as they grow.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/localpg"
)

const (
	password = "correct horse battery"
	host     = "localhost"

	// Persons who send requests. The administrator is that of organization 1, the others have no organization.
	heavy, administrator, ordinary = 1, 2, 7
)

func address(person int) string { return fmt.Sprintf("p%d@example.com", person) }

// size is one filled database.
type size struct {
	persons, transfers int
	url                string
	filled             time.Duration
}

func (s size) String() string { return fmt.Sprintf("%d persons, %d transfers", s.persons, s.transfers) }

// growth is one run of this program.
type growth struct {
	objects, due, samples int
	fsck                  bool
	dir                   string
	cluster               *localpg.Cluster
}

func main() {
	var g growth
	sizes := flag.String("sizes", "1000/10000,100000/1000000,600000/2500000", "persons/transfers of each database")
	keep := flag.Bool("keep", false, "keep the directory of the databases, and use databases that are filled already")
	flag.IntVar(&g.objects, "objects", 3, "files of each transfer")
	flag.IntVar(&g.due, "due", 100_000, "transfers that fall due at once")
	flag.IntVar(&g.samples, "samples", 200, "samples of each request, after 20 others")
	flag.BoolVar(&g.fsck, "fsck", true, "make the files of all objects, and check them with consign fsck")
	flag.StringVar(&g.dir, "dir", filepath.Join(os.TempDir(), "consign-growth"), "directory of the databases; it is removed at the end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := g.run(ctx, *sizes, *keep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (g *growth) run(ctx context.Context, list string, keep bool) (err error) {
	sizes, err := parse(list)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(g.dir, 0o755); err != nil {
		return err
	}
	if !keep {
		defer func() { err = errors.Join(err, os.RemoveAll(g.dir)) }()
	}
	if g.cluster, err = localpg.Start(ctx, localpg.Options{Dir: filepath.Join(g.dir, "postgres"), Fsync: true}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.cluster.Close()) }()
	for i := range sizes {
		if err := g.prepare(ctx, &sizes[i]); err != nil {
			return err
		}
	}
	return g.measure(ctx, sizes)
}

func parse(list string) ([]size, error) {
	var sizes []size
	for _, text := range strings.Split(list, ",") {
		persons, transfers, _ := strings.Cut(text, "/")
		p, err1 := strconv.Atoi(persons)
		t, err2 := strconv.Atoi(transfers)
		if err := errors.Join(err1, err2); err != nil || p < 1000 || t < 1000 {
			return nil, fmt.Errorf("-sizes: %q is not persons/transfers of at least 1000", text)
		}
		sizes = append(sizes, size{persons: p, transfers: t})
	}
	return sizes, nil
}
