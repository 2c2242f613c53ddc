// Tests of pages: policy, translations, languages, and what they load.

package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/web"
)

// made returns the pages that all tests share; they have no state.
var made = sync.OnceValues(func() (*web.Pages, error) {
	catalog, err := i18n.New()
	if err != nil {
		return nil, err
	}
	return web.New(web.Options{
		ProductName: "Consign", ProviderName: "Example <Ltd>", ProviderURL: "https://example.org/",
		SupportContact: "help@example.org", SecurityContact: "security@example.org", AccentColor: "#123456", IdentityBasePath: "/id/v3",
		TransferBasePath: "/transfer/v2", PasswordMinimum: 12,
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
	"/", "/m/demo", "/q/abc", "/g/sales", "/t/abc", "/signup", "/login", "/continue", "/confirm/abc", "/reset", "/reset/abc", "/undo/abc",
	"/invitation/abc",
	"/inbox", "/requests", "/requests/new", "/requests/0194a001-0000-7000-8000-000000000001", "/send", "/mailbox",
	"/account", "/account/security", "/account/devices", "/account/privacy",
	"/organization", "/api/", "/api/identity-v3.yaml", "/api/transfer-v2.yaml",
	"/api/admin-v1.yaml", "/api/identity-v3.json", "/api/transfer-v2.json", "/api/admin-v1.json",
	"/admin", "/admin/charts", "/admin/people", "/admin/transfers", "/admin/mailboxes", "/admin/organizations", "/admin/mails", "/admin/jobs",
	"/admin/storage", "/admin/holds", "/admin/audit", "/admin/keys", "/admin/settings",
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
	for _, path := range []string{"/unknown", "/m/", "/m/a/b", "/assets/", "/assets/x/mailboxpage.js", "/api/x", "/login/", "/m/M%FCller",
		"/g/%ff", "/t/%ff"} {
		if res := ask(t, p, "GET", path); res.status != 404 {
			t.Errorf("%s: %d", path, res.status)
		}
	}
}

// Pages contain nothing that the Content-Security-Policy blocks: nothing from other hosts, and nothing inline but the rules of the first
// paint and the import map, whose hashes it names.
func TestPagesObeyTheirPolicy(t *testing.T) {
	t.Parallel()
	p := pages(t)
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*[^/])?>[^<]|<style>|\sstyle=|\son[a-z]+=|javascript:`)
	data := regexp.MustCompile(`<script type="application/json" id="translations">.*</script>`) // is not run
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`)
	linked := regexp.MustCompile(`(?:src="|href="|url\(")(/assets/[^"]+)"`)
	foreign := regexp.MustCompile(`(?:src|<link[^>]*href)="(?:https?:)?//`)
	for _, path := range contractPaths {
		res := ask(t, p, "GET", path)
		policy := res.header.Get("Content-Security-Policy")
		text := data.ReplaceAllString(res.body, "")
		if found := style.FindStringSubmatch(text); found != nil {
			sum := sha256.Sum256([]byte(found[1]))
			if !strings.Contains(policy, "style-src 'self' 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"';") {
				t.Errorf("%s: its style element has another hash than in %q", path, policy)
			}
			text = strings.Replace(text, found[0], "", 1)
		}
		if found := importMap.FindStringSubmatch(text); found != nil {
			sum := sha256.Sum256([]byte(found[1]))
			if !strings.Contains(policy, "; script-src 'self' 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"';") {
				t.Errorf("%s: its import map has another hash than in %q", path, policy)
			}
			text = strings.Replace(text, found[0], "", 1)
		}
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") ||
			!strings.Contains(policy, "require-trusted-types-for 'script'; trusted-types consign-workers") {
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
		for _, m := range linked.FindAllStringSubmatch(res.body, -1) {
			if asset := ask(t, p, "GET", m[1]); asset.status != 200 {
				t.Errorf("%s: %s is %d", path, m[1], asset.status)
			}
		}
	}
}

var importMap = regexp.MustCompile(`<script type="importmap">(.*?)</script>`)

// Browsers refuse each script of a page whose bytes differ from the page's hash, and scripts without one: those that the page names, what
// they import, and what they import later.
func TestPagesNameTheHashOfEachScript(t *testing.T) {
	t.Parallel()
	p := pages(t)
	named := regexp.MustCompile(`(?:src|href)="(/assets/[^"]+\.js)"( integrity="([^"]+)")?`)
	imported := regexp.MustCompile(`(?m)(?:\bfrom ?|^import |\bimport\()"(\.\.?/[^"]+)"`)
	for _, page := range contractPaths {
		res := ask(t, p, "GET", page)
		if !strings.HasPrefix(res.header.Get("Content-Type"), "text/html") {
			continue
		}
		if got := res.header.Get("Integrity-Policy"); got != "blocked-destinations=(script)" {
			t.Errorf("%s has the Integrity-Policy %q", page, got)
		}
		var stated struct{ Integrity map[string]string }
		found := importMap.FindStringSubmatchIndex(res.body)
		if found == nil {
			t.Errorf("%s has no import map", page)
			continue
		}
		if err := json.Unmarshal([]byte(res.body[found[2]:found[3]]), &stated); err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatchIndex(res.body, -1) {
			script, attribute := res.body[m[2]:m[3]], ""
			if m[6] >= 0 {
				attribute = res.body[m[6]:m[7]]
			}
			if stated.Integrity[script] == "" || stated.Integrity[script] != attribute || m[0] < found[0] {
				t.Errorf("%s: %s has the hashes %q and %q, or is before the import map", page, script, attribute, stated.Integrity[script])
			}
		}
		if len(stated.Integrity) < 3 {
			t.Errorf("%s states %d hashes", page, len(stated.Integrity))
		}
		for script, hash := range stated.Integrity {
			served := ask(t, p, "GET", script).body
			if sum := sha256.Sum256([]byte(served)); hash != "sha256-"+base64.StdEncoding.EncodeToString(sum[:]) {
				t.Errorf("%s: %s is served with another hash than %s", page, script, hash)
			}
			for _, m := range imported.FindAllStringSubmatch(served, -1) {
				if other := path.Join(path.Dir(script), m[1]); stated.Integrity[other] == "" {
					t.Errorf("%s: %s imports %s, which has no hash", page, script, other)
				}
			}
		}
	}
}

// security.txt has the fields that RFC 9116 demands, and does not exist where the operator names no contact.
func TestSecurityText(t *testing.T) {
	t.Parallel()
	res := ask(t, pages(t), "GET", "/.well-known/security.txt")
	if res.status != 200 || res.header.Get("Content-Type") != "text/plain; charset=utf-8" ||
		!strings.HasPrefix(res.body, "Contact: mailto:security@example.org\n") {
		t.Fatalf("%d %q %q", res.status, res.header.Get("Content-Type"), res.body)
	}
	found := regexp.MustCompile(`(?m)^Expires: (.*)$`).FindStringSubmatch(res.body)
	if found == nil {
		t.Fatalf("no Expires: %q", res.body)
	}
	expires, err := time.Parse(time.RFC3339, found[1])
	if ahead := time.Until(expires); err != nil || ahead < 24*time.Hour || ahead > 365*24*time.Hour {
		t.Errorf("Expires %s is %v ahead: %v", found[1], ahead, err)
	}
	catalog, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	none, err := web.New(web.Options{Catalog: catalog, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if res := ask(t, none, "GET", "/.well-known/security.txt"); res.status != 404 {
		t.Errorf("without a contact: %d", res.status)
	}
}

// Pages ask for no device or sensor of the visitor.
func TestPagesUseNoDevices(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for _, path := range contractPaths {
		policy := ask(t, p, "GET", path).header.Get("Permissions-Policy")
		for _, feature := range []string{"camera", "microphone", "geolocation", "payment", "usb"} {
			if !strings.Contains(policy, feature+"=()") {
				t.Errorf("%s: %s is not off in %q", path, feature, policy)
			}
		}
		if !strings.Contains(policy, "screen-wake-lock=(self)") {
			t.Errorf("%s: uploads cannot keep the screen on under %q", path, policy)
		}
	}
}

// A page embeds the translations that its scripts need, and no others. A translation equal to its msgid is left out.
func TestTranslationsOfAPage(t *testing.T) {
	t.Parallel()
	p := pages(t)
	embedded := regexp.MustCompile(`<script type="application/json" id="translations">(.*)</script>`)
	read := func(path, language string) map[string]any {
		m := embedded.FindStringSubmatch(ask(t, p, "GET", path, "Accept-Language", language).body)
		if m == nil {
			t.Fatalf("%s has no translations", path)
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
	if _, there := german["Create recovery codes"]; there {
		t.Error("the mailbox page carries sentences of the account page")
	}
	if got, _ := read("/m/demo", "ru")["Up to %d file"].([]any); len(got) != 3 {
		t.Errorf("Russian plural forms: %v", got)
	}
	if _, there := read("/m/demo", "en")["Choose files"]; there {
		t.Error("English is sent though it is the msgid")
	}
}

// shell.js makes the navigation, the choice of language and the theme. Every page needs it.
func TestEveryPageHasTheShell(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for _, path := range contractPaths {
		document := strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".json")
		if text := ask(t, p, "GET", path).body; !document && !strings.Contains(text, "/shell.js") {
			t.Errorf("%s: no shell.js", path)
		}
	}
}

// TestStartPageHasItsHeadingAtOnce: the browser need not wait for the script, which writes the same h1.
func TestStartPageHasItsHeadingAtOnce(t *testing.T) {
	t.Parallel()
	const heading = "Hand over files of any size, exactly as they are."
	p := pages(t)
	if page := ask(t, p, "GET", "/").body; strings.Count(page, "<h1>") != 1 || !strings.Contains(page, "<h1>"+heading+"</h1>") {
		t.Errorf("the page has another heading than %q", heading)
	}
	if script, err := os.ReadFile("assets/home.js"); err != nil || !strings.Contains(string(script), `<h1>${T("`+heading+`")}</h1>`) {
		t.Errorf("the script has another heading than %q: %v", heading, err)
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
	for cookie, want := range map[string]string{"locale=ja_JP": "ja-JP", "locale=tlh": "de-DE", "locale=../x": "de-DE",
		"other=ja_JP": "de-DE"} {
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

// Addresses from the settings become links only with an https, http or mailto scheme.
func TestSettingsAreNoCode(t *testing.T) {
	t.Parallel()
	catalog, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"javascript:alert(1)", "javascript://x/%0aalert(1)", "data://text/html,x", "//elsewhere.example.org/"} {
		p, err := web.New(web.Options{ProviderName: "Example", ProviderURL: address, SupportContact: address, Catalog: catalog, Now: time.Now,
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		text := ask(t, p, "GET", "/").body
		if strings.Contains(text, `href="`+address) || !strings.Contains(text, "<span>Example</span>") {
			t.Errorf("%s is linked to", address)
		}
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

// A key of dots names a page like any other key, without a redirect. A request without a path gets an error in the API's form.
func TestUntidyPaths(t *testing.T) {
	t.Parallel()
	p := pages(t)
	for _, path := range []string{"/m/..", "/t/.", "/confirm/.."} {
		if res := ask(t, p, "GET", path); res.status != 200 || res.header.Get("Location") != "" {
			t.Errorf("GET %s: %d to %q", path, res.status, res.header.Get("Location"))
		}
	}
	if res := ask(t, p, "CONNECT", "localhost:443"); res.status != 405 || res.header.Get("Allow") != "GET, HEAD" ||
		!strings.Contains(res.body, `"code":405001`) {
		t.Errorf("CONNECT: %d, Allow %q: %s", res.status, res.header.Get("Allow"), res.body)
	}
}
