// The OpenAPI documents as files: in YAML as they are written, and in JSON for generators.

package web

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/consign-dev/consign/api"
)

// documents are the OpenAPI documents, in YAML.
var documents = []struct {
	name string
	read func() []byte
}{
	{"identity-v3", api.IdentityV3},
	{"transfer-v2", api.TransferV2},
	{"admin-v1", api.AdminV1},
}

// handleDocuments registers the OpenAPI documents.
func (p *Pages) handleDocuments() {
	for _, d := range documents {
		p.handle("/api/"+d.name+".yaml", file(d.name+".yaml", d.read, revalidate))
		p.handle("/api/"+d.name+".json", file(d.name+".json", func() []byte { return inJSON(d.read()) }, revalidate))
	}
}

// inJSON returns an embedded document in JSON, with its members in their order. JSON has no anchors: what an alias repeats is written out.
func inJSON(document []byte) []byte {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		panic(fmt.Errorf("read an embedded document: %w", err)) // a test reads all of them
	}
	var plain, indented bytes.Buffer
	writeJSON(&plain, root.Content[0])
	if err := json.Indent(&indented, plain.Bytes(), "", " "); err != nil {
		panic(fmt.Errorf("write an embedded document: %w", err))
	}
	return indented.Bytes()
}

func writeJSON(b *bytes.Buffer, n *yaml.Node) {
	switch n.Kind {
	case yaml.AliasNode:
		writeJSON(b, n.Alias)
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			b.WriteByte("{,"[min(i, 1)])
			b.Write(text(n.Content[i].Value))
			b.WriteByte(':')
			writeJSON(b, n.Content[i+1])
		}
		b.WriteString("{}"[min(len(n.Content), 1):])
	case yaml.SequenceNode:
		for i, item := range n.Content {
			b.WriteByte("[,"[min(i, 1)])
			writeJSON(b, item)
		}
		b.WriteString("[]"[min(len(n.Content), 1):])
	default:
		switch n.Tag {
		case "!!int", "!!float", "!!bool", "!!null":
			b.WriteString(n.Value) // the documents write them as JSON does
		default:
			b.Write(text(n.Value))
		}
	}
}

func text(s string) []byte {
	out, _ := json.Marshal(s) // a string cannot fail
	return out
}
