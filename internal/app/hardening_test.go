package app_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
)

// TestPprofIsOff: profiles expose memory contents, so the admin listener serves none unless the operator enables them.
func TestPprofIsOff(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/profile"} {
		if status, _ := fetch(t, s.Admin+path); status != http.StatusNotFound {
			t.Errorf("GET %s answers %d", path, status)
		}
	}
}

// TestAPIAnswersHaveAPolicy: an API answer that a browser opens as a page loads nothing and cannot be framed.
func TestAPIAnswersHaveAPolicy(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	for _, path := range []string{s.Identity + "/profile", s.Transfer + "/environment", "/.well-known/openid-configuration", s.Transfer + "/nowhere", "/healthz"} {
		if got := s.Stranger().Get(path).Header.Get("Content-Security-Policy"); path != "/healthz" && got != "default-src 'none'; frame-ancestors 'none'" {
			t.Errorf("GET %s: %q", path, got)
		}
	}
}

// TestAnswersTellNoVersion: no header says which program answers, or in which version.
func TestAnswersTellNoVersion(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	for _, path := range []string{s.Transfer + "/environment", "/", "/login", "/nowhere", "/healthz"} {
		for name := range s.Stranger().Get(path).Header {
			if slices.Contains([]string{"Server", "Via", "X-Powered-By", "X-Generator", "X-Version"}, name) {
				t.Errorf("GET %s carries %s", path, name)
			}
		}
	}
}

// TestHSTSSubdomains: HSTS covers subdomains where the operator says that they all speak HTTPS.
func TestHSTSSubdomains(t *testing.T) {
	t.Parallel()
	chain, key := certificate(t)
	s := testkit.New(t, testkit.Env("CONSIGN_TLS_CERT", chain), testkit.Env("CONSIGN_TLS_KEY", key), testkit.Env("CONSIGN_HSTS_SUBDOMAINS", "on"))
	if got := s.Stranger().Get(s.Transfer + "/environment").Header.Get("Strict-Transport-Security"); got != "max-age=31536000; includeSubDomains" {
		t.Errorf("HSTS is %q", got)
	}
}

// handshake returns the server's certificate, or the error of the TLS handshake.
func handshake(t *testing.T, s *testkit.Server, c *tls.Config) (*x509.Certificate, error) {
	t.Helper()
	c.InsecureSkipVerify = true
	conn, err := (&tls.Dialer{Config: c}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "https://"))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// TestTLSSuites: in TLS 1.2 the server accepts suites with forward secrecy and AEAD only: none with CBC or RSA key exchange.
func TestTLSSuites(t *testing.T) {
	t.Parallel()
	chain, key := certificate(t)
	s := testkit.New(t, testkit.Env("CONSIGN_TLS_CERT", chain), testkit.Env("CONSIGN_TLS_KEY", key))
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if !slices.Contains(suite.SupportedVersions, tls.VersionTLS12) || strings.Contains(suite.Name, "_RSA_") {
			continue // the test's certificate is ECDSA
		}
		_, err := handshake(t, s, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}) //nolint:gosec // the test is about suites
		if good := !strings.Contains(suite.Name, "CBC") && !strings.Contains(suite.Name, "RC4"); (err == nil) != good {
			t.Errorf("%s: %v", suite.Name, err)
		}
	}
}

// TestCertificateIsReloaded: a renewed certificate is served without a restart. While chain and key do not match, the
// former certificate stays.
func TestCertificateIsReloaded(t *testing.T) {
	t.Parallel()
	chain, key := certificate(t)
	s := testkit.New(t, testkit.Env("CONSIGN_TLS_CERT", chain), testkit.Env("CONSIGN_TLS_KEY", key))
	served := func() string {
		t.Helper()
		c, err := handshake(t, s, &tls.Config{}) //nolint:gosec // the test's certificate is its own
		if err != nil {
			t.Fatal(err)
		}
		return string(c.Raw)
	}
	replace := func(name, by string) {
		t.Helper()
		if err := os.Rename(by, name); err != nil {
			t.Fatal(err)
		}
	}
	first := served()
	newChain, newKey := certificate(t)
	replace(chain, newChain)
	if served() != first {
		t.Error("a chain without its key is served")
	}
	replace(key, newKey)
	if served() == first {
		t.Error("the renewed certificate is not served")
	}
	if !strings.Contains(s.Log(), "the former certificate stays") || !strings.Contains(s.Log(), "certificate loaded again") {
		t.Error("the log does not tell of the change")
	}
}
