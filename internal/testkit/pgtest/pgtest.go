// Package pgtest gives each test a Postgres database of its own, with the whole schema in it and nothing else.
//
// All test processes of a user share one private cluster without fsync. It lies in memory where there is room. The databases are
// clones of a template. The template is named after the hash of the migrations; the first process that needs it creates it. A test
// cannot know whether it is the last one of its process. Therefore a small watchdog stops the cluster after a minute without test
// processes; the next run restarts it in 0.1 s. Databases left by killed tests and templates of old schemas are dropped after some
// hours.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/consign-dev/consign/internal/blob/floor"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/localpg"
)

const (
	keepDatabases  = 2 * time.Hour
	keepTemplates  = 24 * time.Hour
	setupTimeout   = 2 * time.Minute
	maxConnections = 400
	memory         = "/dev/shm" // a file system in memory on Linux
	memoryNeeded   = 1 << 30    // bytes; all tests together take 0.23 GB
	prefixTest     = "test_"
	prefixTemplate = "template_"
)

// URL returns the URL of a fresh migrated database, which is dropped when the test is over, even if connections to it
// are still open.
func URL(t testing.TB) string {
	t.Helper()
	return create(t, true)
}

// EmptyURL is URL without a schema: the empty database that an operator provides.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return create(t, false)
}

// Dir returns a directory for a cluster. As root the user postgres must be able to enter it, and cannot enter t.TempDir.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "consign-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Own starts a cluster that only this test uses, in a directory of its own instead of o.Dir. Its database has no schema.
func Own(t testing.TB, o localpg.Options) *localpg.Cluster {
	t.Helper()
	o.Dir = filepath.Join(Dir(t), "pg")
	cluster, err := localpg.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// OwnURL is Own's migrated database.
func OwnURL(t testing.TB, o localpg.Options) string {
	t.Helper()
	url := Own(t, o).URL("consign")
	if err := database.Migrate(t.Context(), url, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return url
}

// Connect returns a connection to the database at url, closed when the test is over.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// server is the shared cluster as this process sees it.
type server struct {
	cluster  *localpg.Cluster
	session  *pgx.Conn // its lock keeps the watchdog away
	admin    *pgxpool.Pool
	template string
}

// One server per process: the tests of a package share it. It is never closed, because no hook runs after the last test.
var (
	once    sync.Once
	common  *server
	failure error
	counter atomic.Int64
)

// Waiting counts the connections to pool's database that wait for a lock.
func Waiting(t testing.TB, pool *pgxpool.Pool) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func create(t testing.TB, migrated bool) string {
	t.Helper()
	once.Do(func() { common, failure = open(context.Background()) })
	if failure != nil {
		t.Fatalf("no test database: %v", failure)
	}
	template := "template0"
	if migrated {
		template = common.template
	}
	name := fmt.Sprintf("%s%d_%d_%d", prefixTest, time.Now().Unix(), os.Getpid(), counter.Add(1))
	// The default strategy, WAL_LOG, takes up to twice the time of a file copy in a cluster without fsync.
	if _, err := common.admin.Exec(context.Background(), "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY FILE_COPY"); err != nil {
		t.Fatalf("no test database: %v", err)
	}
	t.Cleanup(func() {
		if _, err := common.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop test database: %v", err)
		}
	})
	return common.cluster.URL(name)
}

func open(ctx context.Context) (*server, error) {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	dir := home()
	s, err := connect(ctx, dir)
	if err != nil { // the watchdog may stop the cluster until this process has its lock; the next start waits for that stop
		s, err = connect(ctx, dir)
	}
	return s, err
}

// home returns the directory of the cluster. A database has almost 900 files, which each test creates and deletes. On a disk that can
// take two thirds of the time of all tests, so they are in memory if there is room.
func home() string {
	name := "consign-pgtest-" + strconv.Itoa(os.Geteuid())
	dir := filepath.Join(memory, name)
	free := floor.New(floor.Options{Dir: memory, Log: slog.New(slog.DiscardHandler)}).State().Free
	if free >= memoryNeeded && os.MkdirAll(dir, 0o711) == nil { // a chroot may have the directory, but for root alone
		return dir
	}
	return filepath.Join(os.TempDir(), name)
}

func connect(ctx context.Context, dir string) (*server, error) {
	log := &strings.Builder{}
	cluster, err := localpg.Start(ctx, localpg.Options{Dir: dir, MaxConnections: maxConnections, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		return nil, err
	}
	if strings.Contains(log.String(), "started private Postgres") {
		if err := watch(cluster, watchInterval); err != nil {
			return nil, err
		}
	}
	s := &server{cluster: cluster}
	if s.session, err = use(ctx, cluster); err != nil {
		return nil, err
	}
	if s.admin, err = s.open(ctx); err != nil {
		_ = s.session.Close(ctx)
		return nil, err
	}
	return s, nil
}

// use opens the session that marks the cluster as used: the watchdog stops a cluster only while nobody shares this lock. A call
// during that stop fails.
func use(ctx context.Context, cluster *localpg.Cluster) (*pgx.Conn, error) {
	session, err := pgx.Connect(ctx, cluster.URL("postgres"))
	if err != nil {
		return nil, err
	}
	if _, err := session.Exec(ctx, "SELECT pg_advisory_lock_shared("+usedLock+")"); err != nil {
		_ = session.Close(ctx)
		return nil, err
	}
	return session, nil
}

// open makes the template and the pool that makes and drops databases.
func (s *server) open(ctx context.Context) (*pgxpool.Pool, error) {
	if err := s.ensureTemplate(ctx); err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(s.cluster.URL("postgres"))
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 4
	return pgxpool.NewWithConfig(ctx, cfg)
}

// ensureTemplate creates the template under an advisory lock and drops databases left by earlier runs.
func (s *server) ensureTemplate(ctx context.Context) error {
	hash, err := database.SchemaHash()
	if err != nil {
		return err
	}
	s.template = prefixTemplate + hash[:16]
	key := fnv.New64a()
	_, _ = key.Write([]byte(s.template)) // never fails
	if _, err := s.session.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(key.Sum64())); err != nil {
		return err
	}
	defer func() {
		_, _ = s.session.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(key.Sum64()))
	}()
	var exists bool
	err = s.session.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", s.template).Scan(&exists)
	if err != nil || exists {
		return err
	}
	if err := s.makeTemplate(ctx, s.session); err != nil {
		return fmt.Errorf("make template database: %w", err)
	}
	return sweep(ctx, s.session, s.template, time.Now())
}

