package handler_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
)

// TestFarewellMails: the deletion of an account or of an organization and the end of a membership are mailed to those
// concerned.
func TestFarewellMails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bob.Delete(w.bolt.member(w.ben)).Want(http.StatusNoContent)
	if m := w.s.Mail.Wait(t, w.ben.Email, "removed from an organization", 1); !strings.Contains(m.Text, "Bolt") {
		t.Errorf("the mail says %s", m.Text)
	}
	w.ann.Delete(w.acme.path).Want(http.StatusNoContent)
	for _, p := range []*testkit.Person{w.ann, w.amy} {
		if m := w.s.Mail.Wait(t, p.Email, "organization was deleted", 1); !strings.Contains(m.Text, "Acme") {
			t.Errorf("the mail says %s", m.Text)
		}
	}
	w.dan.Delete(w.s.Identity + "/profile").Want(http.StatusNoContent)
	if m := w.s.Mail.Wait(t, w.dan.Email, "account was deleted", 1); strings.Contains(m.Text, "/undo/") {
		t.Errorf("the mail says %s", m.Text)
	}
}

// TestLeavingIsMailed: somebody who leaves an organization is mailed, also on joining another one. A thief of a token might do so.
func TestLeavingIsMailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	left := func(p *testkit.Person, name string) {
		t.Helper()
		if m := w.s.Mail.Wait(t, p.Email, "have left an organization", 1); !strings.Contains(m.Text, name) ||
			!strings.Contains(m.Text, "127.0.0.1") {
			t.Errorf("the mail says %s", m.Text)
		}
	}
	w.amy.Post(w.acme.path+"/leave", nil).Want(http.StatusNoContent)
	left(w.amy, "Acme")
	key := w.ann.Post(w.acme.path+"/invitations", map[string]any{"address": w.ben.Email, "roles": []string{"Service.Transfer.Use"}}).Want(
		http.StatusCreated).String("key")
	w.ben.Post(w.s.Identity+"/invitations/"+key+"/accept", map[string]any{"leave": true}).Want(http.StatusNoContent)
	left(w.ben, "Bolt")
}
