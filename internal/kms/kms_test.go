package kms_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/kms"
)

// script writes a program of the shell.
func script(t *testing.T, text string) kms.Command {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kms.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	return kms.Parse("/bin/sh " + path)
}

func TestCommand(t *testing.T) {
	t.Parallel()
	c := script(t, `case "$1" in wrap) base64 -d | { printf wrapped; cat; } | base64;; unwrap) base64 -d | tail -c +8 | base64;; *) exit 2;; esac`)
	key := bytes.Repeat([]byte{1, 2, 3, 250}, 8)
	wrapped, err := c.Wrap(t.Context(), key)
	if err != nil || bytes.Equal(wrapped, key) {
		t.Fatalf("%x, %v", wrapped, err)
	}
	if got, err := c.Unwrap(t.Context(), wrapped); err != nil || !bytes.Equal(got, key) {
		t.Errorf("%x, %v", got, err)
	}
}

func TestCommandFails(t *testing.T) {
	t.Setenv("CONSIGN_CANARY", "a secret")
	for text, want := range map[string]string{
		"echo 'no such key' >&2; exit 3": "exit status 3: no such key", "echo '%%%'": "not base64", "true": "not base64",
		"head -c 1000000 /dev/zero": "not base64", `echo "env: $CONSIGN_CANARY" >&2; exit 1`: "exit status 1: env:",
	} {
		_, err := script(t, text).Wrap(t.Context(), []byte("key"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "a secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := kms.Parse("/nonexistent/program").Wrap(t.Context(), []byte("key")); err == nil {
		t.Error("a program that does not exist")
	}
}
