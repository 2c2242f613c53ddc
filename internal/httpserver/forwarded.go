package httpserver

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
)

// forwarding is the client address, host and scheme of a request, as reported by trusted proxies if there are any.
type forwarding struct {
	address netip.Addr // zero over a unix socket
	host    string     // as sent: may have a port and upper case
	https   bool
}

// warnUntrusted logs one warning per process about forwarding headers that are ignored, so that the operator notices an undeclared
// proxy.
func (s *Server) warnUntrusted(x *exchange, r *http.Request) {
	if header := forwardingHeader(r.Header); header != "" && !x.trusted && s.warned.CompareAndSwap(false, true) {
		s.log.WarnContext(r.Context(), "ignoring forwarding headers from a peer that is not listed in CONSIGN_TRUSTED_PROXIES",
			slog.String("peer", x.client.Address.String()), slog.String("header", header))
	}
}

// forwarded reads the forwarding headers of a trusted proxy. It ignores those of other peers.
func (s *Server) forwarded(x *exchange, r *http.Request) forwarding {
	f := forwarding{address: x.client.Address, host: r.Host, https: r.TLS != nil}
	if !x.trusted {
		return f
	}
	f.address = s.clientAddress(f.address, r.Header["X-Forwarded-For"])
	// The last value is the one that the nearest proxy added; earlier ones may come from the client.
	if host := lastValue(r.Header["X-Forwarded-Host"]); host != "" {
		f.host = host
	}
	if proto := lastValue(r.Header["X-Forwarded-Proto"]); proto != "" {
		f.https = f.https || strings.EqualFold(proto, "https")
	}
	return f
}

// clientAddress walks X-Forwarded-For from right to left and returns the first address that is not a trusted proxy. At an entry
// that is not an address, or at the end of the list, it returns the proxy that reported it.
func (s *Server) clientAddress(nearest netip.Addr, values []string) netip.Addr {
	address := nearest
	for i := len(values) - 1; i >= 0; i-- {
		rest := values[i]
		for rest != "" {
			var entry string
			if comma := strings.LastIndexByte(rest, ','); comma >= 0 {
				rest, entry = rest[:comma], rest[comma+1:]
			} else {
				rest, entry = "", rest
			}
			hop, ok := parseHop(strings.TrimSpace(entry))
			if !ok {
				return address
			}
			address = hop
			if !s.isTrusted(address) {
				return address
			}
		}
	}
	return address
}

// parseHop parses an entry of X-Forwarded-For: an address, with a port and brackets from some proxies.
func parseHop(entry string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]")); err == nil {
		return addr.Unmap().WithZone(""), true
	}
	if pair, err := netip.ParseAddrPort(entry); err == nil {
		return pair.Addr().Unmap().WithZone(""), true
	}
	return netip.Addr{}, false
}

// peer parses the remote address of a connection; zero over a unix socket.
func peer(remote string) netip.Addr {
	pair, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return pair.Addr().Unmap().WithZone("")
}

func lastValue(values []string) string {
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}

func forwardingHeader(h http.Header) string {
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
		if len(h[name]) > 0 {
			return name
		}
	}
	return ""
}
