package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// demoFile is DATA_DIR/demo.txt, with a line "name: value" for each thing that a newcomer needs.
type demoFile struct{ dir string }

// The names of values that are secrets of the demo's owner, besides the password.
const (
	demoToken  = "token"
	demoSecret = "webhook secret"
)

type demoValue struct{ name, value string }

func (a *App) demoFile() demoFile { return demoFile{a.config.DataDir} }

func (f demoFile) name() string { return filepath.Join(f.dir, "demo.txt") }

// value returns a value; empty: there is none.
func (f demoFile) value(name string) string {
	raw, err := os.ReadFile(f.name())
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+": "); ok {
			return value
		}
	}
	return ""
}

// write replaces the file by these values.
func (f demoFile) write(values ...demoValue) error {
	var text strings.Builder
	for _, v := range values {
		fmt.Fprintf(&text, "%s: %s\n", v.name, v.value)
	}
	if err := os.MkdirAll(f.dir, 0o711); err != nil {
		return err
	}
	if err := os.WriteFile(f.name()+".new", []byte(text.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(f.name()+".new", f.name())
}

// add adds a value at the end.
func (f demoFile) add(v demoValue) error {
	raw, err := os.ReadFile(f.name())
	if err != nil {
		return err
	}
	var values []demoValue
	for line := range strings.Lines(string(raw)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			values = append(values, demoValue{name, value})
		}
	}
	return f.write(append(values, v)...)
}
