package handler_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// zone is a DNS resolver whose TXT records a test sets.
type zone struct {
	mu      sync.Mutex
	records map[string]string
}

func (z *zone) set(name, value string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.records == nil {
		z.records = map[string]string{}
	}
	z.records[name] = value
}

func (z *zone) lookup(_ context.Context, name string) ([]string, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if v, ok := z.records[name]; ok {
		return []string{"v=spf1 -all", v}, nil
	}
	return nil, errors.New("no such host")
}

// profileWith returns an organization's profile with hostnames.
func profileWith(hostname string, inactive ...string) map[string]any {
	p := map[string]any{"name": "Acme", "locale": "en_US", "timeZone": "UTC", "inactiveHostnames": append([]string{}, inactive...)}
	if hostname != "" {
		p["hostname"] = hostname
	}
	return p
}

func TestHostnames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testkit.Env("CONSIGN_BASE_DOMAIN", "base.test"))
	ops, path := w.s.App.Identity, w.acme.path+"/profile"
	put := func(p map[string]any) *testkit.Response { t.Helper(); return w.ann.Put(path, p) }
	limit := func(c company, value string) {
		t.Helper()
		must(t, ops.SetLimits(t.Context(), testkit.Command, c.uid, identity.LimitsChange{ChangeHostname: identity.To(value)}))
	}

	put(profileWith("acme.base.test")).WantError(identity.ErrHostnameRefused) // noChange
	limit(w.acme, "pro")
	for _, refused := range []string{"base.test", "a.b.base.test", "acme.test", "localhost", "xbase.test"} {
		put(profileWith(refused)).WantError(identity.ErrHostnameRefused)
	}
	first := put(profileWith("Acme.Base.Test")).Want(http.StatusOK)
	if first.String("hostname") != "acme.base.test" || first.Header.Get("Link") != "" {
		t.Errorf("the profile is %s", first.Body)
	}
	poll.Until(t, "the host", func() bool {
		return w.s.Stranger().With("Host", "acme.base.test").Get(w.s.Identity+"/environment").String("organizationProfile.uid") == w.acme.uid
	})
	second := put(profileWith("new.base.test")).Want(http.StatusOK)
	if second.String("hostname") != "new.base.test" || second.String("inactiveHostnames.0") != "acme.base.test" {
		t.Errorf("the profile is %s", second.Body)
	}
	put(profileWith("", "acme.base.test", "other.base.test")).WantError(identity.ErrInactiveHostnames)
	if kept := put(profileWith("", "acme.base.test")).Want(http.StatusOK); kept.String("hostname") != "new.base.test" {
		t.Errorf("PUT without hostname removed it: %s", kept.Body)
	}
	back := put(profileWith("acme.base.test", "acme.base.test")).Want(http.StatusOK)
	if back.String("hostname") != "acme.base.test" || back.String("inactiveHostnames.0") != "new.base.test" {
		t.Errorf("the profile is %s", back.Body)
	}
	limit(w.acme, "noChange")
	put(profileWith("new.base.test", "new.base.test")).WantError(identity.ErrHostnameRefused)
	put(profileWith("acme.base.test", "new.base.test")).Want(http.StatusOK) // nothing changes

	// In use elsewhere, also as an inactive one, and so are names below it.
	limit(w.bolt, "teambeam")
	bolt := func(p map[string]any) *testkit.Response { t.Helper(); return w.bob.Put(w.bolt.path+"/profile", p) }
	for _, taken := range []string{"acme.base.test", "new.base.test", "evil.acme.base.test"} {
		bolt(profileWith(taken)).WantError(identity.ErrHostInUse)
	}
	bolt(profileWith("a.b.c.base.test")).WantError(identity.ErrHostnameRefused)
	if got := bolt(profileWith("files.bolt.base.test")).Want(http.StatusOK).String("hostname"); got != "files.bolt.base.test" {
		t.Errorf("the hostname is %s", got)
	}
	limit(w.cord, "pro")
	w.cat.Put(w.cord.path+"/profile", profileWith("bolt.base.test")).WantError(identity.ErrHostInUse)

	// Given up, a hostname is free for others.
	if gone := put(profileWith("acme.base.test")).Want(http.StatusOK); len(gone.Value("inactiveHostnames").([]any)) != 0 {
		t.Errorf("the profile is %s", gone.Body)
	}
	bolt(profileWith("new.base.test", "files.bolt.base.test")).Want(http.StatusOK)
	for _, bad := range []string{"a b", "1.2.3.4", "x..test", "host:8080", "*.base.test"} {
		put(profileWith(bad)).WantError(fault.ErrInvalid)
	}
}

var verifyLink = regexp.MustCompile(`^<dns:_consign\.files\.acme\.test\?type=TXT>; rel="verify"; key="([A-Za-z0-9_-]{22,})"$`)

