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

// SecretFile is the name of the file in DataDir with the secret key that the server generated.
const SecretFile = "secret.key"

// ensureSecretKey returns the secret key in dir. It creates the key if there is none. Parallel starts get the same key: each
// writes a complete file and hard-links it to the name, which succeeds only once.
func ensureSecretKey(dir string) ([]byte, error) {
	name := filepath.Join(dir, SecretFile)
	key, err := readSecretKey(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	// 0711: the user of the embedded Postgres must be able to reach its directory in dir, but not list dir.
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, err
	}
	draft, err := os.CreateTemp(dir, SecretFile+".new-") // mode 0600
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	fresh := make([]byte, secretBytes)
	rand.Read(fresh) // never returns an error
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
	// dir itself may be new. If its parent cannot be read, then this process did not create dir.
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
