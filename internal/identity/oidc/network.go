// HTTP requests to providers. They cannot reach addresses that are nearer than the provider.

package oidc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// reach classifies an address, from near to far. An endpoint of a provider must not be nearer than the provider's
// issuer: a provider on the Internet cannot direct requests into the private network, nor a private one to this
// machine.
type reach int

const (
	nowhere  reach = iota // link-local, multicast, reserved: never dialled
	loopback              // this machine
	private               // the operator's network
	public                // the Internet
)

const (
	maxHeader    = 64 << 10
	maxRedirects = 3 // of a discovery document, on the same host
)

var (
	errRedirect = errors.New("redirects to another host or too often")
	errTooLong  = errors.New("the response is too long")
)

// special knows the IANA registries of special-purpose addresses (RFC 6890 and its updates).
var special = ssrf.New(ssrf.WithAnyPort())

// classify returns the reach of an address.
func classify(a netip.Addr) reach {
	a = a.Unmap().WithZone("")
	if nat64 := netip.MustParsePrefix("64:ff9b::/96"); nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	switch {
	case a.IsLoopback():
		return loopback
	case a.IsPrivate(), netip.MustParsePrefix("100.64.0.0/10").Contains(a):
		return private
	case special.SafeAddr(a) != nil:
		return nowhere
	}
	return public
}

// network has the HTTP clients for one provider.
type network struct {
	endpoints *http.Client // for keys and tokens; follows no redirects
	discovery *http.Client // follows up to maxRedirects redirects on the same scheme, host and port
	classify  func(netip.Addr) reach
}

// newNetwork returns the HTTP clients for a provider. nearest returns the nearest reach that they may dial now. The
// check runs on the resolved address just before connecting, so that DNS rebinding does not help.
func newNetwork(o Options, nearest func() reach) *network {
	dialer := &net.Dialer{
		Timeout:  o.Timeout,
		Resolver: o.Resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			target, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("address %s: %w", address, err)
			}
			if o.classify(target.Addr()) < nearest() { // never nowhere: nearest returns at least loopback
				return fmt.Errorf("address %s is not allowed for this issuer", address)
			}
			return nil
		},
	}
	transport := bounded{max: o.MaxBody, next: &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		TLSHandshakeTimeout:    o.Timeout,
		ResponseHeaderTimeout:  o.Timeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableKeepAlives:      true, // requests are rare, and the address of each connection must be checked
		DisableCompression:     true,
	}}
	return &network{
		classify: o.classify,
		endpoints: &http.Client{Transport: transport, Timeout: o.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		discovery: &http.Client{Transport: transport, Timeout: o.Timeout,
			CheckRedirect: func(r *http.Request, via []*http.Request) error {
				if first := via[0].URL; len(via) > maxRedirects || r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
					return errRedirect
				}
				return nil
			}},
	}
}

// get returns a document and the reach of the address that served it.
func (n *network) get(ctx context.Context, client *http.Client, address string) ([]byte, reach, error) {
	var from reach
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		from = nowhere
		if remote, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String()); err == nil {
			from = n.classify(remote.Addr())
		}
	}})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nowhere, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, nowhere, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, nowhere, fmt.Errorf("GET %s: status %d", address, response.StatusCode)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nowhere, fmt.Errorf("GET %s: %w", address, err)
	}
	return body, from, nil
}

// bounded is a transport whose response bodies fail after max bytes.
type bounded struct {
	next http.RoundTripper
	max  int64
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.ContentLength > b.max {
		response.Body.Close()
		return nil, errTooLong
	}
	response.Body = http.MaxBytesReader(nil, response.Body, b.max)
	return response, nil
}

// withTimeout bounds all requests of one operation together.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no response within %s", d))
}
