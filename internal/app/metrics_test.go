package app_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/relay"
)

// scrape returns the values of /metrics by series, such as `consign_jobs{queue="mail",state="due"}`.
func scrape(t *testing.T, s *testkit.Server) map[string]float64 {
	t.Helper()
	status, body := fetch(t, s.Admin+"/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics answered %d: %s", status, body)
	}
	all := map[string]float64{}
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		if err != nil {
			t.Fatalf("not a sample: %q", line)
		}
		all[line[:at]] = value
	}
	return all
}

func fetch(t *testing.T, url string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body(t, resp)
}

// body reads an answer to its end and closes it.
func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// requests returns the series that counts one kind of requests.
func requests(method, route, status string) string {
	return fmt.Sprintf(`consign_http_requests_total{method=%q,route=%q,status=%q}`, method, route, status)
}

// TestMetricsOfRequests: requests are counted by the pattern of their route, and nothing that a client chose becomes a label.
func TestMetricsOfRequests(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, limited())
	ann := mailboxOwner(s)
	for range 3 {
		ann.Get(s.Transfer + "/public/mailbox/dr-ann").Want(http.StatusOK)
	}
	ann.Get(s.Transfer + "/public/mailbox/nobody-like-that").Want(http.StatusNotFound)
	for _, path := range []string{"/chosen-path", "/transfer/v2/chosen-path", "/transfer/v1/chosen-path", "/metrics", "/m/chosen-path"} {
		ann.Get(path)
	}
	ann.Do("BREW", "/chosen-path", nil)
	ann.Do("BREW", s.Transfer+"/environment", nil)
	ann.With("Host", "chosen-path.example").With("X-Request-Id", "chosen-path").Get(s.Transfer + "/environment")
	for range 4 { // the fourth finds the bucket full
		s.Stranger().Post(s.Identity+"/auth/login", map[string]any{"email": "chosen-path@example.com", "type": "bcrypt", "key": "wrong wrong"})
	}
	s.Stranger().Get("/readyz").Want(http.StatusOK)

	got := scrape(t, s)
	for series, want := range map[string]float64{
		requests("GET", s.Transfer+"/public/mailbox/{key}", "2xx"):                 3,
		requests("GET", s.Transfer+"/public/mailbox/{key}", "4xx"):                 1,
		requests("PUT", s.Transfer+"/mailbox", "2xx"):                              1,
		requests("GET", "unmatched", "4xx"):                                        3,
		requests("GET", "/transfer/v1/*", "4xx"):                                   1,
		requests("other", "unmatched", "4xx"):                                      2,
		requests("POST", s.Identity+"/auth/login", "4xx"):                          3,
		requests("POST", s.Identity+"/auth/login", "509"):                          1,
		`consign_ratelimit_refusals_total{bucket="login"}`:                         1,
		`consign_build_info{goversion="` + runtime.Version() + `",version="test"}`: 1,
		`consign_database_up`:                                                      1,
		`consign_listen_confirmed`:                                                 1,
	} {
		if got[series] != want {
			t.Errorf("%s is %v, want %v", series, got[series], want)
		}
	}
	if got[strings.Replace(requests("GET", s.Transfer+"/public/mailbox/{key}", "2xx"), "requests_total", "request_duration_seconds_count",
		1)] != 3 {
		t.Error("the histogram does not count what the counter does")
	}
	for series := range got {
		if strings.Contains(series, "chosen") || strings.Contains(series, "BREW") || strings.Contains(series, "readyz") {
			t.Errorf("a series has a label that a client chose, or counts a health check: %s", series)
		}
	}
}

// TestMetricsOfTransfers: uploads, downloads and event streams are seen while they are under way, and their bytes too.
func TestMetricsOfTransfers(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := mailboxOwner(s)
	data := bytes.Repeat([]byte("consign "), 4_000_000) // more than socket buffers hold, so that a download waits for its reader
	sam, reservation := reserve(s.Stranger(), "dr-ann", len(data))
	before := scrape(t, s)
	flight := func(what string) float64 { return scrape(t, s)["consign_"+what] }

	body := newTap()
	uploaded := make(chan error, 1)
	go func() {
		_, err := sam.With("Content-Length", strconv.Itoa(len(data))).Try(context.WithoutCancel(t.Context()), http.MethodPut,
			reservation+"/objects/a/content", body)
		uploaded <- err
	}()
	body.give(data[:400_000])
	poll.Until(t, "an upload is in flight", func() bool { return flight("uploads_in_flight") == 1 })
	poll.Until(t, "its bytes are counted", func() bool {
		return flight("http_request_bytes_total")-before["consign_http_request_bytes_total"] >= 400_000
	})
	body.give(data[400_000:])
	body.end()
	if err := <-uploaded; err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "no upload is in flight", func() bool { return flight("uploads_in_flight") == 0 })

	stream, err := ann.Open(t.Context(), http.MethodGet, s.Identity+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "a stream is open", func() bool { return flight("event_streams_open") == 1 })
	_ = stream.Body.Close()
	poll.Until(t, "no stream is open", func() bool { return flight("event_streams_open") == 0 })

	sent := sam.Post(reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
	object := ann.Get(s.Transfer + "/transfers/" + sent).Want(http.StatusOK).String("objects.0.uid")
	download, err := ann.Open(t.Context(), http.MethodGet, s.Transfer+"/transfers/"+sent+"/objects/"+object+"/content", nil)
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "a download is in flight", func() bool { return flight("downloads_in_flight") == 1 })
	if n, err := io.Copy(io.Discard, download.Body); n != int64(len(data)) || err != nil {
		t.Fatalf("%d bytes came down: %v", n, err)
	}
	_ = download.Body.Close()
	poll.Until(t, "no download is in flight", func() bool { return flight("downloads_in_flight") == 0 })
	if got := flight("http_response_bytes_total") - before["consign_http_response_bytes_total"]; got < float64(len(data)) {
		t.Errorf("%v bytes were answered, a file of %d was downloaded", got, len(data))
	}
}

