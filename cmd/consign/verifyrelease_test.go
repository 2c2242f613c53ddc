// Tests of consign verify --release and --site with a log of their own key, and with a server over HTTP.

package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/cli"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/release"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/translog"
	"github.com/consign-dev/consign/internal/web"
)

// releaseLog is a log of statements about releases.
type releaseLog struct {
	t   *testing.T
	dir string // what the release has
	key string // as an argument
	log *translog.Directory
}

func newReleaseLog(t *testing.T) *releaseLog {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := proof.VerifierKey(release.Origin, public)
	if err != nil {
		t.Fatal(err)
	}
	log, err := translog.NewDirectory(t.TempDir(), release.Origin, private)
	if err != nil {
		t.Fatal(err)
	}
	return &releaseLog{t: t, dir: t.TempDir(), key: "--key=" + key, log: log}
}

func (l *releaseLog) write(name string, content []byte) string {
	l.t.Helper()
	name = filepath.Join(l.dir, name)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return name
}

// state adds a statement to the log and returns the file with its proof.
func (l *releaseLog) state(s release.Statement) string {
	l.t.Helper()
	proofs, err := l.log.Append([][]byte{proof.Entry(s.Format())})
	if err != nil {
		l.t.Fatal(err)
	}
	ending := map[string]string{release.Files: ".release", release.Pages: ".pages"}[s.Kind]
	return l.write("consign-"+s.Version+ending, proof.Join(s.Format(), proofs[0]))
}

// verify runs consign verify with words and as JSON. It wants it to refuse or not, and to say something.
func (l *releaseLog) verify(what string, refused bool, says string, args ...string) {
	l.t.Helper()
	args = append([]string{"verify", l.key}, args...)
	out, _, err := consign(l.t.Context(), nil, args...)
	if errors.Is(err, cli.ErrRefused) != refused || !refused && err != nil || !strings.Contains(out, says) {
		l.t.Errorf("%s: %v\n%s", what, err, out)
	}
	var v struct{ Valid bool }
	out, _, err = consign(l.t.Context(), nil, append(args, "--json")...)
	if jsonErr := json.Unmarshal([]byte(out), &v); jsonErr != nil || v.Valid == refused || errors.Is(err, cli.ErrRefused) != refused {
		l.t.Errorf("%s as JSON: %v %v\n%s", what, jsonErr, err, out)
	}
}

