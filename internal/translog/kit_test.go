// The log, its replicas and their verifiers in the tests of this package.

package translog_test

import (
	"bytes"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit/attester"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/translog"
)

const origin = "files.example.com"

// world is a database and a storage, on which logs run as replicas do.
type world struct {
	t     testing.TB
	db    *database.DB
	marks blob.Store
}

func newWorld(t testing.TB) *world {
	t.Helper()
	db, err := database.New(t.Context(), pgtest.URL(t), 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	w := &world{t: t, db: db}
	w.marks = w.store()
	return w
}

// store returns an empty storage.
func (w *world) store() blob.Store {
	w.t.Helper()
	s, err := disk.New(w.t.TempDir(), disk.OS())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// replica returns another server's log on the same database and storage.
func (w *world) replica(change ...func(*translog.Options)) *translog.Log {
	w.t.Helper()
	sealer, err := seal.New(bytes.Repeat([]byte("k"), 32), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	o := translog.Options{DB: w.db, Sealer: sealer, Origin: origin, Marks: w.marks, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&o)
	}
	return translog.New(o)
}

// successor returns the log of a server that takes the lead at once.
func (w *world) successor(change ...func(*translog.Options)) *translog.Log {
	w.t.Helper()
	w.exec("UPDATE log.logs SET leader = NULL")
	return w.replica(change...)
}

func (w *world) exec(sql string) {
	w.t.Helper()
	if _, err := database.Exec(w.t.Context(), w.db.Pool, "change log", sql); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) number(sql string) float64 {
	w.t.Helper()
	n, err := database.Scalar[float64](w.t.Context(), w.db.Pool, "read number", nil, sql)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// add queues n random entries and returns them.
func (w *world) add(n int) [][]byte {
	w.t.Helper()
	entries := make([][]byte, n)
	for i := range entries {
		entries[i] = make([]byte, 32)
		rand.Read(entries[i])
	}
	err := w.db.InTx(w.t.Context(), func(tx database.Tx) error { return translog.AppendAll(w.t.Context(), tx, entries) })
	if err != nil {
		w.t.Fatal(err)
	}
	return entries
}

// sequence lets a log append all that is queued.
func (w *world) sequence(l *translog.Log) {
	w.t.Helper()
	for {
		more, err := l.Sequence(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// policy trusts all keys of the log.
func (w *world) policy(l *translog.Log) proof.Policy {
	w.t.Helper()
	p, err := attester.Policy(w.t.Context(), l)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// checkpoint returns the newest checkpoint, verified.
func (w *world) checkpoint(l *translog.Log) proof.Verified {
	w.t.Helper()
	signed, err := l.Checkpoint(w.t.Context(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := proof.OpenCheckpoint([]byte(signed), w.policy(l))
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// prove checks that the log proves an entry.
func (w *world) prove(l *translog.Log, entry []byte) proof.Verified {
	w.t.Helper()
	p, err := l.Prove(w.t.Context(), entry)
	if err != nil {
		w.t.Fatal(err)
	}
	again, err := proof.Parse(p.Format())
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := proof.Verify(again, entry, w.policy(l))
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// get returns the answer of the log's handler.
func get(t *testing.T, l *translog.Log, path string) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	l.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+origin+path, nil))
	return rec
}

// backUpEarly lets the log grow to 3 entries, backs it up, and lets it grow to 5: restore brings back an older database.
func (w *world) backUpEarly() {
	w.t.Helper()
	w.add(3)
	w.sequence(w.successor())
	w.backUp()
	w.add(2)
	w.sequence(w.successor())
}

// backUp copies the tables of the log, and restore brings the copies back.
func (w *world) backUp() { w.copyTables("log", "saved") }

func (w *world) restore() { w.copyTables("saved", "log") }

func (w *world) copyTables(from, to string) {
	w.t.Helper()
	tables := []string{"logs", "keys", "pending", "entries", "tiles", "checkpoints"}
	if to == "saved" {
		w.exec("CREATE SCHEMA saved")
	}
	for i := range tables {
		if to == "saved" {
			w.exec("CREATE TABLE saved." + tables[i] + " AS TABLE log." + tables[i])
		} else {
			w.exec("DELETE FROM log." + tables[len(tables)-1-i])
		}
	}
	for _, table := range tables {
		if to == "log" {
			w.exec("INSERT INTO log." + table + " OVERRIDING SYSTEM VALUE TABLE saved." + table)
		}
	}
}
