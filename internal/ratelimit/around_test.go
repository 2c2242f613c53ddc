package ratelimit_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/consign-dev/consign/internal/ratelimit"
)

// TestAround: the networks around a client have growing shares, and its identifier leads back to its network.
func TestAround(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"2001:db8:1:2:3::4": "[{2001:db8:1::/56 50} {2001:db8:1::/48 75}]", "192.0.2.77": "[{192.0.2.0/24 75}]",
	} {
		a := netip.MustParseAddr(address)
		network := ratelimit.NetworkOf(ratelimit.AddressKey(a))
		if network != ratelimit.Network(a) {
			t.Errorf("the key of %s leads to %s", address, network)
		}
		if got := fmt.Sprint(ratelimit.Around(network, 25)); got != want {
			t.Errorf("around %s: %s", address, got)
		}
	}
	if got := ratelimit.Around(ratelimit.NetworkOf("unknown"), 25); got != nil {
		t.Errorf("around an unknown client: %v", got)
	}
}
