package app

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/localpg"
)

// Database is where the database is, and the private cluster it is in when none is configured.
type Database struct {
	URL     string
	cluster *localpg.Cluster // nil: somebody else's server
}

// ClusterDir is where below the data directory the private cluster lies.
const ClusterDir = "postgres"

// OpenDatabase gives the configured database, or starts or joins the private cluster below the data directory.
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

// run starts a private cluster again when it has died, until ctx ends.
func (d Database) run(ctx context.Context) error {
	if d.cluster == nil {
		return nil
	}
	return d.cluster.Run(ctx)
}

// Close leaves a private cluster; the last one out stops it.
func (d Database) Close() error {
	if d.cluster == nil {
		return nil
	}
	return d.cluster.Close()
}
