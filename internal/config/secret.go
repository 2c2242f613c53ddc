package config

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// SecretFile is the name, in DataDir, of the file with the secret key that the server made itself.
const SecretFile = "secret.key"

// ensureSecretKey reads the key that belongs to the data directory, after making it the first time. Of several starts
// at once all get the same key: the complete file is linked to its name, which only one of them can do.
func ensureSecretKey(dir string) ([]byte, error) {
	name := filepath.Join(dir, SecretFile)
	key, err := readSecretKey(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	// Not listable, but passable: the database's user must reach its own directory inside.
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, err
	}
	draft, err := os.CreateTemp(dir, SecretFile+".new-") // mode 0600
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	fresh := make([]byte, secretBytes)
	rand.Read(fresh) // crashes instead of failing
	_, err = draft.WriteString(base64.StdEncoding.EncodeToString(fresh) + "\n")
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(draft.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := syncDir(dir); err != nil {
		return nil, err
	}
	// The directory itself may be new; above it we may not be allowed to read, and then it is not of our making.
	if err := syncDir(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	return readSecretKey(name)
}

func readSecretKey(name string) ([]byte, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(strings.TrimSpace(string(content)))
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return key, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
