// Reads the site of a server: its pages, the scripts that they refer to, and the files of a manifest.

package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/sync/errgroup"
)

const (
	largest = 64 << 20 // bytes of an answer
	longest = time.Minute
	atOnce  = 4 // requests
)

// Difference is a way in which a site is not what its manifest says.
type Difference struct {
	Kind string `json:"kind"` // changed, missing, unknown
	Path string `json:"path"`
	Says string `json:"says"`
}

// The kinds of differences.
const (
	Changed = "changed" // other bytes than those of the manifest
	Missing = "missing" // of the manifest, and not served
	Unknown = "unknown" // a page runs it, and the manifest does not have it
)

// Site is a server as a browser sees it.
type Site struct {
	base   *url.URL
	client *http.Client
}

// NewSite returns the site at an address like https://files.example.com.
func NewSite(address string) (*Site, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not an address like https://files.example.com", address)
	}
	return &Site{base: &url.URL{Scheme: u.Scheme, Host: u.Host}, client: &http.Client{
		Timeout:       longest,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// answer is what the site sends for a path.
type answer struct {
	status int
	html   bool
	body   []byte
}

func (s *Site) get(ctx context.Context, path string) (answer, error) {
	at, err := s.base.Parse(path)
	if err != nil {
		return answer{}, fmt.Errorf("read %s: %w", path, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return answer{}, fmt.Errorf("read %s: %w", path, err)
	}
	r.Header.Set("Accept", "text/html,*/*;q=0.8") // as browsers ask
	resp, err := s.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, largest))
	if err != nil {
		return answer{}, fmt.Errorf("read %s: %w", path, err)
	}
	return answer{resp.StatusCode, strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"), body}, nil
}

// ErrNoManifest means that the pages of a site are those of no manifest.
var ErrNoManifest = errors.New("its pages load scripts of no version whose manifest was given")

// Choose returns which of several manifests is that of the version which the site serves: its start page loads the scripts of one.
// Errors: ErrNoManifest.
func (s *Site) Choose(ctx context.Context, manifests []Statement) (int, error) {
	start, err := s.get(ctx, "/")
	if err != nil {
		return 0, err
	}
	refers, _ := s.references("/", start.body)
	best, most := -1, 0
	for i, m := range manifests {
		n := 0
		for _, path := range refers {
			if _, ok := m.Named(path); ok {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	if best < 0 {
		return 0, ErrNoManifest
	}
	return best, nil
}

// Compare returns how the site differs from a manifest: in the files of the manifest, and in what its pages run. Other errors are those
// of the network.
func (s *Site) Compare(ctx context.Context, manifest Statement) ([]Difference, error) {
	c := comparison{site: s, manifest: manifest, asked: map[string]bool{}}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for _, f := range manifest.Files {
		all.Go(func() error { return c.file(ctx, f) })
	}
	for _, page := range manifest.Pages {
		all.Go(func() error { return c.page(ctx, page) })
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(c.found, func(a, b Difference) int {
		return strings.Compare(a.Kind+" "+a.Path+" "+a.Says, b.Kind+" "+b.Path+" "+b.Says)
	})
	return c.found, nil
}

// comparison is a run of Compare.
type comparison struct {
	site     *Site
	manifest Statement

	mu    sync.Mutex
	asked map[string]bool // unknown scripts
	found []Difference
}

func (c *comparison) add(kind, path, says string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = append(c.found, Difference{kind, path, says})
}

// file compares a file.
func (c *comparison) file(ctx context.Context, f File) error {
	got, err := c.site.get(ctx, f.Name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(got.body)
	switch {
	case got.status != http.StatusOK:
		c.add(Missing, f.Name, fmt.Sprintf("the server answers %d", got.status))
	case hex.EncodeToString(sum[:]) != f.SHA256:
		c.add(Changed, f.Name, fmt.Sprintf("its SHA-256 is %x, not %s", sum, f.SHA256))
	}
	return nil
}

// page compares what a page runs. A page that the server does not have for strangers answers with the page "not found".
func (c *comparison) page(ctx context.Context, path string) error {
	got, err := c.site.get(ctx, path)
	if err != nil {
		return err
	}
	if !got.html {
		c.add(Missing, path, fmt.Sprintf("the server answers %d without a page", got.status))
		return nil
	}
	scripts, inline := c.site.references(path, got.body)
	for _, what := range inline {
		c.add(Unknown, path, what)
	}
	for _, script := range scripts {
		if _, ok := c.manifest.Named(script); ok {
			continue
		}
		c.mu.Lock()
		known := c.asked[script]
		c.asked[script] = true
		c.mu.Unlock()
		if !known {
			c.add(Unknown, script, "a script of the page "+path+" that the manifest does not have")
		}
	}
	return nil
}

// references returns the scripts that a page refers to, as paths or as whole addresses on other hosts, and what it runs beside them.
func (s *Site) references(page string, text []byte) (scripts, inline []string) {
	at, err := s.base.Parse(page)
	if err != nil {
		return nil, []string{"its address is not one"}
	}
	r := reading{site: s, at: at}
	for z := html.NewTokenizer(strings.NewReader(string(text))); ; {
		switch z.Next() {
		case html.ErrorToken: // the end
			return r.scripts, r.inline
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			content := ""
			if token.Data == "script" && z.Next() == html.TextToken {
				content = string(z.Raw())
			}
			r.element(token, content)
		default:
		}
	}
}

// reading is what references has found of a page.
type reading struct {
	site            *Site
	at              *url.URL
	scripts, inline []string
}

func (r *reading) element(t html.Token, content string) {
	attribute := map[string]string{}
	for _, a := range t.Attr {
		attribute[a.Key] = a.Val
		if strings.HasPrefix(a.Key, "on") {
			r.inline = append(r.inline, fmt.Sprintf("the element %s runs a script in %s", t.Data, a.Key))
		}
		if strings.HasPrefix(strings.ToLower(strings.Join(strings.Fields(a.Val), "")), "javascript:") {
			r.inline = append(r.inline, fmt.Sprintf("the element %s runs the script of an address", t.Data))
		}
	}
	switch t.Data {
	case "script":
		r.script(attribute, content)
	case "link":
		rel := strings.Fields(strings.ToLower(attribute["rel"]))
		if slices.Contains(rel, "modulepreload") || slices.Contains(rel, "preload") && strings.EqualFold(attribute["as"], "script") {
			r.refer(attribute["href"])
		}
	case "base", "iframe", "frame", "object", "embed":
		r.inline = append(r.inline, "it has an element "+t.Data)
	}
}

func (r *reading) script(attribute map[string]string, content string) {
	source, outside := attribute["src"]
	switch kind := strings.ToLower(strings.TrimSpace(attribute["type"])); {
	case outside:
		r.refer(source)
	case kind == "application/json": // is not run
	case kind == "importmap":
		r.importMap(content)
	default:
		r.inline = append(r.inline, "it has a script within")
	}
}

// importMap reads an import map, which may state hashes and nothing else.
func (r *reading) importMap(text string) {
	var stated map[string]map[string]string
	if json.Unmarshal([]byte(text), &stated) != nil || len(stated) != 1 || stated["integrity"] == nil {
		r.inline = append(r.inline, "its import map states more than hashes")
		return
	}
	for script := range stated["integrity"] {
		r.refer(script)
	}
}

func (r *reading) refer(address string) {
	u, err := r.at.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		r.scripts = append(r.scripts, address)
	case u.Scheme == r.site.base.Scheme && u.Host == r.site.base.Host:
		r.scripts = append(r.scripts, u.RequestURI())
	default:
		r.scripts = append(r.scripts, u.String())
	}
}
