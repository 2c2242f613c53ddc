package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
)

// TestErrorAnswers checks contract 1.4 on real routes: the status follows from the mistake, and the details name the
// correct form.
func TestErrorAnswers(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	s.SendUndocumented()
	ann := mailboxOwner(s)
	sam, reservation := reserve(s.Stranger(), "dr-ann", 10)
	mailbox, public := s.Transfer+"/mailbox", s.Transfer+"/public/mailbox/dr-ann"
	signup := s.Identity + "/signup"
	const typed = "application/json"
	for _, c := range []struct {
		name         string
		who          *testkit.Person
		method, path string
		header       string // name: value
		body         any
		want         *fault.Error
		detail       string
	}{
		{"unknown path", ann, "GET", s.Transfer + "/mailboxes", "", nil, fault.ErrNotFound, "/api/"},
		{"unknown path below a version", ann, "POST", s.Identity + "/auth/login/now", "", nil, fault.ErrNotFound, "/api/"},
		{"wrong method", ann, "PUT", s.Transfer + "/environment", "", nil, fault.ErrMethodNotAllowed, "GET, HEAD"},
		{"wrong method with a parameter", ann, "DELETE", public, "", nil, fault.ErrMethodNotAllowed, "GET, HEAD, POST"},
		{"query that cannot be read", ann, "GET", mailbox + "?unheardOf=%zz", "", nil, fault.ErrInvalid, "query: must be"},
		{"Accept excludes JSON", ann, "GET", mailbox, "Accept: text/html", nil, fault.ErrNotAcceptable, "application/json"},
		{"Accept refuses JSON", ann, "GET", mailbox, "Accept: application/json;q=0, */*", nil, fault.ErrNotAcceptable, "application/json"},
		{"form", ann, "PUT", mailbox, "Content-Type: application/x-www-form-urlencoded", "a=b", fault.ErrUnsupported, "application/json"},
		{"no type", ann, "PUT", mailbox, "", "{}", fault.ErrUnsupported, "application/json"},
		{"another charset", ann, "PUT", mailbox, "Content-Type: application/json; charset=iso-8859-1", "{}", fault.ErrUnsupported, "UTF-8"},
		{"compressed", ann, "PUT", mailbox, "Content-Encoding: gzip", "{}", fault.ErrUnsupported, "Content-Encoding"},
		{"over 1 MiB", ann, "PUT", mailbox, "Content-Type: " + typed, `{"slogan":"` + strings.Repeat("x", 1<<20) + `"}`, fault.ErrTooLarge,
			"1048576"},
		{"no body", s.Stranger(), "POST", signup, "", nil, fault.ErrInvalid, "body"},
		{"not JSON", s.Stranger(), "POST", signup, "Content-Type: " + typed, "address=x", fault.ErrInvalid, ""},
		{"a list", s.Stranger(), "POST", signup, "Content-Type: " + typed, "[]", fault.ErrInvalid, "object"},
		{"two values", s.Stranger(), "POST", signup, "Content-Type: " + typed, "{} {}", fault.ErrInvalid, ""},
		{"cut off", s.Stranger(), "POST", signup, "Content-Type: " + typed, `{"address":"a`, fault.ErrInvalid, ""},
		{"a key twice", ann, "PUT", mailbox, "Content-Type: " + typed, `{"slogan":"a","slogan":"b"}`, fault.ErrInvalid, "slogan"},
		{"a key twice, escaped", ann, "PUT", mailbox, "Content-Type: " + typed, `{"slogan":"a","slog\u0061n":"b"}`, fault.ErrInvalid, "slogan"},
		{"invalid UTF-8", ann, "PUT", mailbox, "Content-Type: " + typed, "{\"slogan\":\"\xff\xfe\"}", fault.ErrInvalid, "UTF-8"},
		{"half a surrogate", ann, "PUT", mailbox, "Content-Type: " + typed, `{"slogan":"\ud800"}`, fault.ErrInvalid, ""},
		{"NUL", ann, "PUT", mailbox, "Content-Type: " + typed, `{"slogan":"a\u0000b"}`, fault.ErrInvalid, "NUL"},
		{"control character", ann, "PUT", mailbox, "Content-Type: " + typed, `{"slogan":"a\u001bb"}`, fault.ErrInvalid, "slogan"},
		{"wrong types", ann, "PUT", mailbox, "Content-Type: " + typed, `{"slogan":1,"maxFiles":"x","absent":"yes"}`, fault.ErrInvalid,
			"slogan: must be a string\nmaxFiles: must be a whole number\nabsent: must be true or false"},
		{"huge number", sam, "POST", reservation + "/objects", "Content-Type: " + typed, `{"clientId":"b","name":"b","intendedSize":1e400}`,
			fault.ErrInvalid, "intendedSize: is out of range"},
		{"fraction", sam, "POST", reservation + "/objects", "Content-Type: " + typed, `{"clientId":"b","name":"b","intendedSize":1.5}`,
			fault.ErrInvalid, "intendedSize: must be a whole number"},
		{"a member that an Object has not", sam, "POST", reservation + "/objects", "Content-Type: " + typed,
			`{"clientId":"b","name":"b","intendedSize":1,"size":2}`, fault.ErrInvalid, "size"},
		{"all that is missing", sam, "POST", reservation + "/objects", "Content-Type: " + typed, `{}`, fault.ErrInvalid,
			"clientId: is required\nname: is required\nintendedSize: is required"},
		{"Content-Range of nonsense", sam, "PUT", reservation + "/objects/a/content", "Content-Range: bytes x", "0123456789", fault.ErrBadRange,
			"Content-Range"},
		{"a query of nonsense", ann, "GET", s.Transfer + "/transfers?limit=0", "", nil, fault.ErrInvalid, "limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := c.who
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				p = p.With(name, value)
			}
			got := p.Do(c.method, c.path, c.body).WantError(c.want)
			checkError(t, c.method+" "+c.path, got)
			if !strings.Contains(got.Details(), c.detail) {
				t.Errorf("the details are %q, want %q in them", got.Details(), c.detail)
			}
			if c.want.Kind == fault.MethodNotAllowed && got.Header.Get("Allow") != c.detail {
				t.Errorf("Allow: %q", got.Header.Get("Allow"))
			}
			for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cache-Control": "no-store"} {
				if got.Header.Get(name) != want {
					t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want)
				}
			}
			if len(got.Header.Get("X-Request-Id")) < 8 {
				t.Error("no X-Request-Id")
			}
		})
	}
	// net/http would answer this itself: without our headers, and also in maintenance and over plain HTTP.
	whole, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole.URL.Opaque = "*"
	resp, err := http.DefaultClient.Do(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound || resp.Header.Get("X-Request-Id") == "" || resp.Header.Get("Content-Type") != typed {
		t.Errorf("OPTIONS * answered %d with %v", resp.StatusCode, resp.Header)
	}
	// Unknown members are ignored where allowed, and an empty body needs no Content-Type.
	s.Stranger().Post(public, nil).Want(http.StatusCreated)
	ann.With("Content-Type", "application/merge-patch+json").Put(mailbox, `{"slogan":"Hello","unheardOf":[1,{"a":null}]}`).Want(http.StatusOK)
	ann.With("Accept", "text/html, application/*;q=0.1").Get(mailbox).Want(http.StatusOK)
}
