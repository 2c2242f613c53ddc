// Finds the programs initdb and postgres on the machine.

package localpg

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

var errNoPrograms = errors.New("Postgres is not installed: run 'apt-get install postgresql' or 'brew install postgresql', " + //nolint:staticcheck // a sentence for operators that begins with a name
	"or set CONSIGN_DATABASE_URL to a server you have")

// Directories where packages install the server programs: Debian, Homebrew on both architectures, the PGDG packages of Red Hat.
var places = []string{
	"/usr/lib/postgresql/*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/usr/pgsql-*/bin",
}

var majorIn = regexp.MustCompile(`(?:postgresql/|postgresql@|pgsql-)(\d+)/bin$`)

// programs is a directory with initdb and postgres, and the major version in its name (0: none).
type programs struct {
	dir   string
	major int
}

// findPrograms returns the newest installed programs, or those of an existing cluster's major version.
func findPrograms(data string) (string, error) {
	found := installed(places, os.Getenv("PATH"))
	if len(found) == 0 {
		return "", errNoPrograms
	}
	version, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return found[0].dir, nil
	}
	if err != nil {
		return "", err
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(version)))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", filepath.Join(data, "PG_VERSION"), err)
	}
	for _, p := range found {
		if p.version() == major {
			return p.dir, nil
		}
	}
	return "", fmt.Errorf("the cluster in %s was made by Postgres %d, which is not installed any more: install it, or move the data "+
		"with pg_dump", data, major)
}

// installed lists the programs in the patterns and in PATH, newest first. Of equal versions, those in PATH come last.
func installed(patterns []string, searchPath string) []programs {
	var found []programs
	add := func(dir string) {
		known := slices.ContainsFunc(found, func(p programs) bool { return p.dir == dir })
		if known || !executable(filepath.Join(dir, "initdb")) || !executable(filepath.Join(dir, "postgres")) {
			return
		}
		p := programs{dir: dir}
		if m := majorIn.FindStringSubmatch(dir); m != nil {
			p.major, _ = strconv.Atoi(m[1])
		}
		found = append(found, p)
	}
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // fails on a malformed pattern only
		for _, dir := range matches {
			add(dir)
		}
	}
	for _, dir := range filepath.SplitList(searchPath) {
		if filepath.IsAbs(dir) {
			// Resolve a link in PATH: Postgres finds its libraries relative to the real directory.
			if real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres")); err == nil {
				add(filepath.Dir(real))
			}
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].major > found[j].major })
	return found
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// version runs postgres -V when the directory's name has no version.
func (p programs) version() int {
	if p.major != 0 {
		return p.major
	}
	out, err := exec.Command(filepath.Join(p.dir, "postgres"), "-V").Output() //nolint:noctx // prints its version and ends
	if err != nil {
		return 0
	}
	m := versionText.FindStringSubmatch(string(out))
	if m == nil {
		return 0
	}
	major, _ := strconv.Atoi(m[1])
	return major
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Client returns the path of a client program, such as pg_dump, of a version that can talk to a server of the major version: the installed
// one of that version, else a newer one.
func Client(name string, major int) (string, error) {
	best := ""
	for _, p := range installed(places, os.Getenv("PATH")) {
		if path := filepath.Join(p.dir, name); p.version() >= major && executable(path) {
			best = path // of the versions, the lowest comes last
		}
	}
	if path, err := exec.LookPath(name); best == "" && err == nil {
		best = path // a machine with the client programs only; it says itself when it is too old
	}
	if best == "" {
		return "", fmt.Errorf("%s of Postgres %d or newer is not installed: run 'apt-get install postgresql-client'", name, major)
	}
	return best, nil
}
