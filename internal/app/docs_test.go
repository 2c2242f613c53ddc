package app_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/consign-dev/consign/internal/config"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

// TestConfigurationReference checks that docs/configuration.md is what the table of settings says.
// go test ./internal/app -run ConfigurationReference -update writes it.
func TestConfigurationReference(t *testing.T) {
	t.Parallel()
	const file = "../../docs/configuration.md"
	var want bytes.Buffer
	if err := config.Markdown(&want); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/configuration.md is not current: run go test ./internal/app -run ConfigurationReference -update")
	}
}
