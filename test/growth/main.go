//go:build growth

// Command growth fills databases of several sizes and measures which requests and jobs of bin/consign cost more as they grow.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/bcrypt"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/localpg"
)

//go:embed fill.sql
var fill string

const (
	password     = "correct horse battery"
	host         = "localhost"
	personsOfOne = 12 // persons for each organization
)

// size is one filled database.
type size struct {
	persons, transfers int
	url                string // of a filled database; empty: fill one
}

// growth is one run of this program.
type growth struct {
	objects, due, samples int
	dir                   string
	cluster               *localpg.Cluster
}

func main() {
	var g growth
	sizes := flag.String("sizes", "1000/10000,100000/1000000,600000/2500000", "persons/transfers of each database")
	use := flag.String("use", "", "databases that are filled already, by size: URL,URL")
	flag.IntVar(&g.objects, "objects", 3, "files of each transfer")
	flag.IntVar(&g.due, "due", 100_000, "transfers that fall due at once")
	flag.IntVar(&g.samples, "samples", 200, "samples of each request, after 20 others")
	flag.StringVar(&g.dir, "dir", filepath.Join(os.TempDir(), "consign-growth"), "directory of the databases; it is removed at the end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := g.run(ctx, *sizes, *use); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (g *growth) run(ctx context.Context, list, use string) (err error) {
	sizes, err := parse(list, use)
	if err != nil {
		return err
	}
	if use == "" {
		if err := os.MkdirAll(g.dir, 0o755); err != nil {
			return err
		}
		if g.cluster, err = localpg.Start(ctx, localpg.Options{Dir: filepath.Join(g.dir, "postgres"), Fsync: true}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.cluster.Close(), os.RemoveAll(g.dir)) }()
	}
	var results []result
	for i := range sizes {
		if err := g.prepare(ctx, &sizes[i]); err != nil {
			return err
		}
		r, err := g.measure(ctx, sizes[i])
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	return report(os.Stdout, sizes, results)
}

func parse(list, use string) ([]size, error) {
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
	for i, url := range strings.Split(use, ",") {
		if use != "" && i < len(sizes) {
			sizes[i].url = url
		}
	}
	return sizes, nil
}

// prepare makes and fills the database of a size, and gives each person the password.
func (g *growth) prepare(ctx context.Context, s *size) error {
	began := time.Now()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), 4)
	if err != nil {
		return err
	}
	if s.url == "" {
		name := fmt.Sprintf("growth_%d_%d", s.persons, s.transfers)
		admin, err := pgx.Connect(ctx, g.cluster.URL("postgres"))
		if err != nil {
			return err
		}
		defer admin.Close(ctx)
		if _, err := admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name); err != nil {
			return err
		}
		if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
			return err
		}
		s.url = g.cluster.URL(name)
		if err := database.Migrate(ctx, s.url, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
		if err := g.fill(ctx, *s); err != nil {
			return err
		}
	}
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `UPDATE identity.authenticators SET secret = $1 WHERE person IN (SELECT md5('person' || n)::uuid FROM generate_series(1, 20) n)`, hash)
	fmt.Fprintf(os.Stderr, "%d persons, %d transfers: ready after %s\n", s.persons, s.transfers, time.Since(began).Round(time.Second))
	return err
}

// fill runs fill.sql, one statement after the other.
func (g *growth) fill(ctx context.Context, s size) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	text := strings.NewReplacer(":persons", strconv.Itoa(s.persons), ":organizations", strconv.Itoa(s.persons/personsOfOne), ":transfers", strconv.Itoa(s.transfers),
		":objects", strconv.Itoa(g.objects), ":host", host, ":password", "x").Replace(fill)
	for _, sql := range strings.Split(text, ";\n") {
		if strings.TrimSpace(sql) == "" {
			continue
		}
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%w: %.80s", err, strings.TrimSpace(sql))
		}
	}
	return nil
}
