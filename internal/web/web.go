// Package web owns the pages at the root of each host (contract 8): a web client made of plain ES modules, its
// stylesheet, and the OpenAPI documents with a page that shows them. The server's part is small: it renders the frame of
// a page in the visitor's language and hands the client its sentences; the client talks to the public REST API like any
// other client. The pages hold no state and touch no database, and opening one never consumes the key in its path.
//
// It does not own what the calls do, nor the answers to unknown API paths; app mounts Patterns beside both APIs.
package web

import (
	"bytes"
	"embed"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/i18n"
)

//go:embed assets/*.css assets/*.js assets/*.svg assets/upload/*.js assets/vendor/*.js
var files embed.FS

// policy lets a page load only what lies beside it and talk only to its own host; nothing inline runs, and no script
// can make markup from strings. Pictures may also come from memory: QR codes (data) and avatars (blob).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// localeCookie holds the locale that somebody chose at the foot of a page; the client sets it.
const localeCookie = "locale"

// Options is what the pages show and where their scripts call.
type Options struct {
	ProductName      string // heads every page
	ProviderName     string // stands at the foot; empty: nothing
	ProviderURL      string // where ProviderName leads; empty: nowhere
	SupportContact   string // email address or URL at the foot; empty: none
	AccentColor      string // #rrggbb; empty: the stylesheet's own
	IdentityBasePath string // like /id/v3
	TransferBasePath string // like /transfer/v2
	Catalog          *i18n.Catalog
	Now              func() time.Time // the clock by which tokens are issued
	Log              *slog.Logger
}

// Pages serves everything of the package.
type Pages struct {
	options  Options
	assets   assets
	scripts  func() (map[string]script, error) // by the name of a page's module; read when the first page is asked for
	mux      *chi.Mux
	patterns []string
}

// New prepares the pages. It fails when an embedded file is damaged or AccentColor is not a colour.
func New(o Options) (*Pages, error) {
	p := &Pages{options: o, mux: chi.NewMux()}
	var err error
	if p.assets, err = readAssets(o.AccentColor); err != nil {
		return nil, err
	}
	p.scripts = sync.OnceValues(func() (map[string]script, error) { return readScripts(p.assets) })
	for _, e := range entries() {
		p.handle(e.pattern, p.page(e))
	}
	p.handleFiles()
	p.handleReference()
	return p, nil
}

// Patterns lists the paths that the pages answer, in the notation of chi. Each takes GET and HEAD, and answers other
// methods with 405.
func (p *Pages) Patterns() []string { return p.patterns }

// ServeHTTP answers a request for one of Patterns.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// NotFound answers with a page that nothing is there, and leads the link of a page that ends in a slash to that page. It is for
// browsers: see PrefersHTML.
func (p *Pages) NotFound(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimRight(r.URL.EscapedPath(), "/")
	if path != r.URL.EscapedPath() && !strings.HasPrefix(path, "//") && p.mux.Match(chi.NewRouteContext(), http.MethodGet, path) { // two slashes would begin a host
		if r.URL.RawQuery != "" {
			path += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, path, http.StatusSeeOther)
		return
	}
	p.render(w, r, http.StatusNotFound, missing)
}

// handle registers h for a pattern of chi, with whose eyes app looks at the path too: net/http would redirect what it finds untidy.
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
		if !utf8.ValidString(httpapi.Param(r, "key")) { // no key, and nothing that a script could decode
			p.NotFound(w, r)
			return
		}
		p.render(w, r, http.StatusOK, e)
	}
}

// locale is the language of a visitor: chosen at the foot of a page, or what the browser asks for.
func (p *Pages) locale(r *http.Request) string {
	if c, err := r.Cookie(localeCookie); err == nil && i18n.Supported(c.Value) {
		return c.Value
	}
	return p.options.Catalog.Match(r.Header.Get("Accept-Language"))
}

// render answers with a page in the visitor's language.
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
		p.options.Log.DebugContext(r.Context(), "page not taken", "error", err)
	}
}

// secure sets the headers that every answer of the package carries.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}
