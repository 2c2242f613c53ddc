package ratelimit

import (
	"context"
	"encoding/base64"
	"net/netip"
)

// clientKey is the context key of the client address, a *netip.Addr.
type clientKey struct{}

// WithClient returns a context that carries the address of the client for whom the work is done.
func WithClient(ctx context.Context, address netip.Addr) context.Context {
	return context.WithValue(ctx, clientKey{}, &address)
}

// ClientFrom returns the address that WithClient stored, else the invalid zero address.
func ClientFrom(ctx context.Context) netip.Addr {
	if address, ok := ctx.Value(clientKey{}).(*netip.Addr); ok && address != nil {
		return *address
	}
	return netip.Addr{}
}

// Network returns the network that limits count as one client: an IPv4 address, or the /64 of an IPv6 address, because a
// subscriber has a whole /64. It returns the invalid zero prefix for an invalid address.
func Network(address netip.Addr) netip.Prefix {
	bits := 32
	if address = address.Unmap(); address.Is6() {
		bits = 64
	}
	network, _ := address.WithZone("").Prefix(bits) // the only error is too many bits
	return network
}

// AddressKey returns the identifier of a bucket that counts by client network (ByAddress).
func AddressKey(address netip.Addr) string {
	network := Network(address)
	switch {
	case !network.IsValid():
		return "unknown"
	case network.Addr().Is4():
		return network.Addr().String()
	}
	raw := network.Addr().As16()
	return base64.RawURLEncoding.EncodeToString(raw[:8])
}
