package httpserver

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
)

// forwarding is where a request comes from and goes to, after what trusted proxies say of it.
type forwarding struct {
	address netip.Addr // zero when the connection has none, as over a unix socket
	host    string     // as sent: with port, in any case
	https   bool
}

// forwarded reads the forwarding headers if the peer is a trusted proxy, and ignores them otherwise, with one warning
// for the life of the process: it is how an undeclared proxy shows.
func (s *Server) forwarded(x *exchange, r *http.Request) forwarding {
	f := forwarding{address: x.client.Address, host: r.Host, https: r.TLS != nil}
	if !x.trusted {
		if header := forwardingHeader(r.Header); header != "" && s.warned.CompareAndSwap(false, true) {
			s.log.WarnContext(r.Context(), "ignoring forwarding headers from a peer that is not listed in CONSIGN_TRUSTED_PROXIES",
				slog.String("peer", f.address.String()), slog.String("header", header))
		}
		return f
	}
	f.address = s.clientAddress(f.address, r.Header["X-Forwarded-For"])
	// Of several values the last is the one that the proxy next to us added; earlier ones may be the client's own.
	if host := lastValue(r.Header["X-Forwarded-Host"]); host != "" {
		f.host = host
	}
	if proto := lastValue(r.Header["X-Forwarded-Proto"]); proto != "" {
		f.https = f.https || strings.EqualFold(proto, "https")
	}
	return f
}

// clientAddress walks the hops from our side and returns the first that is not a trusted proxy. An entry that is no
// address ends the walk at the proxy that reported it; so does the end of the list.
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

// parseHop reads an entry of X-Forwarded-For: an address, which some proxies give a port and IPv6 brackets.
func parseHop(entry string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]")); err == nil {
		return addr.Unmap().WithZone(""), true
	}
	if pair, err := netip.ParseAddrPort(entry); err == nil {
		return pair.Addr().Unmap().WithZone(""), true
	}
	return netip.Addr{}, false
}

// peer reads a connection's remote address.
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