// TestMetricsOfMails: mails that wait, were sent or failed, and the number of jobs.
func TestMetricsOfMails(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	s.SignUp("ann@example.com")
	var refuse smtp.SMTPError
	s.Mail.Refuse(func(to string) *smtp.SMTPError {
		if strings.HasPrefix(to, "busy") || strings.HasPrefix(to, "gone") {
			return &refuse
		}
		return nil
	})
	refuse = smtp.SMTPError{Code: 450, Message: "later"}
	s.SignUpUnconfirmed("busy@example.com")
	poll.Until(t, "a mail is sent and one postponed", func() bool {
		got := scrape(t, s)
		return got[`consign_mail_attempts_total{outcome="sent"}`] == 1 && // a mail arrives before it is counted
			got[`consign_mail_attempts_total{outcome="postponed"}`] == 1 && got[`consign_mails_waiting`] == 1 &&
			got[`consign_jobs{queue="mail",state="scheduled"}`] == 1
	})
	got := scrape(t, s)
	if got[`consign_mail_attempts_total{outcome="failed"}`] != 0 || got[`consign_mail_oldest_due_seconds`] != 0 {
		t.Errorf("failed %v, oldest due %v", got[`consign_mail_attempts_total{outcome="failed"}`], got[`consign_mail_oldest_due_seconds`])
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		WITH mail AS (UPDATE mails SET next_attempt_at = clock_timestamp() - interval '1 hour' WHERE state = 'queued')
		UPDATE river_job SET scheduled_at = clock_timestamp() - interval '2 hours' WHERE queue = 'mail' AND state = 'scheduled'`); err != nil {
		t.Fatal(err)
	}
	got = scrape(t, s)
	if age := got[`consign_mail_oldest_due_seconds`]; age < 3600 || age > 3700 {
		t.Errorf("the oldest mail is due for %v s, want about an hour", age)
	}
	if age := got[`consign_job_oldest_due_seconds{queue="mail"}`]; age < 7200 || age > 7300 {
		t.Errorf("the oldest job is due for %v s, want about two hours", age)
	}
	refuse = smtp.SMTPError{Code: 550, Message: "no such user"}
	s.SignUpUnconfirmed("gone@example.com")
	// the postponed one may fail as well
	poll.Until(t, "a mail fails", func() bool { return scrape(t, s)[`consign_mail_attempts_total{outcome="failed"}`] >= 1 })
}

// TestMetricsOfRevocations: each replica measures the delay of revocations and the age of its last confirmed
// notification.
func TestMetricsOfRevocations(t *testing.T) {
	t.Parallel()
	hop := relay.New(t, pgtest.URL(t))
	first := testkit.New(t, testkit.Through(hop.URL))
	second := testkit.New(t, testkit.Beside(first))
	ann := first.SignUp("ann@example.com")
	before := scrape(t, second)["consign_revocation_lag_seconds_count"]
	ann.As(ann.ID).Post(first.Identity+"/auth/logout", nil)
	for _, s := range []*testkit.Server{first, second} {
		poll.Until(t, "the revocation is measured", func() bool { return scrape(t, s)["consign_revocation_lag_seconds_count"] > before })
		if sum := scrape(t, s)["consign_revocation_lag_seconds_sum"]; sum <= 0 || sum > 10 {
			t.Errorf("lags of %v s", sum)
		}
	}
	hop.Down()
	poll.Until(t, "the silence shows", func() bool {
		got := scrape(t, second)
		return got["consign_listen_confirmed_age_seconds"] > 1 && got["consign_listen_confirmed"] == 0
	})
	if got := scrape(t, second); got["consign_database_up"] != 0 || got[requests("POST", first.Identity+"/auth/logout", "2xx")] != 0 {
		t.Error("without the database the scrape has wrong values")
	} else if _, told := got["consign_mails_waiting"]; told {
		t.Error("without the database the scrape still has consign_mails_waiting")
	}
	hop.Up()
	poll.Until(t, "it listens again", func() bool {
		got := scrape(t, second)
		return got["consign_listen_confirmed"] == 1 && got["consign_database_up"] == 1 && got["consign_listen_confirmed_age_seconds"] < 2
	})
}

var metricName = regexp.MustCompile("(?m)^# TYPE ([a-z_]+) ")

// TestMetricsAreDocumented: docs/use/metrics.md names each metric that is exposed, and none that is not.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_TSA_URL", "http://127.0.0.1:1"))
	for range 4 {
		s.Stranger().Post(s.Identity+"/auth/login", map[string]any{"email": "ann@example.com", "type": "bcrypt", "key": "wrong wrong"})
	}
	_, text := fetch(t, s.Admin+"/metrics")
	raw, err := os.ReadFile("../../docs/use/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `([a-z_]+)`").FindAllSubmatch(raw, -1) {
		documented[string(match[1])] = true
	}
	var exposed []string
	for _, match := range metricName.FindAllStringSubmatch(text, -1) {
		exposed = append(exposed, match[1])
		if !documented[match[1]] {
			t.Errorf("docs/use/metrics.md has no row for %s", match[1])
		}
	}
	for name := range documented {
		if strings.HasPrefix(name, "consign_") && !slices.Contains(exposed, name) { // the Go runtime's metrics differ between systems
			t.Errorf("docs/use/metrics.md describes %s, which is not exposed", name)
		}
	}
	if len(exposed) < 60 {
		t.Errorf("only %d metrics are exposed", len(exposed))
	}
}

// TestAdministrationIsPrivate: no path of the admin listener is served by the public one, however the path is written
// and whatever headers a proxy forwards.
func TestAdministrationIsPrivate(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, loopback(), testkit.Env("CONSIGN_PPROF", "on"))
	admin := strings.TrimPrefix(s.Admin, "http://")
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap"} {
		if status, _ := fetch(t, s.Admin+path); status != http.StatusOK {
			t.Errorf("GET %s answered %d at the admin listener", path, status)
		}
		for _, target := range []string{
			path, "/" + path, "/." + path, path + "/", path + "?x=/healthz", "/healthz/.." + path, "/healthz" + path, "/api/.." + path,
			strings.ToUpper(path), "/%" + fmt.Sprintf("%02x", path[1]) + path[2:], s.Admin + path,
		} {
			for _, host := range []string{"localhost", admin, "localhost:9090"} {
				status, _, body := exchange(t, s, "GET "+target+" HTTP/1.1\r\nHost: "+host+"\r\nX-Forwarded-Host: "+host+
					"\r\nX-Forwarded-For: 127.0.0.1\r\nX-Original-URL: "+path+"\r\nX-Rewrite-URL: "+path+"\r\nConnection: close\r\n\r\n")
				if status != http.StatusNotFound || strings.Contains(body, "go_goroutines") || strings.Contains(body, "pprof") {
					t.Errorf("%s at host %s answered %d: %.200q", target, host, status, body)
				}
			}
		}
	}
}

// exchange sends a raw request to the public listener and reports whether the answer closes the connection.
func exchange(t *testing.T, s *testkit.Server, request string) (status int, closes bool, text string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Close, body(t, resp)
}

// TestStuckSearch: a search that waits is given up after two seconds, with 503, and counted. Other requests are answered meanwhile.
func TestStuckSearch(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	tx, err := pgtest.Connect(t, s.DatabaseURL).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE transfer.deliveries`); err != nil {
		t.Fatal(err)
	}
	const searches = 8
	answers := make(chan *testkit.Response, searches)
	for range searches {
		go func() {
			got, err := ann.Try(context.WithoutCancel(t.Context()), http.MethodGet, s.Transfer+"/transfers?search=bridge", nil)
			if err != nil {
				t.Error(err)
			}
			answers <- got
		}()
	}
	poll.Until(t, "a search waits", func() bool { return pgtest.Waiting(t, s.App.DB.Pool) > 0 })
	bob.Get(s.Transfer + "/usage").Want(http.StatusOK)
	bob.Get(s.Identity + "/profile").Want(http.StatusOK)
	for range searches {
		if got := <-answers; got != nil {
			got.WantError(fault.ErrUnavailable)
		}
	}
	if n := scrape(t, s)["consign_slow_searches_total"]; n < 1 || n > searches {
		t.Errorf("%v slow searches were counted", n)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	ann.Get(s.Transfer + "/transfers?search=bridge").Want(http.StatusOK)
}
