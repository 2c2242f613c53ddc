// Tests of which addresses requests to providers reach.

package oidc_test

import (
	"context"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/consign-dev/consign/internal/identity/oidc"
)

// Loopback addresses that count as other networks (see Options.SetClassify).
const (
	internet = "127.0.0.2"
	intranet = "127.0.0.3"
	machine  = "127.0.0.1"
)

// host is a name in the certificate of httptest.
const host = "login.example.com"

func TestReach(t *testing.T) {
	t.Parallel()
	for address, where := range map[string]string{
		"8.8.8.8": "public", "2600:1f18::1": "public", "::ffff:8.8.8.8": "public", "64:ff9b::808:808": "public",
		"127.0.0.1": "loopback", "127.9.9.9": "loopback", "::1": "loopback", "::ffff:127.0.0.1": "loopback", "64:ff9b::7f00:1": "loopback",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private", "100.64.0.1": "private",
		"fd00::1": "private", "::ffff:10.0.0.1": "private", "64:ff9b::a00:1": "private",
		"172.32.0.1": "public", "100.128.0.1": "public",
		"0.0.0.0": "nowhere", "0.1.2.3": "nowhere", "::": "nowhere", "169.254.169.254": "nowhere", "::ffff:169.254.169.254": "nowhere",
		"64:ff9b::a9fe:a9fe": "nowhere", "fe80::1%eth0": "nowhere", "224.0.0.1": "nowhere", "ff02::1": "nowhere", "255.255.255.255": "nowhere",
		"240.0.0.1": "nowhere", "192.0.2.1": "nowhere", "198.18.0.1": "nowhere", "2001:db8::1": "nowhere", "2002:7f00:1::1": "nowhere",
		"2001:0:1::1": "nowhere", "fec0::1": "nowhere",
	} {
		if got := oidc.Reach(address); got != where {
			t.Errorf("%s is %s, want %s", address, got, where)
		}
	}
}

// An endpoint must not be nearer than its issuer.
func TestEndpointsByAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		issuer, endpoint string
		ok               bool
	}{
		{internet, internet, true}, {internet, intranet, false}, {internet, machine, false},
		{intranet, internet, true}, {intranet, intranet, true}, {intranet, machine, false},
		{machine, intranet, true}, {machine, machine, true},
	} {
		t.Run(c.issuer+" to "+c.endpoint, func(t *testing.T) {
			t.Parallel()
			p, roots := secureIDP(t, c.issuer)
			var reached atomic.Int64
			elsewhere := secure(t, c.endpoint, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				writeJSON(w, http.StatusOK, map[string]any{"keys": []any{p.keys[0].jwk()}})
			}), func(net.Conn) { reached.Add(1) })
			names := newResolver(t, map[string]string{host: c.issuer, "keys.example.com": c.endpoint})
			p.extra["jwks_uri"] = "https://keys.example.com:" + port(elsewhere.Listener) + keysPath
			l := newLab(t, p, func(o *oidc.Options) { o.RootCAs, o.Resolver = roots, names.Resolver; o.SetClassify() })
			_, err := l.Verify(t.Context(), l.good(t), nonce("n-1"))
			if c.ok {
				want(t, err, nil)
				return
			}
			want(t, err, oidc.ErrCommunicationFailed)
			if n := reached.Load(); n != 0 {
				t.Errorf("%d connections were made", n)
			}
		})
	}
}

// DNS rebinding: after a public issuer's name resolves to a nearer address, no connection is made.
func TestRebinding(t *testing.T) {
	t.Parallel()
	for _, inside := range []string{intranet, machine} {
		t.Run(inside, func(t *testing.T) {
			t.Parallel()
			p, roots := secureIDP(t, internet)
			names := newResolver(t, map[string]string{host: internet})
			var reached atomic.Int64
			victim := listening(t, net.JoinHostPort(inside, port(p.Listener)), p)
			victim.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					reached.Add(1)
				}
			}
			victim.StartTLS()
			l := newLab(t, p, func(o *oidc.Options) { o.RootCAs, o.Resolver = roots, names.Resolver; o.SetClassify() })
			_, err := l.Verify(t.Context(), l.good(t), nonce("n-1"))
			want(t, err, nil)
			names.set(host, inside)
			l.clock.Advance(oidc.DefaultLifetime)
			_, err = l.Verify(t.Context(), l.good(t), nonce("n-1"))
			want(t, err, oidc.ErrCommunicationFailed)
			if n := reached.Load(); n != 0 {
				t.Errorf("%d connections were made", n)
			}
			names.set(host, internet)
			_, err = l.Verify(t.Context(), l.good(t), nonce("n-1"))
			want(t, err, nil)
		})
	}
}

