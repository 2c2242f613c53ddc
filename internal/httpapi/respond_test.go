package httpapi_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
)

func TestCreatedAnswer(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	httpapi.Bearer(w, "raw")
	at := time.Date(2026, 11, 20, 9, 30, 0, 123456789, time.FixedZone("x", 3600))
	err := httpapi.Created(w, "https://consign.test/x",
		map[string]any{"at": httpapi.Time(at), "none": httpapi.TimeOrNil(nil), "some": httpapi.TimeOrNil(&at)})
	want := `{"at":"2026-11-20T08:30:00.123+00:00","none":null,"some":"2026-11-20T08:30:00.123+00:00"}` + "\n"
	if err != nil || w.Code != 201 || w.Body.String() != want || w.Header().Get("Location") != "https://consign.test/x" ||
		w.Header().Get("Authorization") != "Bearer raw" {
		t.Errorf("%d %v %s: %v", w.Code, w.Header(), w.Body, err)
	}
}
