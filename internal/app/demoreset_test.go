// The reset of a public demo: everything that visitors made is gone, requests meanwhile wait, and a reset that was interrupted is repeated.

package app_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/localpg"
	"github.com/consign-dev/consign/internal/testkit/output"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// publicDemo is a demo of app.ServeDemo on an embedded Postgres.
type publicDemo struct {
	t       *testing.T
	url     string
	config  config.Config
	later   atomic.Int64 // how far its clock is ahead
	out     output.Buffer
	stop    context.CancelFunc
	options app.Options
	ended   chan struct{}
	failure error // set before ended is closed
}

func newPublicDemo(t *testing.T) *publicDemo {
	t.Helper()
	d := &publicDemo{t: t}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	d.url = "http://localhost:" + port
	d.config, err = config.Load([]string{"CONSIGN_DATA_DIR=" + pgtest.Dir(t), "CONSIGN_PUBLIC_URL=" + d.url,
		"CONSIGN_ADMIN_LISTEN=127.0.0.1:0",
		"CONSIGN_BCRYPT_COST=4", "CONSIGN_RATE_LIMIT=off", "CONSIGN_SHUTDOWN_DELAY=0"})
	if err != nil {
		t.Fatal(err)
	}
	d.options = app.Options{Serve: true, Demo: true, DemoReset: time.Hour, Listener: listener, Greet: &d.out,
		Now: func() time.Time { return time.Now().Add(time.Duration(d.later.Load())) }}
	return d
}

func (d *publicDemo) start() {
	ctx, stop := context.WithCancel(context.WithoutCancel(d.t.Context()))
	d.stop, d.ended = stop, make(chan struct{})
	go func() {
		defer close(d.ended)
		d.failure = app.ServeDemo(ctx, d.config, d.options)
	}()
}

func (d *publicDemo) end() {
	d.t.Helper()
	d.stop()
	<-d.ended
	if d.failure != nil {
		d.t.Error(d.failure)
	}
}

// starts returns how often it was ready.
func (d *publicDemo) starts() int { return strings.Count(d.out.String(), "is ready at") }

func (d *publicDemo) untilReady(n int) {
	d.t.Helper()
	poll.Until(d.t, "the demo is ready", func() bool {
		select {
		case <-d.ended:
			d.t.Fatal("it ended")
		default:
		}
		return d.starts() == n && strings.Count(d.out.String(), "/api/") == n
	})
}

func (d *publicDemo) value(name string) string {
	raw, _ := os.ReadFile(filepath.Join(d.config.DataDir, "demo.txt"))
	for line := range strings.Lines(string(raw)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+": "); ok {
			return v
		}
	}
	return ""
}

// reserve leaves a reservation of a visitor at the demo's mailbox.
func (d *publicDemo) reserve() (status int, err error) {
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.url+d.config.TransferBasePath+"/public/mailbox/demo",
		strings.NewReader(`{"anonSender":"Sam","anonEmail":"sam@example.com","subject":"Spam"}`))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// requests returns how many requests the owner has.
func (d *publicDemo) requests() (status, n int) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.url+d.config.TransferBasePath+"/requests", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+d.value("token"))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct{ Requests []any }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, len(list.Requests)
}

// TestDemoReset: after its period a demo is as at the start, with the same password. Requests meanwhile are answered late, or cut off with
// the connection that they came on; none is refused by the network or answered 500.
func TestDemoReset(t *testing.T) {
	t.Parallel()
	d := newPublicDemo(t)
	d.start()
	defer d.end()
	d.untilReady(1)
	password, token := d.value("password"), d.value("token")
	if status, err := d.reserve(); err != nil || status != http.StatusCreated {
		t.Fatal(status, err)
	}
	left := filepath.Join(d.config.DataDir, "mail", "left.eml")
	if err := os.WriteFile(left, []byte("of a visitor"), 0o600); err != nil {
		t.Fatal(err)
	}

	var visitors sync.WaitGroup
	enough := make(chan struct{})
	for range 4 {
		visitors.Go(func() {
			for {
				select {
				case <-enough:
					return
				case <-time.After(20 * time.Millisecond):
				}
				if status, err := d.reserve(); err != nil && strings.Contains(err.Error(), "refused") || status == http.StatusInternalServerError {
					t.Errorf("during the reset: %d, %v", status, err)
					return
				}
			}
		})
	}
	d.later.Store(int64(time.Hour + time.Second))
	d.untilReady(2)
	close(enough)
	visitors.Wait()
	if d.value("password") != password || d.value("token") == token || d.value("token") == "" {
		t.Errorf("password kept: %t, token %q", d.value("password") == password, d.value("token"))
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("a mail of before is there")
	}
	if status, n := d.requests(); status != http.StatusOK || n != 1 {
		t.Errorf("requests: %d, %d", status, n)
	}
}

// TestDemoResetInterrupted: a server that dies while it empties the demo does so again when it starts, and not while a command uses the
// database.
func TestDemoResetInterrupted(t *testing.T) {
	t.Parallel()
	d := newPublicDemo(t)
	// What a kill after the database was emptied leaves: files, and the time that has passed.
	half := filepath.Join(d.config.DataDir, "objects", "half")
	if err := os.MkdirAll(half, 0o755); err != nil {
		t.Fatal(err)
	}
	passed := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	if err := os.WriteFile(filepath.Join(d.config.DataDir, "demo-reset.txt"), []byte(passed), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start()
	defer d.end()
	d.untilReady(1)
	if _, err := os.Stat(half); err == nil {
		t.Error("files of before are there")
	}

	other, err := localpg.Start(t.Context(), localpg.Options{Dir: filepath.Join(d.config.DataDir, app.ClusterDir)})
	if err != nil {
		t.Fatal(err)
	}
	token := d.value("token")
	d.later.Store(int64(time.Hour + time.Second))
	d.untilReady(2)
	if d.value("token") != token {
		t.Error("it was emptied although another process uses its database")
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	d.later.Add(int64(2 * time.Minute))
	d.untilReady(3)
	if d.value("token") == token {
		t.Error("it was not emptied later")
	}
}

// TestDemoResetRefused: where other data than a demo's could be lost.
func TestDemoResetRefused(t *testing.T) {
	t.Parallel()
	d := newPublicDemo(t)
	defer d.options.Listener.Close()
	for name, change := range map[string]func(*config.Config){
		"database": func(c *config.Config) { c.DatabaseURL = "postgres://db.example.com/consign" },
		"storage":  func(c *config.Config) { c.StorageURL = (&url.URL{Scheme: "file", Path: "/srv/files"}).String() },
	} {
		cfg := d.config
		change(&cfg)
		if err := app.ServeDemo(t.Context(), cfg, d.options); err == nil || !strings.Contains(err.Error(), "--demo-reset") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
