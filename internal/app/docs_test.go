package app_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/consign-dev/consign/api"
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

// TestDocumentsArePlainYAML: OpenAPI asks for YAML 1.2, which has no merge keys. A parser of it takes `<<` for the name of a member, and a
// generator of clients that uses one breaks.
func TestDocumentsArePlainYAML(t *testing.T) {
	t.Parallel()
	var walk func(document string, n *yaml.Node)
	walk = func(document string, n *yaml.Node) {
		if n.Tag == "!!merge" {
			t.Errorf("%s:%d: merge key", document, n.Line)
		}
		for _, child := range n.Content {
			walk(document, child)
		}
	}
	for document, content := range map[string][]byte{"identity-v3.yaml": api.IdentityV3(), "transfer-v2.yaml": api.TransferV2()} {
		var root yaml.Node
		if err := yaml.Unmarshal(content, &root); err != nil {
			t.Fatal(err)
		}
		walk(document, &root)
	}
}
