//go:build growth

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// makeFiles gives each object that is alive the bytes that its row claims. Objects share files as far as the file system allows.
func (s *server) makeFiles(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT uid FROM transfer.objects WHERE name IS NOT NULL AND held = intended_size`)
	if err != nil {
		return err
	}
	defer rows.Close()
	source := filepath.Join(filepath.Dir(s.files), "bytes")
	content := bytes.Repeat([]byte("x"), 1000)
	if err := os.WriteFile(source, content, 0o600); err != nil {
		return err
	}
	var made [256][256]bool
	for rows.Next() {
		var o uuid.UUID
		if err := rows.Scan(&o); err != nil {
			return err
		}
		key := o.String()
		dir := filepath.Join(s.files, key[len(key)-4:len(key)-2], key[len(key)-2:])
		if !made[o[14]][o[15]] {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			made[o[14]][o[15]] = true
		}
		err := os.Link(source, filepath.Join(dir, key))
		if errors.Is(err, syscall.EMLINK) { // 65,000 names of a file in ext4
			err = errors.Join(os.Remove(source), os.WriteFile(source, content, 0o600), os.Link(source, filepath.Join(dir, key)))
		}
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return rows.Err()
}

// checked is a run of consign fsck.
type checked struct {
	took   time.Duration
	result string // its last line but one
}

func (s *server) check(ctx context.Context) (checked, error) {
	cmd := s.command(ctx, "fsck")
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return checked{}, fmt.Errorf("consign fsck: %w: %.500s", err, out)
	}
	line, _, _ := bytes.Cut(out, []byte("\n"))
	return checked{took: time.Since(began), result: string(line)}, nil
}

// expiry is what was measured while transfers that fell due at once ended.
type expiry struct {
	transfers int
	update    time.Duration   // of one UPDATE of the same rows, which is what the database needs at least
	took      time.Duration   // until the last has ended
	logged    time.Duration   // until the transparency log had its entry
	purged    time.Duration   // until its bytes and objects are deleted
	busy      time.Duration   // processor time of server and Postgres until the last had ended
	others    []time.Duration // requests until all had ended
	after     []time.Duration // requests from then on until all were purged
}

// expire lets transfers fall due at once, and sends requests of ordinary persons until their bytes are purged.
func (g *growth) expire(ctx context.Context, conn *pgx.Conn, srv *server) (e expiry, err error) {
	updating := time.Now()
	due := updating.Add(30 * time.Second)
	done, err := conn.Exec(ctx, `UPDATE transfer.transfers SET expires_at = $2::timestamptz - interval '7 days'
		WHERE uid IN (SELECT uid FROM transfer.transfers WHERE ended_at IS NULL ORDER BY created_at LIMIT $1)`, g.due, due)
	if err != nil {
		return e, err
	}
	e.transfers, e.update = int(done.RowsAffected()), time.Since(updating)
	if err := run(ctx, conn, "VACUUM transfer.transfers", "CHECKPOINT"); err != nil { // as when the update had been long ago
		return e, err
	}
	asks := []request{
		{method: "GET", path: lists + "?location=received", person: ordinary},
		{method: "GET", path: "/transfer/v2/usage", person: ordinary},
		{method: "POST", path: "/transfer/v2/reservations", person: ordinary, body: map[string]any{"type": "drop"}},
	}
	// The state is asked for seldom and through indexes: after a mass deletion a sequential scan reads the dead rows first.
	if err := run(ctx, conn, "SET enable_seqscan = off"); err != nil {
		return e, err
	}
	var began, asked time.Time
	var now state
	for n := 0; ctx.Err() == nil; n++ {
		if time.Since(asked) > 200*time.Millisecond {
			if now, err = look(ctx, conn, due); err != nil {
				return e, err
			}
			asked = time.Now()
		}
		times := &e.after
		switch {
		case began.IsZero() && !now.Begun:
			time.Sleep(5 * time.Millisecond)
			continue
		case began.IsZero():
			began = time.Now()
			g.prefer(srv, firstPriority)
			e.busy = -g.busy(srv)
			fallthrough
		case now.Left:
			times = &e.others
		case e.took == 0:
			e.took = asked.Sub(began)
			e.busy += g.busy(srv)
			g.prefer(srv, usualPriority)
			fmt.Fprintf(os.Stderr, "%d transfers ended in %.1f s, requests meanwhile: p99 %s ms\n", e.transfers, e.took.Seconds(),
				ms(quantile(e.others, 0.99)))
		case !now.Unlogged && e.logged == 0:
			e.logged = asked.Sub(began)
		case !now.Bytes:
			e.purged = asked.Sub(began)
			return e, nil
		}
		more, err := srv.sample(ctx, asks[n%len(asks)], 1)
		if err != nil {
			return e, err
		}
		*times = append(*times, more...)
		time.Sleep(10 * time.Millisecond)
	}
	return e, ctx.Err()
}

// state is how far a mass expiry is: whether the job has begun, and whether transfers, log entries and bytes are left.
type state struct{ Begun, Left, Unlogged, Bytes bool }

func look(ctx context.Context, conn *pgx.Conn, due time.Time) (state, error) {
	rows, err := conn.Query(ctx, `
		SELECT EXISTS (SELECT FROM transfer.transfers WHERE ended_at >= $1),
			EXISTS (SELECT FROM transfer.transfers WHERE ended_at IS NULL AND expires_at < now() - interval '7 days'),
			EXISTS (SELECT FROM log.pending WHERE id > 0),
			EXISTS (SELECT FROM transfer.discarded_objects) OR EXISTS (SELECT FROM transfer.erasing)`, due)
	if err != nil {
		return state{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[state])
}

// job is the longest run of a periodic job.
type job struct {
	name string
	took time.Duration
}

func periodic(ctx context.Context, conn *pgx.Conn) ([]job, error) {
	rows, err := conn.Query(ctx, `
		SELECT args->>'name' AS name, max(extract(epoch FROM finalized_at - attempted_at))::float8 AS s FROM river_job
		WHERE state = 'completed' AND args ? 'name' GROUP BY 1 HAVING max(finalized_at - attempted_at) > interval '50 ms' ORDER BY 2 DESC`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (j job, err error) {
		var seconds float64
		err = r.Scan(&j.name, &seconds)
		j.took = time.Duration(seconds * float64(time.Second))
		return j, err
	})
}

// table is one table after VACUUM.
type table struct {
	name  string
	bytes float64 // of a row, with indexes
}

func tables(ctx context.Context, conn *pgx.Conn) ([]table, error) {
	names := []string{"transfers", "deliveries", "objects", "reservations", "receipts", "search_texts", "audit"}
	for _, name := range names {
		if name != "audit" {
			name = "transfer." + name
		}
		if _, err := conn.Exec(ctx, "VACUUM ANALYZE "+name); err != nil {
			return nil, err
		}
	}
	rows, err := conn.Query(ctx, `
		SELECT name, sum(pg_total_relation_size(oid)) / greatest(sum(reltuples), 1)
		FROM (SELECT oid, reltuples, regexp_replace(relname, '^audit_.*', 'audit') AS name FROM pg_class WHERE relkind = 'r' AND reltuples > 0) c
		WHERE name = ANY ($1) GROUP BY name ORDER BY name`, names)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (t table, err error) {
		err = r.Scan(&t.name, &t.bytes)
		return t, err
	})
}