// TestVerifyRelease: a file of a release is told from a changed one, a foreign one, and one whose proof is of another key or changed.
func TestVerifyRelease(t *testing.T) {
	t.Parallel()
	l := newReleaseLog(t)
	const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of hello
	hello := l.write("consign_1.0.0_amd64.deb", []byte("hello"))
	if _, _, err := consign(t.Context(), nil, "verify", l.key, "--release", hello); cli.ExitCode(err) != 2 {
		t.Errorf("without a proof: %v", err)
	}
	l.state(release.Statement{Kind: release.Files, Version: "0.9.0", Files: []release.File{{SHA256: strings.Repeat("ab", 32), Name: "older"}}})
	proven := l.state(release.Statement{Kind: release.Files, Version: "1.0.0",
		Files: []release.File{{SHA256: sum, Name: "consign_1.0.0_amd64.deb"}}})
	l.verify("a file of the release", false,
		"consign_1.0.0_amd64.deb of the release 1.0.0: entry 1 of the log "+release.Origin+", which "+release.Origin+"+", "--release", hello)
	l.verify("with its proof named", false, "of the release 1.0.0", "--release", "--proof="+proven, hello)
	renamed := l.write("renamed", []byte("hello"))
	l.verify("two names", false, "renamed is consign_1.0.0_amd64.deb of", "--release", renamed)
	l.write("consign_1.0.0_amd64.deb", []byte("hellp"))
	l.verify("a changed file", true, "CHANGED  "+hello, "--release", hello)
	l.verify("a foreign file", true, "REFUSED", "--release", l.write("other", []byte("other")))

	l.write("consign_1.0.0_amd64.deb", []byte("hello"))
	other := newReleaseLog(t)
	other.dir = l.dir
	other.verify("another key", true, "no key that you trust has signed the checkpoint", "--release", hello)
	text, err := os.ReadFile(proven)
	if err != nil {
		t.Fatal(err)
	}
	l.write("consign-1.0.0.release", bytes.Replace(text, []byte("version 1.0.0"), []byte("version 1.0.1"), 1))
	l.verify("a changed proof", true, "is not in the log", "--release", hello)
	for _, args := range [][]string{{"--release"}, {"--release", "--site=https://a", hello}, {"--site=https://a", hello}, {"--site=a"},
		{"--proof=" + proven, hello}, {"--release", "--tsa-cert=x", hello}, {"--release", "--proof=" + proven, filepath.Join(l.dir, "missing")}} {
		if _, _, err := consign(t.Context(), nil, append([]string{"verify", l.key}, args...)...); err == nil || errors.Is(err, cli.ErrRefused) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestVerifySite: a server that sends the pages of its version is told from one that sends other bytes, lacks a file, runs a script that
// the manifest does not have, or has another version.
func TestVerifySite(t *testing.T) {
	t.Parallel()
	s, l := testkit.New(t), newReleaseLog(t)
	manifest, err := web.Manifest("1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	older := manifest
	older.Version, older.Files = "0.9.0", []release.File{{SHA256: strings.Repeat("ab", 32), Name: "/assets/abcdef/ui.js"}}
	former, proven := "--proof="+l.state(older), "--proof="+l.state(manifest)
	l.verify("a server of this version", false, "sends the pages of the version 1.0.0", "--site="+s.URL, former, proven)
	l.verify("a server of another version", true, "of no version", "--site="+s.URL, former)

	prefix := ""
	for _, f := range manifest.Files {
		if strings.HasSuffix(f.Name, "/login.js") {
			prefix = strings.TrimSuffix(f.Name, "login.js")
		}
	}
	for _, c := range []struct {
		what, path string
		change     func(body string, header http.Header) string
		says       string
	}{
		{"nothing changed", "", nil, ""},
		{"one byte of a script", prefix + "login.js", func(body string, _ http.Header) string { return strings.Replace(body, " ", "\t", 1) },
			"CHANGED  " + prefix + "login.js: its SHA-256 is "},
		{"one byte of a worker's script", prefix + "thirdparty/pdf.worker.js", func(body string, _ http.Header) string { return body + "\n" },
			"CHANGED  " + prefix + "thirdparty/pdf.worker.js"},
		{"one byte of a style sheet", prefix + "style.css", func(body string, _ http.Header) string { return body + " " },
			"CHANGED  " + prefix + "style.css"},
		{"a page that refers to a foreign script", "/login",
			func(body string, _ http.Header) string {
				return strings.Replace(body, "</head>", `<script src="/evil.js"></script></head>`, 1)
			},
			"UNKNOWN  /evil.js: a script of the page /login"},
		{"a page with a script within", "/inbox",
			func(body string, _ http.Header) string {
				return strings.Replace(body, "</head>", "<script>steal()</script></head>", 1)
			},
			"UNKNOWN  /inbox: it has a script within"},
		{"a page that is none", "/send", func(_ string, h http.Header) string { h.Set("Content-Type", "text/plain"); return "" },
			"MISSING  /send: the server answers 200 without a page"},
	} {
		site := httptest.NewServer(tampered(t, s.URL, c.path, c.change))
		t.Cleanup(site.Close)
		l.verify(c.what, c.change != nil, c.says, "--site="+site.URL, proven)
	}
	lacking := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == prefix+"chart.js" {
			http.NotFound(w, r)
			return
		}
		tampered(t, s.URL, "", nil).ServeHTTP(w, r)
	}))
	t.Cleanup(lacking.Close)
	l.verify("a file is missing", true, "MISSING  "+prefix+"chart.js: the server answers 404", "--site="+lacking.URL, proven)
	lacking.Close()
	if _, _, err := consign(t.Context(), nil, "verify", l.key, proven, "--site="+lacking.URL); cli.ExitCode(err) != 5 {
		t.Errorf("a server that is away: %v", err)
	}
}

// tampered is a server that changes what another one sends for a path.
func tampered(t *testing.T, to, path string, change func(body string, header http.Header) string) http.Handler {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding") // the proxy unpacks it then
		},
		ModifyResponse: func(resp *http.Response) error {
			if change == nil || resp.Request.URL.Path != path {
				return nil
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			resp.Header.Del("Content-Length")
			changed := change(string(body), resp.Header)
			resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
			return nil
		},
	}
}
