package httpserver_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/consign-dev/consign/internal/httpapi"
)

// FuzzForwarded: for any forwarding headers of a trusted proxy, the client address is a valid unmapped address without a zone.
func FuzzForwarded(f *testing.F) {
	f.Add("1.1.1.1, 10.0.0.2", "acme.test:443", "https")
	f.Add("[::1]:99,,unknown", "a, b", "http, https")
	f.Add("::ffff:1.2.3.4%eth0", "\x00", "")
	f.Fuzz(func(t *testing.T, forwardedFor, forwardedHost, proto string) {
		var address netip.Addr
		fx := newFixture(t, nil).route(func(w http.ResponseWriter, r *http.Request) error {
			address = httpapi.Client(r.Context()).Address
			if name := httpapi.Client(r.Context()).Host.Name; name != "consign.test" && name != "acme.test" {
				t.Fatalf("host %q", name)
			}
			return httpapi.NoContent(w)
		})
		set := func(name, value string) func(*http.Request) {
			return func(r *http.Request) { r.Header[name] = []string{value} }
		}
		w := fx.do("GET", "/api/thing", "", from("10.0.0.1:1"), set("X-Forwarded-For", forwardedFor),
			set("X-Forwarded-Host", forwardedHost), set("X-Forwarded-Proto", proto))
		if w.Code == http.StatusNoContent && (!address.IsValid() || address.Is4In6() || address.Zone() != "") {
			t.Fatalf("address %v of %q", address, forwardedFor)
		}
	})
}
