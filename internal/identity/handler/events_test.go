package handler_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
)

// feed returns the first events of a person's feed, as many as wanted.
func feed(t testing.TB, p *testkit.Person, want int) []map[string]any {
	t.Helper()
	resp, err := p.With("Last-Event-ID", "0").Open(t.Context(), "GET", p.Server.Identity+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list []map[string]any
	for lines := bufio.NewScanner(resp.Body); len(list) < want && lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var event map[string]any
			if err := json.Unmarshal([]byte(data), &event); err != nil {
				t.Fatal(err)
			}
			if event["kind"] != nil { // not the begin of the stream
				list = append(list, event)
			}
		}
	}
	return list
}

// TestHeadOfEvents: HEAD answers with the headers of the stream and ends. The connection then takes the next request.
func TestHeadOfEvents(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	// the kit's own knows only what api describes
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: 10 * time.Second}
	ask := func(method, path string) (status int, contentType string) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+s.Identity+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+ann.Access)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Content-Type")
	}
	if status, contentType := ask("HEAD", "/events"); status != http.StatusOK || contentType != "text/event-stream" {
		t.Errorf("HEAD answers %d %s", status, contentType)
	}
	if status, _ := ask("GET", "/profile"); status != http.StatusOK {
		t.Errorf("the next request is answered %d", status)
	}
}

// firstEvent returns the oldest event in a person's feed.
func firstEvent(t testing.TB, p *testkit.Person) map[string]any {
	t.Helper()
	return feed(t, p, 1)[0]
}

// lastEvent returns the newest event in a person's feed.
func lastEvent(t testing.TB, p *testkit.Person) map[string]any {
	t.Helper()
	var n int
	if err := p.Server.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM events WHERE person = $1`,
		uid(t, p.ID).UUID).Scan(&n); err != nil {
		t.Fatal(err)
	}
	list := feed(t, p, n)
	return list[len(list)-1]
}
