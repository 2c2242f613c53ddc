package handler_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
)

// TestNamesOfFiles: file names are kept unchanged, and impossible names are refused.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	names := []string{
		"plain.txt", "ä ö ü ß.pdf", "Cafe\u0301.txt", "日本語の名前.doc", "שלום.txt", "👩‍👩‍👧‍👦.png", strings.Repeat("🙂", 255), "../../etc/passwd",
		`C:\x\y.txt`, "a/b/c",
		" leading and trailing ", "CON", ".", "...", "\u200bzero width", "\U0010ffff", `<img src=x onerror="alert(1)">`, "%00%2e%2e",
		strings.Repeat("x", 1024),
	}
	files := make([]object, len(names))
	for i, name := range names {
		files[i] = object{"clientId": "n" + string(rune('a'+i)), "name": name, "intendedSize": 0}
	}
	d.Post(d.path+"/objects", object{"objects": files}).Want(http.StatusCreated)
	got := ann.Get(s.Transfer + "/transfers/" + d.confirm()).Want(http.StatusOK)
	for i, name := range names {
		if kept := got.Value("objects").([]any)[i].(map[string]any)["name"]; kept != name {
			t.Errorf("%q is kept as %q", name, kept)
		}
	}
	other := reserve(s)
	for _, name := range []string{
		"", " ", strings.Repeat("x", 1025), strings.Repeat("x", 100_000), strings.Repeat("é", 50_000), "a\nb", "a\rb", "a\tb", "a\x7fb",
		"a\u0085b", "txt.\u202eexe", "a\u2066b", "a\u2028b",
	} {
		r := other.Post(other.path+"/objects", object{"clientId": "a", "name": name, "intendedSize": 1})
		r.WantError(fault.ErrInvalid)
		if !strings.HasPrefix(r.Details(), "name: ") || len(r.Body) > 1000 {
			t.Errorf("%.20q: %s", name, r.Body)
		}
	}
	other.With("Content-Type", "application/json").Post(other.path+"/objects",
		`{"clientId":"a","name":"a\u0000b","intendedSize":1}`).WantError(fault.ErrInvalid)
	other.With("Content-Type", "application/json").Post(other.path+"/objects",
		"{\"clientId\":\"a\",\"name\":\"a\xffb\",\"intendedSize\":1}").WantError(fault.ErrInvalid)
	if list := other.Get(other.path); len(list.Value("objects").([]any)) != 0 {
		t.Errorf("%s", list.Body)
	}
}
