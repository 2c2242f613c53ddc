//go:build systemd

// Compares the parser of environment files with systemd's own: make test-systemd.

package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestParseEnvFileAsSystemd compares the parser with systemd's own, which its generator of user environments uses, too.
func TestParseEnvFileAsSystemd(t *testing.T) {
	t.Parallel()
	const generator = "/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator"
	if _, err := os.Stat(generator); err != nil {
		t.Fatal("systemd's generator of environments is missing: run apt-get install systemd")
	}
	for text := range envFiles {
		if strings.Contains(text, "\xff") { // ends the generator
			continue
		}
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "environment.d"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "environment.d", "zz.conf"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), generator)
		cmd.Env = []string{"XDG_CONFIG_HOME=" + dir, "HOME=" + dir}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		// It prints values in shell's quotes; what is between them is compared.
		printed := strings.NewReplacer(`\`, "", "$'", "", `"`, "", "'", "", "\n", "").Replace(string(out))
		entries, err := ParseEnvFile(text)
		for _, entry := range entries {
			plain := strings.NewReplacer(`\`, "", `"`, "", "'", "", "\n", "n").Replace(entry)
			if err != nil || !strings.HasSuffix(plain, "=") && !strings.Contains(printed, plain) { // it does not print empty ones
				t.Errorf("%q: systemd prints %q, the parser %q", text, out, entry)
			}
		}
	}
}
