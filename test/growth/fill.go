//go:build growth

// Fills a database of the chosen size, with the SQL of fill.sql.

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/errgroup"

	"github.com/consign-dev/consign/internal/database"
)

//go:embed fill.sql
var fillSQL string

const personsOfOne = 12 // persons for each organization

// prepare makes and fills the database of a size, unless it is there, and gives the persons who send requests their password.
func (g *growth) prepare(ctx context.Context, s *size) error {
	began := time.Now()
	name := fmt.Sprintf("growth_%d_%d", s.persons, s.transfers)
	s.url = g.cluster.URL(name)
	admin, err := pgx.Connect(ctx, g.cluster.URL("postgres"))
	if err != nil {
		return err
	}
	defer admin.Close(ctx)
	var filled bool
	if err := admin.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND shobj_description(oid, 'pg_database') = 'filled')`, name).Scan(&filled); err != nil {
		return err
	}
	if filled {
		if err := database.Migrate(ctx, s.url, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
		conn, err := pgx.Connect(ctx, s.url)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		return run(ctx, conn, "TRUNCATE transfer.stranger_reservations") // of a run before
	}
	// Fewer checkpoints while all is written.
	if err := run(ctx, admin, "DROP DATABASE IF EXISTS "+name, "CREATE DATABASE "+name, "ALTER SYSTEM SET max_wal_size = '8GB'",
		"SELECT pg_reload_conf()"); err != nil {
		return err
	}
	if err := database.Migrate(ctx, s.url, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if err := g.fill(ctx, *s); err != nil {
		return err
	}
	if err := run(ctx, admin, "ALTER SYSTEM RESET max_wal_size", "SELECT pg_reload_conf()", "CHECKPOINT",
		"COMMENT ON DATABASE "+name+" IS 'filled'"); err != nil {
		return err
	}
	s.filled = time.Since(began)
	fmt.Fprintf(os.Stderr, "%v: filled in %s\n", *s, s.filled.Round(time.Second))
	return nil
}

// fill drops keys and indexes, runs fill.sql, and makes keys and indexes again from their definitions in the catalog.
func (g *growth) fill(ctx context.Context, s size) error {
	conn, err := connectFast(ctx, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	before, err := definitions(ctx, conn)
	if err != nil {
		return err
	}
	for _, d := range slices.Backward(before) {
		if d.Drop != "" {
			if err := run(ctx, conn, d.Drop); err != nil {
				return err
			}
		}
	}
	text := strings.NewReplacer(":persons", strconv.Itoa(s.persons), ":organizations", strconv.Itoa(s.persons/personsOfOne), ":transfers",
		strconv.Itoa(s.transfers),
		":objects", strconv.Itoa(g.objects), ":ordinary", strconv.Itoa(ordinary), ":host", host).Replace(fillSQL)
	for _, sql := range strings.Split(text, ";\n") {
		if strings.TrimSpace(sql) != "" {
			if err := run(ctx, conn, sql); err != nil {
				return err
			}
		}
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), 4)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `UPDATE identity.authenticators SET secret = $1 WHERE person IN (SELECT person FROM identity.addresses WHERE address = ANY ($2))`,
		hash, []string{address(heavy), address(administrator), address(ordinary)}); err != nil {
		return err
	}
	if err := create(ctx, s.url, before); err != nil {
		return err
	}
	after, err := definitions(ctx, conn)
	if err == nil && !slices.Equal(before, after) {
		err = errors.New("keys and indexes are not those of before")
	}
	if err != nil {
		return err
	}
	return run(ctx, conn, "VACUUM ANALYZE")
}

// connectFast connects without triggers and without waiting for the disk.
func connectFast(ctx context.Context, url string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	err = run(ctx, conn, "SET session_replication_role = replica", "SET synchronous_commit = off", "SET maintenance_work_mem = '1GB'",
		"SET work_mem = '256MB'")
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// run executes statements, and logs slow ones.
func run(ctx context.Context, conn *pgx.Conn, statements ...string) error {
	for _, sql := range statements {
		began := time.Now()
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%w: %.80s", err, strings.TrimSpace(sql))
		}
		if took := time.Since(began); took > 5*time.Second {
			fmt.Fprintf(os.Stderr, "  %4.0f s  %.90s\n", took.Seconds(), strings.ReplaceAll(strings.TrimSpace(sql), "\n", " "))
		}
	}
	return nil
}

// definition is a key, an index, or a statement that follows it.
type definition struct {
	Step         int // definitions of one step can be made in parallel, in the order of steps
	Create, Drop string
}

// definitions returns primary and unique keys and indexes, settings of their columns, and foreign keys, except those of the partitioned
// table of the audit.
func definitions(ctx context.Context, conn *pgx.Conn) ([]definition, error) {
	rows, err := conn.Query(ctx, `
		WITH tables AS (
			SELECT oid FROM pg_class WHERE relkind = 'r' AND (relnamespace IN ('identity'::regnamespace,
				'transfer'::regnamespace, 'webhook'::regnamespace)
				OR oid IN ('events'::regclass, 'event_feeds'::regclass))
		), keys AS (
			SELECT * FROM pg_constraint WHERE conrelid IN (SELECT oid FROM tables) AND contype IN ('p', 'u', 'f')
		), indexes AS (
			SELECT indexrelid FROM pg_index WHERE indrelid IN (SELECT oid FROM tables) AND indexrelid NOT IN (SELECT conindid FROM keys
				WHERE contype IN ('p', 'u'))
		)
		SELECT CASE contype WHEN 'f' THEN 3 ELSE 1 END, format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,
			pg_get_constraintdef(oid)),
			format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM keys
		UNION ALL
		SELECT 1, pg_get_indexdef(indexrelid), format('DROP INDEX %s', indexrelid::regclass) FROM indexes
		UNION ALL
		SELECT 2, format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS %s', attrelid::regclass, attnum, attstattarget), ''
		FROM pg_attribute WHERE attrelid IN (SELECT indexrelid FROM indexes) AND attstattarget >= 0
		ORDER BY 1, 2`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[definition])
}

// create makes keys and indexes, two at a time, and then foreign keys one after the other: two could wait for each other.
func create(ctx context.Context, url string, list []definition) error {
	for i, parallel := range []int{2, 1, 1} {
		work, ctx := errgroup.WithContext(ctx)
		work.SetLimit(parallel)
		for _, d := range list {
			if d.Step != i+1 {
				continue
			}
			work.Go(func() error {
				conn, err := connectFast(ctx, url)
				if err != nil {
					return err
				}
				defer conn.Close(ctx)
				return run(ctx, conn, d.Create)
			})
		}
		if err := work.Wait(); err != nil {
			return err
		}
	}
	return nil
}
