package app_test

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/doctor"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/scanner"
)

// frontProxy is a TLS proxy before a server. A test changes what it does with a request.
type frontProxy struct {
	*httptest.Server
	target atomic.Pointer[url.URL]
	change atomic.Pointer[func(in, out *http.Request)]
	limit  atomic.Int64 // of bodies; 0: none
}

func newFrontProxy(t *testing.T) *frontProxy {
	t.Helper()
	p := &frontProxy{}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if limit := p.limit.Load(); limit > 0 && r.ContentLength > limit {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		(&httputil.ReverseProxy{Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(p.target.Load())
			pr.Out.Host = pr.In.Host
			address, _, _ := net.SplitHostPort(pr.In.RemoteAddr)
			for name, value := range map[string]string{"X-Forwarded-For": address, "X-Forwarded-Host": pr.In.Host, "X-Forwarded-Proto": "https"} {
				pr.Out.Header.Set(name, value)
			}
			if change := p.change.Load(); change != nil {
				(*change)(pr.In, pr.Out)
			}
		}}).ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *frontProxy) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.Certificate())
	return pool
}

// fronted starts a server behind a TLS proxy.
func fronted(t *testing.T, options ...testkit.Option) (*frontProxy, *testkit.Server) {
	t.Helper()
	p := newFrontProxy(t)
	s := testkit.New(t, append(options, testkit.PublicURL(p.URL))...)
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.target.Store(target)
	return p, s
}

// records is a Resolver.
type records map[string][]string

func (r records) LookupTXT(_ context.Context, name string) ([]string, error) {
	switch texts := r[name]; {
	case name == "broken.example":
		return nil, errors.New("server misbehaving")
	case texts == nil:
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	default:
		return texts, nil
	}
}

func (r records) LookupMX(_ context.Context, name string) ([]*net.MX, error) {
	if r[name] == nil {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return []*net.MX{{Host: "mx." + name}}, nil
}

var goodRecords = records{"example.com": {"v=spf1 mx -all"}, "_dmarc.example.com": {"v=DMARC1; p=none"}}

// examineWith runs the checks and returns the findings by id. No finding may contain the password that the tests use.
func examineWith(t *testing.T, cfg config.Config, o app.DoctorOptions) map[string]doctor.Finding {
	t.Helper()
	if o.Resolver == nil {
		o.Resolver = goodRecords
	}
	d, closeAll, err := app.OpenDoctor(t.Context(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := closeAll(); err != nil {
			t.Error(err)
		}
	}()
	found := map[string]doctor.Finding{}
	for _, f := range d.Run(t.Context()) {
		found[f.ID] = f
		if strings.Contains(f.Sentence+f.Advice, "hunter2") {
			t.Errorf("%s contains a password: %s", f.ID, f.Sentence)
		}
		if f.Severity != doctor.OK && f.Severity != doctor.Hint && f.Advice == "" {
			t.Errorf("%s does not say what to do", f.ID)
		}
		if !strings.HasSuffix(strings.TrimSpace(f.Sentence), ".") {
			t.Errorf("%s is no sentence: %q", f.ID, f.Sentence)
		}
	}
	return found
}

// ofMachine are warnings about the machine that runs the tests: their cluster has no fsync, other tests run, and the disk may have no
// journal.
var ofMachine = []string{"database.durable", "database.latency", "storage.slow", "storage.no-journal"}

// TestDoctorHealthy: an installation in order has no finding that is an error, and none about the proxy.
func TestDoctorHealthy(t *testing.T) {
	t.Parallel()
	p, s := fronted(t, testkit.Env("CONSIGN_TRUSTED_PROXIES", "127.0.0.1"))
	s.Clock.Advance(time.Since(s.Clock.Now())) // it stood still while the server started
	found := examineWith(t, s.Config, app.DoctorOptions{Now: s.Clock.Now, Roots: p.roots()})
	for id, f := range found {
		if f.Severity == doctor.Error || f.Severity == doctor.Warning && !slices.Contains(ofMachine, id) {
			t.Errorf("%s %s: %s", f.Severity, id, f.Sentence)
		}
	}
	for _, id := range []string{"public-url.ok", "tls.ok", "proxies.ok", "proxy.ok", "migrations.ok", "listen.ok", "organization.ok",
		"settings.ok", "data.ok", "smtp.ok", "mail-dns.ok", "clock.ok", "files.ok", "secret-key.backup"} {
		if _, ok := found[id]; !ok {
			t.Errorf("no finding %s", id)
		}
	}
	entries, err := os.ReadDir(s.DataDir)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".doctor") }) {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if strings.Contains(s.Log(), "ignoring forwarding headers") {
		t.Error("the questions of doctor make the server warn")
	}
	if len(found) < 15 {
		t.Errorf("%d findings", len(found))
	}
}

