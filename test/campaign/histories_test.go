//go:build campaign

// Records what several clients do with one object through three replicas that are killed and cut from the database, and lets porcupine
// decide whether one server could have answered so.

package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/relay"
	"github.com/consign-dev/consign/internal/testkit/wire"
)

const (
	// staleAge is how long the seeded cache repeats an answer: three times what the contract allows for the slowest change.
	staleAge = 3 * time.Second
	// askTime is how long a client waits for an answer. Then the outcome is unknown.
	askTime = 5 * time.Second
	// staleReplica is the one behind the cache.
	staleReplica = 1
)

// TestHistories records HISTORIES (10,000) histories, PARALLEL (24) at a time, while one replica is killed with SIGKILL and another one is
// cut from the database at random moments, and gives them to the program test/histories. A twentieth as many come through a cache in front
// of one replica that repeats answers for staleAge, without faults: some of each kind must be found.
func TestHistories(t *testing.T) {
	want := number(t, "HISTORIES", 10_000)
	h := newHistories(t)
	began := time.Now()
	h.record("histories.jsonl", want, true)
	t.Logf("recorded %d histories in %.1f minutes across %d kills and %d cuts", want, time.Since(began).Minutes(), h.kills, h.cuts)
	if h.kills == 0 || h.cuts == 0 {
		t.Error("no replica was killed or cut: too few histories")
	}
	h.decide("histories.jsonl")

	h.stale = newStale(t, h.replicas[staleReplica].url)
	h.record("stale.jsonl", max(want/20, 300), false)
	h.decide("stale.jsonl", "-stale")
	figure(t, want, "histories")
	figure(t, h.kills, "kills")
	figure(t, h.cuts, "cuts from the database")
	figure(t, 0, "not linearizable")
	figure(t, 1, "faults built in and found")
	t.Logf("ok: %d histories, 0 not linearizable, across %d kills and %d cuts; the stale cache is found; %.1f minutes", want, h.kills, h.cuts,
		time.Since(began).Minutes())
}

// histories is the state of the campaign.
type histories struct {
	t        *testing.T
	dir      string
	replicas [3]*server
	relays   [3]*relay.Relay
	db       string
	stale    *url.URL // of the cache in front of the second replica; nil: there is none
	began    time.Time
	healthy  atomic.Int32 // a replica that has no fault
	kills    int
	cuts     int
	names    atomic.Int64
	client   http.Client
}

func newHistories(t *testing.T) *histories {
	t.Helper()
	h := &histories{t: t, dir: t.TempDir(), db: pgtest.EmptyURL(t), began: time.Now(), client: http.Client{Timeout: askTime,
		Transport: &http.Transport{DisableKeepAlives: true}}} // a GET is sent again when a kept connection breaks
	objects := filepath.Join(h.dir, "objects")
	for i := range h.replicas {
		h.relays[i] = relay.New(t, h.db)
		env := []string{"CONSIGN_DATABASE_URL=" + h.relays[i].URL, "CONSIGN_SECRET_KEY=MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
			"CONSIGN_STORAGE_URL=file://" + objects, "CONSIGN_NEW_TRANSFER_BUCKET=100000,1000/s", "CONSIGN_STORAGE_FLOOR=0"}
		if i > 0 {
			env = append(env, "CONSIGN_PUBLIC_URL="+h.replicas[0].url)
		}
		s := newServer(t, env...)
		if s.args = []string{"serve"}; i == 0 {
			s.args = append(s.args, "--migrate")
		}
		s.start()
		h.replicas[i] = s
	}
	return h
}

// record lets parties make histories and writes each to a line of a file.
func (h *histories) record(file string, want int, faults bool) {
	h.t.Helper()
	out, err := os.Create(filepath.Join(h.dir, file))
	if err != nil {
		h.t.Fatal(err)
	}
	defer out.Close()
	var (
		mu   sync.Mutex
		left atomic.Int64
		all  sync.WaitGroup
	)
	left.Store(int64(want))
	over := make(chan struct{})
	for range number(h.t, "PARALLEL", 24) {
		all.Go(func() {
			p := &party{h: h}
			for n := left.Add(-1); n >= 0; n = left.Add(-1) {
				line, err := json.Marshal(p.history())
				mu.Lock()
				if err == nil {
					_, err = out.Write(append(line, '\n'))
				}
				mu.Unlock()
				if err != nil {
					h.t.Error(err)
					return
				}
			}
		})
	}
	go func() { all.Wait(); close(over) }()
	if faults {
		h.fail(over)
	}
	<-over
}

