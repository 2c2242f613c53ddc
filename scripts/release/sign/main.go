// Command sign adds the statements of a release to the log of the release key: its checksums, and the manifest of its pages. It writes
// both with their proofs into the directory of the release. With -public it writes the public key as minisign has it, NAME.pub, and as the
// log has it, NAME.logkey, and prints the line about them that documents have.
package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/release"
	"github.com/consign-dev/consign/internal/translog"
	"github.com/consign-dev/consign/internal/web"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("sign: ")
	key := flag.String("key", "", "file with the minisign secret key, without a password")
	public := flag.String("public", "", "NAME of the files of the public key")
	dir := flag.String("log", "", "directory of the log, which grows")
	dist := flag.String("dist", "", "directory of the release, with SHA256SUMS")
	version := flag.String("version", "", "of the release")
	flag.Parse()
	k, err := readKey(*key)
	if err == nil && *public != "" {
		err = k.publish(*public)
	} else if err == nil {
		err = sign(k, *dir, *dist, *version)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// key is a key of minisign.
type key struct {
	id      []byte
	private ed25519.PrivateKey
}

// readKey reads a secret key of minisign that has no password: the names of three algorithms, 48 bytes about the password, the id of the
// key, and the key.
func readKey(name string) (key, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return key{}, err
	}
	_, encoded, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) != 158 || string(raw[:6]) != "Ed\x00\x00B2" {
		return key{}, fmt.Errorf("%s is not a secret key of minisign without a password", name)
	}
	k := key{id: raw[54:62], private: ed25519.NewKeyFromSeed(raw[62:94])}
	if !bytes.Equal(k.private, raw[62:126]) {
		return key{}, fmt.Errorf("the key in %s is damaged", name)
	}
	return k, nil
}

func (k key) public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

func (k key) publish(name string) error {
	verifier, err := proof.VerifierKey(release.Origin, k.public())
	if err != nil {
		return err
	}
	minisign := base64.StdEncoding.EncodeToString(slices.Concat([]byte("Ed"), k.id, k.public()))
	for ending, text := range map[string]string{".pub": "untrusted comment: releases of Consign\n" + minisign, ".logkey": verifier} {
		if err := os.WriteFile(name+ending, []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	_, err = fmt.Println(release.KeyLine(minisign, verifier, k.public()))
	return err
}

// sign adds the two statements of a release to the log in dir.
func sign(k key, dir, dist, version string) error {
	files, err := checksums(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		return err
	}
	pages, err := web.Manifest(version)
	if err != nil {
		return err
	}
	held, err := statements(dir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(held, func(s release.Statement) bool { return s.Version == version }) {
		return fmt.Errorf("the log has version %s already: a version is released once", version)
	}
	names := []string{"consign-" + version + ".release", "consign-" + version + ".pages"}
	texts := [][]byte{release.Statement{Kind: release.Files, Version: version, Files: files}.Format(), pages.Format()}
	var entries [][]byte
	for _, text := range texts {
		if _, err := release.Parse(text); err != nil {
			return err
		}
		entries = append(entries, proof.Entry(text))
	}
	d, err := translog.NewDirectory(dir, release.Origin, k.private)
	if err != nil {
		return err
	}
	proofs, err := d.Append(entries)
	if err != nil {
		return err
	}
	for i, p := range proofs {
		if err := os.MkdirAll(filepath.Join(dir, "statement"), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "statement", fmt.Sprint(p.Index)), texts[i], 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dist, names[i]), proof.Join(texts[i], p), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checksums reads the output of sha256sum.
func checksums(name string) ([]release.File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var files []release.File
	for line := range strings.Lines(string(text)) {
		sum, file, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok {
			return nil, fmt.Errorf("%s: %q is no line of sha256sum", name, line)
		}
		files = append(files, release.File{SHA256: sum, Name: file})
	}
	return files, nil
}

// statements reads what the log says of earlier releases. Their texts are beside the tiles, which have their hashes only.
func statements(dir string) ([]release.Statement, error) {
	found, err := os.ReadDir(filepath.Join(dir, "statement"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []release.Statement
	for _, f := range found {
		text, err := os.ReadFile(filepath.Join(dir, "statement", f.Name()))
		if err != nil {
			return nil, err
		}
		s, err := release.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		all = append(all, s)
	}
	return all, err
}
