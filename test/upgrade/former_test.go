// Package upgrade tests today's program on the database and the files that the version of before 1.0.0 has left: testdata, written by
// write.sh.
package upgrade_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pquerna/otp/totp"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// TestFormerInstallation: after the upgrade people go on where they were. Sessions, second factors, transfers, links, keys in mails and
// half an upload work, and each byte is there.
func TestFormerInstallation(t *testing.T) {
	t.Parallel()
	s, k := upgraded(t)
	bob, ann := s.Stranger().As(k.BobID), s.Stranger().As(k.AnnID)
	bob.ID, ann.ID = k.BobID, k.AnnID
	bob.Refresh()
	ann.Refresh()

	received := bob.Get(s.Transfer + "/transfers?location=received").Want(http.StatusOK)
	if received.String("transfers.0.uid") != k.Delivered || received.String("transfers.0.subject") != "X-ray" {
		t.Errorf("Bob's inbox: %s", received.Body)
	}
	download(t, bob, s.Transfer+"/transfers/"+k.Delivered, rays, "")
	if found := bob.Get(s.Transfer + "/transfers?location=received&search=röntgen").Want(http.StatusOK); found.String("transfers.0.uid") != k.Delivered {
		t.Errorf("a search by a file's name finds %s", found.Body)
	}

	sam := s.Stranger().As(k.UnfinishedToken)
	if held := sam.Head(k.Unfinished + "/objects/a/content").Want(http.StatusOK).Header.Get("Content-Length"); held != "1000" {
		t.Errorf("%s bytes of the unfinished upload are held", held)
	}
	sam.With("Content-Range", "bytes 1000-4499/"+size).Put(k.Unfinished+"/objects/a/content", rays[1000:]).Want(http.StatusOK)
	download(t, bob, s.Transfer+"/transfers/"+sam.Post(k.Unfinished+"/confirm", nil).Want(http.StatusOK).String("uid"), rays)

	eve, link := s.Stranger(), s.Transfer+"/public/transfers/"+k.Link
	unlocked := eve.Post(link+"/access", map[string]any{"password": linkPassword}).Want(http.StatusOK)
	download(t, eve.As(unlocked.String("token")), link, contract)
	ann.Patch(s.Transfer+"/transfers/"+k.Sent, map[string]any{"subject": "The contract"}).Want(http.StatusOK)
	ann.Delete(s.Transfer + "/transfers/" + k.Sent).Want(http.StatusNoContent)
	if r := eve.Get(link); r.Status != http.StatusNotFound {
		t.Errorf("the link of a revoked transfer answered %d", r.Status)
	}

	login := func(factor, key string) *testkit.Response {
		s.Clock.Advance(time.Minute) // one login with a second factor at a time
		first := s.Stranger().Post(s.Identity+"/auth/login", map[string]any{"email": "ann@example.com", "type": "bcrypt", "key": testkit.Password})
		return s.Stranger().As(first.Want(http.StatusOK).String("token")).Post(s.Identity+"/auth/login", map[string]any{"email": "ann@example.com", "type": factor, "key": key})
	}
	code, err := totp.GenerateCode(k.TOTP, s.Clock.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	login("totp", code).Want(http.StatusOK)
	login("recovery", k.Recovery[0]).Want(http.StatusOK)
	login("recovery", k.Recovery[0]).Want(http.StatusUnauthorized)
	cid := &testkit.Person{Server: s, Email: "cid@example.com", Header: http.Header{}}
	cid.Login().Post(s.Identity+"/confirm/"+k.Confirmation, nil).Want(http.StatusNoContent)
}

// download checks the contents of a transfer's files, in order.
func download(t *testing.T, p *testkit.Person, path string, contents ...string) {
	t.Helper()
	var seen struct{ Objects []struct{ UID, Name string } }
	p.Get(path).Want(http.StatusOK).JSON(&seen)
	if len(seen.Objects) != len(contents) {
		t.Fatalf("%s has %d files, want %d", path, len(seen.Objects), len(contents))
	}
	for i, o := range seen.Objects {
		if got := p.Get(path + "/objects/" + o.UID + "/content").Want(http.StatusOK); string(got.Body) != contents[i] {
			t.Errorf("%s: %d bytes, want %d", o.Name, len(got.Body), len(contents[i]))
		}
	}
}

// upgraded migrates a copy of the former installation and serves it.
func upgraded(t *testing.T) (*testkit.Server, known) {
	t.Helper()
	var k known
	raw, err := os.ReadFile("testdata/known.json")
	if err == nil {
		err = json.Unmarshal(raw, &k)
	}
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	if err := os.CopyFS(data, os.DirFS("testdata/data")); err != nil {
		t.Fatal(err)
	}
	sql, err := os.ReadFile("testdata/database.sql")
	if err != nil {
		t.Fatal(err)
	}
	url := pgtest.EmptyURL(t)
	if _, err := pgtest.Connect(t, url).Exec(t.Context(), string(sql), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	if err := database.Migrate(t.Context(), url, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	s := testkit.New(t, testkit.Through(url), testkit.Former(data, k.At), testkit.PublicURL(publicURL))
	return s, k
}
