// The broken worlds of the doctor's tests.

package app_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/config"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/doctor"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

type breakage = func(t *testing.T, c *config.Config, o *app.DoctorOptions)

func parsed(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// stranger is the URL of a server that is not Consign. Its host is an address.
func stranger(t *testing.T, status int) *url.URL {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://elsewhere.example/")
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return parsed(s.URL)
}

func examination(e database.Examination) breakage {
	return func(_ *testing.T, _ *config.Config, o *app.DoctorOptions) {
		o.Examine = func(context.Context) (database.Examination, error) { return e, nil }
	}
}

// clockAhead moves the clock of the machine on which doctor runs.
func clockAhead(d time.Duration) breakage {
	return func(_ *testing.T, _ *config.Config, o *app.DoctorOptions) {
		o.Now = func() time.Time { return time.Now().Add(d) }
	}
}

func space(free int64) breakage {
	return func(_ *testing.T, _ *config.Config, o *app.DoctorOptions) {
		o.Space = func(string) (int64, int64, error) { return free, 100 << 30, nil }
	}
}

// asciiDatabase is an empty database of the encoding that installers without a locale choose.
func asciiDatabase(t *testing.T) string {
	t.Helper()
	base := pgtest.EmptyURL(t)
	conn := pgtest.Connect(t, base)
	name := "ascii_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name+
		" ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = conn.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)") })
	u := parsed(base)
	u.Path = "/" + name
	return u.String()
}

// readOnly is a directory in which this process cannot create a file, root included.
func readOnly(t *testing.T) string {
	t.Helper()
	if os.Geteuid() == 0 {
		return "/sys"
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil { //nolint:gosec // a directory
		t.Fatal(err)
	}
	return dir
}

// mailServer is a mail server that answers commands as the test says, and any other with 250.
func mailServer(t *testing.T, answers map[string]string) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go converse(conn, answers)
		}
	}()
	return l.Addr().String()
}

func converse(conn net.Conn, answers map[string]string) {
	defer func() { _ = conn.Close() }()
	if greeting := answers[""]; greeting != "" {
		_, _ = fmt.Fprint(conn, greeting+"\r\n")
		return
	}
	_, _ = fmt.Fprint(conn, "220 mail.example.com\r\n")
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		verb, _, _ := strings.Cut(lines.Text(), " ")
		answer := answers[verb]
		switch {
		case answer != "":
		case verb == "EHLO":
			answer = "250-mail.example.com\r\n250 AUTH PLAIN"
		case verb == "AUTH":
			answer = "235 welcome"
		default:
			answer = "250 accepted"
		}
		_, _ = fmt.Fprint(conn, answer+"\r\n")
		if strings.HasSuffix(answer, "\x00") { // ends without another word
			return
		}
	}
}

