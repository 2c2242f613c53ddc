package hosts_test

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
)

type world struct {
	calls int
	known map[string]hosts.Host
	free  *hosts.Host
	hook  func()
}

func (w *world) load(_ context.Context, name string) (hosts.Host, error) {
	w.calls++
	if w.hook != nil {
		w.hook()
	}
	if h, ok := w.known[name]; ok {
		return h, nil
	}
	if w.free != nil {
		return *w.free, nil
	}
	return hosts.Host{}, fault.ErrNotFound
}

func TestResolveCachesUntilTTLOrInvalidate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	acme := hosts.Host{Name: "acme.test", Organization: id.New[id.Organization](), Own: true}
	w := &world{known: map[string]hosts.Host{"acme.test": acme}}
	d := hosts.New(w.load, &url.URL{Scheme: "https", Host: "x.test"}, time.Second, func() time.Time { return now })
	for _, name := range []string{"acme.test", "ACME.test:8443", "acme.test."} {
		if h, err := d.Resolve(t.Context(), name); err != nil || h != acme {
			t.Fatalf("Resolve(%s) = %v, %v", name, h, err)
		}
	}
	if w.calls != 1 {
		t.Errorf("%d loads for one name", w.calls)
	}
	now = now.Add(time.Second)
	_, _ = d.Resolve(t.Context(), "acme.test")
	d.Invalidate()
	_, _ = d.Resolve(t.Context(), "acme.test")
	if w.calls != 3 {
		t.Errorf("%d loads, want one more after the ttl and one after Invalidate", w.calls)
	}
}

func TestResolveUnknown(t *testing.T) {
	t.Parallel()
	w := &world{}
	d := hosts.New(w.load, &url.URL{Scheme: "https", Host: "x.test"}, time.Hour, time.Now)
	if _, err := d.Resolve(t.Context(), "nobody.test"); !errors.Is(err, fault.ErrNotFound) {
		t.Fatalf("err = %v", err)
	}
	w.free = &hosts.Host{Name: "free.test", Free: true}
	if h, err := d.Resolve(t.Context(), "nobody.test"); err != nil || !h.Free {
		t.Fatalf("a failure was cached: %v, %v", h, err)
	}
}

func TestLoadOvertakenByInvalidateIsNotKept(t *testing.T) {
	t.Parallel()
	w := &world{free: &hosts.Host{Name: "old.test", Free: true}}
	d := hosts.New(w.load, &url.URL{Scheme: "https", Host: "x.test"}, time.Hour, time.Now)
	w.hook = func() { d.Invalidate() }
	_, _ = d.Resolve(t.Context(), "x.test")
	w.hook = nil
	w.free = &hosts.Host{Name: "new.test", Free: true}
	if h, _ := d.Resolve(t.Context(), "x.test"); h.Name != "new.test" {
		t.Errorf("kept %q", h.Name)
	}
}

func TestForeignNamesDoNotDisplaceOwn(t *testing.T) {
	t.Parallel()
	w := &world{
		known: map[string]hosts.Host{"acme.test": {Name: "acme.test", Own: true}},
		free:  &hosts.Host{Name: "free.test", Free: true},
	}
	d := hosts.New(w.load, &url.URL{Scheme: "https", Host: "x.test"}, time.Hour, time.Now)
	_, _ = d.Resolve(t.Context(), "acme.test")
	for i := range 5000 {
		_, _ = d.Resolve(t.Context(), "made-up-"+strconv.Itoa(i))
	}
	before := w.calls
	if _, _ = d.Resolve(t.Context(), "acme.test"); w.calls != before {
		t.Error("a flood of foreign names evicted an organization's own")
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ public, host, want string }{
		{"https://consign.test", "acme.test", "https://acme.test/t/x?y=1"},
		{"http://localhost:8080", "acme.test", "http://acme.test:8080/t/x?y=1"},
		{"http://localhost:8080", "::1", "http://[::1]:8080/t/x?y=1"},
		{"https://consign.test", "::1", "https://[::1]/t/x?y=1"},
	} {
		public, err := url.Parse(c.public)
		if err != nil {
			t.Fatal(err)
		}
		d := hosts.New((&world{}).load, public, time.Hour, time.Now)
		if got := d.URL(c.host, "/t/x?y=1"); got != c.want {
			t.Errorf("URL = %s, want %s", got, c.want)
		}
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"A.test": "a.test", "a.test:80": "a.test", "[::1]:80": "::1", "[::1]": "::1", "::1": "::1", "a.test.:1": "a.test", "": "", "[": "[",
	} {
		if got := hosts.Normalize(in); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", in, got, want)
		}
	}
}
