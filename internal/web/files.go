// Serves scripts, styles and pictures below hashed paths: caching, gzip, and the styles of the first paint.

package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
)

// mediaTypes holds the types of the served files. The table of the operating system is not used: it differs per host.
var mediaTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".woff2": "font/woff2",
	".yaml":  "application/yaml", // RFC 9512
	".json":  "application/json",
}

const (
	immutable  = "public, max-age=31536000, immutable" // for paths with a digest
	revalidate = "no-cache"
	critical   = "critical.css"
)

// assets holds the files that pages load. Their path contains a digest of all files, so that browsers may cache them for
// good and a page never runs a script of another version.
type assets struct {
	names  []string                   // all but critical
	sums   func() map[string][32]byte // SHA-256 of each file as it is served; computed at the first request
	digest func() string              // of all files
	style  func() string              // rules that pages contain, for their first paint: critical, then the configured colour
}

// path returns the path of the files, like /assets/1b2c3d4e5f60/.
func (a assets) path() string { return "/assets/" + a.digest() + "/" }

// integrity returns the hash of a file as browsers check it (Subresource Integrity).
func (a assets) integrity(name string) string {
	sum := a.sums()[name]
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// content returns a copy of a file.
func (a assets) content(name string) []byte {
	content, _ := files.ReadFile("assets/" + name) // cannot fail: readAssets has listed it
	switch {
	case path.Ext(name) == ".css":
		return styleComments.ReplaceAll(content, nil)
	case path.Ext(name) == ".js" && !strings.HasPrefix(name, "thirdparty/"):
		return inlineTypes.ReplaceAll(commentLines.ReplaceAll(content, nil), nil)
	}
	return content
}

// Browsers get our own scripts without the comments that begin a line, which are a third, and without types; stylesheets without comments.
var (
	commentLines  = regexp.MustCompile(`(?m)^[ \t]*(?://.*|/\*\*(?:[^*]|\*[^/])*\*/)\n`)
	inlineTypes   = regexp.MustCompile(`/\*\*(?:[^*]|\*[^/])*\*/ ?`)
	styleComments = regexp.MustCompile(`(?s)[ \t]*/\*.*?\*/`)
)

// readAssets lists the embedded files. accent is the configured colour.
func readAssets(accent string) (assets, error) {
	var a assets
	brand := ""
	if accent != "" {
		if digits, ok := strings.CutPrefix(accent, "#"); !ok || len(digits) != 6 || strings.Trim(digits, "0123456789abcdefABCDEF") != "" {
			return a, errors.New("the accent colour is not of the form #rrggbb")
		}
		brand = ":root { --brand: " + accent + "; }"
	}
	err := fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name = strings.TrimPrefix(name, "assets/"); name != critical {
			a.names = append(a.names, name)
		}
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("read page assets: %w", err)
	}
	slices.Sort(a.names)
	a.sums = sync.OnceValue(func() map[string][32]byte {
		sums := map[string][32]byte{}
		for _, name := range a.names {
			sums[name] = sha256.Sum256(a.content(name))
		}
		return sums
	})
	a.digest = sync.OnceValue(func() string {
		all := sha256.New()
		for _, name := range a.names {
			_, _ = fmt.Fprintf(all, "%s %x\n", name, a.sums()[name])
		}
		return hex.EncodeToString(all.Sum(nil)[:6])
	})
	a.style = sync.OnceValue(func() string {
		return strings.ReplaceAll(string(a.content(critical)), `url("`, `url("`+a.path()) + brand
	})
	return a, nil
}

// handleFiles registers the assets.
func (p *Pages) handleFiles() {
	for _, name := range p.assets.names {
		serve := file(name, func() []byte { return p.assets.content(name) }, immutable)
		p.handle("/assets/{digest}/"+name, func(w http.ResponseWriter, r *http.Request) {
			if httpapi.Param(r, "digest") != p.assets.digest() {
				httpapi.WriteError(w, r, fault.ErrNotFound)
				return
			}
			serve(w, r)
		})
	}
}

// securityText serves security.txt (RFC 9116): where to report a vulnerability. RFC 9116, 2.5.5 wants an expiry less than a
// year ahead: it is 30 days after today.
func (p *Pages) securityText(w http.ResponseWriter, r *http.Request) {
	expires := p.options.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 30)
	content := "Contact: " + contactURL(p.options.SecurityContact) + "\nExpires: " + expires.Format(time.RFC3339) +
		"\nPreferred-Languages: en\n"
	h := w.Header()
	secure(h)
	h.Set("Content-Type", "text/plain; charset=utf-8") // RFC 9116, 3
	h.Set("Cache-Control", "public, max-age=3600")
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
}

// file serves content that is constant for this binary, with gzip when the client accepts it. It is read at the first
// request.
func file(name string, read func() []byte, cache string) http.HandlerFunc {
	content := sync.OnceValue(read)
	tag := sync.OnceValue(func() string {
		sum := sha256.Sum256(content())
		return base64.RawURLEncoding.EncodeToString(sum[:16])
	})
	compressed := sync.OnceValue(func() []byte { return compress(content()) })
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		secure(h)
		h.Set("Content-Type", mediaTypes[path.Ext(name)])
		h.Set("Cache-Control", cache)
		h.Add("Vary", "Accept-Encoding")
		if httpapi.AcceptsGzip(r) && r.Header.Get("Range") == "" && path.Ext(name) != ".woff2" { // is compressed
			h.Set("Content-Encoding", "gzip")
			h.Set("ETag", `"`+tag()+`-gzip"`)
			h.Set("Content-Length", strconv.Itoa(len(compressed()))) // ServeContent omits it with a Content-Encoding
			http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(compressed()))
			return
		}
		h.Set("ETag", `"`+tag()+`"`)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content()))
	}
}

// compress returns content compressed with gzip.
func compress(content []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(content) // writing to memory cannot fail
	_ = z.Close()
	return b.Bytes()
}

// PrefersHTML reports whether a request comes from a browser, not from a client of the API: its Accept header (RFC 9110,
// 12.5.1) gives HTML a higher weight than JSON.
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

// accepted parses one element of an Accept header into its media type and its weight.
func accepted(part string) (name string, weight float64) {
	name, parameters, _ := strings.Cut(part, ";")
	weight = 1
	for parameter := range strings.SplitSeq(parameters, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if strings.EqualFold(key, "q") {
			if _, err := fmt.Sscanf(value, "%g", &weight); err != nil {
				weight = 0
			}
		}
	}
	return strings.ToLower(strings.TrimSpace(name)), weight
}
