// Package models holds models of the protocols on which durability rests, in Promela. make test-models checks them with spin.
package models

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var step = regexp.MustCompile(`step: (\S+)\.(\w+) `)

// TestStepsAreFunctions checks that each step of a model names a function of the code. A model whose functions were renamed or removed
// must be read again.
func TestStepsAreFunctions(t *testing.T) {
	t.Parallel()
	models, err := filepath.Glob("*.pml")
	if err != nil || len(models) == 0 {
		t.Fatal("no models", err)
	}
	for _, model := range models {
		text, err := os.ReadFile(model)
		if err != nil {
			t.Fatal(err)
		}
		steps := step.FindAllSubmatch(text, -1)
		if len(steps) < 3 {
			t.Errorf("%s names %d functions only", model, len(steps))
		}
		for _, s := range steps {
			if !declared(t, string(s[1]), string(s[2])) {
				t.Errorf("%s stands for %s in %s, which has no such function", model, s[2], s[1])
			}
		}
	}
}

// declared reports whether a package of this module has a function or method of a name, or an interface that demands it.
func declared(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	declaration := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|\t)` + name + `\(`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if declaration.Match(text) {
			return true
		}
	}
	return false
}
