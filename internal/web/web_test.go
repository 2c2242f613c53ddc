package web_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/consign-dev/consign/api"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/web"
)

func pages(t *testing.T) *web.Pages {
	t.Helper()
	catalog, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	p, err := web.New(web.Options{
		ProductName: "Consign", ProviderName: "Example <Ltd>", ProviderURL: "https://example.org/",
		SupportContact: "help@example.org", IdentityBasePath: "/id/v3", TransferBasePath: "/transfer/v2",
		Catalog: catalog, Log: slog.New(slog.DiscardHandler),
	})
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
	for _, pattern := range p.Patterns() {
		if res := ask(t, p, "GET", strings.ReplaceAll(pattern, "{key}", "k")); res.status != 200 {
			t.Errorf("%s: %d", pattern, res.status)
		}
	}
	for _, path := range []string{"/unknown", "/m/", "/m/a/b", "/assets/", "/assets/client.ts", "/api/x", "/login/"} {
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
	linked := regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)
	foreign := regexp.MustCompile(`(?:src|<link[^>]*href)="(?:https?:)?//`)
	for _, path := range contractPaths {
		res := ask(t, p, "GET", path)
		text := res.body
		if policy := res.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
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
	assets := os.DirFS("assets")
	imported := regexp.MustCompile(`from "\./([^"]+)"`)
	names, err := fs.Glob(assets, "*.js")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		source, err := fs.ReadFile(assets, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, sink := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "localStorage"} {
			if bytes.Contains(source, []byte(sink)) {
				t.Errorf("%s uses %s", name, sink)
			}
		}
		for _, m := range imported.FindAllSubmatch(source, -1) {
			if _, err := fs.Stat(assets, string(m[1])); err != nil {
				t.Errorf("%s imports %s: %v", name, m[1], err)
			}
		}
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
		if !strings.Contains(text, `<html lang="`+want[0]+`">`) || !strings.Contains(text, "<h1>"+want[1]+"</h1>") {
			t.Errorf("%q: page is not in %s", accept, want[0])
		}
		if vary := res.header.Values("Vary"); strings.Join(vary, ",") != "Accept-Language" {
			t.Errorf("%q: Vary %v", accept, vary)
		}
	}
}

func TestPlainPagesNameTheirCalls(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for path, call := range map[string]string{
		"/m/demo":            "POST /transfer/v2/public/mailbox/demo",
		"/g/sales":           "GET /transfer/v2/public/mailboxgroup/sales",
		"/t/k-1_x":           "POST /transfer/v2/public/transfers/k-1_x/access",
		"/reset/k":           "POST /id/v3/auth/reset/k",
		"/invitation/k":      "POST /id/v3/invitations/k/accept",
		"/m/a%2Fb%3C":        "POST /transfer/v2/public/mailbox/a%2Fb%3C",
		`/m/%22%3E%3Cimg%3E`: "POST /transfer/v2/public/mailbox/%22%3E%3Cimg%3E",
	} {
		text := ask(t, p, "GET", path).body
		if !strings.Contains(text, "<code>"+call+"</code>") || strings.Contains(text, "<img") {
			t.Errorf("%s does not name %s: %s", path, call, text)
		}
	}
	if text := ask(t, p, "GET", "/").body; !strings.Contains(text, "Example &lt;Ltd&gt;") {
		t.Error("the provider's name is not escaped")
	}
}

func TestFilesAreRevalidated(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for path, mediaType := range map[string]string{
		"/assets/style.css": "text/css; charset=utf-8", "/assets/client.js": "text/javascript; charset=utf-8",
		"/assets/icon.svg": "image/svg+xml", "/api/identity-v3.yaml": "application/yaml",
	} {
		first := ask(t, p, "GET", path)
		etag := first.header.Get("ETag")
		if first.header.Get("Content-Type") != mediaType || etag == "" || first.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %v", path, first.header)
		}
		if again := ask(t, p, "GET", path, "If-None-Match", etag); again.status != 304 {
			t.Errorf("%s: %d with its ETag", path, again.status)
		}
	}
	if got := ask(t, p, "GET", "/api/transfer-v2.yaml").body; got != string(api.TransferV2()) {
		t.Error("the document is not the embedded one")
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
