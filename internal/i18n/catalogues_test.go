// Checks that each catalogue translates each sentence of code and pages.

package i18n_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/i18n"
)

// root is the repository, whose whole source uses the catalogues.
const root = "../.."

// sentence is a msgid with its context and plural.
type sentence struct{ context, msgid, plural string }

// TestCatalogues compares every catalogue with the source. No sentence is missing, untranslated, fuzzy, repeated or
// unused, and every translation has the placeholders of its msgid.
func TestCatalogues(t *testing.T) {
	t.Parallel()
	used := usedSentences(t)
	if len(used) < 60 {
		t.Fatalf("only %d sentences found in the source; the extractor is broken", len(used))
	}
	for _, locale := range i18n.Locales() {
		t.Run(locale, func(t *testing.T) {
			t.Parallel()
			entries := readPO(t, filepath.Join("locales", locale+".po"))
			for s, where := range used {
				if _, ok := entries[s]; !ok {
					t.Errorf("no entry for %q, used in %s", s, where)
				}
			}
			forms := pluralForms(t, entries)
			for s, e := range entries {
				if s.msgid == "" {
					continue
				}
				if _, ok := used[s]; !ok {
					t.Errorf("line %d: %q is used nowhere", e.line, s)
				}
				checkEntry(t, locale, s, e, forms)
			}
		})
	}
}

func checkEntry(t *testing.T, locale string, s sentence, e entry, forms int) {
	t.Helper()
	if e.fuzzy {
		t.Errorf("line %d: %q is fuzzy", e.line, s.msgid)
	}
	want := 1
	if s.plural != "" {
		want = forms
	}
	if len(e.translations) != want {
		t.Errorf("line %d: %q has %d forms, want %d", e.line, s.msgid, len(e.translations), want)
	}
	for i, translation := range e.translations {
		if translation == "" {
			t.Errorf("line %d: %q is not translated", e.line, s.msgid)
			continue
		}
		if diff := cmp.Diff(placeholders(s.msgid), placeholders(translation)); diff != "" {
			t.Errorf("line %d: form %d of %q does not keep the placeholders: %s", e.line, i, s.msgid, diff)
		}
		if locale == i18n.Default && i < 2 && translation != []string{s.msgid, s.plural}[i] {
			t.Errorf("line %d: the English of %q differs from its msgid: %q", e.line, s.msgid, translation)
		}
	}
	if s.plural != "" {
		if diff := cmp.Diff(placeholders(s.msgid), placeholders(s.plural)); diff != "" {
			t.Errorf("line %d: singular and plural of %q differ in placeholders", e.line, s.msgid)
		}
	}
}

var placeholder = regexp.MustCompile(`%(?:([0-9]+)\$)?([-+# 0-9.]*[a-zA-Z%])`)

// placeholders maps the number of each argument to its verb.
func placeholders(format string) map[int]string {
	found, next := map[int]string{}, 1
	for _, m := range placeholder.FindAllStringSubmatch(format, -1) {
		if m[2] == "%" {
			continue
		}
		n := next
		if m[1] != "" {
			n, _ = strconv.Atoi(m[1])
		} else {
			next++
		}
		found[n] = m[2]
	}
	return found
}

// usedSentences returns the sentences in the source: calls of T, F, N and C with literal arguments in Go code, T in
// templates, and T, F and N in scripts outside of directories named thirdparty.
func usedSentences(t *testing.T) map[sentence]string {
	t.Helper()
	used := map[sentence]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "var" || name == "testdata" ||
				name == "thirdparty") {
				return filepath.SkipDir
			}
			return nil
		}
		switch {
		case strings.HasSuffix(path, "_test.go"):
		case strings.HasSuffix(path, ".go"):
			return fromGo(path, used)
		case slices.Contains([]string{".html", ".js", ".mjs"}, filepath.Ext(path)) && strings.Contains(path, "internal"):
			return fromText(path, used)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func fromGo(path string, used map[sentence]string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		where := set.Position(call.Pos()).String()
		first, _ := literal(call, 0)
		second, twice := literal(call, 1)
		switch selector.Sel.Name {
		case "T", "F":
			if first != "" {
				used[sentence{msgid: first}] = where
			}
		case "N":
			if first != "" && twice {
				used[sentence{msgid: first, plural: second}] = where
			}
		case "C":
			if first != "" && twice {
				used[sentence{context: first, msgid: second}] = where
			}
		}
		return true
	})
	return nil
}

