// Checks that the pages have a sentence for each action of the audit, in each language.

package web_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/i18n"
)

// notRecorded are literals that look like actions.
var notRecorded = []string{"audit.missing", "audit.csv", "audit.jsonl", "receipt.pdf", "session.", "request.", "transfer.",
	"organization.unknown", "organization.none", "organization.deleted", "transfer.heartbeats", "storage.wrapped-key"}

// Every action in the code is in audit.Actions, every one of audit.Actions is in the code, and auditwords.js has a sentence for each.
func TestEveryActionHasASentence(t *testing.T) {
	t.Parallel()
	var resources []string
	for _, action := range audit.Actions {
		resource, _, _ := strings.Cut(action, ".")
		resources = append(resources, resource)
	}
	literal := regexp.MustCompile(`"(` + strings.Join(slices.Compact(resources), "|") + `)\.[a-z.-]*"`)
	recorded := regexp.MustCompile(`Action(?: =|:) *"([^"]+)"`)
	found := map[string]bool{"request.accepted": true, "request.returned": true} // "request." with the state of a document
	for _, dir := range []string{"identity", "transfer", "webhook", "hold", "audit", "app", "operator", "../cmd"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || d.Name() == "actions.go" {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range append(literal.FindAllString(string(source), -1), submatches(recorded, source)...) {
				action := strings.Trim(m, `"`)
				found[action] = found[action] || !slices.Contains(notRecorded, action)
				if found[action] && !slices.Contains(audit.Actions, action) {
					t.Errorf("%s: %s is not in audit.Actions", path, action)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, action := range audit.Actions {
		if !found[action] {
			t.Errorf("no code records %s", action)
		}
	}
	_, table, _ := strings.Cut(auditWords(t), "const sentences = {")
	said := submatches(regexp.MustCompile(`(?m)^  "([a-z.-]+)": \(`), []byte(table))
	slices.Sort(said)
	if diff := cmp.Diff(audit.Actions, said); diff != "" {
		t.Errorf("audit.Actions and the sentences of auditwords.js differ: %s", diff)
	}
}

// No sentence of the audit is English in another language.
func TestAuditIsTranslated(t *testing.T) {
	t.Parallel()
	catalog, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	sentences := submatches(regexp.MustCompile(`\b[TFN]\(("(?:[^"\\]|\\.)*")`), []byte(auditWords(t)))
	if len(sentences) < len(audit.Actions) {
		t.Fatalf("found only %d sentences", len(sentences))
	}
	english := regexp.MustCompile(`\b(?:the|of|was|to|with|changed)\b`)
	for _, locale := range i18n.Locales() {
		if locale == i18n.Default {
			continue
		}
		for _, quoted := range sentences {
			sentence, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatal(err)
			}
			for _, form := range catalog.Forms(locale, sentence) {
				if form == sentence || locale != "fr_FR" && english.MatchString(form) {
					t.Errorf("%s: %q is %q", locale, sentence, form)
				}
			}
			if len(catalog.Forms(locale, sentence)) == 0 {
				t.Errorf("%s: %q is not translated", locale, sentence)
			}
		}
	}
}

func auditWords(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("assets/auditwords.js")
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

func submatches(expression *regexp.Regexp, source []byte) (found []string) {
	for _, m := range expression.FindAllSubmatch(source, -1) {
		found = append(found, string(m[1]))
	}
	return found
}
