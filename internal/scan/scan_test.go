// Tests of scanners, and of the look into files.

package scan_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/scan"
	"github.com/consign-dev/consign/internal/testkit/scanner"
)

func open(t *testing.T, url string, o scan.Options) scan.Scanner {
	t.Helper()
	if o.Limit == 0 {
		o.Limit = 50 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	s, err := scan.New(url, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func verdict(t *testing.T, s scan.Scanner, content []byte) scan.Verdict {
	t.Helper()
	v, err := s.Scan(t.Context(), bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"clamd://av.example", "clamd://av.example:3310/", "clamd://[::1]:3310", "clamd:///run/clamd.sock",
		"icap://av.example/avscan"} {
		if _, err := scan.New(good, scan.Options{}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "clamd://", "clamd://host/path", "icap://host", "icap:///x", "http://host/x", "clamd://u:p@host",
		"icap://h/x?y", "clamd://host:x"} {
		if _, err := scan.New(bad, scan.Options{}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestClamd(t *testing.T) {
	t.Parallel()
	daemon := scanner.NewClamd(t)
	s := open(t, daemon.URL, scan.Options{})
	if v, err := s.Version(t.Context()); err != nil || v.Engine != "ClamAV 1.0.9" || !strings.HasPrefix(v.Signatures, "27500/") {
		t.Errorf("version is %v, %v", v, err)
	}
	large := make([]byte, 3<<20)
	if _, err := rand.Read(large); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"nothing": nil, "one byte": {1}, "one chunk": large[:256<<10], "many": large} {
		if v := verdict(t, s, content); v.State != scan.Clean {
			t.Errorf("%s: %v", name, v)
		}
	}
	if v := verdict(t, s, append(large, scanner.Eicar...)); v.State != scan.Infected || v.Finding != "Eicar-Test-Signature" {
		t.Errorf("EICAR: %v", v)
	}
	for finding, want := range map[string]scan.Verdict{
		"Heuristics.Limits.Exceeded.MaxRecursion": {State: scan.Partly},
		"Heuristics.Encrypted.Zip":                {State: scan.Partly, Content: []scan.Rule{scan.Encrypted}},
		"Heuristics.OLE2.ContainsMacros.VBA":      {State: scan.Clean, Content: []scan.Rule{scan.Macros}},
		"(null)":                                  {State: scan.Partly},
		"Heuristics.Phishing.Email":               {State: scan.Infected},
	} {
		daemon.Find("look", finding)
		if v := verdict(t, s, []byte("look")); v.State != want.State || v.Finding != finding || !slices.Equal(v.Content, want.Content) {
			t.Errorf("%s: %v", finding, v)
		}
	}
}

// TestClamdLimits: what is over a limit is never clean, whether this client or the daemon stops reading.
func TestClamdLimits(t *testing.T) {
	t.Parallel()
	daemon := scanner.NewClamd(t)
	content := make([]byte, 2<<20)
	if v := verdict(t, open(t, daemon.URL, scan.Options{Limit: 1 << 20}), content); v.State != scan.Partly || v.Finding != "Size.OverLimit" {
		t.Errorf("over the client's limit: %v", v)
	}
	if v := verdict(t, open(t, daemon.URL, scan.Options{Limit: 1 << 20}), content[:1<<20]); v.State != scan.Clean {
		t.Errorf("at the client's limit: %v", v)
	}
	if v := verdict(t, open(t, daemon.URL, scan.Options{Limit: 1 << 20}), slices.Concat(scanner.Eicar, content)); v.State != scan.Infected {
		t.Errorf("found within the limit: %v", v)
	}
	daemon.StreamMaxLength(300 << 10)
	if v := verdict(t, open(t, daemon.URL, scan.Options{}), content); v.State != scan.Partly || v.Finding != "StreamMaxLength" {
		t.Errorf("over the daemon's limit: %v", v)
	}
	warnings, err := open(t, daemon.URL, scan.Options{}).Warnings(t.Context())
	if err != nil || len(warnings) != 1 {
		t.Errorf("a daemon that calls the probe clean: %q, %v", warnings, err)
	}
}

// TestClamdFailures: silence, a closed connection and the end of the context are errors, never a verdict.
func TestClamdFailures(t *testing.T) {
	t.Parallel()
	daemon := scanner.NewClamd(t)
	daemon.Hang(true)
	s := open(t, daemon.URL, scan.Options{Timeout: 50 * time.Millisecond})
	if _, err := s.Version(t.Context()); err == nil {
		t.Error("a silent daemon has a version")
	}
	if v, err := s.Scan(t.Context(), strings.NewReader("x"), 1); err == nil {
		t.Errorf("a silent daemon says %v", v)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("told to stop"))
	if _, err := open(t, daemon.URL, scan.Options{}).Scan(ended, strings.NewReader("x"), 1); err == nil {
		t.Error("an ended context gets a verdict")
	}
	daemon.Hang(false)
	daemon.Away(true)
	if v, err := s.Scan(t.Context(), strings.NewReader("x"), 1); err == nil {
		t.Errorf("a daemon that is gone says %v", v)
	}
	daemon.Away(false)
	if _, err := s.Scan(t.Context(), io.MultiReader(strings.NewReader("x"), failing{}), 9); !errors.Is(err, errRead) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

var errRead = errors.New("the disk is gone")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errRead }

func TestICAP(t *testing.T) {
	t.Parallel()
	large := make([]byte, 2<<20)
	if _, err := rand.Read(large); err != nil {
		t.Fatal(err)
	}
	const threat = "X-Infection-Found: Type=0; Resolution=2; Threat=EICAR;\r\n"
	for name, service := range map[string]scanner.ICAP{
		"no preview": {Headers: threat}, "preview of 0": {Preview: "0", Headers: threat}, "preview": {Preview: "1024", Headers: threat},
		"sends back": {Echo: true, Headers: threat}, "preview, sends back": {Preview: "4096", Echo: true, Headers: threat},
	} {
		s := open(t, service.Start(t), scan.Options{})
		if v, err := s.Version(t.Context()); err != nil || v != (scan.Version{Engine: "Test scanner", Signatures: "sig-7"}) {
			t.Errorf("%s: version is %v, %v", name, v, err)
		}
		for _, content := range [][]byte{nil, []byte("short"), large} {
			if v := verdict(t, s, content); v.State != scan.Clean {
				t.Errorf("%s, %d bytes: %v", name, len(content), v)
			}
			if v := verdict(t, s, slices.Concat(content, scanner.Eicar)); v.State != scan.Infected || v.Finding != "EICAR" {
				t.Errorf("%s, EICAR after %d bytes: %v", name, len(content), v)
			}
		}
		if v := verdict(t, open(t, service.Start(t), scan.Options{Limit: 1000}), large); v.State != scan.Partly {
			t.Errorf("%s, over the limit: %v", name, v)
		}
	}
	for headers, want := range map[string]scan.Verdict{
		"X-Virus-ID: W32.Test\r\n": {State: scan.Infected, Finding: "W32.Test"},
		"X-Infection-Found: Type=2; Resolution=0; Threat=Encrypted container;\r\n": {State: scan.Partly, Finding: "Encrypted container",
			Content: []scan.Rule{scan.Encrypted}},
		"X-Violations-Found: 1\r\n": {State: scan.Infected, Finding: "ICAP.Unnamed"},
	} {
		v := verdict(t, open(t, scanner.ICAP{Headers: headers}.Start(t), scan.Options{}), scanner.Eicar)
		if v.State != want.State || v.Finding != want.Finding || !slices.Equal(v.Content, want.Content) {
			t.Errorf("%s: %v", headers, v)
		}
	}
	if v := verdict(t, open(t, scanner.ICAP{Replaces: true}.Start(t), scan.Options{}), scanner.Eicar); v.State != scan.Infected ||
		v.Finding != "ICAP.ContentReplaced" {
		t.Errorf("a page instead of the file: %v", v)
	}
	if v := verdict(t, open(t, scanner.ICAP{Preview: "16", Early: true}.Start(t), scan.Options{}), large); v.State != scan.Partly ||
		v.Finding != "ICAP.PreviewOnly" {
		t.Errorf("204 after the preview: %v", v)
	}
}

// archiveOf returns a zip with the files, by name.
func archiveOf(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestInspect(t *testing.T) {
	t.Parallel()
	zipped := func(name string, content []byte) []byte { return archiveOf(t, map[string][]byte{name: content}) }
	document := archiveOf(t, map[string][]byte{"[Content_Types].xml": []byte("<x/>"), "word/vbaProject.bin": []byte("vba")})
	encrypted := zipped("a.txt", []byte("secret"))
	at := bytes.Index(encrypted, []byte("PK\x01\x02"))
	encrypted[at+8] |= 1
	grown := zipped("zeros", make([]byte, 100))
	at = bytes.Index(grown, []byte("PK\x01\x02"))
	copy(grown[at+24:], "\xff\xff\xff\xf0") // says that it is 4 GB
	for name, c := range map[string]struct {
		content []byte
		want    []scan.Rule
	}{
		"empty": {}, "text": {content: []byte("hello")}, "zip": {content: zipped("a.txt", []byte("hello"))},
		"encrypted": {encrypted, []scan.Rule{scan.Encrypted}}, "macros": {document, []scan.Rule{scan.Macros}},
		"macros in a zip":        {zipped("x.dat", document), []scan.Rule{scan.Macros}},
		"macros in a zip in one": {zipped("y", zipped("x.docm", document)), []scan.Rule{scan.Macros}},
		"too deep":               {zipped("z", zipped("y", zipped("x", document))), []scan.Rule{scan.Nested}},
		"grows":                  {grown, []scan.Rule{scan.Bomb}}, "program": {[]byte("MZ\x90"), []scan.Rule{scan.Executable}},
		"program in a zip":     {zipped("photo.jpg", []byte("MZ\x90\x00\x03")), []scan.Rule{scan.Executable}},
		"behind other bytes":   {append(make([]byte, 5000), document...), []scan.Rule{scan.Macros}},
		"spreadsheet's macros": {zipped("xl/macrosheets/sheet1.xml", []byte("<x/>")), []scan.Rule{scan.Macros}},
	} {
		got, err := scan.Inspect(t.Context(), bytes.NewReader(c.content), int64(len(c.content)))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
}

// TestInspectBomb: entries that share their bytes are found, whatever sizes they state.
func TestInspectBomb(t *testing.T) {
	t.Parallel()
	one := archiveOf(t, map[string][]byte{"a": bytes.Repeat([]byte{1}, 1000)})
	start := bytes.Index(one, []byte("PK\x01\x02"))
	end := bytes.Index(one, []byte("PK\x05\x06"))
	entry := one[start:end]
	bomb := slices.Concat(one[:start], bytes.Repeat(entry, 5000), one[end:])
	at := len(bomb) - 22
	size := uint32(5000 * len(entry))
	for i := range 4 {
		bomb[at+12+i] = byte(size >> (8 * i))
	}
	huge := slices.Clone(bomb)
	for i := range 5000 { // each entry says that it has a thousand times as many packed bytes
		copy(huge[start+i*len(entry)+20:], []byte{0, 0, 1, 0})
	}
	got, err := scan.Inspect(t.Context(), bytes.NewReader(huge), int64(len(huge)))
	if err != nil || !slices.Contains(got, scan.Bomb) {
		t.Errorf("overlapping entries: %v, %v", got, err)
	}
}

func TestInspectFailure(t *testing.T) {
	t.Parallel()
	if _, err := scan.Inspect(t.Context(), failingAt{}, 100); !errors.Is(err, errRead) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

type failingAt struct{}

func (failingAt) ReadAt([]byte, int64) (int, error) { return 0, errRead }
