package app_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	fileHeading = regexp.MustCompile(`^## (\S+)$`)
	fileRow     = regexp.MustCompile("^\\| `([^`]+)` \\| (.+) \\|$")
)

// TestFilesIndex checks that docs/files.md has one row for each source file, below the heading of its directory, and that what a row
// names in code font is in the file. Commands, which contain a space, are not looked up.
func TestFilesIndex(t *testing.T) {
	t.Parallel()
	const index = "docs/files.md"
	missing := map[string]bool{}
	for _, file := range textFiles(t) {
		if isIndexed(file) {
			missing[file] = true
		}
	}
	listed, folder := map[string]bool{}, ""
	for i, line := range strings.Split(readText(t, index), "\n") {
		if m := fileHeading.FindStringSubmatch(line); m != nil {
			folder = m[1]
		}
		m := fileRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		file := path.Join(folder, m[1])
		switch {
		case listed[file]:
			t.Errorf("%s:%d is a second row for %s", index, i+1, file)
			continue
		case !missing[file]:
			t.Errorf("%s:%d has a row for %s, which is no source file", index, i+1, file)
			continue
		}
		listed[file] = true
		delete(missing, file)
		source := readText(t, file)
		for _, span := range codeSpan.FindAllStringSubmatch(m[2], -1) {
			name := span[1]
			if !strings.Contains(name, " ") && !hasWord(source, name) {
				t.Errorf("%s:%d names `%s`, which is not in %s", index, i+1, name, file)
			}
		}
	}
	if len(listed) < 400 {
		t.Errorf("%s has %d rows only", index, len(listed))
	}
	for file := range missing {
		t.Errorf("%s has no row for %s: write one below ## %s", index, file, path.Dir(file))
	}
}

// isIndexed reports whether docs/files.md must have a row for a file: Go outside test/ except tests, and scripts and styles of the pages.
func isIndexed(file string) bool {
	switch path.Ext(file) {
	case ".go":
		return !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "test/")
	case ".js", ".css":
		return strings.HasPrefix(file, "internal/web/assets/")
	}
	return false
}

func hasWord(text, word string) bool {
	return regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(word) + `(\W|$)`).MatchString(text)
}
