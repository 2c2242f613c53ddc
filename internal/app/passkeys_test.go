package app_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/securitykey"
)

// TestPasskeyHosts: a passkey belongs to the host where it was made. Its owner can go on to use it, as second factor, at the host of an
// organization that the owner joins later (contract 3.27).
func TestPasskeyHosts(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.PublicURL("http://consign.test:8443"), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off"))
	addOrganization(t, s, "acme.test", "old.acme.test")
	addOrganization(t, s, "other.test")
	addPerson(t, s, "ann@example.com", "acme.test", identity.RoleTransferUse)
	const home, acme, other = "consign.test", "acme.test", "other.test"
	at := func(host string) *testkit.Person { return s.Stranger().With("Host", host) }
	options := func(p *testkit.Person) any {
		return p.Post(s.Identity+"/auth/passkey/options", nil).Want(http.StatusOK).Value("options")
	}
	rp := func(o any) any { return o.(map[string]any)["publicKey"].(map[string]any)["rpId"] }
	login := func(p *testkit.Person, answer string) *testkit.Response {
		return p.Post(s.Identity+"/auth/login", map[string]any{"email": "", "type": "webauthn", "key": answer})
	}
	add := func(p *testkit.Person, host string, k *securitykey.Key) {
		t.Helper()
		made := p.Post(s.Identity+"/profile/authenticators", map[string]any{"type": "webauthn"}).Want(http.StatusCreated)
		k.Origin = "http://" + host + ":8443"
		p.Post(s.Identity+"/profile/authenticators/"+made.String("uid")+"/verify", map[string]any{
			"email": "ann@example.com", "type": "webauthn", "key": k.Create(t, made.Value("options")),
		}).Want(http.StatusNoContent)
	}
	related := func(host string) []any {
		list, _ := at(host).Get("/.well-known/webauthn").Want(http.StatusOK).Value("origins").([]any)
		return list
	}
	if got := related(home); !slices.Equal(got, []any{"http://consign.test:8443"}) {
		t.Errorf("the free organization's related origins are %v", got)
	}
	if got := related("old.acme.test"); !slices.Equal(got, []any{"http://acme.test:8443"}) {
		t.Errorf("Acme's related origins are %v", got)
	}

	// Ann, a member of Acme, made a passkey at the free organization's host.
	k := &securitykey.Key{Verifies: true}
	ann := signIn(at(acme), "ann@example.com")
	add(ann.With("Host", home), home, k)
	poll.Until(t, "Acme's host among the related origins", func() bool {
		return slices.Equal(related(home), []any{"http://consign.test:8443", "http://acme.test:8443"})
	})
	wrong := login(at(home), k.Get(t, options(at(home)))).WantError(identity.ErrWrongHost)
	if got := wrong.Header.Get("Link"); got != `<http://acme.test:8443/id/v3/auth/login>; rel="alternate"` {
		t.Errorf("Link: %s", got)
	}
	if got := rp(options(at(acme))); got != acme {
		t.Errorf("at Acme's host a login without password asks for passkeys of %v", got)
	}
	k.Origin = "http://acme.test:8443"
	second := func() *testkit.Person {
		first := at(acme).Post(s.Identity+"/auth/login",
			map[string]any{"email": "ann@example.com", "type": "bcrypt", "key": testkit.Password}).Want(http.StatusOK)
		return at(acme).As(first.String("token"))
	}
	mfa := second()
	asked := options(mfa)
	if rp(asked) != home {
		t.Errorf("the second step asks for passkeys of %v", rp(asked))
	}
	login(mfa, k.Get(t, asked)).Want(http.StatusOK)

	// A challenge of one host is refused at another.
	mfa = second()
	answer := k.Get(t, options(mfa))
	login(mfa.With("Host", other), answer).WantError(identity.ErrCredentials)
	login(mfa, answer).Want(http.StatusOK)

	// From now on the passkey of Acme's own host is asked for.
	own := &securitykey.Key{Verifies: true}
	s.Clock.Advance(60e9)
	mfa = second()
	ann = at(acme).As(login(mfa, k.Get(t, options(mfa))).Want(http.StatusOK).String("token"))
	ann = at(acme).As(ann.Post(s.Identity+"/auth/access", nil).Want(http.StatusOK).String("token"))
	add(ann, acme, own)
	mfa = second()
	if got := rp(options(mfa)); got != acme {
		t.Errorf("the second step asks for passkeys of %v", got)
	}
	login(at(acme), own.Get(t, options(at(acme)))).Want(http.StatusOK)

	ip := testkit.New(t, testkit.PublicURL("http://192.0.2.1:8443"), testkit.Env("CONSIGN_REQUIRE_HTTPS", "off"))
	ip.Stranger().Post(s.Identity+"/auth/passkey/options", nil).WantError(identity.ErrPasskeyHost)
}
