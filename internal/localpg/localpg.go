// Package localpg runs the embedded Postgres: a private cluster in a directory. It uses the system's initdb and postgres, and
// listens only on a unix socket that the directory's owner can reach. The server uses it when no database is configured. Tests
// always use it. Several processes share one cluster. The first starts it, and the last one to close stops it. A process that
// dies without closing leaves it running.
//
// Package database opens and migrates the databases in it.
package localpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	superuser      = "consign"
	port           = "5432" // only names the socket file: nothing listens on TCP
	defaultLimit   = 100
	startTimeout   = 60 * time.Second // includes crash recovery after kill -9
	stopTimeout    = 30 * time.Second
	pollInterval   = 20 * time.Millisecond
	superviseEvery = 2 * time.Second
)

// Options configure a cluster. Only Dir is required.
type Options struct {
	// Dir holds the cluster. If the process is root and user postgres cannot reach Dir, then Dir holds only the locks and the
	// name of a directory under /var/lib/consign with the cluster.
	Dir string
	// Fsync makes commits survive a power failure. Tests leave it off.
	Fsync bool
	// Database is created when it does not exist; empty: "consign".
	Database string
	// MaxConnections is the server's limit; 0: 100.
	MaxConnections int
	// Log gets a line when the cluster is created, started, reused, moved or stopped; nil: none.
	Log *slog.Logger

	elsewhere string // tests replace /var/lib/consign
}

// Cluster is a running Postgres in use by this process until Close.
type Cluster struct {
	options Options
	bin     string // directory of the programs
	dir     string // data, socket and log; Options.Dir unless the cluster lies elsewhere
	socket  string // directory of the socket
	owner   account
	users   *lock // held shared while in use

	closing sync.Mutex
	closed  bool
}

// Start creates the cluster if there is none, starts it if it does not run, and takes a shared lock on it. It waits up to a
// minute for crash recovery and for another process that is starting or stopping the cluster.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Database == "" {
		o.Database = "consign"
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = defaultLimit
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("start private Postgres: %w", err)
	}
	o.Dir = dir
	c := &Cluster{options: o}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.start(ctx); err != nil {
		return nil, fmt.Errorf("start private Postgres in %s: %w", o.Dir, err)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	// 0711: other users reach their own files below, but cannot list the directory.
	if err := os.MkdirAll(c.options.Dir, 0o711); err != nil {
		return err
	}
	starting, err := acquire(ctx, filepath.Join(c.options.Dir, "start.lock"), exclusive)
	if err != nil {
		return err
	}
	defer starting.release()
	if err := c.locate(ctx); err != nil {
		return err
	}
	if c.users, err = acquire(ctx, filepath.Join(c.options.Dir, "users.lock"), shared); err != nil {
		return err
	}
	if err := c.prepare(ctx); err != nil {
		c.users.release()
		return err
	}
	return nil
}

// prepare creates and starts the located cluster as far as needed, and creates the database.
func (c *Cluster) prepare(ctx context.Context) error {
	if err := c.create(ctx); err != nil {
		return err
	}
	if err := c.makeSocketDir(); err != nil {
		return err
	}
	if err := c.ensureRunning(ctx); err != nil {
		return err
	}
	return c.ensureDatabase(ctx)
}

// URL returns the connection URL of a database of this cluster. It needs no password.
func (c *Cluster) URL(dbname string) string {
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + dbname}
	query := url.Values{"host": {c.socket}, "port": {port}, "sslmode": {"disable"}}.Encode()
	u.RawQuery = strings.ReplaceAll(query, "+", "%20") // as in libpq, a + is one
	return u.String()
}

// Dir returns the directory of the cluster: Options.Dir, unless user postgres cannot reach it.
func (c *Cluster) Dir() string { return c.dir }

// Bin returns the directory of the Postgres programs in use.
func (c *Cluster) Bin() string { return c.bin }

// Run restarts the cluster when it has died, until ctx ends. Close stops it.
func (c *Cluster) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(superviseEvery):
		}
		if err := c.runOnce(ctx); err != nil && ctx.Err() == nil {
			c.options.Log.Error("private Postgres is down and cannot be started", "error", err)
		}
	}
}

func (c *Cluster) runOnce(ctx context.Context) error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.closed || c.alive() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	starting, err := acquire(ctx, filepath.Join(c.options.Dir, "start.lock"), exclusive)
	if err != nil {
		return err
	}
	defer starting.release()
	return c.ensureRunning(ctx)
}

// Close releases the cluster. The last process to do so stops it and waits until it has stopped. A second Close does nothing.
func (c *Cluster) Close() error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	starting, err := acquire(ctx, filepath.Join(c.options.Dir, "start.lock"), exclusive)
	if err != nil {
		c.users.release()
		return fmt.Errorf("stop private Postgres in %s: %w", c.dir, err)
	}
	defer starting.release()
	c.users.release()
	last, err := tryExclusive(filepath.Join(c.options.Dir, "users.lock"))
	if errors.Is(err, errLocked) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop private Postgres in %s: %w", c.dir, err)
	}
	defer last.release()
	if err := c.stop(ctx); err != nil {
		return fmt.Errorf("stop private Postgres in %s: %w", c.dir, err)
	}
	return nil
}

func (c *Cluster) data() string    { return filepath.Join(c.dir, "data") }
func (c *Cluster) pidFile() string { return filepath.Join(c.data(), "postmaster.pid") }
func (c *Cluster) logFile() string { return filepath.Join(c.dir, "postgres.log") }
