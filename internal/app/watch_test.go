// What shows without traffic: a storage that is lost, a database of a newer version, the age of backups and checks, the certificate.

package app_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/doctor"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// watchful makes a server look at its storage and database often.
func watchful() testkit.Option {
	return testkit.Constants(func(c *config.Constants) { c.WatchInterval = 20 * time.Millisecond })
}

func readiness(t *testing.T, s *testkit.Server) string {
	t.Helper()
	status, text := fetch(t, s.Admin+"/readyz")
	if status != http.StatusOK {
		t.Fatalf("/readyz answered %d %s", status, text)
	}
	return text
}

// TestStorageLossShows: a disk or bucket that is lost shows within seconds in /readyz, metrics and console, without an upload or download,
// and so does its return.
func TestStorageLossShows(t *testing.T) {
	t.Parallel()
	service := &bucket{objects: map[string][]byte{}}
	web := httptest.NewServer(service)
	t.Cleanup(web.Close)
	refuse := func(kind string) func(*testkit.Server) {
		return func(*testkit.Server) {
			service.mu.Lock()
			defer service.mu.Unlock()
			service.refused = kind
		}
	}
	move := func(from, to string) func(*testkit.Server) {
		return func(s *testkit.Server) {
			if err := os.Rename(filepath.Join(s.DataDir, "objects", from), filepath.Join(s.DataDir, "objects", to)); err != nil {
				t.Error(err)
			}
		}
	}
	for name, c := range map[string]struct {
		url           string // of the storage
		breaks, mends func(*testkit.Server)
	}{
		"disk":   {"", move("uploads", "gone"), move("gone", "uploads")},
		"bucket": {"s3://ann:hunter2@files/consign?region=eu&endpoint=" + url.QueryEscape(web.URL), refuse("PUT"), refuse("")},
	} {
		t.Run(name, func(t *testing.T) {
			options := []testkit.Option{watchful()}
			if c.url != "" {
				options = append(options, testkit.Env("CONSIGN_STORAGE_URL", c.url))
			}
			s := testkit.New(t, options...)
			olga, _ := s.SignUpOperator("olga@example.com")
			works := func(want bool) {
				t.Helper()
				poll.Until(t, "the state of the storage in /readyz", func() bool {
					return strings.Contains(readiness(t, s), "storage of files does not work") != want
				})
				if got := scrape(t, s)["consign_storage_up"] == 1; got != want {
					t.Errorf("consign_storage_up is %t", got)
				}
				if got := olga.Get(overview).Want(http.StatusOK).String("storage.state"); (got == "failed") == want {
					t.Errorf("the console says %s", got)
				}
			}
			works(true)
			c.breaks(s)
			works(false)
			c.mends(s)
			works(true)
			if strings.Count(s.Log(), `"the storage does not work"`) != 1 || strings.Count(s.Log(), `"the storage works again"`) != 1 {
				t.Error("the log does not have each change once")
			}
		})
	}
}

// TestNewerSchemaShows: a replica that an upgrade left behind says so in /readyz, metrics and doctor, and goes on serving.
func TestNewerSchemaShows(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, watchful())
	olga, _ := s.SignUpOperator("olga@example.com")
	if got := scrape(t, s)["consign_schema_newer"]; got != 0 {
		t.Errorf("consign_schema_newer is %v", got)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `INSERT INTO migrations (version_id, is_applied) VALUES (999999, true)`); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "/readyz to say so", func() bool { return strings.Contains(readiness(t, s), "newer version has migrated") })
	if got := scrape(t, s)["consign_schema_newer"]; got != 1 {
		t.Errorf("consign_schema_newer is %v", got)
	}
	if got := olga.Post("/admin/v1/doctor", nil).Want(http.StatusOK); !strings.Contains(string(got.Body), `"migrations.newer"`) {
		t.Errorf("doctor says %s", got.Body)
	}
}

// TestAgesInMetrics: when the last backup was recorded, when the last check of all files ended and what it found, and when the certificate
// at the public URL ends.
func TestAgesInMetrics(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(5 * 24 * time.Hour).Truncate(time.Second)
	public, _ := withCertificate(t, "127.0.0.1", time.Now().Add(-time.Hour), until)
	s := testkit.New(t, testkit.PublicURL(public.String()))
	for _, name := range []string{"backup_timestamp_seconds", "storage_check_timestamp_seconds", "storage_check_findings"} {
		name = "consign_" + name
		if got, ok := scrape(t, s)[name]; !ok || got != 0 {
			t.Errorf("at first %s is %v, %t", name, got, ok)
		}
	}
	if err := s.App.RecordBackup(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `INSERT INTO transfer.storage_checks (uid, started_at, finished_at, state, findings)
		VALUES (gen_random_uuid(), $1, $1, 'done', 3)`, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	now := float64(s.Clock.Now().Unix())
	got := scrape(t, s)
	if d := got["consign_backup_timestamp_seconds"] - now; d < -1 || d > 1 {
		t.Errorf("the backup is %v s from now", d)
	}
	if d := got["consign_storage_check_timestamp_seconds"] - now; d < -1 || d > 1 || got["consign_storage_check_findings"] != 3 {
		t.Errorf("the check is %v s from now, with %v findings", d, got["consign_storage_check_findings"])
	}
	poll.Until(t, "the end of the certificate", func() bool {
		return scrape(t, s)["consign_certificate_end_timestamp_seconds"] == float64(until.Unix())
	})
}

// TestDoctorTellsCausesOfBuckets: a wrong secret, a wrong key, a missing right, region, bucket and clock have findings of their own,
// although the answer to a HEAD says 403 only.
func TestDoctorTellsCausesOfBuckets(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	for code, id := range map[string]string{
		"SignatureDoesNotMatch": "bucket.secret", "InvalidAccessKeyId": "bucket.key", "AccessDenied": "bucket.rights",
		"AuthorizationHeaderMalformed": "bucket.region", "NoSuchBucket": "bucket.none", "RequestTimeTooSkewed": "bucket.clock",
		"Unheard": "bucket.unreachable",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			status := http.StatusForbidden
			if code == "NoSuchBucket" {
				status = http.StatusNotFound
			}
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(status)
				if r.Method != http.MethodHead {
					_, _ = w.Write([]byte("<Error><Code>" + code + "</Code><Message>No.</Message></Error>"))
				}
			}))
			t.Cleanup(web.Close)
			cfg := s.Config
			cfg.StorageURL = "s3://ann:hunter2@files/consign?region=eu&endpoint=" + url.QueryEscape(web.URL)
			found := examineWith(t, cfg, app.DoctorOptions{Now: s.Clock.Now})
			if found[id].Severity != doctor.Error {
				t.Errorf("want %s, found %+v", id, found)
			}
		})
	}
}
