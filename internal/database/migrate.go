// Applies the migrations of this repository and of River under an advisory lock. Refuses a database of a newer version.

package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"

	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/consign-dev/consign/migrations"
)

const (
	migrationLock = 0x636f6e7369676e // "consign": key of the advisory lock that the migrating process holds
	lockPoll      = 100 * time.Millisecond
	lockRetry     = time.Second // pause before the file is tried again

	// lockPatience is the lock_timeout of a file. Statements of requests queue behind it. It is below Postgres' deadlock_timeout of 1 s,
	// so in a deadlock with a request the migration gives way.
	lockPatience = "500ms"

	versionTable = "migrations"       // goose's, in the schema public
	formerTable  = "goose_db_version" // the same of versions before 1.0.0, whose migrations were others

	lockNotAvailable                = "55P03"
	undefinedTable, undefinedColumn = "42P01", "42703" // SQLSTATE in a database that was never migrated, or has an old River
)

// ErrFormer refuses a database that a version before 1.0.0 has migrated.
var ErrFormer = errors.New("this database belongs to a version of Consign before 1.0.0, which this version cannot read: use an " +
	"empty database")

// Migration is one step of the schema: a file of package migrations, or a version of River's tables.
type Migration struct {
	Name      string    // file name, or "river NNN"
	Applied   bool      // to this database
	AppliedAt time.Time // zero: not applied, or a step of River
}

// Migrate brings the database at url to this program's version: first the files of package migrations, each in a transaction, then
// River's tables. An advisory lock lets one process migrate while others wait, until ctx ends. When a file fails, the earlier files
// stay applied, and the next call continues with the failed one.
func Migrate(ctx context.Context, url string, log *slog.Logger) (err error) {
	cfg, err := readURL(url)
	if err != nil {
		return err
	}
	unlock, err := lockMigrations(ctx, cfg.ConnConfig, log)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := migrateFiles(ctx, cfg.ConnConfig, migrations.FS, log); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := migrateRiver(ctx, url, log); err != nil {
		return fmt.Errorf("migrate job tables: %w", err)
	}
	return nil
}

// lockMigrations takes the advisory lock of migrations, and refuses a database whose encoding is not UTF-8, or of a former version. It
// polls, because a statement that waits inside Postgres would block a CREATE INDEX CONCURRENTLY of the process that holds the lock. Goose's
// own lock would not cover River.
func lockMigrations(ctx context.Context, cfg *pgx.ConnConfig, log *slog.Logger) (unlock func() error, err error) {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, unreached(err)
	}
	closing := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		return conn.Close(ctx) // the lock ends with its session
	}
	for told := false; ; told = true {
		var got bool
		var encoding string
		err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1), current_setting('server_encoding')", int64(migrationLock)).Scan(&got,
			&encoding)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("take the migration lock: %w", err), closing())
		}
		if encoding != "UTF8" {
			return nil, errors.Join(fmt.Errorf("the database is encoded in %s, and names and subjects are in UTF-8: "+
				"make it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", encoding), closing())
		}
		if got {
			if err := refuseFormer(ctx, conn); err != nil {
				return nil, errors.Join(err, closing())
			}
			return closing, nil
		}
		if !told {
			log.Info("waiting for another migration, whose connection holds an advisory lock")
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for another migration: %w", context.Cause(ctx)), closing())
		case <-time.After(lockPoll):
		}
	}
}

// migrateFiles applies the missing files. When another session locks a table for long, as a backup does, it retries after a pause,
// during which running servers can use the table.
func migrateFiles(ctx context.Context, cfg *pgx.ConnConfig, files fs.FS, log *slog.Logger) error {
	return withGoose(cfg, files, func(provider *goose.Provider) error {
		for {
			results, err := provider.Up(ctx)
			var partial *goose.PartialError
			if errors.As(err, &partial) {
				results = partial.Applied
			}
			for _, r := range results {
				log.Info("migrated", "file", path.Base(r.Source.Path), "micros", r.Duration.Microseconds())
			}
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != lockNotAvailable {
				return err
			}
			log.Warn("a migration waits for another session that locks its table, such as a backup", "error", err)
			select {
			case <-ctx.Done():
				return errors.Join(err, context.Cause(ctx))
			case <-time.After(lockRetry):
			}
		}
	})
}

