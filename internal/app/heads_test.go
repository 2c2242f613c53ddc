package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// TestFilesHaveHeads checks that each Go and JavaScript file of more than 80 lines says at its head what is in it. A Go file may let its
// first declaration say it: a type or function with a comment.
func TestFilesHaveHeads(t *testing.T) {
	t.Parallel()
	const short = 80
	long := 0
	for _, file := range textFiles(t) {
		kind := path.Ext(file)
		if kind != ".go" && kind != ".js" && kind != ".mjs" {
			continue
		}
		text := readText(t, file)
		if strings.Count(text, "\n") <= short {
			continue
		}
		long++
		if kind == ".go" && !goHead(t, file, text) {
			t.Errorf("%s needs a comment above its package clause that says what is in it (CONTRIBUTING.md, Plain words)", file)
		}
		if kind != ".go" && !strings.HasPrefix(text, "//") && !strings.HasPrefix(text, "/*") {
			t.Errorf("%s needs a comment in its first line that says what is in it", file)
		}
	}
	if long < 500 {
		t.Errorf("found %d long files only", long)
	}
}

// goHead reports whether a Go file is generated, has a comment above its package clause, or begins with a type or function that has one.
func goHead(t *testing.T, file, text string) bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(parsed) {
		return true
	}
	for _, c := range parsed.Comments {
		if c.Pos() < parsed.Package && strings.TrimSpace(c.Text()) != "" { // Text has no directives such as //go:build
			return true
		}
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			return d.Doc != nil
		case *ast.GenDecl:
			if d.Tok != token.IMPORT {
				return d.Tok == token.TYPE && d.Doc != nil
			}
		}
	}
	return false
}
