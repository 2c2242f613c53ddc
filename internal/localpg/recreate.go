package localpg

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// ErrShared is returned by Recreate while another process uses the cluster.
var ErrShared = errors.New("another process uses this Postgres")

// Recreate replaces the database by an empty one. Nobody else may use the cluster meanwhile: other processes wait in Start.
// Errors: ErrShared.
func (c *Cluster) Recreate(ctx context.Context) error {
	c.closing.Lock()
	defer c.closing.Unlock()
	path := filepath.Join(c.options.Dir, "users.lock")
	c.users.release()
	alone, err := tryExclusive(path)
	if err != nil {
		again, err := acquire(ctx, path, shared)
		if err != nil { // the released lock stays: Close releases it once more, which does nothing
			return err
		}
		c.users = again
		return fmt.Errorf("%s: %w", c.dir, ErrShared)
	}
	err = errors.Join(c.ensureRunning(ctx), c.drop(ctx), c.ensureDatabase(ctx))
	c.users = alone
	return errors.Join(err, flock(alone.file, shared))
}

func (c *Cluster) drop(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{c.options.Database}.Sanitize()+" WITH (FORCE)")
	return err
}
