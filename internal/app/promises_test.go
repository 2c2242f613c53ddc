// Checks docs/trust.md and the script that writes its figures.

package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var figureRow = regexp.MustCompile("(?m)^\\| `make ([a-z0-9-]+)` \\|(.*)$")

// TestFiguresCanBeWritten checks that each row of figures in docs/trust.md is of a target that exists, that scripts/figure.sh writes it
// when it is asked to, and that README.md has the number of blackout.
func TestFiguresCanBeWritten(t *testing.T) {
	t.Parallel()
	makefile, page, readme := readText(t, "Makefile"), readText(t, "docs/trust.md"), readText(t, "README.md")
	rows := figureRow.FindAllStringSubmatch(page, -1)
	if len(rows) < 7 {
		t.Fatalf("docs/trust.md has %d rows of figures", len(rows))
	}
	dir := t.TempDir()
	into := filepath.Join(dir, "docs")
	if err := os.Mkdir(into, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	run := func(name, counted string, env ...string) error {
		write("counted", counted)
		script := exec.CommandContext(t.Context(), filepath.Join(root, "scripts/figure.sh"), name, "0")
		script.Env = append(append(os.Environ(), "FIGURES_ROOT="+dir, "FIGURE="+filepath.Join(dir, "counted")), env...)
		out, err := script.CombinedOutput()
		if err != nil {
			t.Logf("%s", out)
		}
		return err
	}
	write("docs/trust.md", page)
	write("README.md", readme)
	write("docs/interoperability.md", "text\n\n| program |\n|---|\n| b | 1 | old | | | |\n\nmore\n")
	for _, row := range rows {
		name := strings.TrimPrefix(row[1], "test-")
		if !strings.Contains(makefile, "\n"+row[1]+":") && (row[1] == name || !exists("test/"+name+".sh")) {
			t.Errorf("docs/trust.md has a row of %s, which is no target", row[1])
		}
		if err := run(name, "2 cuts\n", "FIGURES="); err != nil || read("docs/trust.md") != page || read("README.md") != readme {
			t.Fatalf("%s writes without being asked: %v", name, err)
		}
		if err := run(name, "", "FIGURES=1"); err == nil {
			t.Errorf("%s writes a row although it has counted nothing", name)
		}
		if err := run(name, "2 cuts\n0 lost\n1500000 cuts\n", "FIGURES=1"); err != nil {
			t.Fatalf("%s writes no row: %v", name, err)
		}
		found := regexp.MustCompile("(?m)^\\| `make " + row[1] + "` \\| \\d{4}-\\d\\d-\\d\\d \\| \\S+ \\| 1,500,002 cuts, 0 lost \\| \\d+ \\|$")
		text := read("docs/trust.md")
		if !found.MatchString(text) || figureRow.ReplaceAllString(text, "") != figureRow.ReplaceAllString(page, "") {
			t.Errorf("%s has written %s", name, text)
		}
		write("docs/trust.md", page)
		if told := strings.Contains(read("README.md"), "\nAt the last count: 1,500,002 cuts, 0 lost.\n"); told != (name == "blackout") {
			t.Errorf("README.md tells of %s: %t", name, told)
		}
		write("README.md", readme)
	}
	programs := regexp.MustCompile(`^text\n\n\| program \|\n\|---\|\n\| A \| 2 \| x \|.*make test-oidc.*\n` +
		`\| b \| 2 \| new \|.*\n\| c \| 3 \| y \|.*\n\nmore\n$`)
	err := run("oidc", "| c | 3 | y |\n| b | 2 | new |\n| A | 2 | x |\n", "FIGURES=1")
	if text := read("docs/interoperability.md"); err != nil || !programs.MatchString(text) {
		t.Errorf("%v, docs/interoperability.md is %s", err, text)
	}
	if err := run("encrypted", "1 cuts\n", "FIGURES=1"); err != nil || read("docs/trust.md") != page {
		t.Errorf("a target without a row: %v", err)
	}
}

// TestReadmeTellsTheLastFigure: the first screen of README.md has the number of the last power cuts, as docs/trust.md has it.
func TestReadmeTellsTheLastFigure(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile("(?m)^\\| `make blackout` \\| ([^|]*) \\| [^|]* \\| ([^|]*) \\|").FindStringSubmatch(
		readText(t, "docs/trust.md"))
	if row == nil {
		t.Fatal("docs/trust.md has no row of make blackout")
	}
	want := row[2]
	if !strings.HasPrefix(row[1], "2") {
		want = row[1]
	}
	screen := strings.Join(strings.Split(readText(t, "README.md"), "\n")[:20], "\n")
	if !strings.Contains(screen, "At the last count: "+want+".") {
		t.Errorf("the first screen of README.md does not say %q", want)
	}
	words := regexp.MustCompile(`\S*[[:alnum:]]\S*`) // without the lines of the table
	page := readText(t, "docs/trust.md")
	n, prose := len(words.FindAllString(page, -1)), len(words.FindAllString(figureRow.ReplaceAllString(page, ""), -1))
	if n > 800 || prose > 600 { // a run that makes a row longer must not make this test fail
		t.Errorf("docs/trust.md has %d words, %d of them no figures: more than 800 or 600", n, prose)
	}
}
