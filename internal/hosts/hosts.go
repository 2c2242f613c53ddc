// Package hosts maps hostnames to organizations (contract 1.2): a cache with TTL over a look-up that another package provides. It
// also builds absolute URLs. Package httpserver decides which hostname a request was sent to.
package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/microcache"
)

// Host is the organization that a hostname selects.
type Host struct {
	Name         string          // the organization's active hostname: lower case, no port; links are built from it
	Organization id.Organization // the organization the hostname selects
	Free         bool            // that organization is the free one
	// the requested name is the organization's own, active or inactive; false when the free organization is the fallback
	Own bool

	UploadOrigins string // origins of other sites whose pages may upload here (contract 1.10), separated by spaces: Host is a key of caches
}

// ListsOrigin reports whether origin, in lower case, is one of the organization's upload origins.
func (h Host) ListsOrigin(origin string) bool {
	for listed := range strings.FieldsSeq(h.UploadOrigins) {
		if listed == origin {
			return true
		}
	}
	return false
}

// Load returns the host of a lower-case name without port.
// Errors: identity.ErrNoHost when the name belongs to no organization and there is no free one.
type Load func(ctx context.Context, name string) (Host, error)

// Sizes of the caches. Clients choose unknown names freely, so these have their own small cache and cannot evict real ones.
const (
	maxOwn    = 16384
	maxOthers = 1024
)

// Directory caches hosts for its TTL. It is safe for concurrent use.
type Directory struct {
	load   Load
	public *url.URL
	own    *microcache.Cache[string, Host]
	others *microcache.Cache[string, Host]
	last   atomic.Pointer[Host] // that of public, as it was loaded last
}

// New returns a directory that caches the results of load for ttl. URLs get the scheme and port of publicURL.
func New(load Load, publicURL *url.URL, ttl time.Duration, now func() time.Time) *Directory {
	return &Directory{
		load: load, public: publicURL,
		own:    microcache.NewSized[string, Host](ttl, maxOwn, now),
		others: microcache.NewSized[string, Host](ttl, maxOthers, now),
	}
}

// Resolve returns the host of hostname. It ignores a port, upper case and a final dot. For a string that cannot be a hostname it calls
// load with "".
// Errors: those of load.
func (d *Directory) Resolve(ctx context.Context, hostname string) (Host, error) {
	name := Normalize(hostname)
	if !plausible(name) {
		name = ""
	}
	host, stamp, ok := d.own.Lookup(name)
	if ok {
		return host, nil
	}
	if host, _, ok = d.others.Lookup(name); ok {
		return host, nil
	}
	host, err := d.load(ctx, name)
	isPublic := name == Normalize(d.public.Host)
	if last := d.last.Load(); err != nil && isPublic && last != nil && !errors.As(err, new(*fault.Error)) {
		return *last, nil // without the database: what needs no database is served at the public host
	}
	if err != nil {
		return Host{}, fmt.Errorf("resolve host: %w", err)
	}
	if isPublic {
		d.last.Store(&host)
	}
	cache := d.others
	if host.Own {
		cache = d.own
	}
	cache.Store(strings.Clone(name), host, stamp) // name is part of a request header
	return host, nil
}

// Invalidate makes the next Resolve of each name call load.
func (d *Directory) Invalidate() {
	d.own.Invalidate()
	d.others.Invalidate()
}

// URL returns the absolute address of path at host, with the scheme and port of the public URL. path is escaped already and
// may carry a query. A path that is not local becomes "/"; an empty one stays empty.
func (d *Directory) URL(host, path string) string {
	if path != "" && !LocalPath(path) {
		path = "/"
	}
	if port := d.public.Port(); port != "" {
		host = net.JoinHostPort(host, port)
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return d.public.Scheme + "://" + host + path
}

// LocalPath reports whether a path stays on its origin, in every browser, alone in a redirect or appended to an origin. It
// begins with exactly one slash. It has no empty segment, and no backslash, white space or control character anywhere:
// browsers read a backslash as a slash and skip tabs and line ends. Function localPath of the web client has the same rule.
func LocalPath(path string) bool {
	if strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return false
	}
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		path = path[:end]
	}
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//")
}

// Normalize returns the name of a Host header as hostnames are stored: lower case, without port, brackets and final dot. It does not
// validate.
func Normalize(hostname string) string {
	if strings.HasPrefix(hostname, "[") {
		if end := strings.IndexByte(hostname, ']'); end > 0 {
			return strings.ToLower(hostname[1:end])
		}
	}
	if colon := strings.IndexByte(hostname, ':'); colon >= 0 && strings.LastIndexByte(hostname, ':') == colon {
		hostname = hostname[:colon]
	}
	return strings.ToLower(strings.TrimSuffix(hostname, "."))
}

// plausible reports whether name could be a hostname. Other strings are not looked up in the database.
func plausible(name string) bool {
	if len(name) > 253 {
		return false
	}
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_' || c == ':') {
			return false
		}
	}
	return true
}
