// Checks references to the contract and its numbering. Helpers that read the repository's files.

package app_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const root = "../.."

var (
	// contractReference finds "contract 4.12", "contract, section 2" and "contract 1.6, 1.9", also across the line ends of a comment.
	contractReference = regexp.MustCompile(
		`(?i)\bcontract,?\s+(?:(?://+|#|--|\*)\s*)?(?:section\s+)?(\d+(?:\.\d+)?(?:(?:, | and | to )\d+\.\d+)*)`)
	contractNumber  = regexp.MustCompile(`\d+(?:\.\d+)?`)
	contractHeading = regexp.MustCompile(`(?m)^(?:##|###) (\d+(?:\.\d+)?)\.? `)
)

// TestContractReferences checks that each "contract 4.12" in the repository names a section or an item of docs/contract.md.
func TestContractReferences(t *testing.T) {
	t.Parallel()
	contract := readText(t, "docs/contract.md")
	known := map[string]bool{}
	for _, m := range contractHeading.FindAllStringSubmatch(contract, -1) {
		if known[m[1]] {
			t.Errorf("docs/contract.md has section %s twice", m[1])
		}
		known[m[1]] = true
	}
	references := 0
	for _, file := range textFiles(t) {
		text := readText(t, file)
		for _, m := range contractReference.FindAllStringSubmatchIndex(text, -1) {
			for _, number := range contractNumber.FindAllString(text[m[2]:m[3]], -1) {
				references++
				if !known[number] {
					t.Errorf("%s:%d refers to contract %s, which docs/contract.md does not have", file, lineOf(text, m[0]), number)
				}
			}
		}
	}
	if references < 100 {
		t.Errorf("found %d references to the contract only; is the pattern still right?", references)
	}
}

// TestContractNumbering checks that sections and items are numbered in order, without gaps.
func TestContractNumbering(t *testing.T) {
	t.Parallel()
	var section, item int
	for _, m := range contractHeading.FindAllStringSubmatch(readText(t, "docs/contract.md"), -1) {
		want := ""
		if strings.Contains(m[1], ".") {
			item++
			want = fmt.Sprintf("%d.%d", section, item)
		} else {
			section, item = section+1, 0
			want = strconv.Itoa(section)
		}
		if m[1] != want {
			t.Errorf("docs/contract.md has the heading %s where %s is due", m[1], want)
		}
	}
}

// TestDeviations checks that each row about a deviation from the specifications names a test. TestDocsNames checks that the test exists.
func TestDeviations(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(readText(t, "docs/contract.md"), "\n## 10. Where we deviate")
	rows := regexp.MustCompile(`(?m)^\| .* \| ([^|]*) \|$`).FindAllStringSubmatch(section, -1)
	if !found || len(rows) < 5 {
		t.Fatalf("found %d rows", len(rows))
	}
	for _, row := range rows[1:] {
		if !strings.Contains(row[1], "Test") {
			t.Errorf("no test: %s", row[0])
		}
	}
}

// textFiles lists the repository's own text files, relative to its root: no generated, vendored or verbatim ones.
func textFiles(t *testing.T) []string {
	t.Helper()
	extensions := []string{".go", ".md", ".yaml", ".yml", ".js", ".mjs", ".css", ".sh", ".py", ".sql", ".conf", ".po", ""}
	skipped := []string{".git", ".tools", "var", "bin", "dist", "node_modules", "thirdparty", "docs/develop/specification", "docs/screenshots"}
	var files []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, p)
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && (slices.Contains(skipped, name) || slices.Contains(skipped, d.Name())):
			return filepath.SkipDir
		case d.Type().IsRegular() && slices.Contains(extensions, path.Ext(name)):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 400 {
		t.Fatalf("found %d files only", len(files))
	}
	return files
}

// readText returns a file of the repository, empty if it is no text.
func readText(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(content) {
		return ""
	}
	return string(content)
}

func lineOf(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }
