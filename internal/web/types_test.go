package web_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Exported functions of scripts declare the types of their parameters in JSDoc, which make lint checks with tsc. No line is exempt.
func TestExportedFunctionsDeclareTypes(t *testing.T) {
	t.Parallel()
	exported := regexp.MustCompile(`(?m)^export (?:(?:async )?function \w+\(([^)\n]*)|const \w+ = (?:async )?\(([^)\n]+)\) =>)`)
	unchecked := regexp.MustCompile(`@ts-(?:ignore|nocheck|expect-error)`)
	for _, name := range ownScripts(t) {
		source, err := os.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if unchecked.Match(source) {
			t.Errorf("%s switches the check off", name)
		}
		for _, found := range exported.FindAllSubmatchIndex(source, -1) {
			line := string(source[found[0]:found[1]])
			before := strings.TrimSuffix(string(source[:found[0]]), "\n")
			comment := before[strings.LastIndex(before, "/**")+1:]
			if !strings.HasSuffix(before, "*/") || (found[2] < found[3] || found[4] < found[5]) && !strings.Contains(comment, "@param") &&
				!strings.Contains(comment, "@type") {
				t.Errorf("%s: %s has no types", name, line)
			}
		}
	}
}
