//go:build fixture

// Writes the installation of a former version that test/upgrade migrates.

package upgrade_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pquerna/otp/totp"

	"github.com/consign-dev/consign/internal/testkit"
)

var (
	out  = flag.String("out", "", "directory of the fixture")
	dump = flag.String("pg_dump", "pg_dump", "path of pg_dump")
)

type object = map[string]any

// TestWrite makes the fixture: it does what people do and keeps the database, the files and what the people know. It is compiled in the
// tree of the former version, so it uses only what both test kits have.
func TestWrite(t *testing.T) {
	s := testkit.New(t, testkit.PublicURL(publicURL))
	k := known{At: s.Clock.Now()}
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	bob.Put(s.Transfer+"/mailbox", object{"vanityLink": "bob", "slogan": "X-rays, please"}).Want(http.StatusCreated)

	factor := ann.Post(s.Identity+"/profile/authenticators", object{"type": "totp"}).Want(http.StatusCreated)
	k.TOTP = factor.String("key")
	code, err := totp.GenerateCode(k.TOTP, s.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	ann.ID = bearer(ann.Post(s.Identity+"/profile/authenticators/"+factor.String("uid")+"/verify", object{"email": ann.Email, "type": "totp", "key": code}).Want(http.StatusNoContent))
	ann.Refresh()
	k.Recovery = strings.Fields(ann.Post(s.Identity+"/profile/authenticators", object{"type": "recovery"}).Want(http.StatusCreated).String("key"))
	ann.Refresh()
	k.AnnID, k.BobID = ann.ID, bob.ID

	sam := s.Stranger()
	sent, reservation := reserve(sam, s.Transfer+"/public/mailbox/bob", object{"subject": "X-ray", "anonSender": "Sam", "anonEmail": "sam@example.com"})
	add(sent, reservation, "a", "Röntgen.txt", rays)
	add(sent, reservation, "b", "empty.txt", "")
	k.Delivered = sent.Post(reservation+"/confirm", nil).Want(http.StatusOK).String("uid")

	held, unfinished := reserve(sam, s.Transfer+"/public/mailbox/bob", object{"subject": "Half", "anonSender": "Sam", "anonEmail": "sam@example.com"})
	held.Post(unfinished+"/objects", object{"clientId": "a", "name": "half.txt", "intendedSize": len(rays)}).Want(http.StatusCreated)
	held.With("Content-Range", "bytes 0-999/"+size).Put(unfinished+"/objects/a/content", rays[:1000]).Want(http.StatusOK)
	k.Unfinished, k.UnfinishedToken = unfinished, held.Access

	own, made := reserve(ann, s.Transfer+"/reservations", object{"subject": "Contract", "protection": "password", "password": linkPassword,
		"recipients": []object{{"email": "eve@example.org", "destinationType": "to"}}})
	add(own, made, "a", "contract.txt", contract)
	k.Sent = own.Post(made+"/confirm", nil).Want(http.StatusOK).String("uid")
	k.Link = s.Mail.Wait(t, "eve@example.org", "/t/", 1).Key(t, "/t/")

	s.SignUpUnconfirmed("cid@example.com")
	k.Confirmation = s.Mail.Wait(t, "cid@example.com", "/confirm/", 1).Key(t, "/confirm/")
	s.Stop()

	raw, err := json.MarshalIndent(k, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "known.json", append(raw, '\n'))
	sql, err := exec.CommandContext(t.Context(), *dump, "--inserts", "--no-owner", "--no-privileges", s.DatabaseURL).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	var lines []string
	for _, line := range strings.Split(string(sql), "\n") {
		if line != "" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, `\`) { // comments, and commands of psql
			lines = append(lines, line)
		}
	}
	write(t, "database.sql", []byte(strings.Join(lines, "\n")+"\n"))
	if err := os.CopyFS(filepath.Join(*out, "data"), os.DirFS(s.DataDir)); err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), "find", filepath.Join(*out, "data"), "-type", "d", "-empty", "-delete").Run(); err != nil {
		t.Fatal(err)
	}
}

func reserve(p *testkit.Person, path string, body object) (holder *testkit.Person, reservation string) {
	made := p.Post(path, body).Want(http.StatusCreated)
	return p.Server.Stranger().As(bearer(made)), p.Server.Transfer + "/reservations/" + made.String("uid")
}

func add(p *testkit.Person, reservation, id, name, content string) {
	p.Post(reservation+"/objects", object{"clientId": id, "name": name, "intendedSize": len(content)}).Want(http.StatusCreated)
	if content != "" {
		p.Put(reservation+"/objects/"+id+"/content", content).Want(http.StatusOK)
	}
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(*out, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// bearer returns the token in an answer's Authorization header.
func bearer(r *testkit.Response) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}
