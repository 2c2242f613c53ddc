package handler_test

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
)

// feed reads what is in a person's feed so far.
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
			list = append(list, event)
		}
	}
	return list
}

// firstEvent is the oldest event in a person's feed.
func firstEvent(t testing.TB, p *testkit.Person) map[string]any {
	t.Helper()
	return feed(t, p, 1)[0]
}

// lastEvent is the newest one.
func lastEvent(t testing.TB, p *testkit.Person) map[string]any {
	t.Helper()
	var n int
	if err := p.Server.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM events WHERE person = $1`, uid(t, p.ID).UUID).Scan(&n); err != nil {
		t.Fatal(err)
	}
	list := feed(t, p, n)
	return list[len(list)-1]
}
