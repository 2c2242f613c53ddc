package cli_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// handedIn uploads files of a party for the first item, and hands them in.
func handedIn(t *testing.T, s *testkit.Server, link, item string, files map[string]string) {
	t.Helper()
	public := s.Transfer + "/public/requests/" + link[strings.LastIndex(link, "/")+1:]
	opened := s.Stranger().Post(public, nil).Want(http.StatusOK)
	party := s.Stranger().As(strings.TrimPrefix(opened.Header.Get("Authorization"), "Bearer "))
	at := s.Transfer + "/reservations/" + opened.String("reservation") + "/objects"
	for _, name := range slices.Sorted(maps.Keys(files)) {
		party.Post(at+"?item="+item, map[string]any{"clientId": name, "name": name, "intendedSize": len(files[name])}).Want(http.StatusCreated)
		party.Put(at+"/"+name+"/content", []byte(files[name])).Want(http.StatusOK)
	}
	s.Stranger().Post(public+"/handin", map[string]any{"partly": true}).Want(http.StatusOK)
}

// TestRequestCommands: Ann asks Bob and Carol, Bob hands in, Ann reminds and fetches, twice.
func TestRequestCommands(t *testing.T) {
	t.Parallel()
	s, person, _ := ann(t)
	desk := withToken(t, s, person, "requests:manage", "transfers:read")
	people := desk.write("people.csv", []byte("mail;name\ncarol@example.org;Carol Cutter\n"))
	out := desk.do("request", "create", "--title", "Statement 2026", "--item", "Lease", "--optional", "Letter/annex", "--due", "2126-12-04",
		"--to", "Bob Builder <bob@example.org>", "--csv", people, "--json")
	var made struct {
		UID     string
		Due     string
		Items   []struct{ UID, Name string }
		Parties []struct{ Email, Link string }
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil || len(made.Items) != 2 || len(made.Parties) != 2 || made.Due == "" {
		t.Fatalf("%v: %s", err, out)
	}
	if made.Parties[1].Email != "carol@example.org" {
		t.Errorf("asked %v", made.Parties)
	}
	handedIn(t, s, made.Parties[0].Link, made.Items[0].UID, map[string]string{"a.pdf": "one", "b.pdf": "two"})
	handedIn(t, s, made.Parties[0].Link, made.Items[1].UID, map[string]string{"c.TXT": "three"})
	key := desk.write("key", s.Stranger().Get("/log/keys").Want(http.StatusOK).Body)
	verified := func(link string) string {
		t.Helper()
		at := s.Transfer + "/public/requests/" + link[strings.LastIndex(link, "/")+1:] + "/receipt"
		poll.Until(t, "the receipt is signed", func() bool { return s.Stranger().Get(at).Status == http.StatusOK })
		return desk.do("verify", "--key", key, desk.write("receipt.consign", s.Stranger().Get(at).Body))
	}
	if out := verified(made.Parties[0].Link); !regexp.MustCompile(`\b\d+ d \d+ (h|min) before the deadline\.`).MatchString(out) {
		t.Errorf("verify says\n%s", out)
	}
	late := person.Post(s.Transfer+"/requests", map[string]any{"title": "Late", "due": s.Clock.Now().Add(time.Minute).Format(time.RFC3339Nano),
		"items": []any{map[string]any{"name": "Offer"}}, "parties": []any{map[string]any{"email": "bob@example.org"}}}).Want(http.StatusCreated)
	s.Clock.Advance(time.Minute + 3*time.Second)
	handedIn(t, s, late.String("parties.0.link"), late.String("items.0.uid"), map[string]string{"a.pdf": "one"})
	after := regexp.MustCompile(`\b[1-9] s( \d+ ms)? AFTER the deadline: it is late\.`)
	if out := verified(late.String("parties.0.link")); !after.MatchString(out) {
		t.Errorf("verify says\n%s", out)
	}
	if list := desk.do("request", "list"); !strings.Contains(list, made.UID) || !strings.Contains(list, "0 of 2") {
		t.Errorf("the list says\n%s", list)
	}
	if out := desk.do("request", "remind", made.UID); !strings.Contains(out, "reminded: 1\n") {
		t.Errorf("remind says %s, want Carol only", out)
	}
	desk.refused(5, "less than a day ago", "request", "remind", "--patience", "1s", made.UID, "carol@example.org")
	desk.refused(4, "does not ask this address", "request", "remind", made.UID, "eve@example.org")
	dir := filepath.Join(desk.home, "in")
	want := map[string]string{"Bob Builder/Builder - Lease.pdf": "one", "Bob Builder/Builder - Lease (2).pdf": "two",
		"Bob Builder/Builder - Letter-annex.TXT": "three"}
	for range 2 {
		desk.do("request", "fetch", made.UID, dir)
		if got := tree(t, dir); !maps.Equal(got, want) {
			t.Errorf("fetched %v, want %v", got, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "Bob Builder/Builder - Lease.pdf"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	desk.refused(6, "another file has this name", "request", "fetch", made.UID, dir)
	again := desk.do("request", "create", "--from", made.UID, "--to", "dan@example.org")
	if !strings.Contains(again, "dan@example.org") || !strings.Contains(again, "/q/") {
		t.Errorf("made from another: %s", again)
	}
	desk.refused(2, "--item", "request", "create", "--title", "Nothing")
	desk.refused(2, "--due", "request", "create", "--title", "x", "--item", "y", "--due", "tomorrow")
}
