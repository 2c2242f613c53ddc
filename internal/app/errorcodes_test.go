package app_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// declaredError is an error as its Go file declares it.
type declaredError struct {
	name   string // without Err
	code   int
	detail string // the first one, empty when it depends on the request
	doc    string // the comment, without the name in front of it
}

// errorGroup is the errors of one Go file.
type errorGroup struct {
	title, file, script string // script: the constant of errors.js; empty: it has none
	errors              []declaredError
}

// TestErrorCodes checks that docs/use/errors.md and the constants of the pages are what the Go files declare.
// go test ./internal/app -run ErrorCodes -update writes them.
func TestErrorCodes(t *testing.T) {
	t.Parallel()
	groups := []errorGroup{
		{title: "General", file: "internal/fault/fault.go", script: "GeneralCode"},
		{title: "Tokens", file: "internal/token/errors.go", script: "TokenCode"},
		{title: "Idempotency-Key", file: "internal/idempotency/idempotency.go"},
		{title: "Identity API and console", file: "internal/identity/errors.go", script: "IdentityCode"},
		{title: "Webhooks", file: "internal/webhook/errors.go", script: "WebhookCode"},
		{title: "Transfer API", file: "internal/transfer/errors.go", script: "TransferCode"},
	}
	for i := range groups {
		groups[i].errors = declaredErrors(t, groups[i].file)
	}
	checkGenerated(t, "docs/use/errors.md", errorsDocument(groups))

	const script, begin, end = "internal/web/assets/errors.js", "// Codes, written by go test ./internal/app -run ErrorCodes -update.\n",
		"// End of the codes.\n"
	before, rest, ok := strings.Cut(readText(t, script), begin)
	_, after, also := strings.Cut(rest, end)
	if !ok || !also {
		t.Fatalf("%s lacks the lines around its codes", script)
	}
	checkGenerated(t, script, before+begin+errorConstants(groups, pagesText(t))+end+after)
}

// literal returns the text of a string literal, or of several that are added.
func literal(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		words, err := strconv.Unquote(n.Value)
		return words, err == nil && n.Kind == token.STRING
	case *ast.BinaryExpr:
		before, ok := literal(n.X)
		after, also := literal(n.Y)
		return before + after, ok && also
	}
	return "", false
}

// declaredErrors returns the errors that a Go file declares by New, by code.
func declaredErrors(t *testing.T, file string) []declaredError {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []declaredError
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		e := declaredError{name: strings.TrimPrefix(spec.Names[0].Name, "Err")}
		ast.Inspect(spec.Values[0], func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.INT && e.code == 0 {
				e.code, _ = strconv.Atoi(lit.Value)
			}
			if words, ok := literal(n); ok && e.detail == "" {
				e.detail = words
				return false
			}
			return true
		})
		e.doc = strings.TrimSpace(spec.Comment.Text())
		if _, doc, found := strings.Cut(strings.Join(strings.Fields(spec.Doc.Text()), " "), ": "); found {
			e.doc = strings.TrimSuffix(doc, ".")
		}
		if e.code >= 400_000 && e.code < 600_000 {
			all = append(all, e)
		}
		return true
	})
	if len(all) < 3 {
		t.Fatalf("%s declares %d errors only", file, len(all))
	}
	slices.SortFunc(all, func(a, b declaredError) int { return a.code - b.code })
	return all
}

// errorsDocument returns docs/use/errors.md.
func errorsDocument(groups []errorGroup) string {
	var b strings.Builder
	b.WriteString(`# Error codes

Each error answer has ` + "`{error: {code, message, details}}`" + `. The code is the status times 1000 plus a number; codes never change. Both APIs use the
same numbers for different errors. The details below may name more in an answer. Generated from the Go files: go test ./internal/app -run ErrorCodes -update.
`)
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n", g.title)
		for _, e := range g.errors {
			text := e.detail
			if text == "" {
				text = e.doc
			}
			if text == "" {
				text = strings.ToLower(strings.ReplaceAll(screaming(e.name), "_", " "))
			}
			fmt.Fprintf(&b, "- %d %s\n", e.code, text)
		}
	}
	return b.String()
}

// pagesText returns the scripts of the pages.
func pagesText(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, file := range textFiles(t) {
		if strings.HasPrefix(file, "internal/web/assets/") && strings.HasSuffix(file, ".js") {
			b.WriteString(readText(t, file))
		}
	}
	return b.String()
}

// errorConstants returns the codes that the pages use as constants: every page loads them.
func errorConstants(groups []errorGroup, pages string) string {
	var b strings.Builder
	for _, g := range groups {
		if g.script == "" {
			continue
		}
		fmt.Fprintf(&b, "\n/** %s: %s */\nexport const %s = Object.freeze({\n", g.title, g.file, g.script)
		for _, e := range g.errors {
			if regexp.MustCompile(`\b` + g.script + `\.` + screaming(e.name) + `\b`).MatchString(pages) {
				fmt.Fprintf(&b, "  %s: %d,\n", screaming(e.name), e.code)
			}
		}
		b.WriteString("});\n")
	}
	return b.String() + "\n"
}

var wordEnd = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// screaming returns a Go name in the form of a constant: MFAToken is MFA_TOKEN.
func screaming(name string) string {
	return strings.ToUpper(wordEnd.ReplaceAllString(name, "${1}${3}_${2}${4}"))
}

// checkGenerated compares a file of the repository with what it must be, and writes it with -update.
func checkGenerated(t *testing.T, file, want string) {
	t.Helper()
	path := filepath.Join(root, file)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, []byte(want)) {
		has, wants := strings.Split(string(got), "\n"), strings.Split(want, "\n")
		n := 0
		for n < min(len(has), len(wants))-1 && has[n] == wants[n] {
			n++
		}
		t.Errorf("%s is not current: run go test ./internal/app -run %s -update\nline %d is  %s\nand not %s", file, t.Name(), n+1,
			wants[n], has[n])
	}
}
