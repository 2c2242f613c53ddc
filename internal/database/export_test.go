package database

import (
	"context"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"

	"github.com/consign-dev/consign/migrations"
)

// OpenImpatient is New with d as the timeout of statements and of waiting for a connection.
func OpenImpatient(ctx context.Context, url string, maxConns int, d time.Duration) (*DB, error) {
	return newPool(ctx, url, maxConns, patience{statement: d, acquire: d})
}

// MigrateFiles applies the files of another source than package migrations.
func MigrateFiles(ctx context.Context, url string, files fs.FS, log *slog.Logger) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	return migrateFiles(ctx, cfg, files, log)
}

// MigrateFilesTo applies the files of package migrations up to version, which makes the schema of an older program.
func MigrateFilesTo(ctx context.Context, url string, version int64) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	return withGoose(cfg, migrations.FS, func(provider *goose.Provider) error {
		_, err := provider.UpTo(ctx, version)
		return err
	})
}

// MigrationVersions returns the versions of all files, in order.
func MigrationVersions(ctx context.Context, url string) (versions []int64, err error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	err = withGoose(cfg, migrations.FS, func(provider *goose.Provider) error {
		for _, source := range provider.ListSources() {
			versions = append(versions, source.Version)
		}
		return nil
	})
	return versions, err
}
