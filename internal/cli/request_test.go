package cli_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
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
