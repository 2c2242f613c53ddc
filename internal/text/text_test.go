// Tests of the forms of texts, addresses, hostnames and URLs.

package text_test

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/consign-dev/consign/internal/text"
)

func TestLineAndBlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in          string
		line, block bool
	}{
		{"", true, true},
		{"Grüße, 世界 🎉", true, true},
		{"two\nlines\tand a tab", false, true},
		{"carriage\rreturn", false, false},
		{"nul\x00", false, false},
		{"del\x7f", false, false},
		{"c1\u0085", false, false},
		{"separator\u2028", false, false},
		{"\xff", false, false},
		{strings.Repeat("é", 10), true, true},
		{strings.Repeat("é", 128), false, false}, // 256 bytes
	} {
		if err := text.Line(c.in, 255); (err == nil) != c.line {
			t.Errorf("Line(%q) = %v", c.in, err)
		}
		if err := text.Block(c.in, 255); (err == nil) != c.block {
			t.Errorf("Block(%q) = %v", c.in, err)
		}
	}
}

func TestBase64(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "YQ==": "a", "+/+/": "\xfb\xff\xbf"} {
		if got, err := text.Base64(in); err != nil || string(got) != want {
			t.Errorf("Base64(%q) = %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"YQ", "YQ==\n", "Y\rQ==", "\r", "YR==", "-_-_", "YQ== "} {
		if got, err := text.Base64(in); err == nil {
			t.Errorf("Base64(%q) = %q", in, got)
		}
	}
}

func TestFileName(t *testing.T) {
	t.Parallel()
	for in, ok := range map[string]bool{
		"a.txt": true, "../../etc/passwd": true, `C:\x`: true, "": false, "  ": false,
		"invoice\u202efdp.exe": false, "\u2066x": false, strings.Repeat("n", 1024): true, strings.Repeat("n", 1025): false,
	} {
		if err := text.FileName(in); (err == nil) != ok {
			t.Errorf("FileName(%q) = %v", in, err)
		}
	}
}

func TestEmail(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"ann@example.com":                     "ann@example.com",
		"Ann.O'Neil+x@Example.COM":            "ann.o'neil+x@example.com",
		"ann@bücher.example":                  "ann@xn--bcher-kva.example",
		"ann@localhost":                       "ann@localhost",
		strings.Repeat("a", 64) + "@b.test":   strings.Repeat("a", 64) + "@b.test",
		strings.Repeat("a", 65) + "@b.test":   "",
		"ann@" + strings.Repeat("a", 64):      "",
		"Foo <ann@example.com>":               "",
		"ann@example.com ":                    "",
		" ann@example.com":                    "",
		"ann@-x.test":                         "",
		"ann@x..test":                         "",
		"ann@x.test.":                         "",
		"ann@@x.test":                         "",
		"a..b@x.test":                         "",
		".a@x.test":                           "",
		"@x.test":                             "",
		"ann@":                                "",
		"ann":                                 "",
		"":                                    "",
		"ann@[127.0.0.1]":                     "",
		"ann@127.0.0.1":                       "",
		"\"a b\"@x.test":                      "",
		"ann@x.test\r\nBcc: eve@x.test":       "",
		"ann\x00@x.test":                      "",
		"änn@x.test":                          "",
		"ann@x_y.test":                        "",
		"ann,bob@x.test":                      "",
		"ann@x.test(comment)":                 "",
		"a@" + strings.Repeat("abcdefg.", 40): "",
	} {
		got, err := text.Email(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Email(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestHostname(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Files.Example.com": "files.example.com", "localhost": "localhost", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"bücher.example": "xn--bcher-kva.example", "a.b:80": "", "1.2.3.4": "", "::1": "", "a b": "", "": "", "a.": "",
		"*.x.test": "", "a/b": "", "-a.test": "",
	} {
		if got, err := text.Hostname(in); got != want || (err == nil) != (want != "") {
			t.Errorf("Hostname(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://Files.Example.com": "https://files.example.com", "HTTPS://a.example:443": "https://a.example",
		"https://a.example:8443": "https://a.example:8443",
		"https://bücher.example": "https://xn--bcher-kva.example", "https://localhost:1": "https://localhost:1",
		"http://a.example": "", "https://a.example/": "", "https://a.example:": "", "https://a.example:0": "", "https://a.example:65536": "",
		"https://a.example:+1": "",
		"https://a.example:01": "", "https://a.example:80:80": "", "https://u@a.example": "", "https://1.2.3.4": "", "https://[::1]": "",
		"https://": "", "https:/": "",
		"null": "", "*": "", "": "", "a.example": "", "https://*.a.example": "", "https://a b": "", "https://a.example?": "",
		"https://a.example#": "",
	} {
		if got, err := text.Origin(in); got != want || (err == nil) != (want != "") {
			t.Errorf("Origin(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

// FuzzOrigin checks that an accepted origin is what a browser sends for the same text, and is accepted again.
func FuzzOrigin(f *testing.F) {
	for _, seed := range []string{"https://a.example", "https://A.example:443", "https://a.example:8443", "https://bücher.example", "http://a",
		"https://a/", "https://a@b", "https://[::1]:1", "https://ꝰℶ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		origin, err := text.Origin(sent)
		if err != nil {
			return
		}
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "https" || u.Scheme+"://"+u.Host != origin || u.Port() == "443" || u.Hostname() == "" ||
			strings.ToLower(origin) != origin {
			t.Errorf("%q becomes %q: %+v, %v", sent, origin, u, err)
		}
		if again, err := text.Origin(origin); err != nil || again != origin {
			t.Errorf("%q becomes %q, then %q, %v", sent, origin, again, err)
		}
	})
}

func TestURL(t *testing.T) {
	t.Parallel()
	for in, ok := range map[string]bool{
		"https://example.com/imprint?x=1#y": true, "http://localhost:8080": true, "HTTPS://EXAMPLE.COM": true,
		"javascript:alert(1)": false, "https:///x": false, "https:example.com": false, "//example.com": false,
		"https://user@example.com": false, "https://exa mple.com": false, "ftp://example.com": false, "": false,
		"https://example.com/\n": false, "https://example.com\\@evil.test": false,
	} {
		if err := text.URL(in); (err == nil) != ok {
			t.Errorf("URL(%q) = %v", in, err)
		}
	}
}

func FuzzEmail(f *testing.F) {
	for _, seed := range []string{"ann@example.com", "Foo <a@b>", "a@-x.test", "a@b.c ", "ä@ö.test", "\"q\"@x.y", "a@xn--.de"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, err := text.Email(in)
		if err != nil {
			return
		}
		if len(out) > text.MaxEmail || !utf8.ValidString(out) || strings.ContainsAny(out, " \r\n\t\x00<>,;\"") {
			t.Fatalf("Email(%q) = %q", in, out)
		}
		again, err := text.Email(out)
		if err != nil || again != out {
			t.Fatalf("Email is not stable: %q → %q → %q, %v", in, out, again, err)
		}
	})
}
