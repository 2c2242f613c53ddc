package translog_test

import (
	"bytes"
	"errors"
	"math/rand"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/translog"
)

// TestEntriesAreProved: entries of several batches, over the bounds of tiles, are proved by the checkpoint that first has them.
func TestEntriesAreProved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.replica()
	w.sequence(l)
	if v := w.checkpoint(l); v.N != 0 || v.Origin != origin {
		t.Fatalf("the first checkpoint is %+v", v.Tree)
	}
	var all [][]byte
	for _, n := range []int{1, 254, 1, 1, 300, 2} {
		all = append(all, w.add(n)...)
		w.sequence(l)
		if v := w.checkpoint(l); v.N != int64(len(all)) {
			t.Fatalf("the checkpoint has %d entries instead of %d", v.N, len(all))
		}
	}
	for i, e := range all {
		if v := w.prove(l, e); v.Index != int64(i) {
			t.Fatalf("entry %d is proved at %d", i, v.Index)
		}
	}
	if _, err := l.Prove(t.Context(), make([]byte, 32)); !errors.Is(err, translog.ErrPending) {
		t.Errorf("an unknown entry: %v", err)
	}
	if _, err := l.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestQueueGrowsAfterItsStatistics: Postgres believes that the queue has one entry, as after an ANALYZE of the empty queue, when many
// arrive at once.
func TestQueueGrowsAfterItsStatistics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("ALTER TABLE log.pending SET (autovacuum_enabled = off)")
	l := w.replica()
	w.add(20_000)
	w.sequence(l)
	w.add(1) // in the last page, so that VACUUM keeps the pages
	w.exec("VACUUM ANALYZE log.pending")
	w.add(20_000)
	w.sequence(l)
	if v := w.checkpoint(l); v.N != 40_001 {
		t.Errorf("the log has %d entries", v.N)
	}
}

// client reads a log as C2SP tlog-tiles describes, with the code of golang.org/x/mod.
type client struct {
	t *testing.T
	l *translog.Log
}

func (client) Height() int                     { return 8 }
func (client) SaveTiles([]tlog.Tile, [][]byte) {}
func (c client) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, tile := range tiles {
		rec := get(c.t, c.l, "/log/"+"tile/"+tile.Path()[len("tile/8/"):])
		if rec.Code != http.StatusOK {
			return nil, errors.New(rec.Body.String())
		}
		out[i] = rec.Body.Bytes()
	}
	return out, nil
}

// TestTilesAreServed: a client with other code than ours reads tiles, and they prove each entry.
func TestTilesAreServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.replica()
	entries := w.add(700)
	w.sequence(l)
	v := w.checkpoint(l)
	reader := tlog.TileHashReader(v.Tree.Tree, client{t, l})
	for i, e := range entries {
		hashes, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, int64(i))})
		if err != nil || hashes[0] != tlog.RecordHash(e) {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	bundle := get(t, l, "/log/tile/entries/000").Body.Bytes()
	if len(bundle) != 256*34 || !bytes.Equal(bundle[2:34], entries[0]) {
		t.Errorf("the first bundle has %d bytes", len(bundle))
	}
	if rec := get(t, l, "/log/tile/0/000"); rec.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" {
		t.Errorf("a full tile is cached as %q", rec.Header().Get("Cache-Control"))
	}
	for _, path := range []string{"/log/tile/0/003", "/log/tile/0/002", "/log/tile/0/0", "/log/tile/00/000", "/log/tile/-1/000",
		"/log/tile/entries/002", "/log/other", "/log/tile/64/000",
		"/log/tile/0/000.p/256", "/log/tile/0/000.p/0", "/log/7/checkpoint"} {
		if rec := get(t, l, path); rec.Code != http.StatusNotFound {
			t.Errorf("%s answers %d", path, rec.Code)
		}
	}
	if rec := get(t, l, "/log/tile/0/002.p/188"); rec.Code != http.StatusOK {
		t.Errorf("a partial tile answers %d", rec.Code)
	}
}

