// The commands verify --release and verify --site: files and pages against what the release key's log says of a release.

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/release"
)

// logged is a statement about a release, with its proof.
type logged struct {
	release.Statement
	checked proof.Verified
}

// place says where the statement is in the log.
func (l logged) place() string {
	return fmt.Sprintf("entry %d of the log %s, which %s signed", l.checked.Index, l.checked.Origin, strings.Join(l.checked.SignedBy, ", "))
}

// releaseVerdict is the result of verify --release and --site, as --json prints it.
type releaseVerdict struct {
	Valid       bool                 `json:"valid"`
	Error       string               `json:"error,omitempty"`
	Version     string               `json:"version,omitempty"`
	Index       int64                `json:"index"`
	Log         string               `json:"log,omitempty"`
	SignedBy    []string             `json:"signedBy,omitempty"`
	File        string               `json:"file,omitempty"`
	Site        string               `json:"site,omitempty"`
	Differences []release.Difference `json:"differences,omitempty"`
}

func (l logged) verdict() releaseVerdict {
	return releaseVerdict{Version: l.Version, Index: l.checked.Index, Log: l.checked.Origin, SignedBy: l.checked.SignedBy}
}

// statements reads and verifies statements of a kind from the files that are named, or else from all with that ending in dir.
func statements(named []string, dir, kind, ending string, policy proof.Policy) ([]logged, error) {
	if len(named) == 0 {
		var err error
		if named, err = filepath.Glob(filepath.Join(escaped(dir), "consign-*"+ending)); err != nil {
			return nil, err
		}
	}
	if len(named) == 0 {
		return nil, usageError(fmt.Sprintf("verify: there is no consign-*%s in %s: take it from the release, or name it with --proof", ending,
			dir))
	}
	var all []logged
	for _, name := range named {
		file, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		text, p, err := proof.Split(file)
		var l logged
		if err == nil {
			l.checked, err = proof.Verify(p, proof.Entry(text), policy)
		}
		if err == nil {
			l.Statement, err = release.Parse(text)
		}
		if err == nil && l.Kind != kind {
			err = fmt.Errorf("%w: it begins with %s, not %s", release.ErrMalformed, l.Kind, kind)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", errProof, name, err)
		}
		all = append(all, l)
	}
	return all, nil
}

// errProof means that a statement about a release is refused.
var errProof = errors.New("the proof is refused")

// escaped returns a path as filepath.Glob takes it literally.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// verifyRelease says of each file whether it is of a release in the log.
func (p *Program) verifyRelease(paths, named []string, policy proof.Policy) error {
	refused := false
	for _, path := range paths {
		sum, _, err := hashFile(path)
		if err != nil {
			return err
		}
		all, err := statements(named, filepath.Dir(path), release.Files, ".release", policy)
		v, words := releaseVerdict{}, ""
		switch {
		case errors.Is(err, errProof):
			v, words = releaseVerdict{Error: err.Error()}, fmt.Sprintf("REFUSED  %s: %v", path, err)
		case err != nil:
			return err
		default:
			v, words = judgeFile(path, sum, all)
		}
		v.File = path
		refused = refused || !v.Valid
		if err := p.say(v, words+"\n"); err != nil {
			return err
		}
	}
	if refused {
		return ErrRefused
	}
	return nil
}

func judgeFile(path, sum string, all []logged) (releaseVerdict, string) {
	for _, l := range all {
		if f, ok := l.Find(sum); ok {
			v := l.verdict()
			v.Valid = true
			return v, fmt.Sprintf("ok       %s is %s of the release %s: %s.", path, f.Name, l.Version, l.place())
		}
	}
	for _, l := range all {
		if f, ok := l.Named(filepath.Base(path)); ok {
			v := l.verdict()
			v.Error = "the file was changed"
			return v, fmt.Sprintf("CHANGED  %s is not the file of that name in the release %s, whose SHA-256 is %s.", path, l.Version, f.SHA256)
		}
	}
	return releaseVerdict{Error: "the file is of no release"}, fmt.Sprintf("REFUSED  %s is no file of the release %s.", path, all[0].Version)
}

// verifySite compares what a server sends to browsers with the manifest of its version.
func (p *Program) verifySite(ctx context.Context, address string, named []string, policy proof.Policy) error {
	site, err := release.NewSite(address)
	if err != nil {
		return usageError("verify: --site: " + err.Error())
	}
	all, err := statements(named, ".", release.Pages, ".pages", policy)
	if errors.Is(err, errProof) {
		return p.refuse(releaseVerdict{Site: address, Error: err.Error()}, fmt.Sprintf("REFUSED  %s: %v\n", address, err))
	}
	if err != nil {
		return err
	}
	var manifests []release.Statement
	for _, l := range all {
		manifests = append(manifests, l.Statement)
	}
	i, err := site.Choose(ctx, manifests)
	if errors.Is(err, release.ErrNoManifest) {
		return p.refuse(releaseVerdict{Site: address, Error: err.Error()}, fmt.Sprintf("REFUSED  %s: %v\n", address, err))
	}
	if err != nil {
		return err
	}
	l := all[i]
	v := l.verdict()
	v.Site = address
	if v.Differences, err = site.Compare(ctx, l.Statement); err != nil {
		return err
	}
	if len(v.Differences) == 0 {
		v.Valid = true
		return p.say(v, fmt.Sprintf("ok       %s sends the pages of the version %s: %d files are those of %s, and %d pages run no other "+
			"script.\n", address, l.Version, len(l.Files), l.place(), len(l.Pages)))
	}
	v.Error = "the site differs from the manifest"
	var b strings.Builder
	for _, d := range v.Differences {
		fmt.Fprintf(&b, "%-8s %s: %s\n", strings.ToUpper(d.Kind), printable(d.Path), printable(d.Says))
	}
	fmt.Fprintf(&b, "REFUSED  %s differs from the version %s in %d places.\n", address, l.Version, len(v.Differences))
	return p.refuse(v, b.String())
}

// say prints a verdict, as words or as JSON.
func (p *Program) say(v releaseVerdict, words string) error {
	if p.json {
		return p.emit(v)
	}
	_, err := fmt.Fprint(p.Stdout, words)
	return err
}

func (p *Program) refuse(v releaseVerdict, words string) error {
	if err := p.say(v, words); err != nil {
		return err
	}
	return ErrRefused
}
