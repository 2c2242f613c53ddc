package httpserver_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
)

// TestDeadlinesOfAConnection: requests in quick succession share a write deadline, which is still at least 45 s ahead. After a
// request that was cut off, the next one gets its own deadline.
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
	// serve returns how many deadlines were set before the handler ran and in total, and the last deadline.
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
		t.Errorf("first request: %d deadlines before the handler, %d in total, the last %s", before, all, last)
	}
	for range 3 {
		if _, all, _ := serve(connection, 1, nothing); all != 0 {
			t.Errorf("request soon afterwards: %d deadlines", all)
		}
	}
	if _, all, _ := serve(connection, 2, nothing); all != 1 {
		t.Errorf("HTTP/2 stream: %d deadlines", all)
	}
	if _, all, _ := serve(t.Context(), 1, nothing); all != 1 {
		t.Errorf("connection without a cached deadline: %d deadlines", all)
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

// TestDeadlinesFollowTheClock: every write of an answer gets at least 50 s, no matter how long its handler took and how old the
// connection is.
func TestDeadlinesFollowTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handle := func(http.ResponseWriter) error { return nil }
		f := newFixture(t, nil).route(func(w http.ResponseWriter, _ *http.Request) error { return handle(w) })
		here, there := net.Pipe()
		defer here.Close()
		defer there.Close()
		connection := f.api.Connected(t.Context(), here)
		var deadline time.Time
		serve := func(name string, do func(http.ResponseWriter) error) {
			t.Helper()
			handle = do
			u := &underlying{ResponseRecorder: *httptest.NewRecorder(), deadline: deadline}
			f.api.Handler().ServeHTTP(u, httptest.NewRequestWithContext(connection, "GET", "https://consign.test/api/thing", nil))
			deadline = u.deadline
			if left := time.Until(deadline); left <= 50*time.Second || left > time.Minute {
				t.Errorf("%s: the deadline is in %s", name, left)
			}
		}
		for range 30 {
			serve("busy connection", httpapi.NoContent)
			time.Sleep(3 * time.Second)
		}
		time.Sleep(10 * time.Minute)
		serve("idle connection", httpapi.NoContent)
		serve("late answer without a body", func(w http.ResponseWriter) error {
			time.Sleep(2 * time.Minute)
			return httpapi.NoContent(w)
		})
		serve("late small body", func(w http.ResponseWriter) error {
			time.Sleep(2 * time.Minute)
			return httpapi.JSON(w, http.StatusOK, "small")
		})
		serve("late flush", func(w http.ResponseWriter) error {
			time.Sleep(2 * time.Minute)
			return http.NewResponseController(w).Flush()
		})
		serve("body in parts", func(w http.ResponseWriter) error {
			for range 10 {
				time.Sleep(20 * time.Second)
				if _, err := w.Write(make([]byte, 3000)); err != nil {
					return err
				}
				if left := time.Until(w.(interface{ Unwrap() http.ResponseWriter }).Unwrap().(*underlying).deadline); left != time.Minute {
					t.Errorf("the deadline of a part is in %s", left)
				}
			}
			return nil
		})
	})
}

// TestAttackDrippingBody: a body that is no stream has 10 s, and a second more for each 16 KiB that arrive, however slowly its bytes come.
func TestAttackDrippingBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read := func(w http.ResponseWriter, r *http.Request) error {
			_, _ = io.Copy(io.Discard, r.Body)
			return httpapi.NoContent(w)
		}
		f := newFixture(t, nil).mount(httpapi.Transfer, httpapi.Route{Method: "POST", Pattern: "/thing", Bucket: httpapi.NoBucket, Handler: read})
		began := time.Now()
		serve := func(chunk, chunks int) (deadlines []time.Duration) {
			began = time.Now()
			body, send := io.Pipe()
			go func() {
				for range chunks {
					time.Sleep(time.Second)
					_, _ = send.Write(make([]byte, chunk))
				}
				_ = send.Close()
			}()
			u := &underlying{ResponseRecorder: *httptest.NewRecorder()}
			f.api.Handler().ServeHTTP(u, httptest.NewRequestWithContext(t.Context(), "POST", "https://consign.test/api/thing", body))
			for _, at := range u.reads {
				if !at.IsZero() { // after the end
					deadlines = append(deadlines, at.Sub(began))
				}
			}
			return deadlines
		}
		if got := serve(1, 9); !slices.Equal(got, []time.Duration{10 * time.Second}) {
			t.Errorf("a byte a second: deadlines after %s", got)
		}
		growing := []time.Duration{10 * time.Second, 11 * time.Second, 12 * time.Second, 13 * time.Second}
		if got := serve(16<<10, 3); !slices.Equal(got, growing) {
			t.Errorf("16 KiB a second: deadlines after %s", got)
		}
	})
}
