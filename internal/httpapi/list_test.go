package httpapi_test

import (
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/httpapi"
)

// numbers yields 0 to n-1, then end unless it is nil.
func numbers(n int, end error) iter.Seq2[int, error] {
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

// answerLines answers with a list of n lines and returns the number of bytes that were sent when the last line was encoded.
func answerLines(w *httptest.ResponseRecorder, n int, end error) (sent int, err error) {
	err = httpapi.List(w, struct{}{}, "lines", numbers(n, end), func(i int) string {
		sent = w.Body.Len()
		return strings.Repeat("x", i%100)
	})
	return sent, err
}

func TestShortListHasALength(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: `{"lines":[]}`, 3: `{"lines":["","x","xx"]}`} {
		w := httptest.NewRecorder()
		_, err := answerLines(w, n, nil)
		if err != nil || w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want ||
			w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Content-Length") == "" {
			t.Errorf("%d lines: %d %v %q, %v", n, w.Code, w.Header(), w.Body, err)
		}
	}
}

func TestLongListIsStreamed(t *testing.T) {
	t.Parallel()
	const long = 10_000
	w := httptest.NewRecorder()
	sent, err := answerLines(w, long, nil)
	if err != nil {
		t.Fatal(err)
	}
	if total := w.Body.Len(); sent < total-16<<10 || w.Header().Get("Content-Length") != "" {
		t.Errorf("%d bytes of %d were sent when the last item was encoded; %v", sent, total, w.Header())
	}
	var got struct{ Lines []string }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Lines) != long || got.Lines[99] != strings.Repeat("x", 99) {
		t.Errorf("%d lines, %v", len(got.Lines), err)
	}
}

// TestListReturnsTheError: before the first flush nothing is sent, so that the error can be the answer.
func TestListReturnsTheError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the database has gone")
	for n, wantBytes := range map[int]bool{3: false, 10_000: true} {
		w := httptest.NewRecorder()
		if _, err := answerLines(w, n, broken); !errors.Is(err, broken) || w.Body.Len() > 0 != wantBytes {
			t.Errorf("%d lines: %d bytes, %v", n, w.Body.Len(), err)
		}
	}
}