// TestDoctorProxies: what a wrong proxy does is named.
func TestDoctorProxies(t *testing.T) {
	t.Parallel()
	p, s := fronted(t, testkit.Env("CONSIGN_TRUSTED_PROXIES", "127.0.0.1"))
	pass := func(header string) func(in, out *http.Request) {
		return func(in, out *http.Request) {
			if sent := in.Header.Values(header); sent != nil {
				out.Header[header] = sent
			}
		}
	}
	without := func(header string) func(in, out *http.Request) {
		return func(_, out *http.Request) { out.Header.Del(header) }
	}
	for _, c := range []struct { // one after the other: they share the proxy
		id       string
		severity doctor.Severity
		change   func(in, out *http.Request)
	}{
		{"proxy.spoofable", doctor.Error, pass("X-Forwarded-For")},
		{"proxy.appends", doctor.Warning, func(in, out *http.Request) {
			out.Header["X-Forwarded-For"] = append(slices.Clone(in.Header["X-Forwarded-For"]), out.Header.Get("X-Forwarded-For"))
		}},
		{"proxy.host-spoofable", doctor.Error, pass("X-Forwarded-Host")},
		{"proxy.proto", doctor.Error, without("X-Forwarded-Proto")},
		{"proxy.address", doctor.Warning, without("X-Forwarded-For")},
		{"proxy.origin", doctor.Error, without("Origin")},
		{"proxy.host", doctor.Error, func(_, out *http.Request) { out.Host = "backend:8080"; out.Header.Del("X-Forwarded-Host") }},
	} {
		p.change.Store(&c.change)
		found := examineWith(t, s.Config, app.DoctorOptions{Now: s.Clock.Now, Roots: p.roots()})
		if found[c.id].Severity != c.severity {
			t.Errorf("want %s %s, found %+v", c.severity, c.id, found)
		}
		if _, ok := found["proxy.ok"]; ok {
			t.Errorf("%s: the proxy is called good, too", c.id)
		}
	}
	p.change.Store(nil)
	p.limit.Store(1 << 20)
	if f := examineWith(t, s.Config, app.DoctorOptions{Now: s.Clock.Now, Roots: p.roots()})["proxy.body"]; f.Severity != doctor.Error ||
		!strings.Contains(f.Sentence, "413") {
		t.Errorf("limit of bodies: %+v", f)
	}

	p, s = fronted(t) // which trusts nobody
	found := examineWith(t, s.Config, app.DoctorOptions{Now: s.Clock.Now, Roots: p.roots()})
	if found["proxy.untrusted"].Severity != doctor.Error || found["proxies.none"].Severity != doctor.Error ||
		!strings.Contains(found["proxy.untrusted"].Advice, "127.0.0.1") {
		t.Errorf("untrusted proxy: %+v", found)
	}
}

