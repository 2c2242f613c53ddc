package web

import (
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

// module is one embedded ES module: what it imports itself, and the sentences it speaks.
type module struct {
	imports   []string
	sentences []string // msgids
}

// readModules reads all embedded modules, those of others included.
func readModules(a assets) (map[string]module, error) {
	imported := regexp.MustCompile(`(?m)\bfrom ?"(\.\.?/[^"]+)"|^import "(\.\.?/[^"]+)"`)
	// The calls T("…"), F("…", …) and N("…", "…", …) of scripts. The test of package i18n reads them alike.
	spoken := regexp.MustCompile(`\b[TFN]\(("(?:[^"\\]|\\.)*")`)
	modules := map[string]module{}
	for _, name := range a.names {
		if path.Ext(name) != ".js" {
			continue
		}
		var m module
		source := a.content(name)
		for _, found := range spoken.FindAllSubmatch(source, -1) {
			sentence, err := strconv.Unquote(string(found[1]))
			if err != nil {
				return nil, fmt.Errorf("read sentence %s of %s: %w", found[1], name, err)
			}
			m.sentences = append(m.sentences, sentence)
		}
		for _, found := range imported.FindAllSubmatch(source, -1) {
			m.imports = append(m.imports, path.Join(path.Dir(name), string(found[1])+string(found[2])))
		}
		modules[name] = m
	}
	return modules, nil
}

// readScripts reads what the module of each page needs.
func readScripts(a assets) (map[string]script, error) {
	modules, err := readModules(a)
	if err != nil {
		return nil, err
	}
	scripts := map[string]script{}
	for _, e := range append(entries(), missing) {
		if scripts[e.script], err = scriptOf(modules, e.script+".js"); err != nil {
			return nil, err
		}
	}
	return scripts, nil
}

// scriptOf follows the imports of a module. It fails when one does not exist.
func scriptOf(modules map[string]module, name string) (script, error) {
	var s script
	var follow func(name string) error
	follow = func(name string) error {
		m, ok := modules[name]
		if !ok {
			return fmt.Errorf("there is no script %s", name)
		}
		s.sentences = append(s.sentences, m.sentences...)
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
	slices.Sort(s.sentences)
	s.sentences = slices.Compact(s.sentences)
	return s, nil
}

// wordsOf are the translations of sentences: msgid to its text, or to the list of its plural forms. What is the same in
// both languages is left out: a script that finds nothing shows the msgid.
func wordsOf(catalog *i18n.Catalog, locale string, sentences []string) map[string]any {
	words := map[string]any{}
	for _, sentence := range sentences {
		switch forms := catalog.Forms(locale, sentence); {
		case len(forms) > 1:
			words[sentence] = forms
		case len(forms) == 1 && forms[0] != sentence:
			words[sentence] = forms[0]
		}
	}
	return words
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
