package handler_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
)

// TestUploadOrigins: administrators list the sites that may upload. The list is normalized, bounded and in the audit.
func TestUploadOrigins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.acme.path + "/uploadorigins"
	list := func(origins ...string) map[string]any {
		return map[string]any{"origins": append([]string{}, origins...)}
	}
	if got := w.ann.Get(path).Want(http.StatusOK); strings.TrimSpace(string(got.Body)) != `{"origins":[]}` {
		t.Errorf("%s", got.Body)
	}
	for _, body := range []map[string]any{
		{}, {"origins": nil}, {"origins": "https://a.example"}, {"origins": []any{1}}, list("http://a.example"), list("*"), list("null"),
		list(""),
		list("https://"), list("https://a.example/"), list("https://*.example"), list("https://u@a.example"), list("https://a.example:0"),
		list("https://a.example:65536"), list("https://a.example:"), list("https://a.example:080"), list("https://10.0.0.1"),
		list("https://[::1]"),
		list("https://a.example https://b.example"), list("https://a.example?x"), list("https://a.example#x"), list("https://a.example\x00"),
	} {
		w.ann.Put(path, body).WantError(fault.ErrInvalid)
	}
	many := make([]string, identity.MaxUploadOrigins+1)
	for i := range many {
		many[i] = fmt.Sprintf("https://site%d.example", i)
	}
	w.ann.Put(path, list(many...)).WantError(fault.ErrInvalid)
	w.ann.Put(path, list(many[1:]...)).Want(http.StatusOK)

	sent := list("HTTPS://Www.Example.COM:443", "https://bücher.example:8443", "https://www.example.com")
	want := []string{"https://www.example.com", "https://xn--bcher-kva.example:8443"}
	for range 2 {
		got := w.ann.Put(path, sent).Want(http.StatusOK)
		if stored := w.ann.Get(path).Want(http.StatusOK); string(got.Body) != string(stored.Body) {
			t.Errorf("%s and %s", got.Body, stored.Body)
		}
		if origins := got.Value("origins").([]any); !slices.Equal(want, []string{origins[0].(string), origins[1].(string)}) {
			t.Errorf("%s", got.Body)
		}
	}
	w.ann.Put(path, list()).Want(http.StatusOK)
	audit := w.ann.Get(w.acme.path + "/audit?action=organization.uploadorigins").Want(http.StatusOK)
	if audit.Value("entries.3") != nil || audit.String(
		"entries.1.details.origins") != "https://www.example.com https://xn--bcher-kva.example:8443" {
		t.Errorf("%s", audit.Body)
	}

	w.amy.Get(path).WantError(identity.ErrRoleMissing)
	w.amy.Put(path, list()).WantError(identity.ErrRoleMissing)
	w.bob.Get(path).WantError(identity.ErrNotMember)
	w.bob.Put(path, list()).WantError(identity.ErrNotMember)
}
