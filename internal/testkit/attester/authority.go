// A time stamp service.

package attester

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// Authority is a time stamp service made with openssl.
type Authority struct {
	dir    string
	URL    string
	Broken atomic.Bool  // answers 500
	Asked  atomic.Int32 // requests
}

// NewAuthority starts a time stamp service that works.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Fatal("openssl is missing: install it (apt-get install openssl) and run this again")
	}
	a := &Authority{dir: t.TempDir()}
	a.Write(t, "tsa.cnf", `[req]
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
serial = `+a.Path("serial")+`
crypto_device = builtin
signer_cert = `+a.Path("tsa.pem")+`
signer_key = `+a.Path("tsa.key")+`
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha256
`)
	a.Write(t, "serial", "01\n")
	a.OpenSSL(t, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-config", a.Path("tsa.cnf"), "-keyout", a.Path("tsa.key"), "-out",
		a.Path("tsa.pem"), "-days", "2")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.Asked.Add(1)
		query, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "application/timestamp-query" || a.Broken.Load() {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		a.Write(t, "query.tsq", string(query))
		a.OpenSSL(t, "ts", "-reply", "-queryfile", a.Path("query.tsq"), "-config", a.Path("tsa.cnf"), "-section", "config", "-out",
			a.Path("reply.tsr"))
		reply, err := os.ReadFile(a.Path("reply.tsr"))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/timestamp-reply")
		_, _ = w.Write(reply)
	}))
	t.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

// Path returns the place of one of its files.
func (a *Authority) Path(name string) string { return filepath.Join(a.dir, name) }

// Write writes one of its files.
func (a *Authority) Write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(a.Path(name), []byte(content), 0o600); err != nil {
		t.Error(err)
	}
}

// OpenSSL runs openssl and returns what it says.
func (a *Authority) OpenSSL(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "openssl", args...).CombinedOutput()
	if err != nil {
		t.Errorf("openssl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Roots trusts the service.
func (a *Authority) Roots(t testing.TB) *x509.CertPool {
	t.Helper()
	pem, err := os.ReadFile(a.Path("tsa.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate")
	}
	return pool
}
