// Tests of the role in audit entries, and of a person's own audit.

package handler_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
)

// TestAuditRoles: an entry says in which role its actor acted, so that an entry without an actor is a stranger's, a job's or a command's.
func TestAuditRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.acme.path + "/audit"
	w.ann.Put(w.acme.path+"/theme", map[string]any{"primaryColor": "#000001"}).Want(http.StatusOK)
	org, err := id.Parse[id.Organization](w.acme.path[strings.LastIndex(w.acme.path, "/")+1:])
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []audit.Kind{audit.Person, audit.Job, audit.Command} {
		e := audit.Entry{Actor: audit.Actor{Kind: kind}, Action: "probe.role", Organization: org}
		if err := audit.Append(t.Context(), w.s.App.DB.Pool, w.s.Clock.Now(), e); err != nil {
			t.Fatal(err)
		}
	}
	got := w.ann.Get(path + "?action=probe.role").Want(http.StatusOK)
	for i, want := range []string{"command", "job", "person"} {
		if at := fmt.Sprintf("entries.%d.", i); got.String(at+"role") != want || got.Value(at+"actor") != nil {
			t.Errorf("entry %d is %s", i, got.Body)
		}
	}
	if themed := w.ann.Get(path + "?action=organization.theme").Want(http.StatusOK); themed.String("entries.0.role") != "administrator" {
		t.Errorf("%s", themed.Body)
	}
	table := w.ann.Get(path + "?action=probe.role&format=csv").Want(http.StatusOK)
	if !strings.HasSuffix(strings.TrimSpace(string(table.Body)), ",person") {
		t.Errorf("%s", table.Body)
	}
}

// TestProfileAudit: a person sees what happened in the account, in pages, with neither name nor address of others.
func TestProfileAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.s.Identity + "/profile/audit"
	for _, query := range []string{"limit=0", "limit=1001", "after=x", "since=monday", "action=a&action=b", "%zz"} {
		w.amy.Get(path + "?" + query).Want(http.StatusBadRequest)
	}
	amy := uid(t, w.amy.ID).String()
	w.ann.Put(w.acme.path+"/members/"+amy, map[string]any{"roles": []string{"Contract.Read"}}).Want(http.StatusOK)
	w.amy.Refresh()
	w.amy.Put(w.s.Identity+"/profile", map[string]any{"name": "Amy", "locale": "en_US", "timeZone": "UTC"}).Want(http.StatusOK)
	got := w.amy.Get(path + "?limit=2").Want(http.StatusOK)
	if got.String("entries.0.action") != "profile.update" || got.Value("entries.0.own") != true || got.String("entries.0.address") == "" ||
		got.String("entries.1.action") != "member.roles" || got.Value("entries.1.own") != false || got.Value("entries.1.address") != nil ||
		got.String("entries.1.role") != "administrator" || got.String("entries.1.target.uid") != amy {
		t.Errorf("%s", got.Body)
	}
	next := w.amy.Get(fmt.Sprintf("%s?after=%.0f", path, got.Number("entries.1.id"))).Want(http.StatusOK)
	for _, body := range []string{string(got.Body), string(next.Body)} {
		if strings.Contains(body, w.ann.Email) || strings.Contains(body, uid(t, w.ann.ID).String()) || strings.Contains(body, `"probe`) {
			t.Errorf("%s", body)
		}
	}
	if bobs := w.bob.Get(path).Want(http.StatusOK); strings.Contains(string(bobs.Body), amy) {
		t.Errorf("%s", bobs.Body)
	}
}

// TestAttackHoldsInOwnAudit: nobody but operators learns of a hold (contract 4.30), neither in the own audit nor in the export.
func TestAttackHoldsInOwnAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := audit.Entry{Actor: audit.Actor{Kind: audit.Operator, Person: id.New[id.Person]()}, Action: "hold.add", Target: uid(t, w.amy.ID),
		Details: map[string]string{"case": "Harbour theft"}}
	if err := audit.Append(t.Context(), w.s.App.DB.Pool, w.s.Clock.Now(), e); err != nil {
		t.Fatal(err)
	}
	own := w.amy.Get(w.s.Identity + "/profile/audit").Want(http.StatusOK)
	var export bytes.Buffer
	if err := w.s.App.ExportPerson(t.Context(), &export, testkit.Command, w.amy.Email); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(export.String(), "person.signup") {
		t.Fatalf("the export has no audit: %s", export.String())
	}
	for _, text := range []string{string(own.Body), export.String()} {
		if strings.Contains(text, "hold.add") || strings.Contains(text, "Harbour theft") {
			t.Errorf("the person sees the hold: %s", text)
		}
	}
}
