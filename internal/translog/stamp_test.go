package translog_test

import (
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/translog"
)

// authority is a time stamp service made with openssl.
type authority struct {
	dir    string
	server *httptest.Server
	broken atomic.Bool
	asked  atomic.Int32
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Fatal("openssl is missing: install it (apt-get install openssl) and run this again")
	}
	a := &authority{dir: t.TempDir()}
	a.write(t, "tsa.cnf", `[req]
distinguished_name = name
prompt = no
x509_extensions = stamping
[name]
CN = Test TSA
[stamping]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
subjectKeyIdentifier = hash
[tsa]
default_tsa = config
[config]
serial = `+a.path("serial")+`
crypto_device = builtin
signer_cert = `+a.path("tsa.pem")+`
signer_key = `+a.path("tsa.key")+`
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha256
`)
	a.write(t, "serial", "01\n")
	a.openssl(t, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-config", a.path("tsa.cnf"), "-keyout", a.path("tsa.key"), "-out",
		a.path("tsa.pem"), "-days", "2")
	a.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.asked.Add(1)
		query, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "application/timestamp-query" || a.broken.Load() {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		a.write(t, "query.tsq", string(query))
		a.openssl(t, "ts", "-reply", "-queryfile", a.path("query.tsq"), "-config", a.path("tsa.cnf"), "-section", "config", "-out",
			a.path("reply.tsr"))
		reply, err := os.ReadFile(a.path("reply.tsr"))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/timestamp-reply")
		_, _ = w.Write(reply)
	}))
	t.Cleanup(a.server.Close)
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(a.path(name), []byte(content), 0o600); err != nil {
		t.Error(err)
	}
}

func (a *authority) openssl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "openssl", args...).CombinedOutput()
	if err != nil {
		t.Errorf("openssl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (a *authority) roots(t *testing.T) *x509.CertPool {
	t.Helper()
	pem, err := os.ReadFile(a.path("tsa.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate")
	}
	return pool
}

// TestCheckpointsAreStamped: openssl stamps checkpoints, not more often than wanted. A service that fails holds nothing up. openssl and our
// verifier accept the stamp, and no changed one.
func TestCheckpointsAreStamped(t *testing.T) {
	t.Parallel()
	world := newWorld(t)
	a := newAuthority(t)
	now := time.Now()
	l := world.replica(func(o *translog.Options) {
		o.TSA, o.StampEvery, o.Now = a.server.URL, time.Minute, func() time.Time { return now }
	})
	entry := world.add(3)[1]
	world.sequence(l)
	a.broken.Store(true)
	if err := l.Stamp(t.Context()); err == nil {
		t.Error("a service that is down stamps")
	}
	if v := world.prove(l, entry); v.Extra != nil {
		t.Error("there is a stamp")
	}
	a.broken.Store(false)
	for range 2 { // the second time there is nothing to stamp
		if err := l.Stamp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	later := world.add(1)[0]
	world.sequence(l)
	if err := l.Stamp(t.Context()); err != nil || a.asked.Load() != 2 {
		t.Errorf("asked %d times within a minute: %v", a.asked.Load(), err)
	}
	v := world.prove(l, entry)
	at, err := proof.CheckStamp(v.Extra, v.Text, a.roots(t))
	if err != nil || time.Since(at) > time.Hour {
		t.Errorf("stamped at %v: %v", at, err)
	}
	a.write(t, "checkpoint", v.Text)
	a.write(t, "stamp.tsr", string(v.Extra))
	if out := a.openssl(t, "ts", "-verify", "-in", a.path("stamp.tsr"), "-data", a.path("checkpoint"), "-CAfile",
		a.path("tsa.pem")); !strings.Contains(out, "Verification: OK") {
		t.Errorf("openssl says %s", out)
	}
	if _, err := proof.CheckStamp(v.Extra, v.Text+"x", a.roots(t)); !errors.Is(err, proof.ErrStamp) {
		t.Errorf("another text: %v", err)
	}
	if _, err := proof.CheckStamp(v.Extra, v.Text, x509.NewCertPool()); !errors.Is(err, proof.ErrStamp) {
		t.Errorf("an unknown service: %v", err)
	}
	for i := range v.Extra { // no change makes it panic; one of the time or the signature is refused
		changed := append([]byte{}, v.Extra...)
		changed[i] ^= 1
		if got, err := proof.CheckStamp(changed, v.Text, a.roots(t)); err == nil && !got.Equal(at) {
			t.Fatalf("a bit of byte %d is changed, and the time is %v", i, got)
		}
	}
	now = now.Add(2 * time.Minute)
	if err := l.Stamp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := world.prove(l, later); v.Extra == nil {
		t.Error("the later entry has no stamp")
	}
}
