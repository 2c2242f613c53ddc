//go:build growth

package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/testkit/freeport"
)

const warmUps = 20 // Postgres makes generic plans from the sixth execution of a connection

// result is what was measured at one size.
type result struct {
	rows  []row
	start time.Duration
	rss   int64 // bytes
	due   int
	took  time.Duration // for the transfers that fell due
	other []time.Duration
	table []table
}

// row is one request.
type row struct {
	name  string
	heavy bool
	times []time.Duration
}

// table is one table after VACUUM.
type table struct {
	name  string
	bytes float64 // of a row, with indexes
}

// server is bin/consign on one database.
type server struct {
	cmd    *exec.Cmd
	url    string
	access map[int]string
}

func (g *growth) measure(ctx context.Context, s size) (r result, err error) {
	srv, took, err := g.serve(ctx, s)
	if err != nil {
		return r, err
	}
	defer func() {
		_ = srv.cmd.Process.Signal(syscall.SIGTERM)
		_ = srv.cmd.Wait()
	}()
	r.start = took
	for _, person := range []int{1, 2, 7} {
		if srv.access[person], err = srv.login(ctx, person); err != nil {
			return r, err
		}
	}
	for _, q := range srv.requests(ctx) {
		times, err := srv.sample(ctx, q, g.samples)
		if err != nil {
			return r, fmt.Errorf("%s: %w", q.name, err)
		}
		r.rows = append(r.rows, row{name: q.name, heavy: q.person == 1, times: times})
	}
	if r.rss, err = resident(srv.cmd.Process.Pid); err != nil {
		return r, err
	}
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return r, err
	}
	defer conn.Close(ctx)
	if r.table, err = tables(ctx, conn); err != nil {
		return r, err
	}
	return r, g.expire(ctx, conn, srv, &r)
}

