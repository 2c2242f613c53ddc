package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
)

// certificate writes a certificate for localhost and its key as PEM files.
func certificate(t *testing.T) (chain, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", keyDER)
}

// TestOwnTLS: with CONSIGN_TLS_CERT the server ends TLS itself, in version 1.2 at least (contract 1.3).
func TestOwnTLS(t *testing.T) {
	t.Parallel()
	chain, key := certificate(t)
	s := testkit.New(t, testkit.Env("CONSIGN_TLS_CERT", chain), testkit.Env("CONSIGN_TLS_KEY", key),
		testkit.Env("CONSIGN_REQUIRE_HTTPS", "on"))
	got := s.Stranger().Get(s.Transfer + "/environment").Want(http.StatusOK)
	if hsts := got.Header.Get("Strict-Transport-Security"); hsts == "" {
		t.Error("no HSTS over TLS")
	}
	address := strings.TrimPrefix(s.URL, "https://")
	for _, c := range []struct {
		name     string
		version  uint16
		accepted bool
	}{{"1.0", tls.VersionTLS10, false}, {"1.1", tls.VersionTLS11, false}, {"1.2", tls.VersionTLS12, true}, {"1.3", tls.VersionTLS13, true}} {
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: c.version, MaxVersion: c.version}} //nolint:gosec // the test is about versions
		conn, err := dialer.DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		if (err == nil) != c.accepted {
			t.Errorf("TLS %s: %v", c.name, err)
		}
	}
	// Plain HTTP to the TLS port gets no answer of Consign.
	resp, err := (&http.Client{}).Get("http://" + address + s.Transfer + "/environment") //nolint:noctx // ends with the server
	if err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("plain HTTP to the TLS port answers %d", resp.StatusCode)
		}
	}
}
