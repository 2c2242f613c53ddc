//go:build bench

// Command bench compares Consign with reference programs on the same machine. Consign is the built binary on an embedded Postgres with
// fsync. A reference program does the same work with net/http, Consign's SQL statements, golang-jwt and x/crypto alone. Both are measured
// alternately, so that other load of the machine affects both. Only the ratios, and the processor time per request, carry over to other
// machines. Run it with make bench.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	rows    *regexp.Regexp
	sample  time.Duration
	rounds  int
	size    int64
	write   string
	profile string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "reference" {
		if err := reference(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "reference:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse() (options, error) {
	var o options
	rows := flag.String("row", "", "only the rows whose name matches this expression")
	flag.DurationVar(&o.sample, "time", time.Second, "length of one sample")
	flag.IntVar(&o.rounds, "rounds", 4, "samples of each side")
	mib := flag.Int64("mib", 1024, "size of an uploaded or downloaded file in MiB")
	flag.StringVar(&o.write, "write", "", "file to write the table to")
	flag.StringVar(&o.profile, "profile", "", "directory for a processor profile of the server during each row of requests")
	list := flag.Bool("list", false, "list the rows")
	flag.Parse()
	if *list {
		for _, r := range rowTable {
			fmt.Printf("%-12s %s\n", r.name, r.title)
		}
		os.Exit(0)
	}
	var err error
	o.size = *mib << 20
	o.rows, err = regexp.Compile(*rows)
	if err == nil && (o.rounds < 1 || *mib < 1 || o.sample <= 0) {
		err = errors.New("-rounds, -mib and -time must be positive")
	}
	return o, err
}

// run measures the chosen rows and reports them.
func run(ctx context.Context) (err error) {
	o, err := parse()
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	report := newReport(b.facts())
	report.begin(os.Stdout)
	for _, row := range rowTable {
		if !o.rows.MatchString(row.name) {
			continue
		}
		results, err := row.run(ctx, b)
		if err != nil {
			return fmt.Errorf("row %s: %w", row.name, err)
		}
		for _, r := range results {
			report.add(os.Stdout, r)
		}
	}
	report.end(os.Stdout)
	if o.write != "" {
		return report.write(o.write)
	}
	return nil
}

// row is a benchmark that makes one or more lines of the table.
type row struct {
	name, title string
	run         func(context.Context, *bench) ([]result, error)
}

// rowTable lists the benchmarks in the order of the table.
var rowTable = []row{
	{"environment", "GET /environment through the whole stack, with log", environmentRow},
	{"mailbox", "GET /public/mailbox/{key} from the database", mailboxRow},
	{"reserve", "POST /public/mailbox/{key} with its ES256 token", reserveRow},
	{"login", "POST /auth/login, bcrypt cost 10", loginRow},
	{"storm", "reads while 32 clients log in", stormRow},
	{"access", "POST /auth/access", accessRow},
	{"upgrade", "POST /auth/upgrade", upgradeRow},
	{"profile", "GET /profile", profileRow},
	{"upload", "upload with SHA-256 while streaming, fsync", uploadRow},
	{"uploads", "4 uploads at once", uploadsRow},
	{"dialects", "uploads by tus and by the IETF's protocol, beside PUT", dialectsRow},
	{"parts", "a file in 4 parts at once beside 4 files at once; memory of a part", partsRow},
	{"line", "a file in parts beside one stream, over a line of 100 ms and 0.1 % loss (root, Linux)", lineRow},
	{"download", "download, plain HTTP, 1 and 4 connections", downloadRow},
	{"encryption", "uploads and downloads of encrypted files", encryptionRow},
	{"start", "start to first 200 on a migrated database", startRow},
	{"binary", "size of the stripped binary without fonts", binaryRow},
	{"memory", "resident memory idle, under load, for each transfer", memoryRow},
}