func withGoose(cfg *pgx.ConnConfig, files fs.FS, do func(*goose.Provider) error) error {
	db := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET lock_timeout = '"+lockPatience+"'")
		return err
	}))
	defer func(db *sql.DB) { _ = db.Close() }(db)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName(versionTable),
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	return do(provider)
}

func migrateRiver(ctx context.Context, url string, log *slog.Logger) error {
	return withRiver(ctx, url, func(river *rivermigrate.Migrator[pgx.Tx]) error {
		result, err := river.Migrate(ctx, rivermigrate.DirectionUp, nil)
		if err != nil {
			return err
		}
		for _, v := range result.Versions {
			log.Info("migrated", "file", riverName(v.Version), "micros", v.Duration.Microseconds())
		}
		return nil
	})
}

func withRiver(ctx context.Context, url string, do func(*rivermigrate.Migrator[pgx.Tx]) error) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	river, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return do(river)
}

func riverName(version int) string { return fmt.Sprintf("river %03d", version) }

// MigrationStatus returns every step of this program in order of application, and whether the database has it. It only reads.
func MigrationStatus(ctx context.Context, url string) ([]Migration, error) {
	cfg, err := readURL(url)
	if err != nil {
		return nil, err
	}
	applied, err := appliedFiles(ctx, cfg.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("read migration status: %w", err)
	}
	var steps []Migration
	err = withGoose(cfg.ConnConfig, migrations.FS, func(provider *goose.Provider) error {
		for _, source := range provider.ListSources() {
			at, ok := applied[source.Version]
			steps = append(steps, Migration{Name: path.Base(source.Path), Applied: ok, AppliedAt: at})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	err = withRiver(ctx, url, func(river *rivermigrate.Migrator[pgx.Tx]) error {
		existing, err := river.ExistingVersions(ctx)
		if err != nil {
			return err
		}
		applied := map[int]bool{}
		for _, v := range existing {
			applied[v.Version] = true
		}
		for _, v := range river.AllVersions() {
			steps = append(steps, Migration{Name: riverName(v.Version), Applied: applied[v.Version]})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read migration status of job tables: %w", err)
	}
	return steps, nil
}

// RefuseNewer returns an error when a newer version of the program has migrated the database. Replicas may go on with such a database
// during an upgrade; only an operator who asks for a migration learns that there is none to the older version.
func RefuseNewer(ctx context.Context, url string) error {
	cfg, err := readURL(url)
	if err != nil {
		return err
	}
	applied, err := appliedFiles(ctx, cfg.ConnConfig)
	if err != nil {
		return fmt.Errorf("read migration status: %w", err)
	}
	known, _, err := newestSteps()
	if err != nil {
		return err
	}
	for version := range applied {
		if version > known {
			return fmt.Errorf("a newer version of Consign has migrated this database (migration %04d; this version ends at %04d), and there is no "+
				"way back: "+
				"use the newer version, or restore the backup from before the upgrade", version, known)
		}
	}
	return nil
}

// appliedFiles returns when each file was applied, by version. It reads goose's table itself, because goose would create a missing one.
func appliedFiles(ctx context.Context, cfg *pgx.ConnConfig) (map[int64]time.Time, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, unreached(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := refuseFormer(ctx, conn); err != nil {
		return nil, err
	}
	var exists bool
	err = conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", versionTable).Scan(&exists)
	if err != nil || !exists {
		return nil, err
	}
	rows, err := conn.Query(ctx, `
		SELECT DISTINCT ON (version_id) version_id, is_applied, tstamp AT TIME ZONE current_setting('TimeZone') AS at
		FROM `+versionTable+` ORDER BY version_id, id DESC`)
	if err != nil {
		return nil, err
	}
	type version struct {
		VersionID int64
		IsApplied bool
		At        time.Time
	}
	versions, err := pgx.CollectRows(rows, pgx.RowToStructByName[version])
	if err != nil {
		return nil, err
	}
	applied := map[int64]time.Time{}
	for _, v := range versions {
		if v.IsApplied {
			applied[v.VersionID] = v.At
		}
	}
	return applied, nil
}

// refuseFormer returns ErrFormer for a database of a version before 1.0.0.
func refuseFormer(ctx context.Context, conn *pgx.Conn) error {
	var former bool
	err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", pgx.QueryExecModeExec, formerTable).Scan(&former)
	if err == nil && former {
		err = ErrFormer
	}
	return err
}

// Pending reports whether the database lacks a step of this program, or returns ErrFormer. Steps are applied in order, so it checks only
// the newest file and River's newest version. It takes one round trip, because every start waits for it. This is the first statement of a
// start, so its error also covers a database that cannot be reached.
func (db *DB) Pending(ctx context.Context) (bool, error) {
	file, river, err := newestSteps()
	if err != nil {
		return false, err
	}
	conn, err := db.Pool.Acquire(ctx)
	if err != nil {
		return false, unreached(err)
	}
	defer conn.Release()
	var complete bool
	err = conn.QueryRow(ctx, `
		SELECT coalesce((SELECT is_applied FROM `+versionTable+` WHERE version_id = $1 ORDER BY id DESC LIMIT 1), false)
			AND EXISTS (SELECT FROM river_migration WHERE line = 'main' AND version = $2)`,
		pgx.QueryExecModeExec, file, river).Scan(&complete)
	var failure *pgconn.PgError
	if errors.As(err, &failure) && (failure.Code == undefinedTable || failure.Code == undefinedColumn) {
		return true, refuseFormer(ctx, conn.Conn())
	}
	if err != nil {
		return false, fmt.Errorf("read migration status: %w", err)
	}
	return !complete, nil
}

// Newer reports whether a newer program has migrated the database. This one can serve beside it, until the newer has replaced all replicas.
func (db *DB) Newer(ctx context.Context) (bool, error) {
	file, river, err := newestSteps()
	if err != nil {
		return false, err
	}
	return Scalar[bool](ctx, db.Pool, "compare migrations", nil, `
		SELECT EXISTS (SELECT FROM `+versionTable+` WHERE is_applied AND version_id > $1)
			OR EXISTS (SELECT FROM river_migration WHERE line = 'main' AND version > $2)`, file, river)
}

// newestSteps returns the highest versions of this program's files and of River.
func newestSteps() (file int64, river int, err error) {
	files, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		return 0, 0, fmt.Errorf("list migrations: %w", err)
	}
	for _, name := range files {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return 0, 0, fmt.Errorf("read number of migration %s: %w", name, err)
		}
		file = max(file, version)
	}
	jobs, err := rivermigrate.New(riverpgxv5.New(nil), nil)
	if err != nil {
		return 0, 0, fmt.Errorf("list job table versions: %w", err)
	}
	for _, v := range jobs.AllVersions() {
		river = max(river, v.Version)
	}
	return file, river, nil
}

// SchemaHash returns a hash of all steps of Migrate: equal hashes mean equal schemas. Tests name their template database after it.
func SchemaHash() (string, error) {
	sum := sha256.New()
	files, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		return "", fmt.Errorf("list migrations: %w", err)
	}
	for _, name := range files {
		content, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			return "", fmt.Errorf("read migration: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(content), content)
	}
	river, err := rivermigrate.New(riverpgxv5.New(nil), nil)
	if err != nil {
		return "", fmt.Errorf("list job table versions: %w", err)
	}
	for _, v := range river.AllVersions() {
		fmt.Fprintf(sum, "%s %d\n%s", riverName(v.Version), len(v.SQLUp), v.SQLUp)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
