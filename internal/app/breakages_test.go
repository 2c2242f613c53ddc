//go:build breakages

// Breaks an installation in each way that operators meet, and compares what doctor, /readyz, the alert rules and the console say (make
// test-breakages). No breakage may leave all of them green. The alert rules are evaluated by promtool over what the server's metrics say.

package app_test

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/doctor"
	"github.com/consign-dev/consign/internal/localpg"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/cutter"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/redistest"
	"github.com/consign-dev/consign/internal/testkit/relay"
	"github.com/consign-dev/consign/internal/testkit/scanner"
)

// patience is how long a breakage may take to show.
const patience = 40 * time.Second

// said is what one breakage made each source say; the empty text is green.
type said struct{ doctor, readyz, alerts, console string }

// row is a breakage. Its wants are texts that must be in what the sources say; an empty one: that source need not know it.
type row struct {
	name    string
	want    said
	alone   bool // with a Postgres of its own, since the shared one serves other tests
	options func(*broken) []testkit.Option
	breaks  func(*broken)
	world   func(*broken, *config.Config, *app.DoctorOptions)
}

// broken is an installation of one row.
type broken struct {
	t      *testing.T
	s      *testkit.Server
	hop    *relay.Relay
	daemon *scanner.Clamd
	bucket *bucket
	roots  *x509.CertPool // trusts the public URL
	third  *attesters     // of the log; nil: none
	post   *cutter.Cutter // on the way to the mail server
	redis  *redistest.Server
	beside string // metrics of another replica
	free   atomic.Int64
	used   atomic.Int64 // memory, of 1 GiB
	dir    string
}

func (b *broken) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := pgtest.Connect(b.t, b.s.DatabaseURL).Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatal(err)
	}
}

// mails queues mails to four people.
func (b *broken) mails() {
	b.s.Clock.Advance(2 * time.Second)
	for i := range 4 {
		b.s.SignUpUnconfirmed(fmt.Sprintf("p%d@example.com", i))
	}
}

