// Checks that the list of components is current and that their licences are allowed.

package licenses_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/licensecheck"

	"github.com/consign-dev/consign/internal/licenses"
)

var update = flag.Bool("update", false, "write third-party.txt")

// allowed are the licences of CONTRIBUTING.md and those of fonts.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "OFL-1.1", "Bitstream-Vera"}

// component is an entry of third-party.txt.
type component struct {
	licenses.Component
	texts [][]byte
}

// TestThirdPartyIsCurrent checks that third-party.txt names each module that the commands contain on any platform, each vendored
// script and each font, with the version and the licence of today. go test ./internal/licenses -update writes it.
func TestThirdPartyIsCurrent(t *testing.T) {
	t.Parallel()
	all := slices.Concat(modules(t), vendored(t))
	slices.SortFunc(all, func(a, b component) int { return cmp.Compare(a.Name, b.Name) })
	var want bytes.Buffer
	for _, c := range all {
		fmt.Fprintf(&want, "@@ %s %s (%s)\n\n", c.Name, c.Version, c.Licence)
		for _, text := range c.texts {
			want.Write(plain(text))
			want.WriteString("\n\n")
		}
	}
	if *update {
		if err := os.WriteFile("third-party.txt", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if licenses.ThirdParty() != want.String() {
		t.Error("third-party.txt is not current: run go test ./internal/licenses -update")
	}
	if got := licenses.Components(); len(got) != len(all) {
		t.Errorf("%d components, want %d", len(got), len(all))
	}
}

// modules returns the modules that the commands import on the platforms of a release, and the Go project itself.
func modules(t *testing.T) []component {
	t.Helper()
	type module struct{ Path, Version, Dir string }
	found := map[string]module{}
	for _, platform := range []string{"linux", "darwin"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Module", "./cmd/...")
		list.Dir, list.Env = "../..", append(os.Environ(), "GOOS="+platform, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for packages := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct{ Module *module }
			if err := packages.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Module != nil && p.Module.Version != "" {
				found[p.Module.Path] = *p.Module
			}
		}
	}
	all := make([]component, 0, len(found)+1)
	for _, m := range found {
		all = append(all, identify(t, m.Path, m.Version, filesOf(t, m.Dir)...))
	}
	// The Go project has one licence text for the standard library and for golang.org/x.
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	return append(all, identify(t, "Go, its standard library and runtime", goVersion.FindStringSubmatch(string(mod))[1],
		filepath.Join(found["golang.org/x/text"].Dir, "LICENSE")))
}

var goVersion = regexp.MustCompile(`(?m)^go (\S+)$`)

var legalFile = regexp.MustCompile(`(?i)^(licen[sc]es?|copying|notice)(\.(md|txt|golang))?$`)

// filesOf returns the files with licences and notices of a module. A directory of them is read as well.
func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case !legalFile.MatchString(e.Name()):
		case e.IsDir():
			more, err := filepath.Glob(filepath.Join(name, "*"))
			if err != nil {
				t.Fatal(err)
			}
			// go-mail's logo, which nothing here contains, has a licence of its own.
			more = slices.DeleteFunc(more, func(file string) bool { return strings.HasPrefix(filepath.Base(file), "CC-") })
			files = append(files, more...)
		default:
			files = append(files, name)
		}
	}
	return files
}

var scriptRow = regexp.MustCompile("(?m)^\\| `thirdparty/([^`]+)`[^|]*\\| ([^:(|]+[^ :(|])[:( ][^|]*\\| ([^| ]+) \\|")

// vendored returns the scripts of the table in CONTRIBUTING.md, the fonts and the list of common passwords.
func vendored(t *testing.T) []component {
	t.Helper()
	const assets = "../web/assets/thirdparty/"
	contributing, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []component
	for _, row := range scriptRow.FindAllStringSubmatch(string(contributing), -1) {
		file, name, version := row[1], row[2], row[3]
		licence := assets + strings.TrimSuffix(file, filepath.Ext(file)) + ".LICENSE"
		if folder, _, ok := strings.Cut(file, "/"); ok {
			licence = assets + folder + "/LICENSE"
		}
		all = append(all, identify(t, name, version, licence))
	}
	files, err := filepath.Glob(assets + "*LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(assets + "*/LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(files)+len(folders) {
		t.Errorf("CONTRIBUTING.md has %d vendored components, internal/web/assets/thirdparty has %d licences", len(all), len(files)+len(folders))
	}
	const fonts = "../pdf/fonts/LICENSE-"
	return append(all,
		dejaVu(t, fonts+"DejaVu.txt"),
		identify(t, "Droid Sans Fallback", "6.0.1r16", fonts+"Droid.txt"),
		identify(t, "NanumSquare", "20200506", fonts+"Nanum.txt"),
		identify(t, "Figtree, for documents", "2.002", fonts+"Figtree.txt"),
		identify(t, "Noto Emoji", "2.001", fonts+"NotoEmoji.txt"),
		identify(t, "zxcvbn-go, list of common passwords", "2019", "../identity/credential/common.LICENSE"),
	)
}

// dejaVu has a licence file that names the GPL for Debian's own files only.
func dejaVu(t *testing.T, file string) component {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return component{licenses.Component{Name: "DejaVu Sans", Version: "2.37", Licence: "Bitstream-Vera"}, [][]byte{text}}
}

// identify reads the files and finds out their licences.
func identify(t *testing.T, name, version string, files ...string) component {
	t.Helper()
	c := component{Component: licenses.Component{Name: name, Version: version}}
	var kinds []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c.texts = append(c.texts, text)
		for _, match := range licensecheck.Scan(text).Match {
			if !slices.Contains(kinds, match.ID) {
				kinds = append(kinds, match.ID)
			}
		}
	}
	slices.Sort(kinds)
	c.Licence = strings.Join(kinds, " AND ")
	if len(kinds) == 0 {
		t.Errorf("no known licence in %s: %v", name, files)
	}
	for _, kind := range kinds {
		if !slices.Contains(allowed, kind) {
			t.Errorf("%s is licensed by %s, which CONTRIBUTING.md does not allow", name, kind)
		}
	}
	return c
}

// plain removes spaces at ends of lines, and empty lines at both ends.
func plain(text []byte) []byte {
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\f")
	}
	return []byte(strings.Trim(strings.Join(lines, "\n"), "\n"))
}
