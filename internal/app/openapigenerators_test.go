package app_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/consign-dev/consign/internal/testkit"
)

// TestExamplesMatchTheirSchemas checks that each JSON body and form of a request and of an answer has examples, and that they are
// valid. The linters of test/openapi check the same with other libraries.
func TestExamplesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	bodies(t, func(where string, media *openapi3.MediaType, request bool) {
		examples := map[string]any{}
		if media.Example != nil {
			examples["example"] = media.Example
		}
		for name, e := range media.Examples {
			examples[name] = e.Value.Value
		}
		if len(examples) == 0 {
			t.Errorf("%s has no example", where)
		}
		side := openapi3.VisitAsResponse()
		if request {
			side = openapi3.VisitAsRequest()
		}
		for name, e := range examples {
			if err := media.Schema.Value.VisitJSON(e, side, openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation(),
				openapi3.MultiErrors()); err != nil {
				t.Errorf("%s: %s does not match the schema: %v", where, name, err)
			}
		}
	})
}

// bodies calls check for each JSON body and form of each operation.
func bodies(t *testing.T, check func(where string, media *openapi3.MediaType, request bool)) {
	t.Helper()
	for _, doc := range testkit.LoadDocuments(t, "/id/v3", "/transfer/v2") {
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				if operation.RequestBody != nil {
					for name, media := range operation.RequestBody.Value.Content {
						if strings.HasSuffix(name, "json") || strings.HasSuffix(name, "form-urlencoded") {
							check(method+" "+path, media, true)
						}
					}
				}
				for status, response := range operation.Responses.Map() {
					for name, media := range response.Value.Content {
						if strings.HasSuffix(name, "json") {
							check(method+" "+path+" "+status, media, false)
						}
					}
				}
			}
		}
	}
}

// TestDocumentsFitGenerators checks what generators of clients have stumbled over: a default makes a member of a request required,
// writeOnly makes a required member optional, null is no word of an enumeration, an unnamed choice has no type to construct it.
func TestDocumentsFitGenerators(t *testing.T) {
	t.Parallel()
	bodies(t, func(where string, media *openapi3.MediaType, request bool) {
		if s := media.Schema; s.Ref == "" && (len(s.Value.OneOf) > 0 || len(s.Value.AnyOf) > 0) {
			t.Errorf("%s is a choice without a name", where)
		}
		walk(media.Schema, map[*openapi3.Schema]bool{}, func(name string, s *openapi3.Schema) {
			if request && s.Default != nil {
				t.Errorf("%s: %s has a default; say in its description what absent means", where, name)
			}
			if s.WriteOnly {
				t.Errorf("%s: %s is writeOnly; only a schema of requests has it anyway", where, name)
			}
			if slices.Contains(s.Enum, nil) {
				t.Errorf("%s: %s has null in its enum; write anyOf with a type null", where, name)
			}
		})
	})
}

// walk calls visit for the members of a schema and all within, once for each schema.
func walk(ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool, visit func(name string, s *openapi3.Schema)) {
	if ref == nil || ref.Value == nil || seen[ref.Value] {
		return
	}
	s := ref.Value
	seen[s] = true
	for name, member := range s.Properties {
		visit(name, member.Value)
		walk(member, seen, visit)
	}
	for _, list := range []openapi3.SchemaRefs{s.AllOf, s.AnyOf, s.OneOf} {
		for _, one := range list {
			walk(one, seen, visit)
		}
	}
	walk(s.Items, seen, visit)
}

// TestComponentsHaveDistinctNames checks that a schema has no name of a parameter: generators make a type of both.
func TestComponentsHaveDistinctNames(t *testing.T) {
	t.Parallel()
	for _, doc := range testkit.LoadDocuments(t, "/id/v3", "/transfer/v2") {
		for name := range maps.Keys(doc.Components.Parameters) {
			if doc.Components.Schemas[name] != nil {
				t.Errorf("%s: %s is a schema and a parameter", doc.Info.Title, name)
			}
		}
		for _, server := range doc.Servers {
			if !strings.HasPrefix(server.URL, "https://") {
				t.Errorf("%s: the server %q is relative", doc.Info.Title, server.URL)
			}
		}
	}
}
