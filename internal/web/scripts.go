// Finds what the module of a page imports and which sentences it uses, for preloading and translations.

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

// script describes the module of a page with everything that it imports, directly or indirectly.
type script struct {
	modules   []string // imported modules in the order of their first import
	sentences []string // msgids of all modules, and of those that they import later
	all       []string // the module itself, modules, and those that they import later
	hashes    string   // the import map: the hash of each of all
	policy    string   // the Content-Security-Policy of its pages
}

// module describes one embedded ES module: its own imports and sentences.
type module struct {
	imports   []string
	later     []string // imported when they are needed
	sentences []string // msgids
}

// readModules reads all embedded modules, including assets/thirdparty.
func readModules(a assets) (map[string]module, error) {
	imported := regexp.MustCompile(`(?m)\bfrom ?"(\.\.?/[^"]+)"|^import "(\.\.?/[^"]+)"`)
	later := regexp.MustCompile(`\bimport\("(\./[^"]+)"\)`)
	// The calls T("…"), F("…", …) and N("…", "…", …). The test of package i18n finds them by the same rule.
	translated := regexp.MustCompile(`\b[TFN]\(("(?:[^"\\]|\\.)*")`)
	modules := map[string]module{}
	for _, name := range a.names {
		if path.Ext(name) != ".js" {
			continue
		}
		var m module
		source := a.content(name)
		for _, found := range translated.FindAllSubmatch(source, -1) {
			sentence, err := strconv.Unquote(string(found[1]))
			if err != nil {
				return nil, fmt.Errorf("read sentence %s of %s: %w", found[1], name, err)
			}
			m.sentences = append(m.sentences, sentence)
		}
		for _, found := range imported.FindAllSubmatch(source, -1) {
			m.imports = append(m.imports, path.Join(path.Dir(name), string(found[1])+string(found[2])))
		}
		for _, found := range later.FindAllSubmatch(source, -1) {
			m.later = append(m.later, path.Join(path.Dir(name), string(found[1])))
		}
		modules[name] = m
	}
	return modules, nil
}

// readScripts returns the script of each page.
func readScripts(a assets) (map[string]script, error) {
	modules, err := readModules(a)
	if err != nil {
		return nil, err
	}
	scripts := map[string]script{}
	for _, e := range slices.Concat(entries, demoEntries, []entry{missing, {script: referenceScript}}) {
		if _, ok := scripts[e.script]; ok {
			continue
		}
		own, err := scriptOf(modules, e.script+".js")
		if err != nil {
			return nil, err
		}
		if own.hashes, err = a.hashes(own.all); err != nil {
			return nil, err
		}
		own.policy = pagePolicy(a.style(), own.hashes)
		scripts[e.script] = own
	}
	return scripts, nil
}

// hashes returns an import map with the hashes of modules. A browser runs no module that has another one, wherever it is imported from.
func (a assets) hashes(names []string) (string, error) {
	sums := map[string]string{}
	for _, name := range names {
		sums[a.path()+name] = a.integrity(name)
	}
	text, err := json.Marshal(map[string]any{"integrity": sums})
	if err != nil {
		return "", fmt.Errorf("encode import map: %w", err)
	}
	return string(text), nil
}

// scriptOf follows the imports of a module, then what they import later. It fails when an imported module does not exist.
func scriptOf(modules map[string]module, name string) (script, error) {
	var s script
	var later []string
	var follow func(name string) error
	follow = func(name string) error {
		m, ok := modules[name]
		if !ok {
			return fmt.Errorf("there is no script %s", name)
		}
		s.sentences = append(s.sentences, m.sentences...)
		later = append(later, m.later...)
		for _, other := range m.imports {
			if slices.Contains(s.modules, other) {
				continue
			}
			s.modules = append(s.modules, other)
			if err := follow(other); err != nil {
				return err
			}
		}
		return nil
	}
	if err := follow(name); err != nil {
		return s, err
	}
	first := len(s.modules)
	for len(later) > 0 {
		other := later[0]
		later = later[1:]
		if slices.Contains(s.modules, other) {
			continue
		}
		s.modules = append(s.modules, other)
		if err := follow(other); err != nil {
			return s, err
		}
	}
	s.all = append([]string{name}, s.modules...)
	s.modules = s.modules[:first]
	slices.Sort(s.sentences)
	s.sentences = slices.Compact(s.sentences)
	return s, nil
}

// translations returns the translations of sentences: msgid to its text, or to the list of its plural forms. A sentence
// that is the same in both languages is left out, because scripts fall back to the msgid.
func translations(catalog *i18n.Catalog, locale string, sentences []string) map[string]any {
	found := map[string]any{}
	for _, sentence := range sentences {
		switch forms := catalog.Forms(locale, sentence); {
		case len(forms) > 1:
			found[sentence] = forms
		case len(forms) == 1 && forms[0] != sentence:
			found[sentence] = forms[0]
		}
	}
	return found
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