var breakages = []row{
	{name: "none (control)"},
	{name: "database away", want: said{"database.unreachable", "database not reached", "ConsignDatabaseDown", "database failed"},
		breaks: func(b *broken) { b.hop.Down() }},
	{name: "database frozen", want: said{"database.unreachable", "database not reached", "ConsignDatabaseDown", "database failed"},
		breaks: func(b *broken) { b.hop.Freeze() }},
	{name: "database read-only", want: said{"database.read-only", "read-only", "ConsignDatabaseDown", "database failed"},
		breaks: func(b *broken) {
			b.exec(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
			b.hop.Cut()
		}},
	{name: "schema newer", want: said{"migrations.newer", "newer version", "ConsignVersionsDiffer", ""},
		breaks: func(b *broken) { b.exec(`INSERT INTO migrations (version_id, is_applied) VALUES (999999, true)`) }},
	{name: "disk below its floor", want: said{"storage", "uploads are refused", "ConsignStorageLow", "storage failed"},
		breaks: func(b *broken) { b.free.Store(1 << 30) }},
	{name: "disk away", want: said{"storage", "storage of files does not work", "ConsignStorageDown", "storage failed"},
		breaks: func(b *broken) {
			for _, dir := range []string{"uploads", "objects"} {
				if err := os.Rename(filepath.Join(b.s.DataDir, "objects", dir), filepath.Join(b.s.DataDir, "objects", dir+".gone")); err != nil {
					b.t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(b.s.DataDir, "objects", "uploads"), nil, 0o600); err != nil {
				b.t.Fatal(err)
			}
		}},
	{name: "bucket refuses all", options: inBucket,
		want:   said{"bucket.", "storage of files does not work", "ConsignStorageDown", "storage failed"},
		breaks: func(b *broken) { b.refuse("PUT GET LIST DELETE HEAD POST") }},
	{name: "bucket does not take the secret", options: inBucket,
		want: said{"bucket.secret", "storage of files does not work", "ConsignStorageDown", "storage failed"},
		breaks: func(b *broken) {
			b.bucket.mu.Lock()
			b.bucket.code = "SignatureDoesNotMatch"
			b.bucket.mu.Unlock()
			b.refuse("PUT GET LIST DELETE HEAD POST")
		}},
	{name: "bucket without the right to write", options: inBucket,
		want:   said{"bucket.", "storage of files does not work", "ConsignStorageDown", "storage failed"},
		breaks: func(b *broken) { b.refuse("PUT") }},
	{name: "memory nearly at its limit", want: said{"memory.low", "", "ConsignMemoryLow", ""},
		breaks: func(b *broken) { b.used.Store(950 << 20) }},
	{name: "file damaged", want: said{"integrity.damaged", "", "ConsignFileDamaged", "storage warning"}, breaks: func(b *broken) {
		b.exec(`INSERT INTO transfer.damaged_contents (content, detail, found_at, checked_at) VALUES (gen_random_uuid(), 'sum', now(), now())`)
	}},
	{name: "check of all files found problems", want: said{"integrity.problems", "", "ConsignCheckFailed", "storage warning"},
		breaks: func(b *broken) {
			b.exec(`INSERT INTO transfer.storage_checks (uid, started_at, finished_at, state, findings)
			VALUES (gen_random_uuid(), now(), now(), 'done', 3)`)
		}},
	{name: "backup too old", want: said{"integrity.old-backup", "", "ConsignBackupOld", ""}, breaks: func(b *broken) {
		b.exec(`UPDATE settings SET value = to_jsonb(now() - interval '52 hours') WHERE name = 'backup'`)
	}},
	{name: "scanner away", want: said{"scanner.", "", "", "scanner failed"}, breaks: func(b *broken) { b.daemon.Away(true) }},
	{name: "scanner refuses", want: said{"scanner.refuses", "", "", "scanner failed"},
		breaks: func(b *broken) { b.daemon.Refuse("Can't allocate memory ERROR") }},
	{name: "mail server refuses recipients", want: said{"mails.", "", "ConsignMails", "mail failed"}, breaks: func(b *broken) {
		b.s.Mail.Refuse(func(string) *smtp.SMTPError { return &smtp.SMTPError{Code: 550, Message: "relaying denied"} })
		b.mails()
	}},
	{name: "mail server says 421", want: said{"smtp.", "", "ConsignMailsRefused", "mail failed"},
		breaks: func(b *broken) {
			b.post.To(mailServer(b.t, map[string]string{"": "421 too busy"}))
			b.mails()
		}},
	{name: "mail server away", want: said{"smtp.", "", "ConsignMailsRefused", "mail failed"},
		breaks: func(b *broken) {
			b.post.To("127.0.0.1:1")
			b.mails()
		}},
	{name: "TLS of the mail server broken", want: said{"smtp.tls", "", "ConsignMailsRefused", "mail failed"},
		breaks: func(b *broken) {
			b.post.To(mailServer(b.t, map[string]string{"EHLO": "250-mail.example.com\r\n250 STARTTLS", "STARTTLS": "220 go ahead\r\nnoise"}))
			b.mails()
		}},
	{name: "certificate ends in five days", want: said{"tls.soon", "", "ConsignCertificateEnds", ""}, options: expiring,
		world: func(b *broken, _ *config.Config, o *app.DoctorOptions) { o.Roots = b.roots }},
	{name: "receiver of the audit away", want: said{"audit.refused", "", "ConsignAuditNotSent", "audit failed"}, breaks: func(b *broken) {
		if err := os.RemoveAll(b.dir); err != nil {
			b.t.Fatal(err)
		}
		b.mails()
		b.s.Clock.Advance(7 * time.Minute)
	}},
	{name: "attesters (control)", options: attested, breaks: (*broken).logs},
	{name: "witness away", want: said{"log.witness", "", "ConsignLogNotAttested", "receipts warning"}, options: attested,
		breaks: func(b *broken) {
			b.third.witness.Down.Store(true)
			b.logs()
		}},
	{name: "time stamp service away", want: said{"log.stamps", "", "ConsignLogNotAttested", "receipts warning"}, options: attested,
		breaks: func(b *broken) {
			b.third.authority.Broken.Store(true)
			b.logs()
		}},
	{name: "jobs stuck", want: said{"", "", "ConsignJobsLate", "jobs warning"}, breaks: func(b *broken) {
		b.exec(`INSERT INTO river_job (args, kind, max_attempts, queue, state, scheduled_at)
			VALUES ('{}', 'mail', 5, 'abandoned', 'available', now() - interval '1 hour')`)
	}},
	{name: "clock of the machine wrong", want: said{"clock.database", "", "", ""},
		world: func(_ *broken, _ *config.Config, o *app.DoctorOptions) {
			o.Now = func() time.Time { return time.Now().Add(2 * time.Minute) }
		}},
	{name: "settings of the command differ", want: said{"settings.differ", "", "", ""},
		world: func(_ *broken, c *config.Config, _ *app.DoctorOptions) { c.ProductName = "Other" }},
	{name: "another host in the public URL", want: said{"public-url.", "", "", ""},
		world: func(_ *broken, c *config.Config, _ *app.DoctorOptions) {
			c.PublicURL = &url.URL{Scheme: "http", Host: "localhost:1"}
		}},
	{name: "Redis (control)", options: inRedis},
	{name: "Redis away", want: said{"redis.", "", "ConsignRedisAway", "redis "}, options: inRedis, breaks: func(b *broken) { b.redis.Kill() }},
	{name: "another version beside", want: said{"", "", "ConsignVersionsDiffer", ""}, breaks: func(b *broken) {
		b.beside = "consign_build_info{instance=\"b\",version=\"0.9.0\"} 1\n"
	}},
	{name: "no free connections of the database", want: said{"database.connections", "", "", ""}, alone: true,
		breaks: (*broken).fill},
	{name: "replica dead", want: said{"", "gone", "ConsignReplicaDown", ""}, breaks: func(b *broken) { b.s.Stop() }},
}

func expiring(b *broken) []testkit.Option {
	day := 24 * time.Hour
	public, roots := withCertificate(b.t, "127.0.0.1", time.Now().Add(-85*day), time.Now().Add(5*day))
	b.roots = roots
	return []testkit.Option{testkit.PublicURL(public.String()), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off")}
}

func attested(b *broken) (options []testkit.Option) {
	b.third, options = newAttesters(b.t)
	return options
}

// logs has an entry of the log attested, as far as attesters work, until 11 minutes later.
func (b *broken) logs() {
	b.third.entry(b.t)
	b.s.Clock.Advance(11 * time.Minute)
}

func inRedis(b *broken) []testkit.Option {
	b.redis = redistest.New(b.t)
	return []testkit.Option{testkit.Env("CONSIGN_REDIS_URL", b.redis.URL)} // no request of these asks it
}

// fill has others take all connections that Postgres has left, but for those of superusers.
func (b *broken) fill() {
	var left int
	if err := pgtest.Connect(b.t, b.s.DatabaseURL).QueryRow(b.t.Context(), `SELECT current_setting('max_connections')::int
		- current_setting('superuser_reserved_connections')::int - (SELECT count(*)::int FROM pg_stat_activity
		WHERE backend_type = 'client backend')`).Scan(&left); err != nil {
		b.t.Fatal(err)
	}
	for range left {
		pgtest.Connect(b.t, b.s.DatabaseURL)
	}
}

func inBucket(b *broken) []testkit.Option {
	b.bucket = &bucket{objects: map[string][]byte{}}
	web := httptest.NewServer(b.bucket)
	b.t.Cleanup(web.Close)
	return []testkit.Option{testkit.Env("CONSIGN_STORAGE_URL", "s3://ann:hunter2@files/consign?region=eu&endpoint="+url.QueryEscape(web.URL)),
		testkit.Env("CONSIGN_STORAGE_ENCRYPTION", "off")}
}

func (b *broken) refuse(kinds string) {
	b.bucket.mu.Lock()
	defer b.bucket.mu.Unlock()
	b.bucket.refused = kinds
}

// testbed are warnings about the machine, and about the servers of this test, whose clock stands still.
var testbed = append(slices.Clone(ofMachine), "database.superuser", "clock.server")

// TestBreakages prints the table, and fails for a row whose wanted sources do not say so, and for a control that is not green.
func TestBreakages(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Fatal("promtool is missing (package prometheus)")
	}
	table := []string{"| breakage | doctor | /readyz | alerts | console | s |", "|---|---|---|---|---|---|"}
	for _, r := range breakages {
		t.Run(r.name, func(t *testing.T) {
			b := newBroken(t, r)
			olga, _ := b.s.SignUpOperator("olga@example.com")
			olga.Get(overview).Want(http.StatusOK) // so that her token is known in an outage
			if err := b.s.App.RecordBackup(t.Context()); err != nil {
				t.Fatal(err)
			}
			began, got := time.Now(), said{}
			if r.breaks != nil {
				r.breaks(b)
			}
			for {
				got = b.say(r, olga)
				if r.want != (said{}) && r.want.in(got) || time.Since(began) > patience || r.want == (said{}) && got == (said{}) {
					break
				}
				time.Sleep(200 * time.Millisecond)
			}
			switch {
			case r.want == (said{}) && got != (said{}):
				t.Errorf("the control is not green: %+v", got)
			case !r.want.in(got):
				t.Errorf("want %+v, got %+v", r.want, got)
			}
			table = append(table, fmt.Sprintf("| %s | %s | %s | %s | %s | %.1f |", r.name, got.doctor, got.readyz, got.alerts, got.console,
				time.Since(began).Seconds()))
		})
	}
	t.Log("\n" + strings.Join(table, "\n"))
}

// in reports whether each source says what is wanted of it.
func (s said) in(got said) bool {
	return strings.Contains(got.doctor, s.doctor) && strings.Contains(got.readyz, s.readyz) && strings.Contains(got.alerts, s.alerts) &&
		strings.Contains(got.console, s.console)
}

func newBroken(t *testing.T, r row) *broken {
	t.Helper()
	database := pgtest.URL(t)
	if r.alone {
		database = pgtest.OwnURL(t, localpg.Options{MaxConnections: 60})
	}
	b := &broken{t: t, hop: relay.New(t, database), daemon: scanner.NewClamd(t), dir: filepath.Join(t.TempDir(), "siem")}
	b.free.Store(60 << 30)
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.daemon.Find("PK\x03\x04", "Heuristics.Limits.Exceeded.MaxRecursion") // as one with AlertExceedsMax
	options := []testkit.Option{testkit.Through(b.hop.URL), watchful(),
		testkit.Space(func(string) (int64, int64, error) { return b.free.Load(), 100 << 30, nil }),
		testkit.Memory(func() (int64, int64) { return b.used.Load(), 1 << 30 }),
		testkit.Env("CONSIGN_SCANNER_URL", b.daemon.URL), testkit.Env("CONSIGN_AUDIT_STREAM", "file://"+b.dir+"/audit.jsonl")}
	if r.options != nil {
		options = append(options, r.options(b)...)
	}
	sink := testkit.NewSink(t)
	b.post = cutter.New(t)
	b.post.To(sink.Addr)
	b.s = testkit.New(t, append(options, testkit.Env("CONSIGN_SMTP_URL", "smtp://"+strings.TrimPrefix(b.post.URL, "http://")))...)
	b.s.DatabaseURL, b.s.Mail = database, sink
	if b.third != nil {
		b.third.server = b.s
	}
	return b
}

// say asks each source.
func (b *broken) say(r row, olga *testkit.Person) (got said) {
	b.t.Helper()
	cfg, o := b.s.Config, app.DoctorOptions{Space: func(string) (int64, int64, error) { return b.free.Load(), 100 << 30, nil }}
	if r.world != nil {
		r.world(b, &cfg, &o)
	}
	var found []string
	for id, f := range examineWith(b.t, cfg, o) {
		if (f.Severity == doctor.Error || f.Severity == doctor.Warning) && !slices.Contains(testbed, id) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	got.doctor = strings.Join(found, " ")
	resp, err := http.Get(b.s.Admin + "/readyz") //nolint:noctx // a test
	if err != nil {
		got.readyz = "gone"
		got.alerts = alerting(b.t, "up{job=\"consign\"} 0\n", time.Now())
		return got
	}
	_ = resp.Body.Close()
	if _, text := fetch(b.t, b.s.Admin+"/readyz"); text != "ready\n" {
		got.readyz = strings.TrimSpace(text)
	}
	_, metrics := fetch(b.t, b.s.Admin+"/metrics")
	got.alerts = alerting(b.t, metrics+b.beside+"up{job=\"consign\"} 1\n", b.s.Clock.Now())
	answer := olga.Get(overview)
	if answer.Status != http.StatusOK {
		got.console = fmt.Sprint(answer.Status)
		return got
	}
	var parts []string
	for _, part := range []string{"database", "storage", "mail", "redis", "scanner", "jobs", "receipts", "audit"} {
		if state := answer.String(part + ".state"); state != "ok" && state != "off" {
			parts = append(parts, part+" "+state)
		}
	}
	got.console = strings.Join(parts, ", ")
	return got
}

var firing = regexp.MustCompile(`alertname="(\w+)"`)

// alerting returns the alerts that fire when the metrics stay as they are for two days. Times become relative to the end of those.
func alerting(t *testing.T, metrics string, now time.Time) string {
	t.Helper()
	const end = 3000 // minutes
	var series strings.Builder
	for line := range strings.Lines(metrics) {
		i := strings.LastIndexByte(line, ' ')
		if !strings.HasPrefix(line, "consign_") && !strings.HasPrefix(line, "up") || strings.Contains(line, "_bucket{") {
			continue
		}
		name, value := line[:i], strings.TrimSpace(line[i+1:])
		if strings.Contains(name, "_timestamp_seconds") && value != "0" {
			var at float64
			if _, err := fmt.Sscan(value, &at); err != nil {
				t.Fatal(err)
			}
			value = fmt.Sprintf("%.0f", max(at-float64(now.Unix())+end*60, 1))
		}
		if !strings.Contains(name, "{") {
			name += `{instance="a"}`
		}
		fmt.Fprintf(&series, "      - {series: '%s', values: '%s+0x%d'}\n", name, value, end/4)
	}
	rules, err := filepath.Abs("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "now.yaml")
	text := fmt.Sprintf("rule_files: [%s]\nevaluation_interval: 4m\ntests:\n  - interval: 4m\n    input_series:\n%s    promql_expr_test:\n"+
		"      - {expr: 'ALERTS{alertstate=\"firing\"}', eval_time: %dm, exp_samples: [{labels: 'none{}', value: 1}]}\n",
		rules, series.String(), end)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := exec.CommandContext(t.Context(), "promtool", "test", "rules", file).CombinedOutput() //nolint:gosec // a fixed program
	if !bytes.Contains(out, []byte("got:")) {
		t.Fatalf("promtool says %s", out)
	}
	var names []string
	for _, m := range firing.FindAllSubmatch(out, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}
