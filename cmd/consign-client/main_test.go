package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxSize is the largest binary, in bytes, that people should have to download.
const maxSize = 12_000_000

// TestStaticAndSmall: the binary is static, at most 12 MB, and has no server in it.
func TestStaticAndSmall(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "consign-client")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(binary)
	if err != nil || info.Size() > maxSize {
		t.Errorf("%d bytes, at most %d: %v", info.Size(), maxSize, err)
	}
	if out, err := exec.CommandContext(t.Context(), binary, "--version").CombinedOutput(); err != nil ||
		!strings.HasPrefix(string(out), "consign-client version ") {
		t.Errorf("--version: %v, %s", err, out)
	}
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, deps)
	}
	for _, server := range []string{"internal/app\n", "jackc/pgx", "go-chi/chi", "riverqueue"} {
		if strings.Contains(string(deps), server) {
			t.Errorf("it links %s", server)
		}
	}
}