// TestReplicasDoNotFork: replicas that append at the same time publish consistent checkpoints, and no entry is lost or repeated.
func TestReplicasDoNotFork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.replica()
	w.sequence(first)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var seen []proof.Tree
	for range 3 {
		wg.Go(func() {
			l := w.replica()
			for range 20 {
				// The lease of the other leaders has always run out.
				if _, err := database.Exec(t.Context(), w.db.Pool, "end lease", `UPDATE log.logs SET leased_until = NULL, leader = NULL`); err != nil {
					t.Error(err)
				}
				w.add(1 + rand.Intn(5))
				_, _ = l.Sequence(t.Context()) // loses races
				v := w.checkpoint(l)
				mu.Lock()
				seen = append(seen, v.Tree)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	w.exec(`UPDATE log.logs SET leased_until = NULL, leader = NULL`)
	w.sequence(first)
	last, err := first.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reader := tlog.TileHashReader(last.Tree, client{t, first})
	for _, tree := range seen {
		if tree.N == 0 {
			continue
		}
		p, err := tlog.ProveTree(last.N, tree.N, reader)
		if err == nil {
			err = tlog.CheckTree(p, last.N, last.Hash, tree.N, tree.Hash)
		}
		if err != nil {
			t.Fatalf("the checkpoints of %d and %d contradict each other: %v", tree.N, last.N, err)
		}
	}
}

// TestRestoredDatabaseDoesNotSign: a log whose database is older than what it signed refuses, until an operator begins a new one.
func TestRestoredDatabaseDoesNotSign(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.replica()
	old := w.add(3)
	w.sequence(l)
	w.backUp()
	w.add(2)
	w.sequence(l)
	w.restore()

	restored := w.successor()
	lost := w.add(1)[0]
	if _, err := restored.Sequence(t.Context()); !errors.Is(err, translog.ErrFork) {
		t.Fatalf("a restored log: %v", err)
	}
	if !errors.Is(restored.Trouble(), translog.ErrFork) {
		t.Errorf("trouble: %v", restored.Trouble())
	}
	if v := w.checkpoint(restored); v.N != 3 {
		t.Errorf("it published %d entries", v.N)
	}
	if _, err := restored.Prove(t.Context(), lost); !errors.Is(err, translog.ErrPending) {
		t.Errorf("the entry is not pending: %v", err)
	}
	fresh, err := restored.Restart(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.sequence(restored)
	if v := w.prove(restored, lost); v.Origin != fresh || v.Origin == origin {
		t.Errorf("the entry is in the log %s", v.Origin)
	}
	if v := w.prove(restored, old[0]); v.Origin != origin {
		t.Errorf("the old entry is in the log %s", v.Origin)
	}
	if rec := get(t, restored, "/log/1/checkpoint"); rec.Code != http.StatusOK {
		t.Errorf("the closed log's checkpoint answers %d", rec.Code)
	}
}

// TestForkOfTheSameSize: a database whose log is as long as its mark, but has other entries, does not sign.
func TestForkOfTheSameSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.backUpEarly()
	w.restore()
	signed := w.marks
	w.marks = w.store()
	w.add(2)
	w.sequence(w.successor())
	w.marks = signed
	if _, err := w.successor().Sequence(t.Context()); !errors.Is(err, translog.ErrFork) {
		t.Errorf("another log of the same size: %v", err)
	}
}

// TestLostMark: a log whose mark was lost has one again before it grows, and then detects a restored database.
func TestLostMark(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.backUpEarly()
	w.marks = w.store()
	w.sequence(w.successor())
	w.restore()
	if _, err := w.successor().Sequence(t.Context()); !errors.Is(err, translog.ErrFork) {
		t.Errorf("a restored log: %v", err)
	}
}

// TestCheck: what differs from the signed tree is found, wherever it is.
func TestCheck(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"UPDATE log.entries SET entry = sha256(entry) WHERE index = 0":                   "entry 0 is not the one in the tree",
		"UPDATE log.entries SET entry = sha256(entry) WHERE index = 299":                 "entry 299 is not the one in the tree",
		"DELETE FROM log.entries WHERE index = 257":                                      "of the entries 256 to 299 only 43 are there",
		"UPDATE log.tiles SET hashes = sha256('') || substr(hashes, 33) WHERE level = 0": "inconsistent tile",
		"UPDATE log.tiles SET hashes = substr(hashes, 33) WHERE level = 0 AND n = 1":     "tile 0/1 is missing",
		"UPDATE log.checkpoints SET note = replace(note, E'\\n300\\n', E'\\n301\\n')":    "signature",
		"UPDATE log.keys SET public_key = sha256(public_key)":                            "no key that you trust",
	} {
		w := newWorld(t)
		l := w.replica()
		w.add(300)
		w.sequence(l)
		if tree, err := l.Check(t.Context()); err != nil || tree.N != 300 {
			t.Fatalf("an intact log: %d entries, %v", tree.N, err)
		}
		w.exec(change)
		if _, err := l.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", change, err, want)
		}
	}
}

// TestUnpublishedTreeIsPublished: a leader that stopped between the steps of a batch leaves nothing behind.
func TestUnpublishedTreeIsPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.replica()
	w.add(3)
	w.sequence(l)
	want := w.checkpoint(l)
	w.exec(`WITH c AS (DELETE FROM log.checkpoints WHERE size = 3) UPDATE log.logs SET published = 0`)
	next := w.successor()
	w.sequence(next)
	if v := w.checkpoint(next); v.Tree != want.Tree {
		t.Errorf("it published %+v instead of %+v", v.Tree, want.Tree)
	}
}

// TestRotation: the replaced key signs for 30 days beside its successor, and a revoked one not at all.
func TestRotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	l := w.replica(func(o *translog.Options) { o.Now = func() time.Time { return now } })
	w.add(1)
	w.sequence(l)
	if v := w.checkpoint(l); len(v.SignedBy) != 1 {
		t.Fatalf("signed by %v", v.SignedBy)
	}
	if _, err := l.Rotate(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	w.add(1)
	w.sequence(l)
	if v := w.checkpoint(l); len(v.SignedBy) != 2 {
		t.Fatalf("after the rotation signed by %v", v.SignedBy)
	}
	now = now.Add(31 * 24 * time.Hour)
	w.add(1)
	w.sequence(l)
	if v := w.checkpoint(l); len(v.SignedBy) != 1 {
		t.Fatalf("30 days later signed by %v", v.SignedBy)
	}
	if _, err := l.Rotate(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	w.add(1)
	w.sequence(l)
	if v := w.checkpoint(l); len(v.SignedBy) != 1 {
		t.Fatalf("after a revocation signed by %v", v.SignedBy)
	}
}

// TestReseal: the log signs under a new secret key without the old one, once its keys are resealed.
func TestReseal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(1)
	w.sequence(w.successor())
	sealed := func(secret, previous string) *translog.Log {
		sealer, err := seal.New([]byte(strings.Repeat(secret, 32)), []byte(strings.Repeat(previous, 32)))
		if err != nil {
			t.Fatal(err)
		}
		return w.successor(func(o *translog.Options) { o.Sealer = sealer })
	}
	if n, err := sealed("n", "").Reseal(t.Context()); err == nil {
		t.Errorf("without the old key resealed %d", n)
	}
	if n, err := sealed("n", "k").Reseal(t.Context()); err != nil || n != 1 {
		t.Errorf("resealed %d: %v", n, err)
	}
	w.add(1)
	w.sequence(sealed("n", ""))
}
