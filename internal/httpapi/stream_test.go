package httpapi_test

import (
	"net/http/httptest"
	"testing"

	"github.com/consign-dev/consign/internal/httpapi"
)

func TestEventStream(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	stream := httpapi.NewStream(w, httptest.NewRequestWithContext(t.Context(), "GET", "/events", nil))
	for _, err := range []error{stream.Send("", "7", []byte("{}")), stream.Send("KIND", "8", []byte("a\r\nb")), stream.Comment()} {
		if err != nil {
			t.Error(err)
		}
	}
	if want := "id: 7\ndata: {}\n\nevent: KIND\nid: 8\ndata: a\ndata: b\n\n:\n\n"; w.Body.String() != want || !w.Flushed ||
		w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("body %q, headers %v", w.Body, w.Header())
	}
}
