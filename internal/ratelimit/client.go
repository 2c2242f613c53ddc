package ratelimit

import (
	"context"
	"net/netip"
	"slices"
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

// NetworkShare is the percentage of a common bound that one client network may take where no setting says it, and the one that is kept.
const NetworkShare = 25

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

// chain returns a client network and those around it, the widest first.
func chain(network netip.Prefix, percent int) []Wide {
	if !network.IsValid() {
		return nil
	}
	all := append([]Wide{{network, percent}}, Around(network, percent)...)
	slices.Reverse(all)
	return all
}

// Bounds returns the network of AddressKey and those around it, with how much of a common bound each may take, for statements that count
// rows. The widest is the first. Without a bound (0) each may take 0, which is none either. An empty key has no networks.
func Bounds(key string, percent int, all int64) (networks []netip.Prefix, most []int64) {
	for _, n := range chain(NetworkOf(key), percent) {
		share := int64(0)
		if all > 0 {
			share = max(1, all*int64(n.Percent)/100)
		}
		networks, most = append(networks, n.Network), append(most, share)
	}
	return networks, most
}

// unknown is the network of clients whose address is unknown: no client has it.
const unknown = "::/64"

// AddressKey returns a client network as text: the identifier of a bucket that counts by it (ByAddress).
func AddressKey(address netip.Addr) string {
	if network := Network(address); network.IsValid() {
		return network.String()
	}
	return unknown
}

// NetworkOf returns the network of an identifier that AddressKey made, invalid if it is none.
func NetworkOf(key string) netip.Prefix {
	network, _ := netip.ParsePrefix(key) // invalid on an error
	return network
}
