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
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/consign-dev/consign/api"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
)

// mediaTypes are those of the files we serve; the host's own table could say anything.
var mediaTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".yaml": "application/yaml", // RFC 9512
}

const (
	kept      = "public, max-age=31536000, immutable" // for addresses that change with the content
	asked     = "no-cache"
	brandFile = "brand.css"
)

// assets are the files that pages load. Their address names a digest of all of them, so that browsers keep them for
// good and no page ever runs with the script of another version.
type assets struct {
	names  []string
	brand  []byte        // the file that is not embedded
	digest func() string // of all, made when the first page is asked for
}

// path is where the files are, like /assets/1b2c3d4e/.
func (a assets) path() string { return "/assets/" + a.digest() + "/" }

// content reads a file, which costs a copy: whoever needs it often keeps it.
func (a assets) content(name string) []byte {
	if name == brandFile {
		return a.brand
	}
	content, _ := files.ReadFile("assets/" + name) // readAssets has found it
	return content
}

// readAssets finds the embedded files and makes the stylesheet with the configured colour.
func readAssets(accent string) (assets, error) {
	a := assets{names: []string{brandFile}}
	if accent != "" {
		if digits, ok := strings.CutPrefix(accent, "#"); !ok || len(digits) != 6 || strings.Trim(digits, "0123456789abcdefABCDEF") != "" {
			return a, errors.New("the accent colour is not of the form #rrggbb")
		}
		a.brand = []byte(":root { --brand: " + accent + "; }\n")
	}
	err := fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		a.names = append(a.names, strings.TrimPrefix(name, "assets/"))
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("read page assets: %w", err)
	}
	slices.Sort(a.names)
	a.digest = sync.OnceValue(func() string {
		all := sha256.New()
		for _, name := range a.names {
			sum := sha256.Sum256(a.content(name))
			_, _ = fmt.Fprintf(all, "%s %x\n", name, sum)
		}
		return hex.EncodeToString(all.Sum(nil)[:6])
	})
	return a, nil
}

// handleFiles registers the assets and the OpenAPI documents.
func (p *Pages) handleFiles() {
	for _, name := range p.assets.names {
		serve := file(name, func() []byte { return p.assets.content(name) }, kept)
		p.handle("/assets/{digest}/"+name, func(w http.ResponseWriter, r *http.Request) {
			if httpapi.Param(r, "digest") != p.assets.digest() {
				httpapi.WriteError(w, r, fault.ErrNotFound)
				return
			}
			serve(w, r)
		})
	}
	p.handle("/api/identity-v3.yaml", file("identity-v3.yaml", api.IdentityV3, asked))
	p.handle("/api/transfer-v2.yaml", file("transfer-v2.yaml", api.TransferV2, asked))
}

// file serves content that changes only with the program, compressed where that is understood. It is read when it is first
// asked for.
func file(name string, read func() []byte, cache string) http.HandlerFunc {
	content := sync.OnceValue(read)
	tag := sync.OnceValue(func() string {
		sum := sha256.Sum256(content())
		return base64.RawURLEncoding.EncodeToString(sum[:16])
	})
	small := sync.OnceValue(func() []byte { return compress(content()) })
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		secure(h)
		h.Set("Content-Type", mediaTypes[path.Ext(name)])
		h.Set("Cache-Control", cache)
		h.Add("Vary", "Accept-Encoding")
		if httpapi.AcceptsGzip(r) && r.Header.Get("Range") == "" {
			h.Set("Content-Encoding", "gzip")
			h.Set("ETag", `"`+tag()+`-gzip"`)
			h.Set("Content-Length", strconv.Itoa(len(small()))) // ServeContent leaves it out where there is an encoding
			http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(small()))
			return
		}
		h.Set("ETag", `"`+tag()+`"`)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content()))
	}
}

// compress returns content in the gzip encoding.
func compress(content []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(content) // into memory: neither can fail
	_ = z.Close()
	return b.Bytes()
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

// accepted splits one element of an Accept header into what it names and its weight.
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
