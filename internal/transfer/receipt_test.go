// Tests of the text of receipts with random values and with fixed vectors.

package transfer_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/transfer"
)

var update = flag.Bool("update", false, "write testdata/receipt anew")

// receiptLog is a log in memory, with its key and a witness.
type receiptLog struct {
	private, witness ed25519.PrivateKey
	hashes           []tlog.Hash
	statements       [][]byte
}

func newReceiptLog(seed string) *receiptLog {
	key := func(of string) ed25519.PrivateKey {
		sum := sha256.Sum256([]byte(of + seed))
		return ed25519.NewKeyFromSeed(sum[:])
	}
	return &receiptLog{private: key("log"), witness: key("witness")}
}

// ReadHashes implements tlog.HashReader.
func (l *receiptLog) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, n := range indexes {
		out[i] = l.hashes[n]
	}
	return out, nil
}

func (l *receiptLog) add(t *testing.T, statement []byte) {
	t.Helper()
	hashes, err := tlog.StoredHashes(int64(len(l.statements)), proof.Entry(statement), l)
	if err != nil {
		t.Fatal(err)
	}
	l.hashes, l.statements = append(l.hashes, hashes...), append(l.statements, statement)
}

func (l *receiptLog) key(t *testing.T) string {
	t.Helper()
	key, err := proof.VerifierKey("files.example.com", l.private.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// file returns receipt.consign of a statement in the tree of a size.
func (l *receiptLog) file(t *testing.T, index, size int64, at time.Time) []byte {
	t.Helper()
	root, err := tlog.TreeHash(size, l)
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := tlog.ProveRecord(size, index, l)
	if err != nil {
		t.Fatal(err)
	}
	text := proof.CheckpointText(proof.Tree{Origin: "files.example.com", Tree: tlog.Tree{N: size, Hash: root}})
	signed, err := note.Sign(&note.Note{Text: text}, proof.NewSigner("files.example.com", l.private))
	if err != nil {
		t.Fatal(err)
	}
	if !at.IsZero() {
		signed = append(signed, proof.Cosign("witness.example/w1", l.witness, text, at)...)
	}
	return proof.Join(l.statements[index], proof.Proof{Index: index, Hashes: hashes, Checkpoint: signed})
}

// randomReceipt returns a statement of random values in all scripts, with characters that are escaped, and its objects.
func randomReceipt(r *rand.Rand) ([]byte, transfer.Receipt, []transfer.Object) {
	alphabet := []rune("aZ09 .,+-\\/'\"äßé漢字مرحبا😀\u0001\u0085\u2028\u2029\u00a0\ufeff")
	word := func() string {
		var b strings.Builder
		for range 1 + r.IntN(20) {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	salt := make([]byte, transfer.SaltBytes)
	for i := range salt {
		salt[i] = byte(r.Uint32())
	}
	at := time.UnixMilli(1_790_000_000_000 + r.Int64N(1e10))
	made := transfer.Receipt{
		Salt: salt, Host: "files.example.com", Transfer: id.New[id.Transfer](), Kind: transfer.KindMailbox, CreatedAt: at,
		Confirmed: at.Add(time.Second), ExpiresAt: at.Add(time.Hour),
		Sender: transfer.Sender{Name: word(), Email: "sam@example.com", Verified: r.IntN(2) == 0}, Subject: word(), Message: word(),
		Fields: fmt.Appendf(nil, `{"a": %q, "b": "c"}`, "x"), Objects: int32(1 + r.IntN(4)),
	}
	made.Recipients = []transfer.Delivery{{Email: "ann@example.com", Name: "Ann", Destination: transfer.To},
		{Email: "eve@example.com", Destination: transfer.Bcc}}
	b := transfer.AppendReceipt(nil, made)
	objects := make([]transfer.Object, made.Objects)
	for i := range objects {
		sum := sha256.Sum256([]byte(word()))
		objects[i] = transfer.Object{Name: word(), Held: r.Int64N(1e12), SHA256: sum[:]}
		b = transfer.AppendReceiptObject(b, objects[i])
	}
	return b, made, objects
}

// TestRandomReceipts: a thousand receipts are read as they were written, and verify. With RECEIPTS_DIR they are left there for other
// verifiers (test/receipts.sh).
func TestRandomReceipts(t *testing.T) {
	t.Parallel()
	const count = 1000
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	l := newReceiptLog("random")
	for range count {
		statement, made, objects := randomReceipt(r)
		parsed, err := transfer.ParseStatement(statement)
		if err != nil {
			t.Fatalf("%v\n%q", err, statement)
		}
		if parsed.Get("subject") != made.Subject || parsed.Get("sender-name") != made.Sender.Name ||
			parsed.Get("salt") != hex.EncodeToString(made.Salt) || parsed.Get("bcc") != "1" {
			t.Fatalf("%q is read as %v", statement, parsed.Lines)
		}
		for i, o := range objects {
			if parsed.Objects[i] != (transfer.StatedObject{Name: o.Name, Size: o.Held, SHA256: hex.EncodeToString(o.SHA256)}) {
				t.Fatalf("object %+v is read as %+v", o, parsed.Objects[i])
			}
		}
		l.add(t, statement)
	}
	v, err := note.NewVerifier(l.key(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv("RECEIPTS_DIR")
	for i := range int64(count) {
		var cosigned time.Time
		if i%3 == 0 {
			cosigned = time.UnixMilli(1_790_000_000_000)
		}
		file := l.file(t, i, i+1+r.Int64N(count-i), cosigned)
		statement, p, err := proof.Split(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proof.Verify(p, proof.Entry(statement), proof.Policy{Logs: []note.Verifier{v}}); err != nil {
			t.Fatal(err)
		}
		if dir != "" {
			writeFile(t, filepath.Join(dir, fmt.Sprintf("%d.consign", i)), file)
		}
	}
	if dir != "" {
		writeFile(t, filepath.Join(filepath.Dir(dir), "keys"), []byte(l.key(t)+"\n"))
	}
}

func writeFile(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReceiptVectors: the files of testdata/receipt are what the format makes of known values, and docs/use/receipts.md has their hashes.
func TestReceiptVectors(t *testing.T) {
	t.Parallel()
	l := newReceiptLog("vector")
	at := time.Date(2026, 11, 23, 3, 44, 16, 297e6, time.UTC)
	uid, err := id.Parse[id.Transfer]("01a20681-24d8-781b-a0f8-3b938f060c7d")
	if err != nil {
		t.Fatal(err)
	}
	hello := []byte("hello")
	sum := sha256.Sum256(hello)
	statement := transfer.AppendReceipt(nil, transfer.Receipt{
		Salt: []byte("0123456789abcdef"), Host: "files.example.com", Transfer: uid, Kind: transfer.KindMailbox, CreatedAt: at,
		Confirmed: at.Add(303 * time.Millisecond),
		ExpiresAt: at.Add(7 * 24 * time.Hour), Sender: transfer.Sender{Name: `Sam \ Söhne`, Email: "sam@example.com"},
		Recipients: []transfer.Delivery{{Email: "owner@example.com", Name: "Olivia Owner", Destination: transfer.To},
			{Email: "bob@example.com", Destination: transfer.Bcc}},
		Subject: "Pictures 図面", Message: "Two lines,\nkept as a hash.", Fields: []byte(`{"case": "4711", "a": "ü"}`), Objects: 1,
		TotalBytes: 5,
	})
	statement = transfer.AppendReceiptObject(statement, transfer.Object{Name: "hello\u2028.txt", Held: 5, SHA256: sum[:]})
	entry := proof.Entry(statement)
	event := transfer.FormatEvent(transfer.Event{Salt: []byte("fedcba9876543210"), Transfer: uid, Kind: transfer.StatedErased,
		At: at.Add(time.Hour), Receipt: entry})
	for i := range 4 {
		l.add(t, fmt.Appendf(nil, "other statement %d\n", i))
	}
	l.add(t, statement)
	l.add(t, event)
	l.add(t, []byte("other statement 4\n"))
	l.add(t, transfer.FormatEvent(transfer.Event{Salt: []byte("0011223344556677"), Transfer: uid, Kind: transfer.StatedErased,
		At: at.Add(15 * 24 * time.Hour), Receipt: entry, Reason: transfer.ErasedByExpiry, Ended: at.Add(14 * 24 * time.Hour), Files: 1}))
	person, err := id.Parse[id.Person]("01a20681-24d8-781b-a0f8-3b938f060c7e")
	if err != nil {
		t.Fatal(err)
	}
	l.add(t, transfer.FormatErasedAccount([]byte("8899aabbccddeeff"), at.Add(16*24*time.Hour), transfer.ErasedAccount{Person: person,
		Reason: transfer.DeletedByPerson, DeletedAt: at.Add(15 * 24 * time.Hour), Mailboxes: 1, Received: 3, Files: 2, Sent: 1, Receipts: 4}))
	doc, err := os.ReadFile("../../docs/use/receipts.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := tlog.TreeHash(7, l)
	if err != nil {
		t.Fatal(err)
	}
	witness := proof.NewCosignerKey("witness.example/w1", l.witness.Public().(ed25519.PublicKey))
	leaf := tlog.RecordHash(entry)
	for _, value := range []string{hex.EncodeToString(entry), leaf.String(), root.String(), l.key(t), witness} {
		if !strings.Contains(string(doc), value) {
			t.Errorf("docs/use/receipts.md lacks %s", value)
		}
	}
	for name, content := range map[string][]byte{
		"receipt.consign": l.file(t, 4, 7, at.Add(time.Minute)), "erased.consign": l.file(t, 5, 7, time.Time{}), "hello.txt": hello,
		"certificate.consign": l.file(t, 7, 8, time.Time{}), "account.consign": l.file(t, 8, 9, time.Time{}),
		"keys": []byte(l.key(t) + " signing\n"), "witness": []byte(witness + "\n"),
	} {
		path := filepath.Join("testdata", "receipt", name)
		if *update {
			writeFile(t, path, content)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != string(content) {
			t.Errorf("%s differs (%v); if the format may change, write it anew with -update", path, err)
		}
	}
}
