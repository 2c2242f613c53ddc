package translog_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/translog"
)

// TestDirectory: a log in files grows over the edges of tiles. Each proof verifies, its bundles hold all entries, another key is refused,
// and so are files that are not those of the checkpoint.
func TestDirectory(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := proof.VerifierKey(origin, public)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(key)
	if err != nil {
		t.Fatal(err)
	}
	policy := proof.Policy{Logs: []note.Verifier{verifier}}
	dir := t.TempDir()
	log, err := translog.NewDirectory(dir, origin, private)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, n := range []int{2, 2, 252, 1, 300, 2} {
		var entries [][]byte
		for range n {
			entries = append(entries, proof.Entry(fmt.Append(nil, len(all)+len(entries))))
		}
		proofs, err := log.Append(entries)
		if err != nil || len(proofs) != n {
			t.Fatalf("%d proofs of %d entries, %v", len(proofs), n, err)
		}
		for i, p := range proofs {
			v, err := proof.Verify(p, entries[i], policy)
			if err != nil || v.Index != int64(len(all)+i) || v.N != int64(len(all)+n) {
				t.Fatalf("entry %d: %+v, %v", len(all)+i, v, err)
			}
			if _, err := proof.Verify(p, proof.Entry(nil), policy); err == nil {
				t.Fatal("the proof of an entry proves another one")
			}
		}
		all = append(all, entries...)
	}
	for n, name := range []string{"000", "001", "002.p/47"} {
		bundle, err := os.ReadFile(filepath.Join(dir, "tile/entries", name))
		if err != nil {
			t.Fatal(err)
		}
		for i := n * 256; len(bundle) > 0; i++ {
			size := binary.BigEndian.Uint16(bundle)
			if string(bundle[2:2+size]) != string(all[i]) {
				t.Fatalf("entry %d of the bundle is another", i)
			}
			bundle = bundle[2+size:]
		}
	}
	signed, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := proof.OpenCheckpoint(signed, policy)
	if err != nil || v.N != int64(len(all)) {
		t.Fatalf("the checkpoint: %+v, %v", v, err)
	}
	if _, err := tlog.TileHashReader(v.Tree.Tree, log).ReadHashes([]int64{0, tlog.StoredHashIndex(0, v.N-1)}); err != nil {
		t.Errorf("the tiles: %v", err)
	}

	_, other, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := translog.NewDirectory(dir, origin, other)
	if err == nil {
		_, err = foreign.Append(all[:1])
	}
	if err == nil {
		t.Error("another key adds to the log")
	}
	tile := filepath.Join(dir, "tile/0/002.p/47")
	if err := os.WriteFile(tile, make([]byte, 47*tlog.HashSize), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(all[:1]); err == nil {
		t.Error("a log with a changed tile grows")
	}
}
