package hosts_test

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
)

// directory is the source of hosts. It counts the loads.
type directory struct {
	loads  int
	known  map[string]hosts.Host
	free   *hosts.Host
	onLoad func()
}

func (w *directory) load(_ context.Context, name string) (hosts.Host, error) {
	w.loads++
	if w.onLoad != nil {
		w.onLoad()
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
	w := &directory{known: map[string]hosts.Host{"acme.test": acme}}
	d := hosts.New(w.load, &url.URL{Scheme: "https", Host: "x.test"}, time.Second, func() time.Time { return now })
	for _, name := range []string{"acme.test", "ACME.test:8443", "acme.test."} {
		if h, err := d.Resolve(t.Context(), name); err != nil || h != acme {
			t.Fatalf("Resolve(%s) = %v, %v", name, h, err)
		}
	}
	if w.loads != 1 {
		t.Errorf("%d loads for one name", w.loads)
	}
	now = now.Add(time.Second)
	_, _ = d.Resolve(t.Context(), "acme.test")
	d.Invalidate()
	_, _ = d.Resolve(t.Context(), "acme.test")
	if w.loads != 3 {
		t.Errorf("%d loads, want one more after the ttl and one after Invalidate", w.loads)
	}
}

func TestResolveUnknown(t *testing.T) {
	t.Parallel()
	w := &directory{}
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
	w := &directory{free: &hosts.Host{Name: "old.test", Free: true}}
	d := hosts.New(w.load, &url.URL{Scheme: "https", Host: "x.test"}, time.Hour, time.Now)
	w.onLoad = func() { d.Invalidate() }
	_, _ = d.Resolve(t.Context(), "x.test")
	w.onLoad = nil
	w.free = &hosts.Host{Name: "new.test", Free: true}
	if h, _ := d.Resolve(t.Context(), "x.test"); h.Name != "new.test" {
		t.Errorf("kept %q", h.Name)
	}
}

func TestForeignNamesDoNotEvictOwn(t *testing.T) {
	t.Parallel()
	w := &directory{
		known: map[string]hosts.Host{"acme.test": {Name: "acme.test", Own: true}},
		free:  &hosts.Host{Name: "free.test", Free: true},
	}
	d := hosts.New(w.load, &url.URL{Scheme: "https", Host: "x.test"}, time.Hour, time.Now)
	_, _ = d.Resolve(t.Context(), "acme.test")
	for i := range 5000 {
		_, _ = d.Resolve(t.Context(), "made-up-"+strconv.Itoa(i))
	}
	before := w.loads
	if _, _ = d.Resolve(t.Context(), "acme.test"); w.loads != before {
		t.Error("many foreign names evicted an organization's own name")
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
		d := hosts.New((&directory{}).load, public, time.Hour, time.Now)
		if got := d.URL(c.host, "/t/x?y=1"); got != c.want {
			t.Errorf("URL = %s, want %s", got, c.want)
		}
	}
}

// TestURLOfForeignPath: a path that leads to another origin is replaced with the start page.
func TestURLOfForeignPath(t *testing.T) {
	t.Parallel()
	d := hosts.New((&directory{}).load, &url.URL{Scheme: "https", Host: "consign.test"}, time.Hour, time.Now)
	for path, want := range map[string]string{
		"": "", "/t/x?next=//a#//b": "/t/x?next=//a#//b", "/m/%C3%BC": "/m/%C3%BC",
		"//evil.test": "/", "@evil.test/": "/", ".evil.test/": "/", ":80@evil.test/": "/", "/\\evil.test": "/", "/\t/evil.test": "/",
		"/\n/evil.test": "/", "/.//evil.test": "/",
		"/%2e//evil.test": "/", "javascript:alert(1)": "/", "https://evil.test/": "/", "/a b": "/", "/x\r\nSet-Cookie: a=b": "/", "/?\x00": "/",
	} {
		if got := d.URL("acme.test", path); got != "https://acme.test"+want {
			t.Errorf("URL of %q = %s", path, got)
		}
	}
}

// A local path stays on its origin, whether it is appended to the origin or resolved against it. Browsers first skip tabs and line
// ends, trim white space and read a backslash as a slash.
func FuzzLocalPath(f *testing.F) {
	for _, path := range []string{"/t/x?y=1", "//evil.test", "/\\evil.test", "/\t/evil.test", "/.//evil.test", "@evil.test",
		"javascript:alert(1)", "/a#b?c//d"} {
		f.Add(path)
	}
	asBrowsers := strings.NewReplacer("\t", "", "\n", "", "\r", "", "\\", "/")
	base := &url.URL{Scheme: "https", Host: "consign.test", Path: "/login"}
	f.Fuzz(func(t *testing.T, path string) {
		if !hosts.LocalPath(path) {
			return
		}
		seen := strings.TrimSpace(asBrowsers.Replace(path))
		if strings.HasPrefix(seen, "//") || !strings.HasPrefix(seen, "/") {
			t.Fatalf("%q begins with a host", path)
		}
		resolved, err := base.Parse(seen)
		if err == nil && (resolved.Scheme != base.Scheme || resolved.Host != base.Host || resolved.User != nil ||
			strings.HasPrefix(resolved.Path, "//") && !strings.Contains(seen, "%2")) {
			t.Fatalf("%q leads to %s", path, resolved)
		}
		appended, err := url.Parse("https://consign.test" + seen)
		if err == nil && (appended.Host != "consign.test" || appended.User != nil) {
			t.Fatalf("%q appended is %s", path, appended)
		}
	})
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
