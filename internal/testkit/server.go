// Package testkit is how tests use Consign: a whole server in the test's process, on a database of its own, with a real SMTP server to mail
// to and a clock that moves by hand, acted upon over HTTP by named people.
//
// Every answer is checked against the OpenAPI documents, and when a test ends everything the server logged is searched for every token and
// key that was handed out during the test.
package testkit

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit/clock"
	"github.com/consign-dev/consign/internal/testkit/freeport"
	"github.com/consign-dev/consign/internal/testkit/output"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// Server is a running Consign and what surrounds it.
type Server struct {
	T           testing.TB
	URL         string // http://localhost:PORT; https when CONSIGN_TLS_CERT is set
	Admin       string // URL of the admin listener
	Identity    string // base path of the identity API
	Transfer    string // base path of the transfer API
	DatabaseURL string
	DataDir     string
	Config      config.Config
	App         *app.App
	Clock       *clock.Manual
	Mail        *Sink

	client  *http.Client
	log     *output.Buffer
	secrets *secrets
	stop    context.CancelCauseFunc
	done    chan error
}

// Option changes the server before it starts.
type Option func(*setup)

type setup struct {
	env      map[string]string
	database string
	dataDir  string
	clock    *clock.Manual
	mail     *Sink
	secrets  *secrets
	public   string
	blobs    disk.FS
	space    func(dir string) (free, size int64, err error)
	memory   func() (used, limit int64)
	demo     bool
	dns      func(ctx context.Context, name string) ([]string, error)
	change   []func(*config.Constants)
}

// Env sets a setting, such as Env("CONSIGN_BCRYPT_COST", "12").
func Env(name, value string) Option { return func(s *setup) { s.env[name] = value } }

// PublicURL sets the server's public URL; by default it is http://localhost with the port it listens on.
func PublicURL(u string) Option { return func(s *setup) { s.public = u } }

// Constants changes values that no setting changes.
func Constants(change func(*config.Constants)) Option {
	return func(s *setup) { s.change = append(s.change, change) }
}

// Through makes the server reach its database at another URL, such as a Relay's.
func Through(databaseURL string) Option { return func(s *setup) { s.database = databaseURL } }

// Blobs puts the file layer below the server's disk store, such as one that runs full.
func Blobs(layer disk.FS) Option { return func(s *setup) { s.blobs = layer } }

// Space sets the free space of the storage's volume.
func Space(measure func(dir string) (free, size int64, err error)) Option {
	return func(s *setup) { s.space = measure }
}

// Memory sets how much memory the server uses, and its limit. By default it has plenty.
func Memory(measure func() (used, limit int64)) Option { return func(s *setup) { s.memory = measure } }

// Demo seeds the demo mailbox, as serve --demo does.
func Demo() Option { return func(s *setup) { s.demo = true } }

// DNS answers the server's questions for TXT records; by default there are none in the world.
func DNS(lookupTXT func(ctx context.Context, name string) ([]string, error)) Option {
	return func(s *setup) { s.dns = lookupTXT }
}

// Former makes the server continue an installation: its data directory, and the time it was left at.
func Former(dataDir string, at time.Time) Option {
	return func(s *setup) { s.dataDir, s.clock = dataDir, clock.At(at) }
}

// Beside makes the server another replica of first: the same database, data directory, clock, mail sink and public URL.
func Beside(first *Server) Option {
	return func(s *setup) {
		s.database, s.dataDir, s.clock, s.mail, s.secrets, s.public = first.DatabaseURL, first.DataDir, first.Clock, first.Mail, first.secrets,
			first.Config.PublicURL.String()
	}
}

// New starts a server that ends with the test.
func New(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := &setup{env: map[string]string{}, dns: func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") },
		memory: func() (used, limit int64) { return 100 << 20, 1 << 30 }}
	for _, o := range options {
		o(s)
	}
	if s.database == "" {
		s.database = pgtest.URL(t)
	}
	if s.clock == nil {
		// The clock starts at the present because Postgres and River use the real time.
		s.dataDir, s.clock = t.TempDir(), clock.At(time.Now().UTC().Truncate(time.Millisecond))
	}
	if s.mail == nil {
		s.mail, s.secrets = NewSink(t), newSecrets()
	}
	listener, admin := loopback(t), loopback(t)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if s.public == "" {
		s.public = "http://localhost:" + port
	}
	environment := map[string]string{
		"CONSIGN_PUBLIC_URL": s.public, "CONSIGN_DATABASE_URL": s.database, "CONSIGN_DATA_DIR": s.dataDir,
		"CONSIGN_SECRET_KEY": base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)),
		"CONSIGN_SMTP_URL":   "smtp://" + s.mail.Addr, "CONSIGN_MAIL_FROM": "consign@example.com",
		"CONSIGN_BCRYPT_COST": "4", "CONSIGN_LOG_LEVEL": "debug", "CONSIGN_ADMIN_LISTEN": "127.0.0.1:0",
		"CONSIGN_ADMIN_CONSOLE":  "public",
		"CONSIGN_SHUTDOWN_DELAY": "0",
		"CONSIGN_RATE_LIMIT":     "off",
		// The strangers of a test share a client network. Tests of what one network may take set the default again.
		"CONSIGN_STRANGER_SHARE": "100",
	}
	if value := os.Getenv("CONSIGN_TEST_STORAGE_ENCRYPTION"); value != "" { // make test-encrypted
		environment["CONSIGN_STORAGE_ENCRYPTION"] = value
	}
	for name, value := range s.env {
		environment[name] = value
	}
	var environ []string
	for name, value := range environment {
		environ = append(environ, name+"="+value)
	}
	cfg, err := config.Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range s.change {
		change(&cfg.Constants)
	}
	return start(t, s, cfg, listener, admin)
}