// inDatabase gives the checks a database of their own, in which a statement was run.
func inDatabase(sql string) breakage {
	return func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
		c.DatabaseURL = pgtest.URL(t)
		c.ListenDatabaseURL = c.DatabaseURL
		if _, err := pgtest.Connect(t, c.DatabaseURL).Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// bucketRefusing keeps files in a bucket whose credentials lack the right to one kind of request: a method, or LIST.
func bucketRefusing(refused ...string) breakage {
	return func(t *testing.T, c *config.Config, _ *app.DoctorOptions) {
		t.Helper()
		b := &bucket{refused: strings.Join(refused, " "), objects: map[string][]byte{}}
		s := httptest.NewServer(b)
		t.Cleanup(s.Close)
		c.StorageURL = "s3://ann:hunter2@files/consign?region=eu&endpoint=" + url.QueryEscape(s.URL)
	}
}

// bucket is as much of S3 as doctor asks for.
type bucket struct {
	refused string // kinds of requests
	code    string // of refusals; empty: AccessDenied
	mu      sync.Mutex
	objects map[string][]byte
}

// ServeHTTP implements http.Handler.
func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kind, query := r.Method, r.URL.Query()
	if query.Has("list-type") {
		kind = "LIST"
	}
	object := strings.TrimPrefix(r.URL.Path, "/files/")
	switch {
	case slices.Contains(strings.Fields(b.refused), kind):
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `<Error><Code>%s</Code><Message>No.</Message></Error>`, cmp.Or(b.code, "AccessDenied"))
	case kind == "LIST":
		_, _ = fmt.Fprintf(w, `<ListBucketResult><Name>files</Name><IsTruncated>false</IsTruncated>`)
		for name, content := range b.objects {
			if strings.HasPrefix(name, query.Get("prefix")) {
				_, _ = fmt.Fprintf(w, `<Contents><Key>%s</Key><Size>%d</Size></Contents>`, name, len(content))
			}
		}
		_, _ = io.WriteString(w, `</ListBucketResult>`)
	case query.Has("versioning"):
		_, _ = io.WriteString(w, `<VersioningConfiguration></VersioningConfiguration>`)
	case query.Has("uploads") && kind == "POST":
		_, _ = fmt.Fprintf(w, `<InitiateMultipartUploadResult><Bucket>files</Bucket><Key>%s</Key><UploadId>u1</UploadId></InitiateMultipartUploadResult>`, object)
	case query.Has("uploads"):
		_, _ = fmt.Fprintf(w, `<ListMultipartUploadsResult><Bucket>files</Bucket><Upload><Key>%s</Key><UploadId>u1</UploadId></Upload></ListMultipartUploadsResult>`, query.Get("prefix"))
	case query.Has("uploadId") && kind == "GET":
		_, _ = io.WriteString(w, `<ListPartsResult><Bucket>files</Bucket><UploadId>u1</UploadId></ListPartsResult>`)
	case kind == "PUT":
		w.Header().Set("ETag", `"e"`)
		if !query.Has("uploadId") {
			b.objects[object] = unchunked(r.Body)
		}
	case kind == "DELETE":
		delete(b.objects, object)
		w.WriteHeader(http.StatusNoContent)
	case kind == "GET":
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = w.Write(b.objects[object])
	}
}

// unchunked reads a body whose pieces are signed, each with a line before and after it.
func unchunked(body io.Reader) []byte {
	var all bytes.Buffer
	for r := bufio.NewReader(body); ; {
		line, _ := r.ReadString('\n')
		text, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseInt(strings.TrimSpace(text), 16, 64)
		if err != nil || n == 0 {
			return all.Bytes()
		}
		_, _ = io.CopyN(&all, r, n)
		_, _ = r.ReadString('\n')
	}
}

// withCertificate is a TLS server at 127.0.0.1 whose certificate is valid between two times, and a pool that trusts it.
func withCertificate(t *testing.T, name string, from, until time.Time) (*url.URL, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: until, DNSNames: []string{name},
		IPAddresses: []net.IP{net.ParseIP(name)}, IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsedCertificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(parsedCertificate)
	return parsed(s.URL), pool
}

// TestDoctorCertificates: a certificate that has expired, is too young, ends soon, has another name or an unknown issuer.
func TestDoctorCertificates(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	day, now := 24*time.Hour, time.Now()
	for _, c := range []struct {
		id          string
		severity    doctor.Severity
		name        string
		from, until time.Time
		trusted     bool
	}{
		{"tls.expired", doctor.Error, "127.0.0.1", now.Add(-90 * day), now.Add(-day), true},
		{"tls.early", doctor.Error, "127.0.0.1", now.Add(day), now.Add(90 * day), true},
		{"tls.soon", doctor.Warning, "127.0.0.1", now.Add(-85 * day), now.Add(5 * day), true},
		{"tls.name", doctor.Error, "127.0.0.2", now.Add(-day), now.Add(90 * day), true},
		{"tls.untrusted", doctor.Error, "127.0.0.1", now.Add(-day), now.Add(90 * day), false},
		{"tls.ok", doctor.OK, "127.0.0.1", now.Add(-day), now.Add(90 * day), true},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			cfg := s.Config
			u, pool := withCertificate(t, c.name, c.from, c.until)
			cfg.PublicURL = u
			if !c.trusted {
				pool = x509.NewCertPool()
			}
			found := examineWith(t, cfg, app.DoctorOptions{Roots: pool})
			if found[c.id].Severity != c.severity {
				t.Errorf("want %s, found %+v", c.severity, found)
			}
			if _, ok := found["public-url.tls"]; ok != (c.severity == doctor.Error) {
				t.Errorf("public-url.tls: %v", ok)
			}
		})
	}
}
