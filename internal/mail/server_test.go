package mail_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"encoding/pem"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// received is a mail received by the server.
type received struct {
	from, to string
	raw      string
	tls      bool
	user     string
}

// server is a real SMTP server with answers chosen by the test.
type server struct {
	addr string

	mu     sync.Mutex
	got    []received
	tries  int
	rcpt   func(try int) error // answer to the recipient of the try-th mail, from 1
	data   func(try int) error // answer to its content, after the server has read and stored it
	noAuth bool
}

type serverOptions struct {
	startTLS, implicitTLS, auth bool
}

func newServer(t testing.TB, o serverOptions) *server {
	t.Helper()
	s := &server{noAuth: !o.auth}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	srv := smtp.NewServer(s)
	srv.AllowInsecureAuth = true
	if o.startTLS {
		srv.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate(t)}, MinVersion: tls.VersionTLS12}
	}
	if o.implicitTLS {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate(t)}, MinVersion: tls.VersionTLS12})
	}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return s
}

func (s *server) url() string { return "smtp://" + s.addr }

// answer sets the answers to the next mails; nil accepts.
func (s *server) answer(rcpt, data func(try int) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rcpt, s.data = rcpt, data
}

func (s *server) mails() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.got...)
}

// NewSession implements smtp.Backend.
func (s *server) NewSession(c *smtp.Conn) (smtp.Session, error) {
	_, isTLS := c.TLSConnectionState()
	return &session{server: s, received: received{tls: isTLS}}, nil
}

type session struct {
	server *server
	try    int
	received
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

func (s *session) AuthMechanisms() []string {
	if s.server.noAuth {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "consign" || password != "p@ss:w/rd" {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "wrong login"}
		}
		s.user = user
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if !s.server.noAuth && s.user == "" {
		return &smtp.SMTPError{Code: 530, EnhancedCode: smtp.EnhancedCode{5, 7, 0}, Message: "log in first"}
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.tries++
	s.try, s.from = s.server.tries, from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.to = to
	if s.server.rcpt != nil {
		return s.server.rcpt(s.try)
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.raw = string(raw)
	s.server.got = append(s.server.got, s.received)
	if s.server.data != nil {
		return s.server.data(s.try)
	}
	return nil
}

func refuse(code int, message string) func(int) error {
	return func(int) error {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: message}
	}
}

var certificateOnce = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
})

func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	c, err := certificateOnce()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestMain adds the test certificate to the system's trusted certificates before they are read.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		c, err := certificateOnce()
		if err != nil {
			panic(err)
		}
		dir, err := os.MkdirTemp("", "consign-mail-*")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		file := filepath.Join(dir, "ca.pem")
		encoded := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
		if err := errors.Join(os.WriteFile(file, encoded, 0o600), os.Setenv("SSL_CERT_FILE", file)); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// header returns the value of the first header line of that name.
func header(raw, name string) string {
	for l := range strings.SplitSeq(raw, "\r\n") {
		if l == "" {
			break
		}
		if value, ok := strings.CutPrefix(l, name+": "); ok {
			return value
		}
	}
	return ""
}
