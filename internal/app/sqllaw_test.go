package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTransferReadsDirectoryOnly checks that no SQL of the domains transfer and webhook names a table of identity (schema
// identity), and that it joins the views of schema directory.
func TestTransferReadsDirectoryOnly(t *testing.T) {
	t.Parallel()
	for _, domain := range []string{"../transfer", "../webhook"} {
		statements := sqlOf(t, domain)
		if len(statements) == 0 {
			t.Fatal("no SQL was found")
		}
		foreign, views := regexp.MustCompile(`(?i)\bidentity\.\w+`), 0
		for _, s := range statements {
			if found := foreign.FindString(s); found != "" {
				t.Errorf("%s: SQL names %s: it may read the views of schema directory only", domain, found)
			}
			views += strings.Count(s, "directory.")
		}
		if views == 0 {
			t.Errorf("%s joins no view of schema directory: is this test looking in the right place?", domain)
		}
	}
}

// sqlOf collects the string literals of a tree's non-test Go files that hold SQL.
func sqlOf(t *testing.T, root string) []string {
	t.Helper()
	keyword := regexp.MustCompile(`(?i)\b(select|insert|update|delete|with)\b`)
	var found []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if _, isImport := n.(*ast.ImportSpec); isImport {
				return false
			}
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && keyword.MatchString(text) {
					found = append(found, text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
