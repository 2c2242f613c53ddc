// Package web serves the pages at the root of each host (contract 8): the web client, which is plain ES modules and a
// stylesheet, the OpenAPI documents, and a page that shows them. The server renders the frame of a page in the visitor's
// language and embeds the translations that its scripts need. Everything else the client gets from the public REST APIs.
// The package has no state and uses no database. Opening a page never consumes the key in its path.
//
// app mounts Patterns beside both APIs and answers unknown API paths.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/i18n"
)

//go:embed assets/*.css assets/*.js assets/*.svg assets/upload/*.js assets/admin/*.js assets/admin/*.css
//go:embed assets/thirdparty/*.js assets/thirdparty/*.woff2 assets/thirdparty/noble/*.js
var files embed.FS

// policy is the Content-Security-Policy. Pages load from and talk to their own host only. Inline scripts do not run, and
// scripts cannot make markup from strings. Only assets/workers.js starts workers, from two scripts of ours. Images may also be QR codes
// (data:), avatars and previews (blob:), as videos and audio are.
const policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; img-src " +
	"'self' data: blob:; media-src blob:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types consign-workers"

// integrityPolicy makes browsers refuse scripts whose hash a page does not state. Workers are beyond it: only whole pages have import maps.
const integrityPolicy = "blocked-destinations=(script)"

// pagePolicy returns the policy of a page, which has one style element and one import map.
func pagePolicy(style, importMap string) string {
	allow := func(directive, inline string) string {
		sum := sha256.Sum256([]byte(inline))
		return directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	const styles, scripts = "style-src 'self'", "script-src 'self'"
	return strings.NewReplacer(styles, allow(styles, style), scripts, allow(scripts, importMap)).Replace(policy)
}

// permissions is the Permissions-Policy: pages use none of the devices and sensors that a browser could ask the visitor for.
// Uploads keep the screen on.
const permissions = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), serial=(), hid=(), midi=(), " +
	"display-capture=(), screen-wake-lock=(self), accelerometer=(), gyroscope=(), magnetometer=()"

// localeCookie holds the locale that a visitor chose in the footer. The client sets it.
const localeCookie = "locale"

// Options configures the pages.
type Options struct {
	ProductName      string // in the header of every page
	ProviderName     string // in the footer; empty: none
	ProviderURL      string // link of ProviderName; empty: no link
	PasswordMinimum  int    // least number of characters in a new password
	SupportContact   string // email address or URL in the footer; empty: none
	SecurityContact  string // email address or URL in security.txt; empty: no such file
	AccentColor      string // #rrggbb; empty: the default of the stylesheet
	IdentityBasePath string // like /id/v3
	TransferBasePath string // like /transfer/v2
	Catalog          *i18n.Catalog
	Demo             bool                           // also the pages of a demo
	Announced        func() (from, until time.Time) // of a maintenance to come; zero: none, or an end that is not known
	Now              func() time.Time               // the clock that token expiry is compared with
	Log              *slog.Logger
}

// Pages serves the pages, their assets and the OpenAPI documents.
type Pages struct {
	options  Options
	assets   assets
	scripts  func() (map[string]script, error) // by the name of a page's module; read at the first request
	mux      *chi.Mux
	patterns []string
}

// New returns the Pages. It fails when an embedded file is damaged or AccentColor is not a colour.
func New(o Options) (*Pages, error) {
	p := &Pages{options: o, mux: chi.NewMux()}
	var err error
	if p.assets, err = readAssets(o.AccentColor); err != nil {
		return nil, err
	}
	p.scripts = sync.OnceValues(func() (map[string]script, error) { return readScripts(p.assets) })
	for _, e := range entries {
		p.handle(e.pattern, p.page(e))
	}
	if o.Demo {
		for _, e := range demoEntries {
			p.handle(e.pattern, p.page(e))
		}
	}
	p.handleFiles()
	p.handleDocuments()
	if o.SecurityContact != "" {
		p.handle("/.well-known/security.txt", p.securityText)
	}
	p.handleReference()
	return p, nil
}

// Patterns returns the chi patterns of all paths. Each takes GET and HEAD and answers 405 to other methods.
func (p *Pages) Patterns() []string { return p.patterns }

// ServeHTTP answers a request for one of Patterns.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// NotFound serves the "page not found" page. A page's path with trailing slashes is redirected to the page. It is for
// browsers: see PrefersHTML.
func (p *Pages) NotFound(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimRight(r.URL.EscapedPath(), "/")
	if path != r.URL.EscapedPath() && hosts.LocalPath(path) && p.mux.Match(chi.NewRouteContext(), http.MethodGet, path) {
		if r.URL.RawQuery != "" {
			path += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, path, http.StatusSeeOther)
		return
	}
	p.render(w, r, http.StatusNotFound, missing)
}

// Closed serves the page of a maintenance, which ends about until (zero: not known). It is for browsers: see PrefersHTML.
func (p *Pages) Closed(w http.ResponseWriter, r *http.Request, until time.Time) {
	p.render(w, r, http.StatusServiceUnavailable, closedUntil(until))
}

// handle registers h for a chi pattern. It uses chi like app does, because http.ServeMux redirects paths such as /m/.. .
func (p *Pages) handle(pattern string, h http.HandlerFunc) {
	p.patterns = append(p.patterns, pattern)
	p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			httpapi.WriteError(w, r, fault.ErrMethodNotAllowed.With("this is a page: GET and HEAD only"))
			return
		}
		h(w, r)
	})
}

func (p *Pages) page(e entry) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !utf8.ValidString(httpapi.Param(r, "key")) { // not a key: scripts could not decode it
			p.NotFound(w, r)
			return
		}
		p.render(w, r, http.StatusOK, e)
	}
}

// locale returns the visitor's locale: from the cookie, or from Accept-Language.
func (p *Pages) locale(r *http.Request) string {
	if c, err := r.Cookie(localeCookie); err == nil && i18n.Supported(c.Value) {
		return c.Value
	}
	return p.options.Catalog.Match(r.Header.Get("Accept-Language"))
}

// render serves a page in the visitor's language.
func (p *Pages) render(w http.ResponseWriter, r *http.Request, status int, e entry) {
	locale := p.locale(r)
	v, err := p.view(e, locale)
	if err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	var body bytes.Buffer
	_ = v.layout().Render(&body) // into memory: cannot fail
	h := w.Header()
	secure(h)
	h.Set("Content-Security-Policy", v.Policy)
	h.Set("Integrity-Policy", integrityPolicy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", strings.ReplaceAll(locale, "_", "-"))
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Language, Cookie, Accept-Encoding")
	content := body.Bytes()
	if httpapi.AcceptsGzip(r) {
		content = compress(content)
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := w.Write(content); err != nil {
		p.options.Log.DebugContext(r.Context(), "writing a page failed", "error", err)
	}
}

// secure sets the security headers of every response.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", permissions)
}
