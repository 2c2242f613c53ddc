package client_test

import (
	"encoding/json"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/client"
	"github.com/consign-dev/consign/internal/testkit"
)

// TestHandIn: programs hand in for Bob, whom Ann has asked for documents, in two rounds and over a network that fails. A program that ends
// before its files are attached goes on, and attaches them once.
func TestHandIn(t *testing.T) {
	t.Parallel()
	s, network, ann := behindCutter(t)
	made := ann.Post(s.Transfer+"/requests", map[string]any{"title": "Statement 2026", "due": s.Clock.Now().Add(72 * time.Hour),
		"items":   []any{map[string]any{"name": "Lease"}, map[string]any{"name": "Pay slips"}},
		"parties": []any{map[string]any{"email": "bob@example.org"}}})
	request, party := s.Transfer+"/requests/"+made.String("uid"), "/parties/"+made.String("parties.0.uid")
	lease, slips := made.String("items.0.uid"), made.String("items.1.uid")
	link := testkit.Mail{Text: made.String("parties.0.link")}
	for round, names := range []map[string]string{{"lease.pdf": lease, "slip-1.pdf": slips}, {"slip-2.pdf": slips}} {
		c := connect(t, network.URL)
		u, err := c.Reserve(t.Context(), client.Delivery{Request: link.Key(t, "/q/")})
		if err != nil {
			t.Fatal(err)
		}
		stored, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var files []client.File
		for name, item := range names {
			f := file(name, random(600_000, byte(round)))
			f.Item = uuid.MustParse(item)
			files = append(files, f)
		}
		if err := u.Attach(t.Context(), files...); err != nil {
			t.Fatal(err)
		}
		u = new(client.Upload)
		if err := json.Unmarshal(stored, u); err != nil {
			t.Fatal(err)
		}
		if err := c.Continue(u); err != nil {
			t.Fatal(err)
		}
		if err := u.Attach(t.Context(), files...); err != nil {
			t.Fatal(err)
		}
		network.Cut(3, 200_000)
		if err := u.Upload(t.Context(), client.UploadOptions{Part: 100_000}); err != nil {
			t.Fatal(err)
		}
		handed, err := u.Confirm(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := u.Confirm(t.Context()); err != nil || again.UID != handed.UID {
			t.Errorf("round %d, confirmed again: %v, want %s: %v", round, again, handed.UID, err)
		}
		seen := ann.Get(request)
		got, count := map[string]string{}, 0
		for n, item := range []string{lease, slips} {
			list, _ := seen.Value("parties.0.items." + strconv.Itoa(n) + ".files").([]any)
			for _, f := range list {
				if f := f.(map[string]any); f["transfer"] == handed.UID.String() {
					got[f["name"].(string)] = item
					count++
				}
			}
		}
		if !maps.Equal(got, names) || count != len(names) {
			t.Errorf("round %d: Ann has got %d files, %v, want %v", round, count, got, names)
		}
		ann.Patch(request+party+"/items/"+slips, map[string]any{"state": "returned", "reason": "One is missing."})
	}
}
