package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
)

// TestRoutesAreDocumented checks that the server and the OpenAPI documents list the same operations. HEAD is answered wherever GET is;
// a document names it only where it is an operation of its own.
func TestRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	documented := map[string]bool{}
	for base, doc := range testkit.LoadDocuments(t, s.Identity, s.Transfer) {
		for path, item := range doc.Paths.Map() {
			for method := range item.Operations() {
				documented[method+" "+base+path] = true
				for _, server := range item.Servers { // a path with servers of its own has an alias at the root of a host
					if server.URL == "/" {
						documented[method+" "+path] = true
					}
				}
			}
		}
	}
	documented["GET /.well-known/oauth-authorization-server"+s.Identity] = true // its description has the form of RFC 8414, 3.1
	var mounted []string
	for _, r := range s.App.API.Routes() {
		mounted = append(mounted, r.Method+" "+r.Path)
	}
	for _, m := range mounted {
		path := strings.TrimPrefix(m, http.MethodHead+" ")
		if !documented[m] && (path == m || !slices.Contains(mounted, http.MethodGet+" "+path)) {
			t.Errorf("%s is served but not documented", m)
		}
	}
	for d := range documented {
		path := strings.TrimPrefix(d, http.MethodHead+" ")
		if !slices.Contains(mounted, d) && (path == d || !slices.Contains(mounted, http.MethodGet+" "+path)) {
			t.Errorf("%s is documented but not served", d)
		}
	}
	if len(mounted) < 30 {
		t.Errorf("only %d routes are mounted", len(mounted))
	}
}

// TestOperationIDs checks that both documents name operations in the same way: by the method, as the handlers do.
func TestOperationIDs(t *testing.T) {
	t.Parallel()
	prefixes := map[string][]string{
		http.MethodPut: {"put"}, http.MethodPatch: {"patch"}, http.MethodHead: {"head"}, http.MethodDelete: {"delete", "cancel"},
	}
	for _, doc := range testkit.LoadDocuments(t, "/id/v3", "/transfer/v2") {
		for path, item := range doc.Paths.Map() {
			for method, operation := range item.Operations() {
				named := func(prefix string) bool { return strings.HasPrefix(operation.OperationID, prefix) }
				allowed := prefixes[method]
				if allowed != nil && !slices.ContainsFunc(allowed, named) ||
					slices.ContainsFunc([]string{"read", "update", "remove", "describe"}, named) {
					t.Errorf("%s %s has the operationId %s", method, path, operation.OperationID)
				}
			}
		}
	}
}
