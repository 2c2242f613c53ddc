// Command proxy writes this module at HEAD into a directory that the go command takes as a proxy (GOPROXY=file://DIR):
// proxy -version v1.2.3 -time 2026-01-02T15:04:05Z DIR.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	version := flag.String("version", "", "version of the module, with v")
	made := flag.String("time", "", "time of the commit")
	flag.Parse()
	if err := write(flag.Arg(0), *version, *made); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}

func write(dir, version, made string) (err error) {
	requirements, err := os.ReadFile("go.mod")
	if err != nil {
		return fmt.Errorf("read go.mod: %w", err)
	}
	m := module.Version{Path: modfile.ModulePath(requirements), Version: version}
	dir = filepath.Join(dir, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory: %w", err)
	}
	info, err := json.Marshal(map[string]string{"Version": version, "Time": made})
	if err != nil {
		return fmt.Errorf("write the time: %w", err)
	}
	files := map[string][]byte{version + ".mod": requirements, version + ".info": info, "list": []byte(version + "\n")}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil { //nolint:gosec // everybody may read a release
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	archive, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return fmt.Errorf("make the archive: %w", err)
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	if err := zip.CreateFromVCS(archive, m, ".", "HEAD", ""); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}
