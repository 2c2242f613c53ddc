//go:build campaign

package campaign

import (
	"cmp"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// hookReceiver receives the messages of several webhooks. The last part of a path is the number of the webhook.
type hookReceiver struct {
	t       *testing.T
	mu      sync.Mutex
	secrets []string
	got     map[string]map[string]string // by webhook: the id of the message of each subject
	twice   int
	out     *json.Encoder
}

func (r *hookReceiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var m struct{ Data struct{ Subject string } }
	if err != nil || json.Unmarshal(body, &m) != nil {
		return // the server was killed
	}
	hook := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	r.mu.Lock()
	defer r.mu.Unlock()
	n, _ := strconv.Atoi(hook)
	key, err := standardwebhooks.NewWebhook(r.secrets[n])
	if err == nil {
		err = key.Verify(body, req.Header)
	}
	if err != nil {
		r.t.Error(err)
	}
	if r.got[hook] == nil {
		r.got[hook] = map[string]string{}
	}
	former, known := r.got[hook][m.Data.Subject]
	id := req.Header.Get("webhook-id")
	if known && former != id {
		r.t.Errorf("%s arrived as %s and as %s", m.Data.Subject, former, id)
	}
	if known {
		r.twice++
	}
	r.got[hook][m.Data.Subject] = id
	if err := r.out.Encode(map[string]string{
		"secret": r.secrets[n], "body": string(body), "webhook-id": id,
		"webhook-timestamp": req.Header.Get("webhook-timestamp"), "webhook-signature": req.Header.Get("webhook-signature"),
	}); err != nil {
		r.t.Error(err)
	}
}

// least returns the number of messages of the webhook that got least.
func (r *hookReceiver) least() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	least := len(r.got["0"])
	for n := range r.secrets {
		least = min(least, len(r.got[strconv.Itoa(n)]))
	}
	return least
}

// TestWebhooks appends EVENTS (1000) events for nine webhooks while the server is killed KILLS (20) times. Each committed event arrives at
// each webhook under one id, no other arrives, and the Go library of Standard Webhooks verifies each message. MESSAGES names a file for
// another library.
func TestWebhooks(t *testing.T) {
	const hooks = 9 // and the one of /demo/webhooks: a person may have ten
	count := number(t, "EVENTS", 1000)
	kills := number(t, "KILLS", 20)
	file, err := os.Create(cmp.Or(os.Getenv("MESSAGES"), os.DevNull))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := &hookReceiver{t: t, got: map[string]map[string]string{}, out: json.NewEncoder(file)}
	receiver := httptest.NewServer(r)
	defer receiver.Close()
	url := pgtest.URL(t)
	s := newServer(t, "CONSIGN_DATABASE_URL="+url, "CONSIGN_SECRET_KEY=a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=",
		"CONSIGN_WEBHOOK_ALLOW=127.0.0.0/8")
	s.args = append(s.args, "--migrate")
	s.start()
	owner, err := s.owner()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(receiver.Listener.Addr().String())
	for n := range hooks {
		var made struct{ Secret string }
		body := map[string]any{"url": "http://127.0.0.1:" + port + "/" + strconv.Itoa(n), "events": []string{events.TransferRevoked}}
		if _, err := owner.call("POST", "/id/v3/webhooks", body, &made); err != nil {
			t.Fatal(err)
		}
		r.secrets = append(r.secrets, made.Secret)
	}
	db, err := database.New(t.Context(), url, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	person, err := database.Scalar[id.Person](t.Context(), db.Pool, "person", nil, "SELECT person FROM webhook.webhooks LIMIT 1")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for n := range count {
		for n-r.least() > 100 { // fewer wait than are given up
			time.Sleep(5 * time.Millisecond)
		}
		for _, kept := range []bool{false, true} {
			name := map[bool]string{true: "event " + strconv.Itoa(n), false: "rolled back"}[kept]
			err := db.InTx(t.Context(), func(tx database.Tx) error {
				if err := events.Append(t.Context(), tx, time.Now(),
					events.Event{Kind: events.TransferRevoked, Subject: name, Receivers: []id.Person{person}}); err != nil || kept {
					return err
				}
				return fault.ErrConflict
			})
			if (err == nil) != kept {
				t.Fatal(err)
			}
		}
		if (n+1)*kills/count > n*kills/count {
			s.signal(syscall.SIGKILL)
			_ = s.wait()
			s.start()
		}
	}
	deadline := time.Now().Add(3 * time.Minute) // a lease of 30 s, and attempts at a killed connection
	for r.least() < count && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range hooks {
		got := r.got[strconv.Itoa(n)]
		if len(got) != count {
			t.Errorf("webhook %d got %d of %d events", n, len(got), count)
		}
		if _, invented := got["rolled back"]; invented {
			t.Errorf("webhook %d got an event that was rolled back", n)
		}
	}
	t.Logf("%d deliveries in %s with %d kills, %d messages twice", hooks*count, time.Since(begin).Round(time.Second), kills, r.twice)
}
