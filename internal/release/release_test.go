package release

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0a", 32)
	for _, s := range []Statement{
		{Kind: Files, Version: "1.0.0", Files: []File{{sum, "consign_1.0.0_amd64.deb"}, {sum, "a name with blanks"}}},
		{Kind: Pages, Version: "1.0.0", Pages: []string{"/", "/m/x"}, Files: []File{{sum, "/assets/0/ui.js"}}},
	} {
		got, err := Parse(s.Format())
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%+v, %v, want %+v", got, err, s)
		}
	}
	good := string(Statement{Kind: Pages, Version: "1", Pages: []string{"/"}, Files: []File{{sum, "/a"}}}.Format())
	for _, change := range [][2]string{{Pages, "consign-receipt/v1"}, {"version 1\n", ""}, {"version 1", "version "}, {sum, sum[2:]},
		{sum, strings.ToUpper(sum)}, {" /a", " "}, {"page /\n", "page /\n\n"}, {"\nfile", "\nfile " + sum + " /a\nfile"},
		{"/a\n", "/a"}, {"/a\n", "/a\npage /b\n"}, {"page", "side"}, {Pages, Files}} {
		text := strings.Replace(good, change[0], change[1], 1)
		if s, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, s)
		}
	}
	if _, err := Parse(nil); err == nil {
		t.Error("nothing is a statement")
	}
}

// TestReferences: each way in which a page can run a script is found, and what is none is not.
func TestReferences(t *testing.T) {
	t.Parallel()
	site, err := NewSite("https://files.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ page, scripts, inline string }{
		{`<p>text</p><a href="/login">x</a><link rel=icon href="/icon.svg"><link rel="stylesheet" href="/style.css">`, "", ""},
		{`<script type="application/json" id="translations">{"<b>": "<script src=/x.js>"}</script>`, "", ""},
		{`<script type="importmap">{"integrity":{"/a.js":"sha256-x"}}</script>`, "/a.js", ""},
		{`<script type="importmap">{"imports":{"/a.js":"/b.js"}}</script>`, "", "its import map states more than hashes"},
		{`<SCRIPT SRC="a.js"></SCRIPT>`, "/m/a.js", ""},
		{`<script src="https://evil.example/a.js"></script>`, "https://evil.example/a.js", ""},
		{`<script src="//evil.example/a.js"></script>`, "https://evil.example/a.js", ""},
		{`<script src="http://files.example.com/a.js"></script>`, "http://files.example.com/a.js", ""},
		{`<script src="data:text/javascript,alert()"></script>`, "data:text/javascript,alert()", ""},
		{`<script src="/a.js?x=1"></script>`, "/a.js?x=1", ""},
		{`<script>alert()</script>`, "", "it has a script within"},
		{`<script type=module></script>`, "", "it has a script within"},
		{`<link rel="modulepreload" href="/a.js">`, "/a.js", ""},
		{`<link rel="preload" as="script" href="/a.js">`, "/a.js", ""},
		{`<link rel="preload" as="font" href="/a.woff2">`, "", ""},
		{`<img src=x onerror="alert()">`, "", "the element img runs a script in onerror"},
		{"<a href=\"java\nscript:alert()\">x</a>", "", "the element a runs the script of an address"},
		{`<base href="https://evil.example/">`, "", "it has an element base"},
		{`<iframe srcdoc="<script>alert()</script>"></iframe>`, "", "it has an element iframe"},
	} {
		scripts, inline := site.references("/m/x", []byte("<!doctype html><html><head>"+c.page))
		if strings.Join(scripts, " ") != c.scripts || strings.Join(inline, "; ") != c.inline {
			t.Errorf("%s has the scripts %q and %q", c.page, scripts, inline)
		}
	}
	for _, bad := range []string{"", "files.example.com", "ftp://files.example.com", "https://", "https://a/b", "https://a?b",
		"https://u:p@a"} {
		if _, err := NewSite(bad); err == nil {
			t.Errorf("%q is an address", bad)
		}
	}
}
