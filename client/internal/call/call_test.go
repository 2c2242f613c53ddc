package call_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/client/internal/call"
)

// said is what the test's server was asked.
type said struct {
	Method, URI, Type, Match, Body string
}

// server answers with status and body and tells what it was asked.
func server(t *testing.T, status int, kind, body string) (call.Client, *said) {
	t.Helper()
	var got said
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got = said{r.Method, r.RequestURI, r.Header.Get("Content-Type"), r.Header.Get("If-None-Match"), string(raw)}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Etag", `"7"`)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return call.New(s.URL+"/api/", s.Client()), &got
}

type color string

type params struct {
	Colors *[]color   `form:"colors,omitempty" json:"colors,omitempty"`
	Since  *time.Time `form:"since,omitempty"  json:"since,omitempty"`
	Limit  *int       `form:"limit,omitempty"  json:"limit,omitempty"`
	Match  *string    `json:"If-None-Match,omitempty"`
	State  string     `form:"state"            json:"state"`
}

type answer struct {
	Name string `json:"name"`
}

func TestDo(t *testing.T) {
	t.Parallel()
	c, got := server(t, http.StatusCreated, "application/json; charset=utf-8", `{"name":"Ann"}`)
	since, match := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC), `"6"`
	given := &params{Colors: &[]color{"red", "blue"}, Since: &since, Match: &match, State: "a&b"}
	var resp http.Response
	path := call.Path("/emails/{address}/{number}", "a/b?.{x}@example.com", 3)
	a, err := call.Do[*answer](t.Context(), c, http.MethodPost, path, given, call.JSON(answer{"Ben"}), []call.Editor{call.Answered(&resp)})
	if err != nil || a.Name != "Ann" {
		t.Fatalf("%v, %v", a, err)
	}
	want := said{"POST", "/api/emails/a%2Fb%3F.%7Bx%7D@example.com/3?colors=red%2Cblue&since=2026-05-01T08%3A00%3A00Z&state=a%26b",
		"application/json", `"6"`, `{"name":"Ben"}`}
	if *got != want {
		t.Errorf("asked\n%v, not\n%v", *got, want)
	}
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("Etag") != `"7"` {
		t.Errorf("Answered has %d, %v", resp.StatusCode, resp.Header)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	c, got := server(t, http.StatusNoContent, "", "")
	var none *params
	for _, body := range []struct {
		call.Body
		kind, text string
	}{
		{call.Body{}, "", ""},
		{call.Form(answer{"x y"}), "application/x-www-form-urlencoded", "name=x+y"},
		{call.Raw("image/png", strings.NewReader("bytes")), "image/png", "bytes"},
	} {
		if _, err := call.Do[call.None](t.Context(), c, http.MethodPut, "/p", none, body.Body, nil); err != nil {
			t.Error(err)
		}
		if want := (said{"PUT", "/api/p", body.kind, "", body.text}); *got != want {
			t.Errorf("asked %v, not %v", *got, want)
		}
	}
	if _, err := call.Do[call.None](t.Context(), c, http.MethodPut, "/p", nil, call.JSON(func() {}), nil); err == nil {
		t.Error("a function is JSON")
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	c, _ := server(t, http.StatusOK, "text/csv", "a;b")
	h, err := call.Do[http.Header](t.Context(), c, http.MethodHead, "/p", nil, call.Body{}, nil)
	if err != nil || h.Get("Etag") != `"7"` {
		t.Errorf("%v, %v", h, err)
	}
	resp, err := call.Do[*http.Response](t.Context(), c, http.MethodGet, "/p", nil, call.Body{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if raw, err := io.ReadAll(resp.Body); err != nil || string(raw) != "a;b" {
		t.Errorf("%s, %v", raw, err)
	}
	if a, err := call.Do[*answer](t.Context(), c, http.MethodGet, "/p", nil, call.Body{}, nil); err == nil {
		t.Errorf("CSV is %v", a)
	}
	refused := errors.New("refused")
	edit := func(context.Context, *http.Request) error { return refused }
	if _, err := call.Do[call.None](t.Context(), c, http.MethodGet, "/p", nil, call.Body{}, []call.Editor{edit}); !errors.Is(err, refused) {
		t.Errorf("an editor's error: %v", err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{http.StatusNotModified: call.ErrNotModified.Error(),
		http.StatusTeapot: "GET /p: the server answered 418 I'm a teapot"} {
		c, _ := server(t, status, "application/json", "")
		if _, err := call.Do[*answer](t.Context(), c, http.MethodGet, "/p", nil, call.Body{}, nil); err == nil || err.Error() != want {
			t.Errorf("%d: %v", status, err)
		}
		if _, err := call.Do[*http.Response](t.Context(), c, http.MethodGet, "/p", nil, call.Body{}, nil); err == nil || err.Error() != want { //nolint:bodyclose // there is none
			t.Errorf("%d of a stream: %v", status, err)
		}
	}
}
