// Command sbom completes a CycloneDX document of the binary: it adds the vendored scripts and fonts, and the licences of all
// components. It reads and writes the document as JSON.
package main

import (
	"encoding/json"
	"log"
	"os"
	"strings"

	"github.com/consign-dev/consign/internal/licenses"
)

func main() {
	log.SetFlags(0)
	var document map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&document); err != nil {
		log.Fatal("read the document: ", err)
	}
	components, _ := document["components"].([]any)
	known := map[string]map[string]any{}
	for _, c := range components {
		if c, ok := c.(map[string]any); ok {
			name, _ := c["name"].(string)
			known[name] = c
		}
	}
	for _, c := range licenses.Components() {
		component, ok := known[c.Name]
		if !ok {
			if strings.Contains(c.Name, "/") && !strings.HasPrefix(c.Name, "@") {
				continue // a module of another platform
			}
			component = map[string]any{"type": "library", "name": c.Name, "version": c.Version, "bom-ref": "vendored:" + c.Name}
			components = append(components, component)
		}
		component["licenses"] = []any{map[string]any{"expression": c.Licence}}
	}
	document["components"] = components
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(document); err != nil {
		log.Fatal("write the document: ", err)
	}
}
