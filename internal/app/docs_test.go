// Checks what documents say of the repository: links, paths, settings, make targets, tests and packages.

package app_test

import (
	"bytes"
	"flag"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/consign-dev/consign/api"
	"github.com/consign-dev/consign/internal/config"
)

var update = flag.Bool("update", false, "write docs/use/configuration.md anew")

// TestConfigurationReference checks that docs/use/configuration.md is what the table of settings says.
// go test ./internal/app -run ConfigurationReference -update writes it.
func TestConfigurationReference(t *testing.T) {
	t.Parallel()
	const file = "../../docs/use/configuration.md"
	var want bytes.Buffer
	if err := config.Markdown(&want); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/use/configuration.md is not current: run go test ./internal/app -run ConfigurationReference -update")
	}
}

var (
	markdownLink    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	markdownHeading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	codeSpan        = regexp.MustCompile("`([^`\n]+)`")
	makeTarget      = regexp.MustCompile(`\bmake ((?:[a-z][a-z0-9-]* ?)+)`)
	settingName     = regexp.MustCompile(`\bCONSIGN_[A-Z_]+\b`)
	testName        = regexp.MustCompile(`\bTest[A-Z]\w+\b`)
	bracketed       = regexp.MustCompile(`\[([A-Z][A-Z_]{3,})[ \]]`)
	packageName     = regexp.MustCompile(`(?:\(|\b(?:[Ii]n|[Oo]f|[Ss]ee|[Ff]rom|[Bb]y) )package ([a-z][a-z0-9]*)\b`)
)

// TestDocsLinks checks that the relative links of each document lead to a file, and to a heading where they name one.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	for _, file := range documents(t) {
		text := readText(t, file)
		for _, m := range markdownLink.FindAllStringSubmatchIndex(text, -1) {
			link := text[m[2]:m[3]]
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			target, anchor, _ := strings.Cut(link, "#")
			target = path.Join(path.Dir(file), target)
			if strings.HasPrefix(link, "#") {
				target = file
			}
			if !exists(target) {
				t.Errorf("%s:%d links to %s, which is not there", file, lineOf(text, m[0]), link)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(readText(t, target)), anchor) {
				t.Errorf("%s:%d links to %s, which has no such heading", file, lineOf(text, m[0]), link)
			}
		}
	}
}

// TestDocsTables checks that each row of a table has as many cells as its head: a page drops cells too many, and leaves missing ones empty.
func TestDocsTables(t *testing.T) {
	t.Parallel()
	for _, file := range documents(t) {
		cells, code := 0, false
		for i, line := range strings.Split(readText(t, file), "\n") {
			code = code != strings.HasPrefix(line, "```")
			if code || !strings.HasPrefix(line, "|") {
				cells = 0
				continue
			}
			n := strings.Count(line, "|") - strings.Count(line, `\|`) - 1
			if cells == 0 {
				cells = n
			}
			if n != cells {
				t.Errorf("%s:%d has %d cells, the head of its table %d", file, i+1, n, cells)
			}
		}
	}
}

// TestPicturesAreShown checks that each picture in git is in a document. Pictures of all pages are made by make test-web.
func TestPicturesAreShown(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, file := range documents(t) {
		text.WriteString(readText(t, file))
	}
	pictures, err := filepath.Glob(filepath.Join(root, "docs/screenshots/*"))
	if err != nil || len(pictures) == 0 {
		t.Fatalf("%d pictures, %v", len(pictures), err)
	}
	for _, p := range pictures {
		if !strings.Contains(text.String(), "screenshots/"+filepath.Base(p)+")") {
			t.Errorf("no document shows %s", filepath.Base(p))
		}
	}
}

// TestDocsPaths checks that each path that a document names as code is in the repository. <domain> stands for each of the domains,
// <resource> and * for at least one name.
func TestDocsPaths(t *testing.T) {
	t.Parallel()
	tops := []string{"api", "cmd", "docs", "internal", "migrations", "scripts", "test", ".ci"}
	for _, file := range documents(t) {
		text := readText(t, file)
		for _, m := range codeSpan.FindAllStringSubmatchIndex(text, -1) {
			name := strings.TrimSuffix(text[m[2]:m[3]], "/")
			top, rest, _ := strings.Cut(name, "/")
			if rest == "" || !slices.Contains(tops, top) || strings.ContainsAny(name, " …{") || strings.Contains(name, "NNNN") {
				continue
			}
			for _, domain := range []string{"identity", "transfer"} {
				pattern := strings.NewReplacer("<domain>", domain, "<resource>", "*").Replace(name)
				found, err := filepath.Glob(filepath.Join(root, pattern))
				if err != nil || len(found) == 0 {
					t.Errorf("%s:%d names %s, which is not there", file, lineOf(text, m[0]), pattern)
				}
				if !strings.Contains(name, "<domain>") {
					break
				}
			}
		}
	}
}

