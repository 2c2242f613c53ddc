package database

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Examination is what consign doctor looks at in a database.
type Examination struct {
	Version   int    // such as 170002
	Release   string // the same, such as "17.2"
	Encoding  string
	Superuser bool          // Consign's role is one
	Durable   bool          // fsync and full_page_writes are on
	Free      int           // connections that nobody uses, without those for superusers
	ReadOnly  bool          // a standby, or switched to reading
	Own       int           // connections of Consign to this database
	Latency   time.Duration `db:"-"` // median of some round trips
	Ahead     time.Duration `db:"-"` // by how much the database's clock is ahead of now; negative: behind
}

const examinedTrips = 9

// Examine looks at the database.
func (db *DB) Examine(ctx context.Context, now func() time.Time) (Examination, error) {
	conn, err := db.Pool.Acquire(ctx)
	if err != nil {
		return Examination{}, unreached(err)
	}
	defer conn.Release()
	e, err := One[Examination](ctx, conn, "examine database", nil, `
		SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS release,
			current_setting('server_encoding') AS encoding, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
			pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS read_only,
			current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' AS durable,
			current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
				- coalesce(current_setting('reserved_connections', true)::int, 0)
				- (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS free,
			(SELECT count(*) FROM pg_stat_activity WHERE application_name = 'consign' AND datname = current_database())::int AS own`)
	if err != nil {
		return Examination{}, err
	}
	trips := make([]time.Duration, examinedTrips)
	for i := range trips {
		began, local := time.Now(), now()
		remote, err := Scalar[time.Time](ctx, conn, "read clock", nil, "SELECT clock_timestamp()")
		if err != nil {
			return Examination{}, err
		}
		trips[i] = time.Since(began)
		e.Ahead = remote.Sub(local.Add(trips[i] / 2))
	}
	slices.Sort(trips)
	e.Latency = trips[len(trips)/2]
	return e, nil
}

// TryListen checks that notifications of this database arrive over a connection to listenURL, as they do not through most poolers.
func (db *DB) TryListen(ctx context.Context, listenURL string) error {
	cfg, err := readURL(listenURL)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return fmt.Errorf("reach the database (CONSIGN_LISTEN_DATABASE_URL): %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN consign_doctor"); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	payload := rand.Text()
	if err := Notify(ctx, db.Pool, "consign_doctor", payload); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("wait for a notification: %w", err)
		}
		if n.Payload == payload {
			return nil
		}
	}
}
