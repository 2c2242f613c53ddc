package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/release"
)

// secretKey is a secret key of minisign with this seed, as minisign -G -W writes it.
func secretKey(seed byte) []byte {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32))
	raw := append([]byte("Ed\x00\x00B2"), make([]byte, 48)...)
	raw = append(append(raw, "12345678"...), private...)
	return []byte("untrusted comment: minisign encrypted secret key\n" + base64.StdEncoding.EncodeToString(append(raw, make([]byte, 32)...)))
}

// TestSign: the log of a key grows by two statements a version, whose proofs verify. A version is stated once; a damaged key is refused.
func TestSign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("SHA256SUMS", []byte(strings.Repeat("ab", 32)+"  consign-1.0.0-linux-amd64\n"))
	k, err := readKey(write("key", secretKey(1)))
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	for _, version := range []string{"1.0.0", "1.0.1"} {
		if err := sign(k, log, dir, version); err != nil {
			t.Fatal(err)
		}
	}
	if err := sign(k, log, dir, "1.0.0"); err == nil {
		t.Error("a version is stated twice")
	}
	if err := k.publish(filepath.Join(dir, "release")); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "release.logkey"))
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(strings.TrimSpace(string(key)))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"consign-1.0.0.release", "consign-1.0.0.pages", "consign-1.0.1.release", "consign-1.0.1.pages"} {
		file, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text, p, err := proof.Split(file)
		if err != nil {
			t.Fatal(err)
		}
		v, err := proof.Verify(p, proof.Entry(text), proof.Policy{Logs: []note.Verifier{verifier}})
		if err != nil || v.Index != int64(i) || v.Origin != release.Origin {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		if s, err := release.Parse(text); err != nil || !strings.HasPrefix(name, "consign-"+s.Version+".") {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}

	damaged, other := secretKey(2), secretKey(3)
	damaged[bytes.IndexByte(damaged, '\n')+120] ^= 1
	for name, text := range map[string][]byte{"damaged": damaged, "short": other[:60], "empty": nil} {
		if _, err := readKey(write(name, text)); err == nil {
			t.Errorf("a key that is %s is read", name)
		}
	}
	if k, err = readKey(write("other", other)); err == nil {
		err = sign(k, log, dir, "1.0.2")
	}
	if err == nil {
		t.Error("another key adds to the log")
	}
}
