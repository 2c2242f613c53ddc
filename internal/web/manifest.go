package web

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/consign-dev/consign/internal/release"
)

// Manifest returns what a server of this version sends to browsers, whatever its settings: the hash of each file that pages load, and the
// pages. Their text depends on settings; what they run does not.
func Manifest(version string) (release.Statement, error) {
	a, err := readAssets("")
	if err != nil {
		return release.Statement{}, err
	}
	s := release.Statement{Kind: release.Pages, Version: version}
	for _, e := range entries {
		s.Pages = append(s.Pages, strings.NewReplacer("{key}", "x", "{uid}", "x").Replace(e.pattern))
	}
	s.Pages = append(s.Pages, "/api/", "/no-such-page")
	add := func(path string, sum [32]byte) {
		s.Files = append(s.Files, release.File{SHA256: hex.EncodeToString(sum[:]), Name: path})
	}
	for _, name := range a.names {
		add(a.path()+name, a.sums()[name])
	}
	for _, d := range documents {
		add("/api/"+d.name+".yaml", sha256.Sum256(d.read()))
		add("/api/"+d.name+".json", sha256.Sum256(inJSON(d.read())))
	}
	return s, nil
}