func loopback(t testing.TB) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func start(t testing.TB, s *setup, cfg config.Config, listener, admin net.Listener) *Server {
	t.Helper()
	log := &output.Buffer{}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	scheme := "http"
	if cfg.TLSCert != "" {
		scheme = "https"
	}
	server := &Server{
		T: t, URL: scheme + "://localhost:" + port, Admin: "http://" + admin.Addr().String(), Identity: cfg.IdentityBasePath,
		Transfer:    cfg.TransferBasePath,
		DatabaseURL: s.database, DataDir: s.dataDir, Config: cfg, Clock: s.clock, Mail: s.mail, log: log, secrets: s.secrets,
		done: make(chan error, 1),
	}
	server.client = &http.Client{
		Transport:     newChecker(t, LoadDocuments(t, cfg.IdentityBasePath, cfg.TransferBasePath), cfg.TLSCert),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	server.stop = cancel
	a, err := app.New(ctx, cfg, app.Options{
		Now: s.clock.Now, Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Version: "test",
		Listener: listener, Admin: admin, NoPeriodic: true, BlobFS: s.blobs, Space: s.space, Memory: s.memory,
		LookupTXT: s.dns, Demo: s.demo,
	})
	if err != nil {
		cancel(nil)
		t.Fatal(err)
	}
	server.App = a
	go func() { server.done <- a.Run(ctx) }()
	t.Cleanup(func() {
		server.knowsActions()
		server.Stop()
		server.grepLog()
	})
	server.ready()
	return server
}

// ready waits until /readyz answers 200.
func (s *Server) ready() {
	s.T.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if s.answersReady() {
			return
		}
		select {
		case err := <-s.done:
			s.done <- err
			s.T.Fatalf("the server ended while starting: %v\n%s", err, s.Log())
		case <-time.After(2 * time.Millisecond):
		}
	}
	s.T.Fatalf("the server was not ready within 30 s\n%s", s.Log())
}

// answersReady asks once. A server that ended while starting leaves its listener open and answers nothing.
func (s *Server) answersReady() bool {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
	if err != nil {
		s.T.Fatal(err)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// knowsActions reports an action in the audit that is not one of audit.Actions, unless the server has stopped.
func (s *Server) knowsActions() {
	s.T.Helper()
	recorded, err := database.Scalars[string](context.Background(), s.App.DB.Pool, "list actions", "SELECT DISTINCT action FROM audit")
	for _, action := range recorded {
		if err == nil && !slices.Contains(audit.Actions, action) && !strings.HasPrefix(action, "probe.") { // of tests
			s.T.Errorf("the action %s is not in audit.Actions", action)
		}
	}
}

// Stop shuts the server down as SIGTERM does and waits for it; calling it again does nothing.
func (s *Server) Stop() {
	s.T.Helper()
	s.stop(nil)
	err := <-s.done
	s.done <- nil
	if err != nil {
		s.T.Errorf("the server ended with: %v", err)
	}
	s.client.CloseIdleConnections()
}

// Log is everything the server has logged.
func (s *Server) Log() string { return s.log.String() }

// grepLog fails the test when the log contains a token or key that was issued.
func (s *Server) grepLog() {
	s.T.Helper()
	s.Mail.mu.Lock()
	for _, m := range s.Mail.mails {
		for _, l := range links.FindAllString(m.Text, -1) {
			if u, err := url.Parse(l); err == nil {
				s.secrets.add(u.Path[strings.LastIndexByte(u.Path, '/')+1:])
			}
		}
	}
	s.Mail.mu.Unlock()
	text := s.Log()
	for _, secret := range s.secrets.list() {
		if strings.Contains(text, secret) {
			s.T.Errorf("the log holds a secret that was handed out: %.12s…", secret)
		}
	}
	if dir := os.Getenv("TEST_LOGS"); dir != "" {
		name := strings.Map(func(r rune) rune {
			if r == '/' || r == ' ' {
				return '_'
			}
			return r
		}, s.T.Name())
		_ = os.WriteFile(filepath.Join(dir, name+".log"), []byte(text), 0o600)
	}
}

// secrets are the tokens and keys that answers and mails have carried.
type secrets struct {
	mu  sync.Mutex
	set map[string]struct{}
}

func newSecrets() *secrets { return &secrets{set: map[string]struct{}{}} }

func (s *secrets) add(value string) {
	if len(value) < 20 {
		return // too short to be one: a path segment such as "login"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set[value] = struct{}{}
}

func (s *secrets) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]string, 0, len(s.set))
	for v := range s.set {
		all = append(all, v)
	}
	return all
}

var secretMembers = regexp.MustCompile(`"(?:token|key)":"([^"]+)"`)

// learn collects the secrets of an answer.
func (s *secrets) learn(h http.Header, body []byte) {
	if raw, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer "); ok {
		s.add(raw)
	}
	for _, m := range secretMembers.FindAllSubmatch(body, -1) {
		s.add(string(m[1]))
		if codes := strings.Fields(string(m[1])); len(codes) > 1 { // recovery codes
			s.mu.Lock()
			for _, c := range codes {
				s.set[c] = struct{}{}
			}
			s.mu.Unlock()
		}
	}
}

// FreePort returns a TCP port of loopback that nothing listens on, for a process that a test starts.
func FreePort(t testing.TB) string {
	t.Helper()
	port, err := freeport.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
