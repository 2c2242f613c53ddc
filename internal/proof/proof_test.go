// Tests of proofs and witnesses, and of changed bytes.

package proof_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/proof"
)

const origin = "files.example.com"

// tree is a small log in memory.
type tree struct {
	private ed25519.PrivateKey
	policy  proof.Policy
	hashes  []tlog.Hash
	size    int64
}

func newTree(t testing.TB) *tree {
	t.Helper()
	seed := sha256.Sum256([]byte("seed of the test's log"))
	g := &tree{private: ed25519.NewKeyFromSeed(seed[:])}
	text, err := proof.VerifierKey(origin, g.private.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(text)
	if err != nil {
		t.Fatal(err)
	}
	g.policy.Logs = []note.Verifier{v}
	return g
}

// ReadHashes implements tlog.HashReader.
func (g *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, n := range indexes {
		out[i] = g.hashes[n]
	}
	return out, nil
}

func (g *tree) add(t testing.TB, entry []byte) {
	t.Helper()
	stored, err := tlog.StoredHashes(g.size, entry, g)
	if err != nil {
		t.Fatal(err)
	}
	g.hashes = append(g.hashes, stored...)
	g.size++
}

// file returns receipt.consign of a statement, which is entry index.
func (g *tree) file(t testing.TB, statement []byte, index int64) []byte {
	t.Helper()
	root, err := tlog.TreeHash(g.size, g)
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := tlog.ProveRecord(g.size, index, g)
	if err != nil {
		t.Fatal(err)
	}
	text := proof.CheckpointText(proof.Tree{Origin: origin, Tree: tlog.Tree{N: g.size, Hash: root}})
	signed, err := note.Sign(&note.Note{Text: text}, proof.NewSigner(origin, g.private))
	if err != nil {
		t.Fatal(err)
	}
	return proof.Join(statement, proof.Proof{Index: index, Hashes: hashes, Checkpoint: signed})
}

func (g *tree) verify(file []byte) (proof.Verified, error) {
	statement, p, err := proof.Split(file)
	if err != nil {
		return proof.Verified{}, err
	}
	return proof.Verify(p, proof.Entry(statement), g.policy)
}

// example is a log of 100 statements with the file of one of them.
func example(t testing.TB) (*tree, []byte) {
	t.Helper()
	g := newTree(t)
	var statement []byte
	for i := range 100 {
		s := fmt.Appendf(nil, "consign-receipt/v1\nsalt %032d\nsubject Pictures\nobjects 1 5\nobject 5 %064d hello.txt\n", i, i)
		if i == 42 {
			statement = s
		}
		g.add(t, proof.Entry(s))
	}
	return g, g.file(t, statement, 42)
}

// TestFlippedBitsAreRefused flips each bit of a receipt, and 10,000 random ones.
func TestFlippedBitsAreRefused(t *testing.T) {
	t.Parallel()
	g, file := example(t)
	if _, err := g.verify(file); err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(file) {
		refuse(t, g, file, bit)
	}
	for range 10_000 {
		var random [8]byte
		rand.Read(random[:])
		refuse(t, g, file, int(binary.BigEndian.Uint64(random[:])%uint64(8*len(file))))
	}
}

func refuse(t *testing.T, g *tree, file []byte, bit int) {
	t.Helper()
	flipped := bytes.Clone(file)
	flipped[bit/8] ^= 1 << (bit % 8)
	if _, err := g.verify(flipped); err == nil {
		t.Fatalf("bit %d of byte %d is flipped, and the receipt is accepted:\n%s", bit%8, bit/8, flipped)
	}
}

// TestReasons: each kind of wrong file has its reason.
func TestReasons(t *testing.T) {
	t.Parallel()
	g, file := example(t)
	other := newTree(t)
	other.policy = proof.Policy{}
	for _, c := range []struct {
		name   string
		change func(string) string
		want   error
	}{
		{"another subject", func(s string) string { return strings.Replace(s, "Pictures", "Letters", 1) }, proof.ErrNotIn},
		{"another index", func(s string) string { return strings.Replace(s, "index 42", "index 43", 1) }, proof.ErrNotIn},
		{"an index behind the tree", func(s string) string { return strings.Replace(s, "index 42", "index 420", 1) }, proof.ErrNotIn},
		{"a leading zero", func(s string) string { return strings.Replace(s, "index 42", "index 042", 1) }, proof.ErrMalformed},
		{"another size", func(s string) string { return strings.Replace(s, "\n100\n", "\n101\n", 1) }, proof.ErrForged},
		{"another origin", func(s string) string { return strings.ReplaceAll(s, origin, "evil.example.com") }, proof.ErrUnsigned},
		{"no proof", func(s string) string { return s[:strings.Index(s, "\n\n")+1] }, proof.ErrMalformed},
		{"a carriage return", func(s string) string { return strings.Replace(s, "=\n", "=\r\n", 1) }, proof.ErrMalformed},
		{"a byte more", func(s string) string { return s + "\n" }, proof.ErrMalformed},
	} {
		if _, err := g.verify([]byte(c.change(string(file)))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v instead of %v", c.name, err, c.want)
		}
	}
	statement, p, err := proof.Split(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proof.Verify(p, proof.Entry(statement), other.policy); !errors.Is(err, proof.ErrUnsigned) {
		t.Errorf("without keys: %v", err)
	}
}

// TestWitnesses: a cosignature counts only for the witness whose key is known, and a quorum demands it.
func TestWitnesses(t *testing.T) {
	t.Parallel()
	g, file := example(t)
	seed := sha256.Sum256([]byte("witness"))
	private := ed25519.NewKeyFromSeed(seed[:])
	w, err := proof.NewCosigner(proof.NewCosignerKey("witness.example/w1", private.Public().(ed25519.PublicKey)))
	if err != nil {
		t.Fatal(err)
	}
	v, err := g.verify(file)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)
	cosigned := append(bytes.Clone(file), proof.Cosign("witness.example/w1", private, v.Text, at)...)
	if v, err = g.verify(cosigned); err != nil || v.Unknown != 1 || len(v.Cosignatures) != 0 {
		t.Errorf("an unknown witness: %+v %v", v, err)
	}
	g.policy.Witnesses, g.policy.Quorum = []*proof.Cosigner{w}, 1
	if v, err = g.verify(cosigned); err != nil || len(v.Cosignatures) != 1 || !v.Cosignatures[0].At.Equal(at) {
		t.Errorf("a known witness: %+v %v", v, err)
	}
	if _, err = g.verify(file); !errors.Is(err, proof.ErrUnsigned) {
		t.Errorf("without its cosignature: %v", err)
	}
	forged := append(bytes.Clone(file), proof.Cosign("witness.example/w1", private, v.Text+"x", at)...)
	if _, err = g.verify(forged); !errors.Is(err, proof.ErrForged) {
		t.Errorf("a forged cosignature: %v", err)
	}
}

// TestEveryEntry: each entry of logs of all sizes to 20 is proved, also the first, and no other one by its proof.
func TestEveryEntry(t *testing.T) {
	t.Parallel()
	g := newTree(t)
	statement := func(i int64) []byte { return fmt.Appendf(nil, "consign-receipt/v1\nnumber %d\n", i) }
	for size := int64(1); size <= 20; size++ {
		g.add(t, proof.Entry(statement(size-1)))
		for i := range size {
			v, err := g.verify(g.file(t, statement(i), i))
			if err != nil || v.N != size {
				t.Errorf("entry %d of %d: %+v, %v", i, size, v, err)
			}
			if _, err := g.verify(g.file(t, statement((i+1)%max(size, 2)), i)); !errors.Is(err, proof.ErrNotIn) {
				t.Errorf("another statement as entry %d of %d: %v", i, size, err)
			}
		}
	}
}

// TestBoundsOfAProof: a proof has at most 63 hashes, and a cosignature's time is before the year 292 billion.
func TestBoundsOfAProof(t *testing.T) {
	t.Parallel()
	hash := base64.StdEncoding.EncodeToString(make([]byte, 32)) + "\n"
	for n, want := range map[int]error{63: nil, 64: proof.ErrMalformed} {
		text := "c2sp.org/tlog-proof@v1\nindex 0\n" + strings.Repeat(hash, n) + "\n" + origin + "\n1\n" + hash + "\n"
		if _, err := proof.Parse([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%d hashes: %v", n, err)
		}
	}
	seed := sha256.Sum256([]byte("witness"))
	private := ed25519.NewKeyFromSeed(seed[:])
	w, err := proof.NewCosigner(proof.NewCosignerKey("witness.example/w1", private.Public().(ed25519.PublicKey)))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int64]bool{math.MaxInt64: true, math.MinInt64: false} { // MinInt64 is 0x80 and seven zeros
		line := proof.Cosign(w.Name(), private, "text\n", time.Unix(at, 0))
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]))
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Verify([]byte("text\n"), raw[4:]); got != want {
			t.Errorf("a cosignature at %d: %v", at, got)
		}
	}
}

// FuzzSplit: no file makes the parser panic, and what it accepts has one spelling.
func FuzzSplit(f *testing.F) {
	_, file := example(f)
	f.Add(file)
	f.Fuzz(func(t *testing.T, file []byte) {
		statement, p, err := proof.Split(file)
		if err == nil && !bytes.Equal(proof.Join(statement, p), file) {
			t.Errorf("%q has another spelling", file)
		}
	})
}