// TestDoctorSettings breaks an installation in its settings and surroundings. Each breakage has the finding that names it.
func TestDoctorSettings(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	port := func() string { return testkit.FreePort(t) }
	for _, c := range []struct {
		id       string
		severity doctor.Severity
		breaks   func(t *testing.T, c *config.Config, o *app.DoctorOptions)
	}{
		{"public-url.unreachable", doctor.Error, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.PublicURL = parsed("http://localhost:" + port())
		}},
		{"public-url.other", doctor.Error, func(t *testing.T, c *config.Config,
			_ *app.DoctorOptions) {
			c.PublicURL = stranger(t, http.StatusOK)
		}},
		{"public-url.redirect", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.PublicURL = stranger(t, http.StatusMovedPermanently)
		}},
		{"settings.differ", doctor.Error, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.StorageURL += "2" // a command that reads the settings by other rules than the service
		}},
		{"settings.replica", doctor.Hint, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) { c.Uploads++ }},
		{"tls.none", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) { c.PublicURL = stranger(t, http.StatusOK) }},
		{"proxies.wide", doctor.Error, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
		}},
		{"admin.public", doctor.Warning, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) { c.AdminListen = "203.0.113.7:9090" }},
		{"secret-key.wrong", doctor.Error, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.SecretKey = []byte(strings.Repeat("x", 32))
		}},
		{"secret-key.open", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.DataDir = t.TempDir()
			file := filepath.Join(c.DataDir, config.SecretFile)
			if err := errors.Join(os.WriteFile(file, []byte("x"), 0o600), os.Chmod(file, 0o644)); err != nil { //nolint:gosec // the mistake
				t.Fatal(err)
			}
		}},
		{"database.unreachable", doctor.Error, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.DatabaseURL = "postgres://consign:hunter2@127.0.0.1:" + port() + "/consign"
			c.ListenDatabaseURL = c.DatabaseURL
		}},
		{"database.encoding", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.DatabaseURL = asciiDatabase(t)
			c.ListenDatabaseURL = c.DatabaseURL
		}},
		{"database.version", doctor.Error,
			examination(database.Examination{Version: 140011, Release: "14.11", Encoding: "UTF8", Durable: true, Free: 80})},
		{"database.connections", doctor.Error, examination(
			database.Examination{Version: 170002, Release: "17.2", Encoding: "UTF8", Durable: true, Free: 1})},
		{"database.connections", doctor.Warning, examination(
			database.Examination{Version: 170002, Release: "17.2", Encoding: "UTF8", Durable: true, Free: 10})},
		{"database.latency", doctor.Warning, examination(
			database.Examination{Version: 170002, Release: "17.2", Encoding: "UTF8", Durable: true, Free: 80, Latency: 40 * time.Millisecond})},
		{"migrations.pending", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.DatabaseURL = pgtest.EmptyURL(t)
			c.ListenDatabaseURL = c.DatabaseURL
		}},
		{"organization.none", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.DatabaseURL = pgtest.URL(t)
			c.ListenDatabaseURL = c.DatabaseURL
		}},
		{"listen.deaf", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) { c.ListenDatabaseURL = pgtest.URL(t) }},
		{"clock.database", doctor.Error, clockAhead(5 * time.Minute)},
		{"clock.server", doctor.Error, func(_ *testing.T, _ *config.Config, o *app.DoctorOptions) {
			o.Now = func() time.Time { return s.Clock.Now().Add(-5 * time.Minute) } // the clock of the server stands still
		}},
		{"clock.public", doctor.Warning, clockAhead(20 * time.Second)},
		{"data.full", doctor.Error, space(1 << 20)},
		{"storage.full", doctor.Error, space(1 << 20)},
		{"storage.low", doctor.Warning, space(3 << 30)},
		{"data.read-only", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) { c.DataDir = readOnly(t) }},
		{"storage.read-only", doctor.Error, func(t *testing.T, c *config.Config,
			_ *app.DoctorOptions) {
			c.StorageURL = "file://" + readOnly(t)
		}},
		{"redis.unreachable", doctor.Error, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.RedisURL = "redis://:hunter2@127.0.0.1:" + port() + "/0"
		}},
		{"scanner.unreachable", doctor.Error, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.ScannerURL = "clamd://127.0.0.1:" + port()
		}},
		{"scanner.refuses", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			daemon := scanner.NewClamd(t)
			daemon.Refuse("Can't allocate memory ERROR")
			c.ScannerURL = daemon.URL
		}},
		{"kms.wrap", doctor.Error, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) { c.KMSCommand = "false" }},
		{"smtp.none", doctor.Warning, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) { c.SMTPURL = "" }},
		{"smtp.unreachable", doctor.Error, func(_ *testing.T, c *config.Config,
			_ *app.DoctorOptions) {
			c.SMTPURL = "smtp://127.0.0.1:" + port()
		}},
		{"smtp.login", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.SMTPURL = "smtp://ann:hunter2@" + mailServer(t, map[string]string{"AUTH": "535 5.7.8 wrong password"})
		}},
		{"smtp.sender", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.SMTPURL = "smtp://ann:hunter2@" + mailServer(t, map[string]string{"MAIL": "553 5.7.1 not owned by user ann"})
		}},
		{"smtp.tls", doctor.Error, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) { c.SMTPURL += "?tls=required" }},
		{"mail-dns.spf", doctor.Hint, func(_ *testing.T, _ *config.Config, o *app.DoctorOptions) { o.Resolver = records{} }},
		{"mail-dns.dmarc", doctor.Hint, func(_ *testing.T, _ *config.Config, o *app.DoctorOptions) { o.Resolver = records{} }},
		{"mail-dns.mx", doctor.Hint, func(_ *testing.T, _ *config.Config, o *app.DoctorOptions) { o.Resolver = records{} }},
		{"mail-dns.unknown", doctor.Hint, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) { c.MailFrom = "consign@broken.example" }},
		{"files.few", doctor.Error, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) { c.Uploads = 1_000_000_000 }},
		{"files.few", doctor.Warning, func(_ *testing.T, c *config.Config, o *app.DoctorOptions) {
			c.PublicURL, o.OpenFiles = parsed("http://localhost:"+port()), func() uint64 { return 2000 }
		}},
		{"bucket.delete-objects", doctor.Error, bucketRefusing("DELETE")},
		{"bucket.left", doctor.Hint, bucketRefusing("DELETE")},
		{"bucket.write-objects", doctor.Error, bucketRefusing("PUT")},
		{"bucket.list-objects", doctor.Error, bucketRefusing("LIST")},
		{"bucket.upload-in-parts", doctor.Error, bucketRefusing("POST")},
		{"bucket.unreachable", doctor.Error, func(_ *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.StorageURL = "s3://ann:hunter2@files/consign?region=eu&endpoint=http://127.0.0.1:" + port()
		}},
		{"bucket.rights", doctor.Error, bucketRefusing("HEAD", "LIST")},
		{"migrations.newer", doctor.Warning, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.DatabaseURL = pgtest.URL(t)
			if _, err := pgtest.Connect(t, c.DatabaseURL).Exec(t.Context(), `INSERT INTO migrations (version_id, is_applied)
				VALUES (999999, true)`); err != nil {
				t.Fatal(err)
			}
		}},
		{"smtp.busy", doctor.Warning, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.SMTPURL = "smtp://" + mailServer(t, map[string]string{"MAIL": "421 4.7.0 try again later"})
		}},
		{"smtp.busy", doctor.Warning, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.SMTPURL = "smtp://" + mailServer(t, map[string]string{"": "421 mail.example.com too many connections"})
		}},
		{"smtp.busy", doctor.Warning, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.SMTPURL = "smtp://" + mailServer(t, map[string]string{"": "554 no mails from your address"})
		}},
		{"smtp.tls", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.SMTPURL = "smtp://" + mailServer(t, map[string]string{"EHLO": "250-mail.example.com\r\n250 STARTTLS",
				"STARTTLS": "220 go ahead\r\nnoise"})
		}},
		{"smtp.tls", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.SMTPURL = "smtp://" + mailServer(t, map[string]string{"EHLO": "250-mail.example.com\r\n250 STARTTLS",
				"STARTTLS": "220 go ahead\r\n\x00"})
		}},
		{"smtp.tls", doctor.Error, func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
			c.SMTPURL = "smtps://" + mailServer(t, nil)
		}},
		{"bucket.ok", doctor.OK, bucketRefusing("nothing")},
		{"integrity.no-backup", doctor.Hint, inDatabase(`DELETE FROM settings WHERE name = 'backup'`)},
		{"integrity.old-backup", doctor.Warning, inDatabase(`INSERT INTO settings (name, value, updated_at)
			VALUES ('backup', to_jsonb(now() - interval '50 hours'), now())`)},
		{"integrity.damaged", doctor.Error, inDatabase(`INSERT INTO transfer.damaged_contents (content, detail, found_at, checked_at)
			VALUES (gen_random_uuid(), 'sum', now(), now())`)},
		{"integrity.problems", doctor.Warning, inDatabase(`INSERT INTO transfer.storage_checks (uid, started_at, finished_at, state, findings)
			VALUES (gen_random_uuid(), now(), now(), 'done', 3)`)},
		{"integrity.ok", doctor.OK, inDatabase(`INSERT INTO settings (name, value, updated_at) VALUES ('backup', to_jsonb(now()), now())`)},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			cfg, o := s.Config, app.DoctorOptions{Now: s.Clock.Now}
			c.breaks(t, &cfg, &o)
			found := examineWith(t, cfg, o)
			if found[c.id].Severity != c.severity {
				t.Errorf("want %s, found %+v", c.severity, found)
			}
		})
	}
}