// A private issuer stays private, also after its name has resolved to a public address once.
func TestFirstAnswerDecidesWhere(t *testing.T) {
	t.Parallel()
	p, roots := secureIDP(t, intranet)
	listening(t, net.JoinHostPort(internet, port(p.Listener)), p).StartTLS()
	names := newResolver(t, nil)
	l := newLab(t, p, func(o *oidc.Options) { o.RootCAs, o.Resolver = roots, names.Resolver; o.SetClassify() })
	for _, where := range []string{intranet, internet, intranet} {
		names.set(host, where)
		_, err := l.Verify(t.Context(), l.good(t), nonce("n-1"))
		want(t, err, nil)
		l.clock.Advance(oidc.DefaultLifetime)
	}
}

func TestCertificateIsChecked(t *testing.T) {
	t.Parallel()
	p, _ := secureIDP(t, internet)
	names := newResolver(t, map[string]string{host: internet})
	l := newLab(t, p, func(o *oidc.Options) { o.Resolver = names.Resolver; o.SetClassify() })
	_, err := l.Verify(t.Context(), l.good(t), nonce("n-1"))
	want(t, err, oidc.ErrCommunicationFailed)
}

// secureIDP returns a provider with TLS at an address. Its name is host.
func secureIDP(t *testing.T, address string) (*idp, *x509.CertPool) {
	t.Helper()
	p := unstarted(newES256(t, "k1"))
	p.Server = secure(t, address, p, nil)
	p.issuer = "https://" + host + ":" + port(p.Listener)
	roots := x509.NewCertPool()
	roots.AddCert(p.Certificate())
	return p, roots
}

func secure(t *testing.T, address string, h http.Handler, connected func(net.Conn)) *httptest.Server {
	t.Helper()
	s := listening(t, net.JoinHostPort(address, "0"), h)
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew && connected != nil {
			connected(c)
		}
	}
	s.StartTLS()
	return s
}

// serve starts a provider again at its former address.
func serve(t *testing.T, address string, h http.Handler) {
	t.Helper()
	listening(t, address, h).Start()
}

// listening returns a server that listens on an address and is not started. macOS has only 127.0.0.1 of 127.0.0.0/8, and another
// address needs root there: sudo ifconfig lo0 alias 127.0.0.2. Without it the test is skipped on macOS, and fails elsewhere.
func listening(t *testing.T, address string, h http.Handler) *httptest.Server {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if runtime.GOOS == "darwin" && errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Skipf("macOS lacks this address of the loopback: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = listener
	t.Cleanup(s.Close)
	return s
}

func port(l net.Listener) string {
	_, p, _ := strings.Cut(l.Addr().String(), ":")
	return p
}

// resolver is a DNS server. A test sets its records.
type resolver struct {
	*net.Resolver
	mu    sync.Mutex
	names map[string]string
}

func newResolver(t *testing.T, names map[string]string) *resolver {
	t.Helper()
	socket, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	r := &resolver{names: map[string]string{}}
	maps.Copy(r.names, names)
	r.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
	go func() {
		buffer := make([]byte, 4<<10)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer := r.answer(buffer[:n]); answer != nil {
				_, _ = socket.WriteTo(answer, from)
			}
		}
	}()
	return r
}

func (r *resolver) set(name, address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names[name] = address
}

func (r *resolver) answer(query []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	q := m.Questions[0]
	r.mu.Lock()
	address, known := r.names[strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")]
	r.mu.Unlock()
	switch {
	case !known:
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(address).To4())},
		}}
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}
