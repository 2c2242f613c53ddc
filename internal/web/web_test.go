package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/api"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/web"
)

// made are the pages that all tests share: they hold no state.
var made = sync.OnceValues(func() (*web.Pages, error) {
	catalog, err := i18n.New()
	if err != nil {
		return nil, err
	}
	return web.New(web.Options{
		ProductName: "Consign", ProviderName: "Example <Ltd>", ProviderURL: "https://example.org/",
		SupportContact: "help@example.org", AccentColor: "#123456", IdentityBasePath: "/id/v3", TransferBasePath: "/transfer/v2",
		Catalog: catalog, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
})

func pages(t *testing.T) *web.Pages {
	t.Helper()
	p, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// answer is a response with its body read.
type answer struct {
	status int
	header http.Header
	body   string
}

func ask(t *testing.T, h http.Handler, method, path string, header ...string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

// contractPaths is the table of contract 8.
var contractPaths = []string{
	"/", "/m/demo", "/g/sales", "/t/abc", "/signup", "/login", "/confirm/abc", "/reset", "/reset/abc", "/invitation/abc",
	"/inbox", "/send", "/mailbox", "/account", "/organization", "/api/", "/api/identity-v3.yaml", "/api/transfer-v2.yaml",
}

func TestEveryPathOfTheContractAnswers(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for _, path := range contractPaths {
		get, head := ask(t, p, "GET", path), ask(t, p, "HEAD", path)
		if get.status != 200 || head.status != 200 || get.body == "" || head.body != "" {
			t.Errorf("%s: GET %d, HEAD %d, %d bytes", path, get.status, head.status, len(get.body))
		}
		for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "Content-Security-Policy"} {
			if v := get.header.Get(name); v == "" || v != head.header.Get(name) {
				t.Errorf("%s: %s is %q, for HEAD %q", path, name, v, head.header.Get(name))
			}
		}
		post := ask(t, p, "POST", path)
		if post.status != 405 || post.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: POST %d, Allow %q", path, post.status, post.header.Get("Allow"))
		}
	}
}

func TestPatternsAreWhatIsServed(t *testing.T) {
	t.Parallel()
	p := pages(t)
	digest := regexp.MustCompile(`/assets/([0-9a-f]{12})/`).FindStringSubmatch(ask(t, p, "GET", "/").body)
	if digest == nil {
		t.Fatal("no page loads anything")
	}
	for _, pattern := range p.Patterns() {
		if res := ask(t, p, "GET", strings.NewReplacer("{key}", "k", "{digest}", digest[1]).Replace(pattern)); res.status != 200 {
			t.Errorf("%s: %d", pattern, res.status)
		}
	}
	for _, path := range []string{"/unknown", "/m/", "/m/a/b", "/assets/", "/assets/x/mailboxpage.js", "/api/x", "/login/", "/m/M%FCller", "/g/%ff", "/t/%ff"} {
		if res := ask(t, p, "GET", path); res.status != 404 {
			t.Errorf("%s: %d", path, res.status)
		}
	}
}

// Nothing inline and nothing from elsewhere: what the policy forbids would only fail in browsers.
func TestPagesObeyTheirPolicy(t *testing.T) {
	t.Parallel()
	p := pages(t)
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*[^/])?>[^<]|<style|\sstyle=|\son[a-z]+=|javascript:`)
	data := regexp.MustCompile(`<script type="application/json" id="words">.*</script>`) // is not run
	linked := regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)
	foreign := regexp.MustCompile(`(?:src|<link[^>]*href)="(?:https?:)?//`)
	for _, path := range contractPaths {
		res := ask(t, p, "GET", path)
		text := data.ReplaceAllString(res.body, "")
		if policy := res.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") ||
			!strings.Contains(policy, "require-trusted-types-for 'script'; trusted-types 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if strings.HasSuffix(path, ".yaml") {
			continue
		}
		if found := inline.FindString(text); found != "" {
			t.Errorf("%s: inline %q", path, found)
		}
		if found := foreign.FindString(text); found != "" {
			t.Errorf("%s: foreign %q", path, found)
		}
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			if asset := ask(t, p, "GET", m[1]); asset.status != 200 {
				t.Errorf("%s: %s is %d", path, m[1], asset.status)
			}
		}
	}
}