func TestCustomHostname(t *testing.T) {
	t.Parallel()
	dns := &zone{}
	w := newWorld(t, testkit.DNS(dns.lookup))
	path := w.acme.path + "/profile"
	must(t, w.s.App.Identity.SetLimits(t.Context(), testkit.Command, w.acme.uid, identity.LimitsChange{ChangeHostname: identity.To("custom")}))
	must(t, w.s.App.Identity.SetLimits(t.Context(), testkit.Command, w.bolt.uid, identity.LimitsChange{ChangeHostname: identity.To("custom")}))
	pending := w.ann.Put(path, profileWith("files.acme.test")).Want(http.StatusOK)
	link := verifyLink.FindStringSubmatch(pending.Header.Get("Link"))
	if link == nil || pending.Value("hostname") != nil {
		t.Fatalf("the answer is %v %s", pending.Header, pending.Body)
	}
	if again := w.ann.Put(path, profileWith("files.acme.test")).Want(http.StatusOK); again.Header.Get("Link") != pending.Header.Get("Link") {
		t.Errorf("another key: %v", again.Header)
	}
	if shown := w.ann.Get(path).Want(http.StatusOK); shown.Header.Get("Link") != pending.Header.Get("Link") {
		t.Errorf("the claim is not shown: %v", shown.Header)
	}
	if hidden := w.amy.Get(path).Want(http.StatusOK); hidden.Header.Get("Link") != "" {
		t.Errorf("a member sees the claim: %v", hidden.Header)
	}
	// claimed twice: the organization that verifies it first gets it
	w.bob.Put(w.bolt.path+"/profile", profileWith("files.acme.test")).Want(http.StatusOK)

	dns.set("_consign.files.acme.test.", "something else")
	if still := w.ann.Put(path, profileWith("files.acme.test")).Want(http.StatusOK); still.Value("hostname") != nil {
		t.Error("a wrong TXT record verified the hostname")
	}
	dns.set("_consign.files.acme.test.", link[1])
	verified := w.ann.Put(path, profileWith("files.acme.test")).Want(http.StatusOK)
	if verified.String("hostname") != "files.acme.test" || verified.Header.Get("Link") != "" {
		t.Errorf("the answer is %v %s", verified.Header, verified.Body)
	}
	w.bob.Put(w.bolt.path+"/profile", profileWith("files.acme.test")).WantError(identity.ErrHostInUse)

	// A job finds the record too.
	waiting := w.bob.Put(w.bolt.path+"/profile", profileWith("files.bolt.test")).Want(http.StatusOK)
	key := regexp.MustCompile(`key="([^"]+)"`).FindStringSubmatch(waiting.Header.Get("Link"))
	dns.set("_consign.files.bolt.test.", key[1])
	must(t, w.s.App.Jobs.RunOnce(t.Context(), service.HostnamesJob))
	if got := w.bob.Get(w.bolt.path + "/profile").Want(http.StatusOK); got.String("hostname") != "files.bolt.test" ||
		got.Header.Get("Link") != "" {
		t.Errorf("the profile is %s", got.Body)
	}
	for _, refused := range []string{"localhost", "_acme.test"} {
		if resp := w.ann.Put(path, profileWith(refused)); resp.Status != http.StatusForbidden && resp.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", refused, resp.Status, resp.Body)
		}
	}
}

// TestHostnamesAfterSilentServer: an older claim whose name servers never answer uses up the job's time, but later
// claims are still checked.
func TestHostnamesAfterSilentServer(t *testing.T) {
	t.Parallel()
	var dns zone
	var silent atomic.Bool
	w := newWorld(t, testkit.DNS(func(ctx context.Context, name string) ([]string, error) {
		if silent.Load() && name == "_consign.files.acme.test." {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dns.lookup(ctx, name)
	}))
	for _, c := range []company{w.acme, w.bolt} {
		must(t, w.s.App.Identity.SetLimits(t.Context(), testkit.Command, c.uid, identity.LimitsChange{ChangeHostname: identity.To("custom")}))
	}
	w.ann.Put(w.acme.path+"/profile", profileWith("files.acme.test")).Want(http.StatusOK)
	w.s.Clock.Advance(time.Minute)
	waiting := w.bob.Put(w.bolt.path+"/profile", profileWith("files.bolt.test")).Want(http.StatusOK)
	key := regexp.MustCompile(`key="([^"]+)"`).FindStringSubmatch(waiting.Header.Get("Link"))
	dns.set("_consign.files.bolt.test.", key[1])
	silent.Store(true)
	for range 50 { // it would have to be unlucky each time
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_ = w.s.App.Jobs.RunOnce(ctx, service.HostnamesJob) // out of time, most likely
		cancel()
		if w.bob.Get(w.bolt.path+"/profile").Want(http.StatusOK).Value("hostname") != nil {
			return
		}
	}
	t.Error("a hostname with a valid TXT record was not verified")
}

// TestMembersMoveToTheirHost: the first hostname of an organization becomes the home host of its members and their mailboxes.
func TestMembersMoveToTheirHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ann.Put(w.s.Transfer+"/mailbox", map[string]any{"vanityLink": "dr-ann"}).Want(http.StatusCreated)
	w.s.Stranger().Get(w.s.Transfer + "/public/mailbox/dr-ann").Want(http.StatusOK)
	must(t, w.s.App.Identity.SetHostname(t.Context(), testkit.Command, w.acme.uid, "files.acme.test"))
	at := w.s.Stranger().With("Host", "files.acme.test")
	poll.Until(t, "the move", func() bool { return at.Get(w.s.Transfer+"/public/mailbox/dr-ann").Status == http.StatusOK })
	w.s.Stranger().Get(w.s.Transfer + "/public/mailbox/dr-ann").Want(http.StatusNotFound)
	wrong := w.s.Stranger().Post(w.s.Identity+"/auth/login",
		credentials("ann@example.com", "bcrypt", testkit.Password)).WantError(identity.ErrWrongHost)
	if !strings.Contains(wrong.Header.Get("Link"), "//files.acme.test") {
		t.Errorf("Link is %s", wrong.Header.Get("Link"))
	}
	at.Post(w.s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK)
	for _, p := range []*testkit.Person{w.ann, w.amy} {
		if event := lastEvent(t, p); event["kind"] != "ORGANIZATION_PROFILE_UPDATED" {
			t.Errorf("the event is %v", event)
		}
	}
}
