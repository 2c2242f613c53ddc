//go:build campaign

// Measures what the uploads of one organization wait for.

package campaign

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/localpg"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

const (
	loadPeople  = 16
	sampleEvery = 5 * time.Millisecond
	termsAge    = 500 * time.Millisecond // for which a server caches limits
	leastNames  = 4000                   // what the names of an object count at least (contract 4.8)
)

// TestClusterLoadOneOrganization uploads small files as 16 people: first with the free organization under a limit, so that all of them
// change its row of stored volume, then without a limit, from advances, then with an organization for each. Postgres flushes each commit,
// as in production: a transaction keeps the row while it does. The ratios of the rates are what the common row costs, and what is left of
// that. It fails when a request fails, or the volume is not the sum of the files.
func TestClusterLoadOneOrganization(t *testing.T) {
	s := testkit.New(t, testkit.Through(pgtest.OwnURL(t, localpg.Options{Fsync: true})))
	var people []*testkit.Person
	for i := range loadPeople {
		people = append(people, s.SignUp(fmt.Sprintf("ann%d@example.com", i)))
	}
	conn := pgtest.Connect(t, s.DatabaseURL)
	limit := func(bytes any) {
		if _, err := conn.Exec(t.Context(), `UPDATE identity.limits SET storage_volume_bytes = $1`, bytes); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * termsAge)
	}
	limit(int64(1) << 50)
	row := uploadFiles(t, conn, people)
	limit(nil)
	one := uploadFiles(t, conn, people)
	for _, ann := range people {
		resp := ann.Post(s.Identity+"/organizations", map[string]any{"name": "Acme"}).Want(201)
		ann.ID = strings.TrimPrefix(resp.Header.Get("Authorization"), "Bearer ")
		ann.Refresh()
	}
	each := uploadFiles(t, conn, people)
	t.Logf("%d people upload files of 1 kB: with one limited organization %.0f/s, without a limit %.2f times that, with one each %.2f times",
		loadPeople, row, one/row, each/row)
}

// uploadFiles uploads as all people at once for loadTime, each to a reservation. It returns the files a second.
func uploadFiles(t *testing.T, conn *pgx.Conn, people []*testkit.Person) float64 {
	t.Helper()
	data := make([]byte, 1000)
	clients, paths := make([]client, len(people)), make([]string, len(people))
	for i, ann := range people {
		made := ann.Post(ann.Server.Transfer+"/reservations", map[string]any{"subject": "load"}).Want(201)
		clients[i] = client{s: &server{url: ann.Server.URL}, token: strings.TrimPrefix(made.Header.Get("Authorization"), "Bearer ")}
		paths[i] = ann.Server.Transfer + "/reservations/" + made.String("uid")
	}
	before := storedVolume(t, conn)
	ctx, stop := context.WithTimeout(t.Context(), loadTime)
	defer stop()
	var done atomic.Int64
	var workers sync.WaitGroup
	for i := range people {
		workers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := upload(clients[i], paths[i], fmt.Sprint("file", n), data); err != nil {
					t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	active, locked := sampleLocks(ctx, t, conn)
	workers.Wait()
	if got, want := storedVolume(t, conn)-before, done.Load()*int64(len(data)+leastNames); got != want {
		t.Errorf("the organizations store %d bytes more, want %d", got, want)
	}
	t.Logf("%d files; %.0f %% of the transactions at work wait for a row", done.Load(), 100*float64(locked)/float64(max(active, 1)))
	return float64(done.Load()) / loadTime.Seconds()
}

// sampleLocks counts until ctx ends, in samples, the other connections in a transaction and those of them that wait for a row's lock.
func sampleLocks(ctx context.Context, t *testing.T, conn *pgx.Conn) (active, locked int) {
	t.Helper()
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return active, locked
		case <-tick.C:
		}
		var a, l int
		if err := conn.QueryRow(t.Context(), `
			SELECT count(*), count(*) FILTER (WHERE wait_event IN ('transactionid', 'tuple', 'LockManager')) FROM pg_stat_activity
			WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`).Scan(&a, &l); err != nil {
			t.Fatal(err)
		}
		active, locked = active+a, locked+l
	}
}

// storedVolume returns the bytes that all organizations store and have reserved.
func storedVolume(t *testing.T, conn *pgx.Conn) (bytes int64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), `SELECT coalesce(sum(bytes + reserved), 0)::bigint FROM transfer.stored_totals`).Scan(
		&bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}
