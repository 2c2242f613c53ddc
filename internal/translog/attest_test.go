package translog_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/translog"
)

// witness is the witness's side of C2SP tlog-witness, for logs whose keys policy returns.
type witness struct {
	name    string
	private ed25519.PrivateKey
	policy  func() proof.Policy
	server  *httptest.Server
	down    atomic.Bool

	mu   sync.Mutex
	seen map[string]tlog.Tree
}

func newWitness(t *testing.T, name string, policy func() proof.Policy) *witness {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{name: name, private: private, policy: policy, seen: map[string]tlog.Tree{}}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/w/add-checkpoint" || w.down.Load() {
			http.Error(rw, "down", http.StatusServiceUnavailable)
			return
		}
		status, answer := w.add(string(body))
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, answer)
	}))
	t.Cleanup(w.server.Close)
	return w
}

func (w *witness) key() string {
	return proof.NewCosignerKey(w.name, w.private.Public().(ed25519.PublicKey))
}

func (w *witness) parse(t *testing.T) *translog.Witness {
	t.Helper()
	parsed, err := translog.ParseWitness(w.key() + " " + w.server.URL + "/w")
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// add answers add-checkpoint.
func (w *witness) add(body string) (status int, answer string) {
	head, checkpoint, found := strings.Cut(body, "\n\n")
	lines := strings.Split(head, "\n")
	old, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "old "), 10, 64)
	if !found || err != nil {
		return http.StatusBadRequest, ""
	}
	v, err := proof.OpenCheckpoint([]byte(checkpoint), w.policy())
	if err != nil {
		return http.StatusForbidden, err.Error()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen[v.Origin]
	if old != seen.N || old == v.N && seen.Hash != v.Hash {
		return http.StatusConflict, fmt.Sprintf("%d\n", seen.N)
	}
	if old > v.N {
		return http.StatusBadRequest, ""
	}
	var hashes tlog.TreeProof
	for _, line := range lines[1:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(h) != tlog.HashSize {
			return http.StatusBadRequest, ""
		}
		hashes = append(hashes, tlog.Hash(h))
	}
	if old > 0 && tlog.CheckTree(hashes, v.N, v.Hash, old, seen.Hash) != nil {
		return http.StatusUnprocessableEntity, ""
	}
	w.seen[v.Origin] = v.Tree.Tree
	return http.StatusOK, "— other.example AAAA\n" + proof.Cosign(w.name, w.private, v.Text, time.Now())
}

// TestWitnessesCosign: witnesses follow the log over a rotation of its key and a new log. One that is down holds nothing up, and what it
// missed it gets from any replica.
func TestWitnessesCosign(t *testing.T) {
	t.Parallel()
	world := newWorld(t)
	var l *translog.Log
	policy := func() proof.Policy { return world.policy(l) }
	one, two := newWitness(t, "witness.example/one", policy), newWitness(t, "witness.example/two", policy)
	replica := func() *translog.Log {
		return world.replica(func(o *translog.Options) { o.Witnesses = []*translog.Witness{one.parse(t), two.parse(t)} })
	}
	l = replica()
	trusting := func(entry []byte, quorum int) error {
		p, err := l.Prove(t.Context(), entry)
		if err != nil {
			t.Fatal(err)
		}
		trusted := policy()
		for _, w := range []*witness{one, two} {
			c, err := proof.NewCosigner(w.key())
			if err != nil {
				t.Fatal(err)
			}
			trusted.Witnesses = append(trusted.Witnesses, c)
		}
		trusted.Quorum = quorum
		_, err = proof.Verify(p, entry, trusted)
		return err
	}
	cosign := func() {
		t.Helper()
		if err := l.Cosign(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first := world.add(3)[0]
	world.sequence(l)
	if err := trusting(first, 1); err == nil {
		t.Error("cosigned before anybody was asked")
	}
	cosign()
	if err := trusting(first, 2); err != nil {
		t.Error(err)
	}
	if _, err := l.Rotate(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	two.down.Store(true)
	second := world.add(300)[7]
	world.sequence(l)
	if err := l.Cosign(t.Context()); err == nil {
		t.Error("nothing is said about a witness that is down")
	}
	if err := trusting(second, 1); err != nil {
		t.Error(err)
	}
	two.down.Store(false)
	cosign()
	if err := trusting(second, 2); err != nil {
		t.Errorf("after the witness is back: %v", err)
	}
	l = replica() // knows nothing of what the witnesses have seen
	third := world.add(1)[0]
	world.exec(`UPDATE log.logs SET leader = NULL`)
	world.sequence(l)
	cosign()
	if err := trusting(third, 2); err != nil {
		t.Errorf("by another replica: %v", err)
	}
	if _, err := l.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	fourth := world.add(1)[0]
	world.sequence(l)
	cosign()
	for _, entry := range [][]byte{first, third, fourth} {
		if err := trusting(entry, 2); err != nil {
			t.Errorf("after a restart: %v", err)
		}
	}
}

// TestWitnessStopsAFork: the database and the storage are restored from the same backup, so that the mark detects nothing. A witness does,
// and the log refuses to sign more.
func TestWitnessStopsAFork(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]int{"shorter": 1, "longer": 9} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := newWorld(t)
			l := world.replica()
			w := newWitness(t, "witness.example/one", func() proof.Policy { return world.policy(l) })
			watched := func(o *translog.Options) { o.Witnesses = []*translog.Witness{w.parse(t)} }
			l = world.replica(watched)
			world.add(3)
			world.sequence(l)
			world.backUp()
			world.add(4)
			world.sequence(l)
			if err := l.Cosign(t.Context()); err != nil {
				t.Fatal(err)
			}
			world.restore()
			world.marks = newWorld(t).marks
			l = world.replica(watched)
			world.add(more)
			world.sequence(l)
			if err := l.Cosign(t.Context()); !errors.Is(err, translog.ErrContradicted) {
				t.Fatalf("the witness says %v", err)
			}
			lost := world.add(1)[0]
			if _, err := l.Sequence(t.Context()); !errors.Is(err, translog.ErrContradicted) || !errors.Is(l.Trouble(), translog.ErrContradicted) {
				t.Fatalf("a contradicted log: %v", err)
			}
			if _, err := l.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			world.sequence(l)
			world.prove(l, lost)
			if err := l.Cosign(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestParseWitness: wrong settings are refused.
func TestParseWitness(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "key", "key https://w.example", "w.example+00000000+AAAA https://w.example/", "https://w.example"} {
		if _, err := translog.ParseWitness(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestAttestationsWhileTheLogRuns: a running log has its checkpoints cosigned and stamped by itself.
func TestAttestationsWhileTheLogRuns(t *testing.T) {
	t.Parallel()
	world := newWorld(t)
	a := newAuthority(t)
	var l *translog.Log
	w := newWitness(t, "witness.example/one", func() proof.Policy { return world.policy(l) })
	l = world.replica(func(o *translog.Options) {
		o.Witnesses, o.TSA, o.StampEvery = []*translog.Witness{w.parse(t)}, a.server.URL, time.Second
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	entry := world.add(1)[0]
	l.Wake()
	poll.Until(t, "the entry is cosigned and stamped", func() bool {
		p, err := l.Prove(t.Context(), entry)
		return err == nil && p.Extra != nil && strings.Contains(string(p.Checkpoint), "witness.example/one")
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
