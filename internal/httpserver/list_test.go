package httpserver_test

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/httpapi"
)

// TestLists: a short list is an answer like any other; a long one has left in parts when its last item is made, and one that breaks
// off is an error while nothing has left, and cuts the connection later.
func TestLists(t *testing.T) {
	t.Parallel()
	items := func(n int, end error) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i, nil) {
					return
				}
			}
			if end != nil {
				yield(0, end)
			}
		}
	}
	broken := errors.New("the database has gone")
	const long = 10_000
	left := 0 // bytes, when the last item was made
	list := func(n int, end error) httpapi.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) error {
			counted := &tally{ResponseWriter: w}
			return httpapi.List(counted, struct{}{}, "lines", items(n, end), func(i int) string {
				left = counted.bytes
				return strings.Repeat("x", i%100)
			})
		}
	}
	f := newFixture(t, nil).mount(httpapi.Transfer,
		httpapi.Route{Method: "GET", Pattern: "/none", Handler: list(0, nil)},
		httpapi.Route{Method: "GET", Pattern: "/some", Handler: list(3, nil)},
		httpapi.Route{Method: "GET", Pattern: "/many", Handler: list(long, nil)},
		httpapi.Route{Method: "GET", Pattern: "/early", Handler: list(3, broken)},
		httpapi.Route{Method: "GET", Pattern: "/late", Handler: list(long, broken)},
	)
	for path, want := range map[string]string{"/api/none": `{"lines":[]}`, "/api/some": `{"lines":["","x","xx"]}`} {
		if w := f.do("GET", path, ""); w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	wantError(t, f.do("GET", "/api/early", ""), 500001)

	answer := f.do("GET", "/api/many", "")
	var got struct{ Lines []string }
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || len(got.Lines) != long || got.Lines[99] != strings.Repeat("x", 99) {
		t.Errorf("%d lines, %v", len(got.Lines), err)
	}
	if total := answer.Body.Len(); left < total-16<<10 || answer.Header().Get("Content-Length") != "" {
		t.Errorf("%d bytes of %d had left when the last item was made; %v", left, total, answer.Header())
	}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Error("a list that breaks off looks whole")
		}
	}()
	f.do("GET", "/api/late", "")
}

// TestListOfOneWhoLeft: a client that goes in the middle of a long list is no failure of ours.
func TestListOfOneWhoLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).mount(httpapi.Transfer, httpapi.Route{Method: "GET", Pattern: "/endless", Handler: func(w http.ResponseWriter, _ *http.Request) error {
		endless := func(yield func(int, error) bool) {
			for yield(0, nil) {
			}
		}
		return httpapi.List(w, struct{}{}, "lines", endless, func(int) string { return strings.Repeat("x", 100) })
	}})
	server := httptest.NewServer(f.api.Handler())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/endless", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "consign.test"
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.CopyN(io.Discard, answer.Body, 100_000)
	_ = answer.Body.Close() // closes the connection: there is more
	server.Close()          // waits for the request
	lines := f.log.lines(t, "request")
	if len(lines) != 1 || lines[0]["level"] != "INFO" || lines[0]["status"] != 499.0 {
		t.Errorf("logged %v", lines)
	}
}

// tally counts the bytes that leave.
type tally struct {
	http.ResponseWriter
	bytes int
}

// Write implements io.Writer.
func (t *tally) Write(p []byte) (int, error) {
	n, err := t.ResponseWriter.Write(p)
	t.bytes += n
	return n, err
}
