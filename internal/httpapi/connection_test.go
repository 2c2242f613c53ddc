package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
)

// TestDeadlinesOfAConnection: requests that follow each other closely share a deadline, which is still most of a minute ahead;
// one that was cut off or moved far ahead is not left to the next request.
func TestDeadlinesOfAConnection(t *testing.T) {
	t.Parallel()
	handle := func(http.ResponseWriter, *http.Request) {}
	f := newFixture(t, nil).route(func(w http.ResponseWriter, r *http.Request) error {
		handle(w, r)
		return httpapi.NoContent(w)
	})
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	connection := f.api.Connected(t.Context(), here)
	// serve tells how many deadlines were set for the request before it was handled, and in all.
	serve := func(ctx context.Context, major int, do func(http.ResponseWriter, *underlying)) (before, all int, last time.Time) {
		u := &underlying{ResponseRecorder: *httptest.NewRecorder(), cut: make(chan struct{}, 1)}
		handle = func(w http.ResponseWriter, _ *http.Request) {
			before = u.deadlines
			do(w, u)
		}
		r := httptest.NewRequestWithContext(ctx, "GET", "https://consign.test/api/thing", nil)
		r.ProtoMajor = major
		f.api.Handler().ServeHTTP(u, r)
		return before, u.deadlines, u.deadline
	}
	nothing := func(http.ResponseWriter, *underlying) {}
	young := func(deadline time.Time) bool {
		left := time.Until(deadline)
		return left > 45*time.Second && left <= time.Minute
	}
	if before, all, last := serve(connection, 1, nothing); before != 1 || all != 1 || !young(last) {
		t.Errorf("the first request: %d deadlines, %d in all, the last %s", before, all, last)
	}
	for range 3 {
		if _, all, _ := serve(connection, 1, nothing); all != 0 {
			t.Errorf("a request soon afterwards: %d deadlines", all)
		}
	}
	if _, all, _ := serve(connection, 2, nothing); all != 1 {
		t.Errorf("a stream of HTTP/2: %d deadlines", all)
	}
	if _, all, _ := serve(t.Context(), 1, nothing); all != 1 {
		t.Errorf("a connection that nothing is known of: %d deadlines", all)
	}

	serve(connection, 1, func(w http.ResponseWriter, _ *underlying) { httpapi.Extend(w, time.Hour) })
	if before, _, last := serve(connection, 1, nothing); before != 1 || !young(last) {
		t.Errorf("after a request that was given an hour: %d deadlines, the last %s", before, last)
	}

	done, cancel := context.WithCancel(t.Context())
	cancel()
	serve(connection, 1, func(w http.ResponseWriter, u *underlying) {
		stop := httpapi.CutWhenDone(done, w)
		<-u.cut
		stop()
	})
	if before, _, last := serve(connection, 1, nothing); before != 1 || !young(last) {
		t.Errorf("after a request that was cut off: %d deadlines, the last %s", before, last)
	}
}
