package database

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
)

// OpenImpatient is New with d as the timeout of statements and of waiting for a connection.
func OpenImpatient(ctx context.Context, url string, maxConns int, d time.Duration) (*DB, error) {
	return newPool(ctx, url, maxConns, patience{statement: d, acquire: d})
}

// MigrateFilesTo applies the files of package migrations up to version, which makes the schema of an older program.
func MigrateFilesTo(ctx context.Context, url string, version int64) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	return withGoose(cfg, func(provider *goose.Provider) error {
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
	err = withGoose(cfg, func(provider *goose.Provider) error {
		for _, source := range provider.ListSources() {
			versions = append(versions, source.Version)
		}
		return nil
	})
	return versions, err
}
