package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/consign-dev/consign/internal/testkit"
)

// TestOperationsListTheirStatuses checks that each operation lists the statuses that it can answer, and has no default.
func TestOperationsListTheirStatuses(t *testing.T) {
	t.Parallel()
	for base, doc := range testkit.LoadDocuments(t, "/id/v3", "/transfer/v2") {
		full := map[string]string{"/id/v3": "509", "/transfer/v2": "429", "/admin/v1": "429"}[base]
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				want := []string{"400", "403", "404", "409", "413", "500", "503"}
				if !strings.HasSuffix(path, "environment") {
					want = append(want, full)
				}
				if operation.Security != nil && slices.ContainsFunc(*operation.Security,
					func(r openapi3.SecurityRequirement) bool { return len(r) > 0 }) {
					want = append(want, "401")
				}
				if operation.RequestBody != nil {
					want = append(want, "415")
				}
				for _, status := range want {
					if operation.Responses.Value(status) == nil {
						t.Errorf("%s %s does not list %s", method, path, status)
					}
				}
				if operation.Responses.Default() != nil {
					t.Errorf("%s %s has a default answer", method, path)
				}
			}
		}
	}
}

// openSchemas are also bodies of requests, which ignore unknown members, or are written by clients.
var openSchemas = []string{"OrganizationProfile", "Theme", "FieldsSchema", "UISchema", "UIField"}

// TestResponseSchemasAreClosed checks that an object of an answer says which members it has, so that the kit notices others.
func TestResponseSchemasAreClosed(t *testing.T) {
	t.Parallel()
	for _, doc := range testkit.LoadDocuments(t, "/id/v3", "/transfer/v2") {
		seen := map[*openapi3.Schema]bool{}
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				for status, response := range operation.Responses.Map() {
					if media := response.Value.Content.Get("application/json"); media != nil {
						checkClosed(t, method+" "+path+" "+status, media.Schema, seen)
					}
				}
			}
		}
		if len(seen) < 30 {
			t.Errorf("only %d schemas were found", len(seen))
		}
	}
}

func checkClosed(t *testing.T, where string, ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool) {
	t.Helper()
	if ref == nil || ref.Value == nil || seen[ref.Value] || slices.Contains(openSchemas, ref.Ref[strings.LastIndex(ref.Ref, "/")+1:]) {
		return
	}
	s := ref.Value
	seen[s] = true
	if s.Type != nil && s.Type.Includes("object") && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
		t.Errorf("%s: the object %s%s is open", where, ref.Ref, s.Description)
	}
	for _, list := range [][]*openapi3.SchemaRef{s.AllOf, s.AnyOf, s.OneOf} {
		for _, one := range list {
			checkClosed(t, where, one, seen)
		}
	}
	for name, one := range s.Properties {
		checkClosed(t, where+" "+name, one, seen)
	}
	checkClosed(t, where+" []", s.Items, seen)
}
