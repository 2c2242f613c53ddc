// The documents compared with the program: each command, action and flag, each make target and file that a code passage names exists, and
// each shell block parses.

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// passage is a piece of code in a document.
type passage struct {
	file, text string
	block      string // language of the block; empty: inline
}

var inlineCode = regexp.MustCompile("`([^`\n]+)`")

// passages returns the code in a Markdown file. Lines of a block that end with a backslash are joined.
func passages(t *testing.T, file string) (all []passage) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	inside, language, block := false, "", ""
	for line := range strings.Lines(string(raw)) {
		if mark, found := strings.CutPrefix(strings.TrimSpace(line), "```"); found {
			if inside && (language == "sh" || language == "bash") {
				all = append(all, passage{file, block, language})
			}
			inside, language, block = !inside, mark, ""
			continue
		}
		if inside {
			block += line
			all = append(all, passage{file, strings.TrimSpace(line), ""})
			continue
		}
		for _, m := range inlineCode.FindAllStringSubmatch(line, -1) {
			all = append(all, passage{file, m[1], ""})
		}
	}
	return all
}

// checkConsign compares a command line with the program.
func checkConsign(words []string) (problem string) {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || words[0] == "help" || words[0] == "COMMAND" {
		return ""
	}
	client := clientProgram(nil, io.Discard, io.Discard).Command()
	if i := slices.IndexFunc(commands(), func(c command) bool { return c.name == words[0] }); i >= 0 {
		usages := strings.Join(commands()[i].usages, " ")
		if len(words) > 1 && regexp.MustCompile(`^[a-z-]+$`).MatchString(words[1]) && words[1][0] != '-' &&
			!regexp.MustCompile(`(^|[ |\[])`+words[1]+`($|[ |\]])`).MatchString(usages) {
			return "there is no action " + words[1]
		}
		for _, w := range words[1:] {
			flag, _, _ := strings.Cut(w, "=")
			if strings.HasPrefix(flag, "--") && flag != envFileFlag && flag != "--help" && !strings.Contains(usages, flag) {
				return "there is no flag " + flag
			}
		}
		return ""
	}
	found, _, err := client.Find(words[:1])
	if err != nil || found == client {
		return "there is no such command"
	}
	for _, w := range words[1:] {
		name, isFlag := strings.CutPrefix(w, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && name != "help" && found.Flags().Lookup(name) == nil && found.InheritedFlags().Lookup(name) == nil {
			return "there is no flag --" + name
		}
	}
	return ""
}

// TestDocumentedCommands: what the documents tell operators to type exists.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "SECURITY.md")}
	for _, pattern := range []string{"docs/use/*.md", "docs/use/tutorials/*.md", "docs/develop/*.md"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	typed := regexp.MustCompile(`(?:^|[;&|] ?|sudo -u consign )(?:\./|bin/|/usr/bin/)?consign(?:-admin)? ([^;&|#…]+)`)
	target := regexp.MustCompile(`^(?:[A-Z]+=\S+ )*make ([a-z-]+)`)
	place := regexp.MustCompile(`^(?:deploy|scripts|test|internal|cmd|migrations|api)/[\w./-]+$`)
	counts := map[string]int{}
	for _, file := range files {
		for _, p := range passages(t, file) {
			if p.block != "" {
				counts["blocks"]++
				check := exec.CommandContext(t.Context(), "bash", "-n")
				check.Stdin = strings.NewReader(p.text)
				if out, err := check.CombinedOutput(); err != nil {
					t.Errorf("%s: a block does not parse: %s\n%s", p.file, out, p.text)
				}
				continue
			}
			for _, m := range typed.FindAllStringSubmatch(p.text, -1) {
				counts["commands"]++
				if problem := checkConsign(strings.Fields(m[1])); problem != "" {
					t.Errorf("%s: `%s`: %s", p.file, p.text, problem)
				}
			}
			if m := target.FindStringSubmatch(p.text); m != nil {
				counts["targets"]++
				_, err := os.Stat(filepath.Join(root, "test", strings.TrimPrefix(m[1], "test-")+".sh"))
				if !regexp.MustCompile(`(?m)^`+m[1]+`:`).Match(makefile) && (err != nil || !strings.HasPrefix(m[1], "test-")) {
					t.Errorf("%s: `%s`: there is no such target", p.file, p.text)
				}
			}
			if place.MatchString(p.text) && !strings.Contains(p.text, "NNNN") {
				counts["files"]++
				if _, err := os.Stat(filepath.Join(root, p.text)); err != nil {
					t.Errorf("%s: `%s` does not exist", p.file, p.text)
				}
			}
		}
	}
	for kind, least := range map[string]int{"blocks": 5, "commands": 80, "targets": 20, "files": 5} {
		if counts[kind] < least {
			t.Errorf("%d %s were found in the documents, want %d", counts[kind], kind, least)
		}
	}
}

// TestHelpNamesUsages: an action that the help of a command promises is one of its usages.
func TestHelpNamesUsages(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		usages := strings.Join(c.usages, " ")
		for _, verb := range []string{"unlock", "revoke", "rotate", "export", "delete", "retry", "extend", "restart"} {
			if regexp.MustCompile(`\b`+verb+`\b`).MatchString(c.help) && !strings.Contains(usages, verb) {
				t.Errorf("consign %s promises to %s: %s", c.name, verb, c.usage())
			}
		}
	}
}
