package app

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/localpg"
)

// Database is the URL of the database, and its private cluster when none is configured.
type Database struct {
	URL     string
	cluster *localpg.Cluster // nil: an external database
}

// ClusterDir is the directory of the private cluster below the data directory.
const ClusterDir = "postgres"

// OpenDatabase returns the configured database, or starts or joins the private cluster below the data directory.
func OpenDatabase(ctx context.Context, cfg config.Config, log *slog.Logger) (Database, error) {
	if cfg.DatabaseURL != "" {
		return Database{URL: cfg.DatabaseURL}, nil
	}
	cluster, err := localpg.Start(ctx, localpg.Options{Dir: filepath.Join(cfg.DataDir, ClusterDir), Fsync: true, Log: log})
	if err != nil {
		return Database{}, err
	}
	return Database{URL: cluster.URL("consign"), cluster: cluster}, nil
}

// run restarts a private cluster that has died, until ctx ends.
func (d Database) run(ctx context.Context) error {
	if d.cluster == nil {
		return nil
	}
	return d.cluster.Run(ctx)
}

// Close leaves a private cluster. The last process to leave stops it.
func (d Database) Close() error {
	if d.cluster == nil {
		return nil
	}
	return d.cluster.Close()
}