// fail kills one replica and cuts another one from the database, again and again.
func (h *histories) fail(over <-chan struct{}) {
	pause := func(least, most time.Duration) {
		select {
		case <-over:
		case <-time.After(least + rand.N(most-least)):
		}
	}
	for {
		pause(0, 3*time.Second)
		select {
		case <-over:
			return
		default:
		}
		killed := rand.IntN(3)
		cut := (killed + 1 + rand.IntN(2)) % 3
		h.healthy.Store(int32(3 - killed - cut))
		switch h.cuts++; rand.IntN(3) {
		case 0:
			h.relays[cut].Cut()
		case 1:
			h.relays[cut].Down()
		default:
			h.relays[cut].Freeze()
		}
		pause(0, time.Second)
		h.kills++
		h.replicas[killed].signal(syscall.SIGKILL)
		_ = h.replicas[killed].wait()
		pause(0, 4*time.Second)
		h.relays[cut].Up()
		h.replicas[killed].start()
	}
}

// decide runs the program test/histories.
func (h *histories) decide(file string, args ...string) {
	h.t.Helper()
	program := os.Getenv("TEST_HISTORIES_CHECKER")
	if program == "" {
		h.t.Fatal("TEST_HISTORIES_CHECKER is not set: run make test-histories")
	}
	pictures := filepath.Join("..", "..", "var", "histories")
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		h.t.Fatal(err)
	}
	check := exec.CommandContext(h.t.Context(), program, append(args, "-pictures", pictures, filepath.Join(h.dir, file))...)
	out, err := check.CombinedOutput()
	h.t.Logf("%s:\n%s", file, out)
	if err != nil {
		h.t.Fatal(err)
	}
}

// newStale returns the URL of a cache in front of a replica. For staleAge it repeats what it answered to the same request of the same
// caller.
func newStale(t *testing.T, replica string) *url.URL {
	t.Helper()
	behind, err := url.Parse(replica)
	if err != nil {
		t.Fatal(err)
	}
	type copied struct {
		at     time.Time
		answer *httptest.ResponseRecorder
	}
	var mu sync.Mutex
	known := map[string]copied{}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			proxy.ServeHTTP(w, r)
			return
		}
		key := r.Method + " " + r.URL.String() + " " + r.Header.Get("Authorization")
		mu.Lock()
		c, ok := known[key]
		mu.Unlock()
		if !ok || time.Since(c.at) > staleAge {
			c = copied{time.Now(), httptest.NewRecorder()}
			proxy.ServeHTTP(c.answer, r)
			mu.Lock()
			known[key] = c
			mu.Unlock()
		}
		for name, values := range c.answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(c.answer.Code)
		_, _ = w.Write(c.answer.Body.Bytes())
	}))
	t.Cleanup(s.Close)
	stale, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return stale
}

// reply is what a client got.
type reply struct {
	wire.Answer
	code     string // of the error, or the status
	err      error
	untaken  bool // the replica did not listen: nothing has happened
	transfer string
}

// ask makes a request to a replica. in is bytes of a file, or encoded as JSON.
func (h *histories) ask(at int, method, path, token string, header http.Header, in any) reply {
	base := h.replicas[at].url
	if h.stale != nil && at == staleReplica {
		base = h.stale.String()
	}
	body, err := wire.Body(in)
	kind := "application/json"
	if raw, ok := in.([]byte); ok {
		body, kind = bytes.NewReader(raw), "application/octet-stream"
	}
	if err != nil {
		return reply{err: err}
	}
	r, err := http.NewRequestWithContext(context.Background(), method, base+path, body)
	if err != nil {
		return reply{err: err}
	}
	r.Host = strings.TrimPrefix(h.replicas[0].url, "http://") // also behind the cache
	for name, values := range header {
		r.Header[name] = values
	}
	if in != nil {
		r.Header.Set("Content-Type", kind)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	var a reply
	a.Answer, a.err = wire.Read(func() (*http.Response, error) { return h.client.Do(r) })
	a.untaken = refused(a.err)
	var said struct {
		Error struct {
			Code     int
			Transfer string
		}
	}
	if a.code = strconv.Itoa(a.Status); a.Status >= 400 && json.Unmarshal(a.Body, &said) == nil && said.Error.Code != 0 {
		a.code, a.transfer = strconv.Itoa(said.Error.Code), said.Error.Transfer
	}
	return a
}
