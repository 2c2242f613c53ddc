// Package release holds what the release key's transparency log says of a release: the SHA-256 of its files, and of what its pages load.
// It reads the site of a server and compares it with that. Package proof proves that a statement is in the log.
package release

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Origin is the name of the log, which has one statement of each kind for a release.
const Origin = "github.com/consign-dev/consign/releases"

// The kinds of statements: the first line of each.
const (
	Files = "consign-release/v1" // of the files of a release
	Pages = "consign-pages/v1"   // of what its server sends to browsers
)

// Statement is a statement about a release.
type Statement struct {
	Kind    string
	Version string
	Pages   []string // paths of pages; of kind Pages only
	Files   []File
}

// File is a file of a release, or one that a page loads, by its path.
type File struct{ SHA256, Name string }

// ErrMalformed means that a text is no statement about a release.
var ErrMalformed = errors.New("this is no statement about a release")

// Format returns the statement as the log has it: a line for the kind, then lines of a name, a blank and a value.
func (s Statement) Format() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nversion %s\n", s.Kind, s.Version)
	for _, p := range s.Pages {
		fmt.Fprintf(&b, "page %s\n", p)
	}
	for _, f := range s.Files {
		fmt.Fprintf(&b, "file %s %s\n", f.SHA256, f.Name)
	}
	return []byte(b.String())
}

// Parse reads a statement. It accepts only what Format writes.
// Errors: ErrMalformed.
func Parse(text []byte) (Statement, error) {
	var s Statement
	for n, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		name, value, _ := strings.Cut(line, " ")
		switch {
		case n == 0 && (line == Files || line == Pages):
			s.Kind = line
		case n == 1 && name == "version":
			s.Version = value
		case n > 1 && name == "page" && s.Kind == Pages && len(s.Files) == 0:
			s.Pages = append(s.Pages, value)
		case n > 1 && name == "file":
			sum, file, _ := strings.Cut(value, " ")
			s.Files = append(s.Files, File{sum, file})
		default:
			return Statement{}, fmt.Errorf("%w: line %d is %q", ErrMalformed, n+1, line)
		}
	}
	return s, s.check(text)
}

func (s Statement) check(text []byte) error {
	if s.Version == "" || len(s.Files) == 0 || string(s.Format()) != string(text) {
		return ErrMalformed
	}
	names := map[string]bool{}
	for _, f := range s.Files {
		sum, err := hex.DecodeString(f.SHA256)
		if err != nil || len(sum) != 32 || hex.EncodeToString(sum) != f.SHA256 || f.Name == "" || names[f.Name] {
			return fmt.Errorf("%w: file %q", ErrMalformed, f.Name)
		}
		names[f.Name] = true
	}
	return nil
}

// Find returns the file with this SHA-256.
func (s Statement) Find(sum string) (File, bool) {
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.SHA256 == sum })
	if i < 0 {
		return File{}, false
	}
	return s.Files[i], true
}

// Named returns the file with this name.
func (s Statement) Named(name string) (File, bool) {
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}
	return s.Files[i], true
}

// KeyLine returns the line about the release key in SECURITY.md and README.md: the key as minisign and as the log have it, and its
// fingerprint, the SHA-256 of its 32 bytes.
func KeyLine(minisign, verifier string, public []byte) string {
	return fmt.Sprintf("Release key: `%s` (minisign), `%s` (log), fingerprint SHA-256 `%x`.", minisign, verifier, sha256.Sum256(public))
}

// NoKeyLine is that line before the first release.
const NoKeyLine = "Release key: none yet; the first release publishes it here."