func (s *server) makeTemplate(ctx context.Context, conn *pgx.Conn) error {
	draft := s.template + "_draft"
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+draft+" WITH (FORCE)"); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+draft+" TEMPLATE template0"); err != nil {
		return err
	}
	if err := database.Migrate(ctx, s.cluster.URL(draft), slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	for _, sql := range []string{
		"ALTER DATABASE " + draft + " ALLOW_CONNECTIONS false",
		fmt.Sprintf("COMMENT ON DATABASE %s IS '%d'", draft, time.Now().Unix()),
		"ALTER DATABASE " + draft + " RENAME TO " + s.template,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// sweep drops databases that are too old to be in use. The creation time is in the name of a test database and in the comment of a
// template.
func sweep(ctx context.Context, conn *pgx.Conn, current string, now time.Time) error {
	rows, err := conn.Query(ctx, `
		SELECT datname, COALESCE(shobj_description(oid, 'pg_database'), '') AS made
		FROM pg_database WHERE datname LIKE 'test\_%' OR datname LIKE 'template\_%'`)
	if err != nil {
		return err
	}
	type entry struct{ Datname, Made string }
	entries, err := pgx.CollectRows(rows, pgx.RowToStructByName[entry])
	if err != nil {
		return err
	}
	for _, e := range entries {
		keep, made := keepTemplates, e.Made
		if rest, ok := strings.CutPrefix(e.Datname, prefixTest); ok {
			keep = keepDatabases
			made, _, _ = strings.Cut(rest, "_")
		}
		seconds, err := strconv.ParseInt(made, 10, 64)
		if err != nil || e.Datname == current || now.Sub(time.Unix(seconds, 0)) < keep {
			continue
		}
		if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{e.Datname}.Sanitize()+" WITH (FORCE)"); err != nil &&
			!errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}