// TestDocsNames checks that the make targets, settings and tests that documents name exist.
func TestDocsNames(t *testing.T) {
	t.Parallel()
	makefile, tests := readText(t, "Makefile"), testNames(t)
	var reference bytes.Buffer
	if err := config.Markdown(&reference); err != nil {
		t.Fatal(err)
	}
	known := func(setting string) bool {
		ofClients := setting == "CONSIGN_SERVER" || setting == "CONSIGN_TOKEN" // internal/cli reads them
		return ofClients || strings.Contains(reference.String(), "`"+setting+"`")
	}
	for _, file := range documents(t) {
		text := readText(t, file)
		for _, m := range makeTarget.FindAllStringSubmatch(codeOf(text), -1) {
			for target := range strings.FieldsSeq(m[1]) {
				script, isTest := strings.CutPrefix(target, "test-")
				if !strings.Contains(makefile, "\n"+target+":") && !(isTest && exists("test/"+script+".sh")) {
					t.Errorf("%s names make %s, which the Makefile does not have", file, target)
				}
			}
		}
		for _, setting := range settingName.FindAllString(text, -1) {
			if !known(setting) && !strings.HasSuffix(setting, "_") {
				t.Errorf("%s names %s, which is no setting", file, setting)
			}
		}
		for _, name := range testName.FindAllString(text, -1) {
			if !tests[name] {
				t.Errorf("%s names %s, which is no test", file, name)
			}
		}
	}
	for _, m := range bracketed.FindAllStringSubmatch(readText(t, "docs/contract.md"), -1) {
		if !known("CONSIGN_" + m[1]) {
			t.Errorf("docs/contract.md names the setting %s, which does not exist", m[1])
		}
	}
}

// TestPackageReferences checks that comments refer to packages that exist: "see package database".
func TestPackageReferences(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, p := range packages(t) {
		names[path.Base(p.path())] = true
		for _, imported := range p.Imports {
			names[path.Base(imported)] = true
		}
	}
	for _, file := range textFiles(t) {
		if path.Ext(file) != ".go" {
			continue
		}
		text := readText(t, file)
		for _, m := range packageName.FindAllStringSubmatchIndex(text, -1) {
			if name := text[m[2]:m[3]]; !names[name] {
				t.Errorf("%s:%d refers to package %s, which does not exist", file, lineOf(text, m[0]), name)
			}
		}
	}
}

// TestPackagesSayWhatTheyOwn checks that go doc has a sentence for each package: ARCHITECTURE.md has no table of them.
func TestPackagesSayWhatTheyOwn(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.Doc == "" && !strings.HasPrefix(p.path(), "test/") {
			t.Errorf("%s has no package comment", p.path())
		}
	}
}

// TestDocsLength checks that ARCHITECTURE.md takes ten minutes, and that the documents stay readable: those of users, and all together.
func TestDocsLength(t *testing.T) {
	t.Parallel()
	const architecture, use, all = 2_500, 25_000, 80_000
	words := func(file string) int { return len(strings.Fields(readText(t, file))) }
	if n := words("ARCHITECTURE.md"); n > architecture {
		t.Errorf("ARCHITECTURE.md has %d words, more than %d", n, architecture)
	}
	sum, users := 0, 0
	specification := []string{"docs/develop/specification/identity-api-v3.md", "docs/develop/specification/transfer-api-v2.md"}
	for _, file := range append(documents(t), specification...) { // textFiles leaves those two out
		sum += words(file)
		if strings.HasPrefix(file, "docs/use/") {
			users += words(file)
		}
	}
	if users > use {
		t.Errorf("the documents in docs/use have %d words, more than %d", users, use)
	}
	if sum > all {
		t.Errorf("the documents have %d words, more than %d", sum, all)
	}
}

// documents lists the Markdown files, relative to the root of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	all := slices.DeleteFunc(textFiles(t), func(f string) bool { return path.Ext(f) != ".md" })
	if len(all) < 8 {
		t.Fatalf("found %d documents only", len(all))
	}
	return all
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

// anchors returns the names that GitHub gives to the headings of a document.
func anchors(text string) []string {
	var all []string
	for _, m := range markdownHeading.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1]))
	}
	return all
}

// codeOf returns the code spans and code blocks of a document, one a line.
func codeOf(text string) string {
	var code strings.Builder
	for i, part := range strings.Split(text, "```") {
		if i%2 == 1 {
			for line := range strings.SplitSeq(part, "\n") {
				line, _, _ = strings.Cut(line, "  ") // what follows in a list of commands explains
				code.WriteString(line + "\n")
			}
			continue
		}
		for _, m := range codeSpan.FindAllStringSubmatch(part, -1) {
			code.WriteString(m[1] + "\n")
		}
	}
	return code.String()
}

// testNames returns the names of all test functions.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test[A-Z]\w+)\(`)
	names := map[string]bool{}
	for _, file := range textFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			for _, m := range declared.FindAllStringSubmatch(readText(t, file), -1) {
				names[m[1]] = true
			}
		}
	}
	return names
}

// TestDocumentsArePlainYAML: OpenAPI asks for YAML 1.2, which has no merge keys. A parser of it takes `<<` for the name of a member, and a
// generator of clients that uses one breaks.
func TestDocumentsArePlainYAML(t *testing.T) {
	t.Parallel()
	var walk func(document string, n *yaml.Node)
	walk = func(document string, n *yaml.Node) {
		if n.Tag == "!!merge" {
			t.Errorf("%s:%d: merge key", document, n.Line)
		}
		for _, child := range n.Content {
			walk(document, child)
		}
	}
	for document, content := range map[string][]byte{"identity-v3.yaml": api.IdentityV3(), "transfer-v2.yaml": api.TransferV2(),
		"admin-v1.yaml": api.AdminV1()} {
		var root yaml.Node
		if err := yaml.Unmarshal(content, &root); err != nil {
			t.Fatal(err)
		}
		walk(document, &root)
	}
}