// literal returns the value of an argument that is a string literal or a concatenation of literals.
func literal(call *ast.CallExpr, i int) (string, bool) {
	if i >= len(call.Args) {
		return "", false
	}
	return constant(call.Args[i])
}

func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, ok := constant(e.X)
		right, also := constant(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	}
	return "", false
}

var (
	inTemplate = regexp.MustCompile(`(?:[{( .$]|\b)[TF][ (]("(?:[^"\\]|\\.)*")`)
	counted    = regexp.MustCompile(`\bN\(("(?:[^"\\]|\\.)*"), ("(?:[^"\\]|\\.)*")`)
)

func fromText(path string, used map[sentence]string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, m := range inTemplate.FindAllSubmatch(source, -1) {
		s, err := strconv.Unquote(string(m[1]))
		if err != nil {
			return err
		}
		used[sentence{msgid: s}] = path
	}
	for _, m := range counted.FindAllSubmatch(source, -1) {
		one, err := strconv.Unquote(string(m[1]))
		if err != nil {
			return err
		}
		many, err := strconv.Unquote(string(m[2]))
		if err != nil {
			return err
		}
		used[sentence{msgid: one, plural: many}] = path
	}
	return nil
}

type entry struct {
	line         int
	fuzzy        bool
	translations []string
}

// readPO is a strict parser of .po files. It finds errors that the library tolerates.
func readPO(t *testing.T, path string) map[sentence]entry {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries := map[sentence]entry{}
	var (
		s    sentence
		e    entry
		into *string
	)
	store := func() {
		if len(e.translations) > 0 {
			if _, again := entries[s]; again {
				t.Errorf("%s:%d: %q is there twice", path, e.line, s.msgid)
			}
			entries[s] = e
			s, e = sentence{}, entry{}
		}
	}
	for i, line := range strings.Split(string(source), "\n") {
		keyword, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case keyword == "":
			store()
			continue
		case strings.HasPrefix(keyword, "#"):
			store()
			e.fuzzy = e.fuzzy || strings.HasPrefix(line, "#,") && strings.Contains(line, "fuzzy")
			if strings.HasPrefix(line, "#~") {
				t.Errorf("%s:%d: an obsolete entry", path, i+1)
			}
			continue
		case keyword == "msgctxt":
			store()
			into = &s.context
		case keyword == "msgid":
			store()
			into, e.line = &s.msgid, i+1
		case keyword == "msgid_plural":
			into = &s.plural
		case strings.HasPrefix(keyword, "msgstr"):
			e.translations = append(e.translations, "")
			into = &e.translations[len(e.translations)-1]
		default:
			rest = strings.TrimSpace(line)
		}
		text, err := strconv.Unquote(rest)
		if err != nil || into == nil {
			t.Fatalf("%s:%d: cannot read %q", path, i+1, line)
		}
		*into += text
	}
	store()
	return entries
}

func pluralForms(t *testing.T, entries map[sentence]entry) int {
	t.Helper()
	header := entries[sentence{}]
	if len(header.translations) == 0 {
		t.Fatalf("no header among %d entries", len(slices.Collect(maps.Keys(entries))))
	}
	m := regexp.MustCompile(`nplurals=(\d+);`).FindStringSubmatch(header.translations[0])
	if m == nil {
		t.Fatal("the header does not tell the number of plural forms")
	}
	n, _ := strconv.Atoi(m[1])
	return n
}
