package web

import (
	"html/template"
	"net/http"

	"github.com/consign-dev/consign/internal/i18n"
)

// handleReference registers the page that shows the OpenAPI documents.
func (p *Pages) handleReference() error {
	e := entry{
		pattern: "/api/",
		title:   func(t i18n.Printer) string { return t.T("API reference") },
		lead:    func(t i18n.Printer) string { return t.T("This server speaks two APIs, each described by an OpenAPI document:") },
		body:    template.HTML(`<p><a href="/api/identity-v3.yaml">identity-v3.yaml</a> <a href="/api/transfer-v2.yaml">transfer-v2.yaml</a></p>`),
	}
	p.handle("/api", func(w http.ResponseWriter, r *http.Request) { p.render(w, r, http.StatusOK, e) })
	p.handle("/api/", func(w http.ResponseWriter, r *http.Request) { p.render(w, r, http.StatusOK, e) })
	return nil
}
