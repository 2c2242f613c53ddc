package httpserver_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/httpapi"
)

// TestBrokenLists: an error before the first flush is the answer. A later error cuts the connection, so that the list does not look
// complete.
func TestBrokenLists(t *testing.T) {
	t.Parallel()
	list := func(n int) httpapi.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) error {
			items := func(yield func(int, error) bool) {
				for i := range n {
					if !yield(i, nil) {
						return
					}
				}
				yield(0, errors.New("the database has gone"))
			}
			return httpapi.List(w, struct{}{}, "lines", items, func(i int) string { return strings.Repeat("x", i%100) })
		}
	}
	f := newFixture(t, nil).mount(httpapi.Transfer,
		httpapi.Route{Method: "GET", Pattern: "/early", Handler: list(3)},
		httpapi.Route{Method: "GET", Pattern: "/late", Handler: list(10_000)},
	)
	wantError(t, f.do("GET", "/api/early", ""), 500001)
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Error("the partial list looks complete")
		}
	}()
	f.do("GET", "/api/late", "")
}

// TestClientLeavesDuringAList: the log has a 499 at level info, not a server error.
func TestClientLeavesDuringAList(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).mount(httpapi.Transfer, httpapi.Route{Method: "GET", Pattern: "/endless",
		Handler: func(w http.ResponseWriter, _ *http.Request) error {
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
	_ = answer.Body.Close() // closes the connection before the end of the list
	server.Close()          // waits until the request has ended
	lines := f.log.lines(t, "request")
	if len(lines) != 1 || lines[0]["level"] != "INFO" || lines[0]["status"] != 499.0 {
		t.Errorf("logged %v", lines)
	}
}
