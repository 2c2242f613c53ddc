// Package attester has third parties that attest a transparency log: a witness (C2SP tlog-witness) and a time stamp service (RFC 3161).
package attester

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
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

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/translog"
)

// Witness is the witness's side of C2SP tlog-witness, for one log.
type Witness struct {
	Down    atomic.Bool  // answers 503
	Refused atomic.Int64 // requests while it was down
	name    string
	log     func() *translog.Log
	url     string

	private ed25519.PrivateKey
	mu      sync.Mutex
	seen    map[string]tlog.Tree
}

// NewWitness starts a witness of the log that log returns when it is asked.
func NewWitness(t testing.TB, name string, log func() *translog.Log) *Witness {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &Witness{name: name, private: private, log: log, seen: map[string]tlog.Tree{}}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.Down.Load() {
			w.Refused.Add(1)
			http.Error(rw, "down", http.StatusServiceUnavailable)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/w/add-checkpoint" {
			http.Error(rw, "not a checkpoint", http.StatusBadRequest)
			return
		}
		status, answer := w.add(r.Context(), string(body))
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, answer)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL + "/w"
	return w
}

// Key returns the key of the witness as settings have it.
func (w *Witness) Key() string {
	return proof.NewCosignerKey(w.name, w.private.Public().(ed25519.PublicKey))
}

// Setting returns the witness as a setting: its key and its address.
func (w *Witness) Setting() string { return w.Key() + " " + w.url }

// Policy trusts all keys of a log.
func Policy(ctx context.Context, l *translog.Log) (p proof.Policy, err error) {
	keys, err := l.Keys(ctx)
	if err != nil {
		return p, err
	}
	for _, k := range keys {
		text, err := k.Verifier()
		if err != nil {
			return p, err
		}
		v, err := note.NewVerifier(text)
		if err != nil {
			return p, err //nolint:wrapcheck // a test fails with it
		}
		p.Logs = append(p.Logs, v)
	}
	return p, nil
}

// add answers add-checkpoint.
func (w *Witness) add(ctx context.Context, body string) (status int, answer string) {
	head, checkpoint, found := strings.Cut(body, "\n\n")
	lines := strings.Split(head, "\n")
	old, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "old "), 10, 64)
	if !found || err != nil {
		return http.StatusBadRequest, ""
	}
	trusted, err := Policy(ctx, w.log())
	if err != nil {
		return http.StatusInternalServerError, err.Error()
	}
	v, err := proof.OpenCheckpoint([]byte(checkpoint), trusted)
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
