// Package web owns the pages at the root of each host (contract 8): HTML in the visitor's language, its stylesheet and
// scripts, and the OpenAPI documents. The pages hold no state and touch no database; their scripts call the public API
// like any other client. Opening a page never consumes the key in its path.
//
// It does not own what the calls do, nor the answers to unknown API paths; app mounts Patterns beside both APIs.
package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/i18n"
)

//go:embed templates/*.html assets/*
var files embed.FS

// policy lets a page load only what lies beside it and talk only to its own host; nothing inline runs, and no script
// can make markup from strings.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// Options is what the pages show and where their scripts call.
type Options struct {
	ProductName      string // heads every page
	ProviderName     string // stands at the foot; empty: nothing
	ProviderURL      string // where ProviderName leads; empty: nowhere
	SupportContact   string // email address at the foot; empty: none
	IdentityBasePath string // like /id/v3
	TransferBasePath string // like /transfer/v2
	Catalog          *i18n.Catalog
	Log              *slog.Logger
}

// Pages serves everything of the package.
type Pages struct {
	options   Options
	templates map[string]*template.Template
	mux       *http.ServeMux
	patterns  []string
}

// New prepares the pages. It fails only when an embedded file is damaged.
func New(o Options) (*Pages, error) {
	p := &Pages{options: o, templates: map[string]*template.Template{}, mux: http.NewServeMux()}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("list page templates: %w", err)
	}
	for _, name := range names {
		t, err := template.New("layout.html").Option("missingkey=error").ParseFS(files, "templates/layout.html", name)
		if err != nil {
			return nil, fmt.Errorf("read page template: %w", err)
		}
		p.templates[strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")] = t
	}
	for _, e := range entries() {
		p.handle(e.pattern, p.page(e.build))
	}
	if err := p.handleFiles(); err != nil {
		return nil, err
	}
	return p, nil
}

// Patterns lists the paths that the pages answer, in the notation of chi. Each takes GET and HEAD, and answers other
// methods with 405.
func (p *Pages) Patterns() []string { return p.patterns }

// ServeHTTP answers a request for one of Patterns.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// NotFound answers with a page that nothing is there. It is for browsers: see PrefersHTML.
func (p *Pages) NotFound(w http.ResponseWriter, r *http.Request) {
	p.render(w, r, http.StatusNotFound, missingPage)
}

// handle registers h for a pattern of chi, which net/http understands as well but for the root.
func (p *Pages) handle(pattern string, h http.HandlerFunc) {
	p.patterns = append(p.patterns, pattern)
	own := pattern
	if strings.HasSuffix(own, "/") {
		own += "{$}"
	}
	p.mux.HandleFunc(own, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			httpapi.WriteError(w, r, fault.ErrMethodNotAllowed.With("this is a page: GET and HEAD only"))
			return
		}
		h(w, r)
	})
}

func (p *Pages) page(build builder) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { p.render(w, r, http.StatusOK, build) }
}

// render answers with a page in the language that the request accepts best.
func (p *Pages) render(w http.ResponseWriter, r *http.Request, status int, build builder) {
	locale := p.options.Catalog.Match(r.Header.Get("Accept-Language"))
	c := context{
		Printer: p.options.Catalog.Printer(locale), Options: p.options, key: url.PathEscape(r.PathValue("key")),
	}
	v := build(c)
	v.common(c, locale)
	var body bytes.Buffer
	if err := p.templates[v.Template].Execute(&body, v); err != nil {
		httpapi.WriteError(w, r, fmt.Errorf("render page %s: %w", v.Template, err))
		return
	}
	h := w.Header()
	secure(h)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", strings.ReplaceAll(locale, "_", "-"))
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Language")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := w.Write(body.Bytes()); err != nil {
		p.options.Log.DebugContext(r.Context(), "page not taken", "error", err)
	}
}

// secure sets the headers that every answer of the package carries.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}
