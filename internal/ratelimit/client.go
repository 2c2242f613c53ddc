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

// widest is the percentage of a common bound that all clients of the widest network around one may take together. The rest stays for
// others: a home line is a /56, a site a /48, and a /24 of IPv4 costs what these cost.
const widest = 75

// networkShare is the percentage of a common bound that one client network may take where no setting says it, and the one that is kept.
const networkShare = 25

// Wide is a network around a client's, and the percentage of a common bound that it may take when one client network may take percent.
type Wide struct {
	Network netip.Prefix
	Percent int
}

// Around returns the networks around a client network, from narrow to wide: the /56 and the /48 of an IPv6 address, the /24 of IPv4.
func Around(network netip.Prefix, percent int) []Wide {
	if !network.IsValid() {
		return nil
	}
	within := func(bits, most int) Wide {
		wide, _ := network.Addr().Prefix(bits) // the only error is too many bits
		return Wide{wide, max(percent, most)}
	}
	if network.Addr().Is4() {
		return []Wide{within(24, widest)}
	}
	return []Wide{within(56, (percent+widest)/2), within(48, widest)}
}

// NetworkOf returns the network of an identifier that AddressKey made, invalid if it is none.
func NetworkOf(key string) netip.Prefix {
	if address, err := netip.ParseAddr(key); err == nil {
		return Network(address)
	}
	var raw [16]byte
	if n, err := base64.RawURLEncoding.Decode(raw[:], []byte(key)); err != nil || n != 8 {
		return netip.Prefix{}
	}
	return Network(netip.AddrFrom16(raw))
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
