package ratelimit_test

import (
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

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
	if got := ratelimit.Around(ratelimit.NetworkOf(""), 25); got != nil {
		t.Errorf("around an unknown client: %v", got)
	}
}

// asking is a server's limiter, and counts the tokens that each of many addresses gets.
type asking struct {
	now     time.Time
	limiter *ratelimit.Limiter
}

func newAsking() *asking {
	a := &asking{now: start}
	a.limiter = ratelimit.NewLimiter(ratelimit.NewMemory(func() time.Time { return a.now }), true, slog.New(slog.DiscardHandler))
	return a
}

// take reports whether a client gets a token of a bucket by client address, or of one that all share.
func (a *asking) take(t *testing.T, b ratelimit.Bucket, address string) bool {
	t.Helper()
	part := ratelimit.Part{Bucket: b, Identifier: ratelimit.AddressKey(netip.MustParseAddr(address))}
	if b.By == ratelimit.ByEmail {
		part.Identifier, part.Client = "ann@example.com", part.Identifier
	}
	taken, err := a.limiter.Take(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	return taken.Allowed
}

// TestAttackAddressPrefix: a home line, a site and an IPv4 network take as much as two and three client networks, however many they are.
func TestAttackAddressPrefix(t *testing.T) {
	t.Parallel()
	l := ratelimit.Limit{Capacity: 20, PerSecond: ratelimit.Every(10 * time.Second)}
	b := ratelimit.Bucket{Name: "signup", Limit: l, By: ratelimit.ByAddress}
	for format, most := range map[string]int{"2001:db8:0:%x::1": 40, "2001:db8:0:%x00::1": 60, "203.0.113.%d": 60, "203.0.%d.7": 250 * 20} {
		a, got := newAsking(), 0
		for i := range 250 {
			for range 21 {
				if a.take(t, b, fmt.Sprintf(format, i)) {
					got++
				}
			}
		}
		if got != most {
			t.Errorf("%s: %d tokens, want %d", format, got, most)
		}
		if !a.take(t, b, "198.51.100.1") {
			t.Errorf("%s: another network is refused", format)
		}
	}
}

// TestAttackCommonBucket: while 200 networks and a /48 keep a common bucket full, networks that have asked little find room at once, and
// the drain of the bucket stays as it is.
func TestAttackCommonBucket(t *testing.T) {
	t.Parallel()
	l := ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(15 * time.Second)}
	b := ratelimit.Bucket{Name: "login", Limit: l, By: ratelimit.ByEmail}
	a, attacker := newAsking(), 0
	attack := func() {
		for i := range 200 {
			for _, address := range []string{fmt.Sprintf("203.0.%d.7", i), fmt.Sprintf("2001:db8:0:%x::1", i*7)} {
				if a.take(t, b, address) {
					attacker++
				}
			}
		}
	}
	for range 10 {
		attack()
		a.now = a.now.Add(time.Second)
	}
	honest, asked := 0, 0
	for i := range 20 {
		for range 15 {
			attack()
			a.now = a.now.Add(time.Second)
		}
		asked++
		if a.take(t, b, fmt.Sprintf("198.51.%d.9", i)) {
			honest++
		}
	}
	if honest < asked*95/100 {
		t.Errorf("%d of %d honest networks got a token", honest, asked)
	}
	if most := 4 + 310/15 + 1; attacker+honest > most {
		t.Errorf("%d tokens in 310 s, at most %d fit", attacker+honest, most)
	}
}

// TestKeptKeepsTheLimit: one network alone gets what the limit says, and the headers name the limit.
func TestKeptKeepsTheLimit(t *testing.T) {
	t.Parallel()
	a := newAsking()
	b := ratelimit.Bucket{Name: "login", Limit: slow(3), By: ratelimit.ByEmail}
	part := ratelimit.Part{Bucket: b, Identifier: "ann", Client: "192.0.2.1/32"}
	for i, rest := range []int{2, 1, 0, 0} {
		taken, err := a.limiter.Take(t.Context(), part)
		if err != nil || taken.Allowed != (i < 3) || taken.Limit != 3 || taken.Remaining != rest {
			t.Errorf("try %d: %+v, %v", i, taken, err)
		}
	}
}