// serve starts bin/consign with one connection for requests and waits until it is ready.
func (g *growth) serve(ctx context.Context, s size) (*server, time.Duration, error) {
	port, err := freeport.Get(ctx)
	if err != nil {
		return nil, 0, err
	}
	admin, err := freeport.Get(ctx)
	if err != nil {
		return nil, 0, err
	}
	srv := &server{url: "http://localhost:" + port, access: map[int]string{}}
	data := filepath.Join(g.dir, fmt.Sprintf("data-%d", s.transfers))
	for _, dir := range []string{"uploads", "objects"} { // empty: the files of the rows do not exist
		if err := os.MkdirAll(filepath.Join(data, "files", dir), 0o755); err != nil {
			return nil, 0, err
		}
	}
	srv.cmd = exec.CommandContext(ctx, "bin/consign", "serve")
	srv.cmd.Env = append(os.Environ(), "CONSIGN_DATABASE_URL="+s.url, "CONSIGN_PUBLIC_URL="+srv.url, "CONSIGN_LISTEN=127.0.0.1:"+port,
		"CONSIGN_ADMIN_LISTEN=127.0.0.1:"+admin, "CONSIGN_DATA_DIR="+data, "CONSIGN_STORAGE_URL=file://"+data+"/files", "CONSIGN_RATE_LIMIT=off", "CONSIGN_BCRYPT_COST=4",
		"CONSIGN_STRANGER_RESERVATIONS=10000", "CONSIGN_STRANGER_NETWORK_RESERVATIONS=10000", "CONSIGN_STRANGER_SHARE=100", "CONSIGN_LOG_LEVEL=error",
		"CONSIGN_SECRET_KEY=a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=")
	srv.cmd.Stderr = os.Stderr
	began := time.Now()
	if err := srv.cmd.Start(); err != nil {
		return nil, 0, err
	}
	for time.Since(began) < time.Minute {
		if resp, err := http.Get(srv.url + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return srv, time.Since(began), nil
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil, 0, errors.New("bin/consign is not ready after a minute")
}

func (s *server) login(ctx context.Context, person int) (string, error) {
	var token struct{ Token string }
	body := map[string]string{"email": fmt.Sprintf("p%d@example.com", person), "type": "bcrypt", "key": password}
	if err := s.call(ctx, request{method: "POST", path: "/id/v3/auth/login", body: body}, "", &token); err != nil {
		return "", err
	}
	err := s.call(ctx, request{method: "POST", path: "/id/v3/auth/access"}, token.Token, &token)
	return token.Token, err
}

// request is one that is measured. Person 1 is the heavy one, 2 the administrator of organization 1, 7 has neither.
type request struct {
	name, method, path string
	person             int // 0: a stranger
	body               any
}

func (s *server) requests(ctx context.Context) []request {
	const lists = "/transfer/v2/transfers"
	id := func(kind string, n int) string {
		return uuid.UUID(md5.Sum([]byte(kind + strconv.Itoa(n)))).String()
	}
	deep := func(person int) string { // the cursor behind up to 20 pages of 200
		path := lists + "?limit=200"
		for range 20 {
			var page struct{ Next string }
			if s.call(ctx, request{method: "GET", path: path}, s.access[person], &page) != nil || page.Next == "" {
				break
			}
			path = lists + "?limit=200&cursor=" + page.Next
		}
		return strings.Replace(path, "limit=200", "limit=50", 1)
	}
	list := []request{
		{name: "profile", method: "GET", path: "/id/v3/profile", person: 7},
		{name: "usage", method: "GET", path: "/transfer/v2/usage", person: 7},
		{name: "reserve as a sender", method: "POST", path: "/transfer/v2/reservations", person: 7, body: map[string]any{"type": "drop"}},
		{name: "mailbox by link", method: "GET", path: "/transfer/v2/public/mailbox/box7"},
		{name: "mailbox by uid", method: "GET", path: "/transfer/v2/public/mailbox/" + id("person", 7)},
		{name: "reserve at a mailbox", method: "POST", path: "/transfer/v2/public/mailbox/box7", body: map[string]any{}},
		{name: "members of 10,000", method: "GET", path: "/id/v3/organizations/" + id("organization", 1) + "/members", person: 2},
	}
	for _, person := range []int{7, 1} {
		who := map[int]string{7: "", 1: ", heavy"}[person]
		list = append(list,
			request{name: "inbox" + who, method: "GET", path: lists + "?location=received", person: person},
			request{name: "both, deep cursor" + who, method: "GET", path: deep(person), person: person},
			request{name: "search of a rare word" + who, method: "GET", path: lists + "?search=quittungsbeleg", person: person},
			request{name: "search of a frequent word" + who, method: "GET", path: lists + "?search=documents", person: person},
			request{name: "search of nothing" + who, method: "GET", path: lists + "?search=zebrafink", person: person},
		)
	}
	return list
}

// call sends one request and decodes its answer into dst, unless that is nil.
func (s *server) call(ctx context.Context, q request, token string, dst any) error {
	var body io.Reader
	if q.body != nil {
		raw, err := json.Marshal(q.body)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, q.method, s.url+q.path, body)
	if err != nil {
		return err
	}
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %.200s", q.method, q.path, resp.StatusCode, raw)
	}
	if err == nil && dst != nil {
		err = json.Unmarshal(raw, dst)
	}
	return err
}

// sample returns the times of n requests, one after the other, after the warm-ups.
func (s *server) sample(ctx context.Context, q request, n int) (times []time.Duration, err error) {
	for i := range warmUps + n {
		began := time.Now()
		if err := s.call(ctx, q, s.access[q.person], nil); err != nil {
			return nil, err
		}
		if i >= warmUps {
			times = append(times, time.Since(began))
		}
	}
	return times, nil
}

// expire lets transfers fall due at once, and measures the inbox of an ordinary person until they have ended.
func (g *growth) expire(ctx context.Context, conn *pgx.Conn, srv *server, r *result) error {
	done, err := conn.Exec(ctx, `UPDATE transfer.transfers SET expires_at = now() - interval '1 minute'
		WHERE uid IN (SELECT uid FROM transfer.transfers WHERE ended_at IS NULL ORDER BY created_at LIMIT $1)`, g.due)
	if err != nil {
		return err
	}
	r.due = int(done.RowsAffected())
	var began time.Time
	for ctx.Err() == nil {
		var left int
		if err := conn.QueryRow(ctx, `SELECT count(*) FROM transfer.transfers WHERE ended_at IS NULL AND expires_at < now()`).Scan(&left); err != nil {
			return err
		}
		switch {
		case left == 0:
			r.took = time.Since(began)
			return nil
		case left < r.due && began.IsZero(): // the job of the minute has begun
			began = time.Now()
		}
		times, err := srv.sample(ctx, request{method: "GET", path: "/transfer/v2/transfers?location=received", person: 7}, 10)
		if err != nil {
			return err
		}
		if !began.IsZero() {
			r.other = append(r.other, times...)
		}
	}
	return ctx.Err()
}

func tables(ctx context.Context, conn *pgx.Conn) ([]table, error) {
	for _, name := range []string{"transfer.transfers", "transfer.deliveries", "transfer.objects", "transfer.reservations", "transfer.search_texts", "audit"} {
		if _, err := conn.Exec(ctx, "VACUUM ANALYZE "+name); err != nil {
			return nil, err
		}
	}
	rows, err := conn.Query(ctx, `
		SELECT name, sum(pg_total_relation_size(oid)) / greatest(sum(reltuples), 1)
		FROM (SELECT oid, reltuples, regexp_replace(relname, '^audit_.*', 'audit') AS name FROM pg_class WHERE relkind = 'r' AND reltuples > 0) c
		WHERE name IN ('transfers', 'deliveries', 'objects', 'reservations', 'search_texts', 'audit') GROUP BY name ORDER BY name`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (t table, err error) {
		err = r.Scan(&t.name, &t.bytes)
		return t, err
	})
}

// resident returns the resident memory of a process.
func resident(pid int) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(raw))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(int(float64(len(times))*q), len(times)-1)]
}
