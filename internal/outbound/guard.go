// Where webhooks and export targets may lead: the check of the URL and of each address that is dialled.

package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// ErrAddress refuses a connection to an address to which webhooks and export targets must not lead.
var ErrAddress = errors.New("webhooks are not sent to this address")

// Guard decides where webhooks may lead: by HTTPS to public addresses of others, and wherever the operator allows.
type Guard struct {
	hosts    []string       // allowed by the operator, in lower case
	networks []netip.Prefix // allowed by the operator
	public   string         // the host of this installation
	inside   string         // the address of Sender.Inside; empty: none
	resolver *net.Resolver
	special  *ssrf.Guardian
}

// NewGuard returns a Guard. allow lists hosts and networks (CIDR or address) that may be private and without TLS. public is the host of
// this installation. resolver may be nil.
func NewGuard(allow []string, public string, resolver *net.Resolver) *Guard {
	g := &Guard{public: strings.ToLower(public), resolver: resolver, special: ssrf.New(ssrf.WithAnyPort())}
	if g.resolver == nil {
		g.resolver = net.DefaultResolver
	}
	for _, entry := range allow {
		if prefix, err := netip.ParsePrefix(entry); err == nil {
			g.networks = append(g.networks, prefix.Masked())
		} else if ip, err := netip.ParseAddr(entry); err == nil {
			g.networks = append(g.networks, netip.PrefixFrom(ip, ip.BitLen()))
		} else {
			g.hosts = append(g.hosts, strings.ToLower(entry))
		}
	}
	return g
}

// maxURL is the length of an address in bytes.
const maxURL = 2000

// Check parses the address of a receiver. Its error continues a sentence that begins with the name of a member. Names are not resolved:
// that is done for each connection.
func (g *Guard) Check(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || u.Host == "" || u.Opaque != "" || strings.ContainsAny(text, " \t\r\n") {
		return nil, errors.New("must be an address like https://example.com/hook")
	}
	host := strings.ToLower(u.Hostname())
	ip, err := netip.ParseAddr(host)
	literal := err == nil
	switch allowed := slices.Contains(g.hosts, host) || literal && g.inNetworks(ip); {
	case g.inside != "" && text == g.inside:
		return u, nil
	case u.User != nil:
		return nil, errors.New("must not contain a user name or password")
	case u.Fragment != "":
		return nil, errors.New("must not have a fragment (#)")
	case u.Scheme != "https" && (u.Scheme != "http" || !allowed):
		return nil, errors.New("must begin with https://")
	case !allowed && (host == g.public || host == "localhost" || strings.HasSuffix(host, ".localhost") || literal && g.refused(ip)):
		return nil, errors.New("must lead to a public address of another server")
	}
	return u, nil
}

func (g *Guard) inNetworks(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(g.networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// refused reports whether an address is special (private, loopback, link-local, shared, multicast, reserved, or one that embeds an IPv4
// address) or of an interface of this machine.
func (g *Guard) refused(ip netip.Addr) bool {
	ip = ip.Unmap()
	if g.special.SafeAddr(ip) != nil {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip.AsSlice())
	})
}

// Dial connects to a host, which is resolved once. Each address is checked when it is dialled, so that a name cannot lead elsewhere
// between the check and the connection.
// Errors: ErrAddress, those of the network.
func (g *Guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address of webhook: %w", err)
	}
	d := net.Dialer{Timeout: timeout, KeepAlive: time.Minute, Resolver: g.resolver}
	if !slices.Contains(g.hosts, strings.ToLower(host)) {
		public := g.publicAddresses(ctx)
		d.ControlContext = func(_ context.Context, network, resolved string, _ syscall.RawConn) error {
			return g.control(network, resolved, public)
		}
	}
	return d.DialContext(ctx, network, address)
}

// control checks an address that is about to be dialled.
func (g *Guard) control(network, resolved string, public []netip.Addr) error {
	to, err := netip.ParseAddrPort(resolved)
	switch {
	case err != nil || !strings.HasPrefix(network, "tcp"):
		return ErrAddress
	case g.inNetworks(to.Addr()):
		return nil
	case g.refused(to.Addr()) || slices.Contains(public, to.Addr().Unmap()):
		return ErrAddress
	}
	return nil
}

// publicAddresses returns the addresses of this installation's host, where a proxy may listen.
func (g *Guard) publicAddresses(ctx context.Context) []netip.Addr {
	if g.public == "" || g.public == "localhost" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	found, err := g.resolver.LookupNetIP(ctx, "ip", g.public)
	if err != nil {
		return nil
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found
}
