package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"

	"github.com/consign-dev/consign/internal/i18n"
)

// script is what the module of a page needs: the modules it imports, also by way of others, and the sentences of all.
type script struct {
	modules   []string // in the order of first mention
	sentences []string // msgids
}

var (
	imported = regexp.MustCompile(`(?m)\bfrom ?"(\.\.?/[^"]+)"|^import "(\.\.?/[^"]+)"`)
	// spoken finds the calls T("…"), F("…", …) and N("…", "…", …) of scripts. The test of package i18n reads them alike.
	spoken = regexp.MustCompile(`\b[TFN]\(("(?:[^"\\]|\\.)*")`)
)

// readScript follows the imports of an embedded module.
func readScript(name string) (script, error) {
	var s script
	seen := map[string]bool{}
	sentences := map[string]bool{}
	var read func(name string) error
	read = func(name string) error {
		if seen[name] {
			return nil
		}
		seen[name] = true
		source, err := files.ReadFile("assets/" + name)
		if err != nil {
			return fmt.Errorf("read script: %w", err)
		}
		for _, m := range spoken.FindAllSubmatch(source, -1) {
			sentence, err := strconv.Unquote(string(m[1]))
			if err != nil {
				return fmt.Errorf("read sentence %s of %s: %w", m[1], name, err)
			}
			sentences[sentence] = true
		}
		for _, m := range imported.FindAllStringSubmatch(string(source), -1) {
			other := path.Join(path.Dir(name), m[1]+m[2])
			if !slices.Contains(s.modules, other) {
				s.modules = append(s.modules, other)
			}
			if err := read(other); err != nil {
				return err
			}
		}
		return nil
	}
	if err := read(name); err != nil {
		return s, err
	}
	s.sentences = sortedKeys(sentences)
	return s, nil
}

// words are the translations of one locale: a msgid to its text, or to the list of its plural forms.
type words map[string]any

func readWords(catalog *i18n.Catalog, locale string) (words, error) {
	encoded, _ := catalog.JED(locale)
	var jed struct {
		Data map[string]map[string]json.RawMessage `json:"locale_data"`
	}
	if err := json.Unmarshal(encoded, &jed); err != nil {
		return nil, fmt.Errorf("read catalogue %s: %w", locale, err)
	}
	all := words{}
	for _, messages := range jed.Data {
		for msgid, raw := range messages {
			var forms []string
			if msgid == "" || json.Unmarshal(raw, &forms) != nil || len(forms) == 0 {
				continue // the header
			}
			if all[msgid] = any(forms); len(forms) == 1 {
				all[msgid] = forms[0]
			}
		}
	}
	return all, nil
}

// of picks the sentences that a script speaks. What is the same in both languages is left out: a script that finds
// nothing shows the msgid.
func (w words) of(sentences []string) map[string]any {
	picked := map[string]any{}
	for _, s := range sentences {
		if t, ok := w[s]; ok && t != s {
			picked[s] = t
		}
	}
	return picked
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