// ownScripts returns the names of all scripts but those in assets/vendor.
func ownScripts(t *testing.T) []string {
	t.Helper()
	names, err := fs.Glob(os.DirFS("assets"), "*.js")
	if err != nil || len(names) < 20 {
		t.Fatal(names, err)
	}
	upload, err := fs.Glob(os.DirFS("assets"), "upload/*.js")
	if err != nil || len(upload) < 5 {
		t.Fatal(upload, err)
	}
	return append(names, upload...)
}

// The scripts never make markup or code from strings. For those in vendor only the policy guarantees it.
func TestScriptsKeepToThePolicy(t *testing.T) {
	t.Parallel()
	for _, name := range ownScripts(t) {
		source, err := os.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, sink := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http://", "style="} {
			if bytes.Contains(source, []byte(sink)) {
				t.Errorf("%s uses %s", name, sink)
			}
		}
		if name != "api.js" && bytes.Contains(source, []byte("localStorage")) {
			t.Errorf("%s uses localStorage; only the session does", name)
		}
	}
}

// The sentences of a page's scripts come with it, those of no other page, and none where the msgid says the same.
func TestWordsOfAPage(t *testing.T) {
	t.Parallel()
	p := pages(t)
	words := regexp.MustCompile(`<script type="application/json" id="words">(.*)</script>`)
	read := func(path, language string) map[string]any {
		m := words.FindStringSubmatch(ask(t, p, "GET", path, "Accept-Language", language).body)
		if m == nil {
			t.Fatalf("%s has no words", path)
		}
		var found map[string]any
		if err := json.Unmarshal([]byte(m[1]), &found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	german := read("/m/demo", "de")
	if got := german["Choose files"]; got != "Dateien wählen" {
		t.Errorf("Choose files: %v", got)
	}
	if got, _ := german["Up to %d file"].([]any); len(got) != 2 {
		t.Errorf("plural forms: %v", got)
	}
	if _, there := german["Make recovery codes"]; there {
		t.Error("the mailbox page carries sentences of the account page")
	}
	if got, _ := read("/m/demo", "ru")["Up to %d file"].([]any); len(got) != 3 {
		t.Errorf("Russian plural forms: %v", got)
	}
	if _, there := read("/m/demo", "en")["Choose files"]; there {
		t.Error("English is sent though it is the msgid")
	}
}

// Navigation, language and colours come with shell.js: a page without it would look right and do nothing.
func TestEveryPageHasTheShell(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for _, path := range contractPaths {
		if text := ask(t, p, "GET", path).body; !strings.HasSuffix(path, ".yaml") && !strings.Contains(text, "/shell.js") {
			t.Errorf("%s: no shell.js", path)
		}
	}
}

// The scripts of the mailbox page have less than 60 kB (issue 9 allows 150 kB).
func TestMailboxPageIsSmall(t *testing.T) {
	t.Parallel()
	p := pages(t)
	linked := regexp.MustCompile(`(?:src|href)="(/assets/[^"]+\.js)"`)
	total := 0
	for _, m := range linked.FindAllStringSubmatch(ask(t, p, "GET", "/m/demo").body, -1) {
		res := ask(t, p, "GET", m[1], "Accept-Encoding", "gzip")
		if res.header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is not compressed", m[1])
		}
		total += len(res.body)
	}
	if total < 10_000 || total > 60_000 {
		t.Errorf("%d bytes of compressed script", total)
	}
}

func TestPagesSpeakTheVisitorsLanguage(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for accept, want := range map[string][2]string{
		"":                     {"en-US", "Sign in"},
		"tlh":                  {"en-US", "Sign in"},
		"de-AT,de;q=0.9":       {"de-DE", "Anmelden"},
		"fr":                   {"fr-FR", "Se connecter"},
		"ru":                   {"ru-RU", "Войти"},
		"ko":                   {"ko-KR", "로그인"},
		"zh-CN":                {"zh-CN", "登录"},
		"zh-Hant":              {"zh-TW", "登入"},
		"ja;q=0.9, de;q=0.1":   {"ja-JP", "サインイン"},
		"xx;;;,,not a header,": {"en-US", "Sign in"},
	} {
		res := ask(t, p, "GET", "/login", "Accept-Language", accept)
		text := res.body
		if got := res.header.Get("Content-Language"); got != want[0] {
			t.Errorf("%q: %s, want %s", accept, got, want[0])
		}
		if !strings.Contains(text, `<html lang="`+want[0]+`"`) || !strings.Contains(text, "<h1>"+want[1]+"</h1>") {
			t.Errorf("%q: page is not in %s", accept, want[0])
		}
		if vary := res.header.Get("Vary"); !strings.Contains(vary, "Accept-Language") || !strings.Contains(vary, "Cookie") {
			t.Errorf("%q: Vary %v", accept, vary)
		}
	}
}

func TestChosenLanguageWins(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for cookie, want := range map[string]string{"locale=ja_JP": "ja-JP", "locale=tlh": "de-DE", "locale=../x": "de-DE", "other=ja_JP": "de-DE"} {
		if got := ask(t, p, "GET", "/", "Accept-Language", "de", "Cookie", cookie).header.Get("Content-Language"); got != want {
			t.Errorf("%s: %s, want %s", cookie, got, want)
		}
	}
}

func TestKeysAndNamesAreNotMarkup(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for _, path := range []string{"/m/a%2Fb%3C", `/m/%22%3E%3Cimg%3E`, "/t/%3C%2Fscript%3E"} {
		if text := ask(t, p, "GET", path).body; strings.Contains(text, "<img") || strings.Contains(text, "a/b<") {
			t.Errorf("%s: the key is in the page", path)
		}
	}
	if text := ask(t, p, "GET", "/").body; !strings.Contains(text, "Example &lt;Ltd&gt;") {
		t.Error("the provider's name is not escaped")
	}
}

// What the settings say is followed only where it leads to a page or a mailbox: other schemes may be code.
func TestSettingsAreNoCode(t *testing.T) {
	t.Parallel()
	catalog, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"javascript:alert(1)", "javascript://x/%0aalert(1)", "data://text/html,x", "//elsewhere.example.org/"} {
		p, err := web.New(web.Options{ProviderName: "Example", ProviderURL: address, SupportContact: address, Catalog: catalog, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		text := ask(t, p, "GET", "/").body
		if strings.Contains(text, `href="`+address) || !strings.Contains(text, "<span>Example</span>") {
			t.Errorf("%s is linked to", address)
		}
	}
}

func TestAccentColour(t *testing.T) {
	t.Parallel()
	p := pages(t)
	link := regexp.MustCompile(`/assets/[^"]+/brand\.css`).FindString(ask(t, p, "GET", "/").body)
	if css := ask(t, p, "GET", link).body; !strings.Contains(css, "--brand: #123456") {
		t.Errorf("%s: %s", link, css)
	}
	catalog, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"red", "#12345", "#123456; } body { display: none"} {
		if _, err := web.New(web.Options{AccentColor: bad, Catalog: catalog, Now: time.Now, Log: slog.New(slog.DiscardHandler)}); err == nil {
			t.Errorf("%q is taken for a colour", bad)
		}
	}
}

func TestReferenceShowsEveryOperation(t *testing.T) {
	t.Parallel()
	text := ask(t, pages(t), "GET", "/api/").body
	operation := regexp.MustCompile(`(?m)^      operationId: (\S+)`)
	found := operation.FindAllSubmatch(append(append([]byte{}, api.IdentityV3()...), api.TransferV2()...), -1)
	if len(found) < 30 {
		t.Fatalf("%d operations", len(found))
	}
	for _, m := range found {
		if !strings.Contains(text, `id="`+string(m[1])+`"`) {
			t.Errorf("%s is missing", m[1])
		}
	}
}

// TestReferenceShowsExamples as a client sends and gets them: JSON with times as the server writes them, an event stream as text.
func TestReferenceShowsExamples(t *testing.T) {
	t.Parallel()
	text := html.UnescapeString(ask(t, pages(t), "GET", "/api/").body)
	for _, want := range []string{
		`{
  "address": "ann@example.com",
  "locale": "en_US",`,
		`"removeAt": "2026-11-27T09:30:00.000+00:00"`,
		"\nevent: PRIVILEGES_UPDATED\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestFilesAreKept(t *testing.T) {
	t.Parallel()
	p := pages(t)
	prefix := regexp.MustCompile(`/assets/[0-9a-f]+/`).FindString(ask(t, p, "GET", "/").body)
	for path, want := range map[string][2]string{
		prefix + "style.css":        {"text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		prefix + "mailboxpage.js":   {"text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		prefix + "vendor/preact.js": {"text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		prefix + "icon.svg":         {"image/svg+xml", "public, max-age=31536000, immutable"},
		"/api/identity-v3.yaml":     {"application/yaml", "no-cache"},
	} {
		for _, encoding := range []string{"", "gzip", "br, gzip;q=0.5"} {
			first := ask(t, p, "GET", path, "Accept-Encoding", encoding)
			etag := first.header.Get("ETag")
			if first.header.Get("Content-Type") != want[0] || etag == "" || first.header.Get("Cache-Control") != want[1] {
				t.Errorf("%s: %v", path, first.header)
			}
			if again := ask(t, p, "GET", path, "Accept-Encoding", encoding, "If-None-Match", etag); again.status != 304 {
				t.Errorf("%s: %d with its ETag", path, again.status)
			}
		}
	}
	if got := ask(t, p, "GET", "/api/transfer-v2.yaml").body; got != string(api.TransferV2()) {
		t.Error("the document is not the embedded one")
	}
	packed := ask(t, p, "GET", "/api/transfer-v2.yaml", "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(strings.NewReader(packed.body))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, api.TransferV2()) {
		t.Error("the compressed document is another", err)
	}
	if got := ask(t, p, "GET", "/login", "Accept-Encoding", "gzip;q=0").header.Get("Content-Encoding"); got != "" {
		t.Errorf("%s was refused", got)
	}
}

func TestNotFoundPage(t *testing.T) {
	t.Parallel()
	p := pages(t)
	res := ask(t, http.HandlerFunc(p.NotFound), "GET", "/nowhere", "Accept-Language", "de")
	if res.status != 404 || !strings.Contains(res.body, "Seite nicht gefunden") {
		t.Errorf("%d", res.status)
	}
}

func TestLinksThatEndInASlash(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for path, want := range map[string]string{
		"/m/demo/": "/m/demo", "/m/demo//?from=mail": "/m/demo?from=mail", "/t/AbC-_9/": "/t/AbC-_9", "/m/caf%C3%A9/": "/m/caf%C3%A9",
		"/inbox/": "/inbox", "http://elsewhere.example/m/demo/": "/m/demo",
		"/nowhere/": "", "/m/": "", "///": "", "//elsewhere.example/m/": "", "//m/demo/": "", "/m/a%2Fb/": "/m/a%2Fb", "/m/%2F/": "/m/%2F",
	} {
		res := ask(t, http.HandlerFunc(p.NotFound), "GET", path)
		if got := res.header.Get("Location"); got != want || (want == "") != (res.status == http.StatusNotFound) {
			t.Errorf("%s leads to %q (%d), want %q", path, got, res.status, want)
		}
	}
}

func TestPrefersHTML(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"":    false,
		"*/*": false,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": true,
		"application/json":                               false,
		"application/json, text/html;q=0.5":              false,
		"text/html;level=1;q=0.9, application/json;q=.5": true,
		"text/html, application/json":                    false,
		"TEXT/HTML":                                      true,
		"text/html;q=0":                                  false,
		"text/html;q=x":                                  false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("Accept", accept)
		if got := web.PrefersHTML(r); got != want {
			t.Errorf("%q: %t", accept, got)
		}
	}
}

// TestUntidyPaths checks that a key of dots names a page like any other key, and that a request without a path is refused in our form:
// nobody but us may answer.
func TestUntidyPaths(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for _, path := range []string{"/m/..", "/t/.", "/confirm/.."} {
		if res := ask(t, p, "GET", path); res.status != 200 || res.header.Get("Location") != "" {
			t.Errorf("GET %s: %d to %q", path, res.status, res.header.Get("Location"))
		}
	}
	if res := ask(t, p, "CONNECT", "localhost:443"); res.status != 405 || res.header.Get("Allow") != "GET, HEAD" || !strings.Contains(res.body, `"code":405001`) {
		t.Errorf("CONNECT: %d, Allow %q: %s", res.status, res.header.Get("Allow"), res.body)
	}
}
