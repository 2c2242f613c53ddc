package httpserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
)

// TestDeadlineOfEachRequest: a request gets a deadline of its own before its handler runs, so that it does not inherit the one that
// cut off an earlier request on the same connection.
func TestDeadlineOfEachRequest(t *testing.T) {
	t.Parallel()
	handle := func(http.ResponseWriter, *underlying) {}
	var u *underlying
	before := 0 // deadlines set before the handler ran
	f := newFixture(t, nil).route(func(w http.ResponseWriter, _ *http.Request) error {
		before = u.deadlines
		handle(w, u)
		return httpapi.NoContent(w)
	})
	serve := func() {
		u = &underlying{ResponseRecorder: *httptest.NewRecorder(), cut: make(chan struct{}, 1)}
		f.api.Handler().ServeHTTP(u, httptest.NewRequestWithContext(t.Context(), "GET", "https://consign.test/api/thing", nil))
	}
	for range 3 {
		serve()
		if left := time.Until(u.deadline); before != 1 || u.deadlines != 1 || left <= 45*time.Second || left > time.Minute {
			t.Errorf("%d deadlines before the handler, %d in all, the last in %s", before, u.deadlines, left)
		}
	}

	done, cancel := context.WithCancel(t.Context())
	cancel()
	handle = func(w http.ResponseWriter, u *underlying) {
		stop := httpapi.CutWhenDone(done, w)
		<-u.cut
		stop()
	}
	serve()
	if !u.deadline.Before(time.Now()) {
		t.Errorf("a request that was cut off may write until %s", u.deadline)
	}
}

// TestDeadlinesFollowTheClock: whenever bytes of an answer leave, there is most of a minute for them, however long its handler
// took and however long the connection has been in use.
func TestDeadlinesFollowTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handle := func(http.ResponseWriter) error { return nil }
		f := newFixture(t, nil).route(func(w http.ResponseWriter, _ *http.Request) error { return handle(w) })
		var deadline time.Time
		serve := func(name string, do func(http.ResponseWriter) error) {
			t.Helper()
			handle = do
			u := &underlying{ResponseRecorder: *httptest.NewRecorder(), deadline: deadline}
			f.api.Handler().ServeHTTP(u, httptest.NewRequestWithContext(t.Context(), "GET", "https://consign.test/api/thing", nil))
			deadline = u.deadline
			if left := time.Until(deadline); left <= 50*time.Second || left > time.Minute {
				t.Errorf("%s: %s are left for the answer", name, left)
			}
		}
		for range 30 {
			serve("a busy connection", httpapi.NoContent)
			time.Sleep(3 * time.Second)
		}
		time.Sleep(10 * time.Minute)
		serve("an idle connection", httpapi.NoContent)
		serve("no body, late", func(w http.ResponseWriter) error {
			time.Sleep(2 * time.Minute)
			return httpapi.NoContent(w)
		})
		serve("a small body, late", func(w http.ResponseWriter) error {
			time.Sleep(2 * time.Minute)
			return httpapi.JSON(w, http.StatusOK, "small")
		})
		serve("a flush, late", func(w http.ResponseWriter) error {
			time.Sleep(2 * time.Minute)
			return http.NewResponseController(w).Flush()
		})
		serve("a body in pieces", func(w http.ResponseWriter) error {
			for range 10 {
				time.Sleep(20 * time.Second)
				if _, err := w.Write(make([]byte, 3000)); err != nil {
					return err
				}
				if left := time.Until(w.(interface{ Unwrap() http.ResponseWriter }).Unwrap().(*underlying).deadline); left != time.Minute {
					t.Errorf("%s are left for a piece", left)
				}
			}
			return nil
		})
	})
}
