package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/consign-dev/consign/api"
)

// mediaTypes are those of the files we serve; the host's own table could say anything.
var mediaTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".yaml": "application/yaml", // RFC 9512
}

// handleFiles registers the stylesheet, the scripts and the OpenAPI documents.
func (p *Pages) handleFiles() error {
	entries, err := files.ReadDir("assets")
	if err != nil {
		return fmt.Errorf("list page assets: %w", err)
	}
	for _, e := range entries {
		content, err := files.ReadFile("assets/" + e.Name())
		if err != nil {
			return fmt.Errorf("read page asset: %w", err)
		}
		p.handle("/assets/"+e.Name(), file(e.Name(), content))
	}
	p.handle("/api/identity-v3.yaml", file("identity-v3.yaml", api.IdentityV3()))
	p.handle("/api/transfer-v2.yaml", file("transfer-v2.yaml", api.TransferV2()))
	return nil
}

// file serves content that changes only with the program. Clients keep it and ask whether it is still the same, so that
// no page ever runs with the script of another version.
func file(name string, content []byte) http.HandlerFunc {
	sum := sha256.Sum256(content)
	etag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		secure(h)
		h.Set("Content-Type", mediaTypes[path.Ext(name)])
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", etag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	}
}

// PrefersHTML reports whether a request comes from a browser that shows pages rather than from a client of the API: its
// Accept header (RFC 9110, 12.5.1) names HTML, and nothing about JSON ranks as high.
func PrefersHTML(r *http.Request) bool {
	html, json := 0.0, 0.0
	for _, field := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(field, ",") {
			mediaType, weight := accepted(part)
			switch mediaType {
			case "text/html", "application/xhtml+xml":
				html = max(html, weight)
			case "application/json":
				json = max(json, weight)
			}
		}
	}
	return html > json
}

// accepted splits one element of an Accept header into its media type and weight.
func accepted(part string) (mediaType string, weight float64) {
	mediaType, parameters, _ := strings.Cut(part, ";")
	weight = 1
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if strings.EqualFold(name, "q") {
			if _, err := fmt.Sscanf(value, "%g", &weight); err != nil {
				weight = 0
			}
		}
	}
	return strings.ToLower(strings.TrimSpace(mediaType)), weight
}
