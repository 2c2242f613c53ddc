// Tests of what protects an organization from one of its administrators, or from somebody with the session of one (contract 3.29).

package handler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// importantChange is the subject of mails about sensitive changes.
const importantChange = "An important setting of your organization was changed"

// command sets the roles of a member as an operator does, with a reason.
func (c company) command(t *testing.T, email string, roles ...string) {
	t.Helper()
	by := audit.Actor{Kind: audit.Command, Name: "root", Reason: "ticket 4711"}
	must(t, c.s.App.Identity.SetMember(t.Context(), by, c.uid, email, roles))
}

// mails returns how many mails with a subject an address has got.
func mails(t *testing.T, s *testkit.Server, address, template string) (n int) {
	t.Helper()
	must(t, s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM mails WHERE recipient = $1 AND template = $2`,
		address, template).Scan(&n))
	return n
}

// TestAttackOrganizationTakeover: somebody with the young session of an administrator of long standing makes an accomplice administrator,
// who removes nobody. The link in the mail to the other administrator undoes it and ends the session.
func TestAttackOrganizationTakeover(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, eve := s.SignUp("ann@example.com"), s.SignUp("eve@example.com")
	acme := createOrganization(ann, "Acme")
	bob := s.SignUp("bob@example.com")
	acme.join(ann, bob, identity.RoleOrganizationAdmin)
	s.Clock.Advance(8 * 24 * time.Hour)
	bob, eve = bob.Login(), eve.Login() // the attacker's session of bob
	acme.join(bob, eve, identity.RoleOrganizationAdmin, identity.RoleTransferUse)
	for _, p := range []*testkit.Person{ann, bob} {
		eve.Delete(acme.member(p)).WantError(identity.ErrJunior)
		eve.Put(acme.member(p), map[string]any{"roles": []string{}}).WantError(identity.ErrJunior)
	}
	target := map[string]any{"organization": acme.uid, "url": "webdav+https://evil.example.org/", "events": []string{"TRANSFER_RECEIVED"},
		"user": "eve", "password": "x"}
	eve.Post(s.Identity+"/webhooks", target).WantError(identity.ErrJunior)

	key := s.Mail.Wait(t, "ann@example.com", "new administrator", 2).Key(t, "/undo/")
	if got := s.Mail.Wait(t, "eve@example.com", "new administrator", 1); got.Text == "" ||
		mails(t, s, "eve@example.com", "organization-changed") != 1 {
		t.Errorf("eve got %s", got.Text)
	}
	s.Stranger().Post(s.Identity+"/auth/undo/"+key, nil).Want(http.StatusOK)
	s.Stranger().Post(s.Identity+"/auth/undo/"+key, nil).WantError(identity.ErrKeyNotFound)
	if profile := eve.As(eve.Login().Access).Get(s.Identity + "/profile"); profile.Value("membership") != nil {
		t.Errorf("eve is still a member: %s", profile.Body)
	}
	ann = ann.Login()
	ann.Get(acme.path + "/members").Want(http.StatusOK)

	// With the session of ann the attacker removes bob: he is restored with his standing.
	ann.Delete(acme.member(bob)).Want(http.StatusNoContent)
	key = s.Mail.Wait(t, "ann@example.com", "no longer an administrator", 2).Key(t, "/undo/")
	s.Stranger().Post(s.Identity+"/auth/undo/"+key, nil).Want(http.StatusOK)
	bob = bob.Login()
	bob.Get(acme.path + "/members").Want(http.StatusOK)
	poll.Until(t, "the session of ann has ended", func() bool { return ann.Get(acme.path+"/members").Status == http.StatusUnauthorized })
	bob.Post(s.Identity+"/webhooks", target).Want(http.StatusCreated) // of long standing again
}

// TestAttackExportTargetOutlivesItsMaker: the targets of somebody who is no longer an administrator pause, and the others are asked.
func TestAttackExportTargetOutlivesItsMaker(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	acme := createOrganization(ann, "Acme")
	target := map[string]any{"organization": acme.uid, "url": "webdav+https://files.example.org/", "events": []string{"TRANSFER_RECEIVED"},
		"user": "eve", "password": "x"}
	for name, end := range map[string]func(p *testkit.Person){
		"demoted": func(p *testkit.Person) {
			ann.Put(acme.member(p), map[string]any{"roles": []string{identity.RoleTransferUse}}).Want(http.StatusOK)
		},
		"removed":        func(p *testkit.Person) { ann.Delete(acme.member(p)).Want(http.StatusNoContent) },
		"left":           func(p *testkit.Person) { p.Post(acme.path+"/leave", nil).Want(http.StatusNoContent) },
		"deleted":        func(p *testkit.Person) { p.Delete(s.Identity + "/profile").Want(http.StatusNoContent) },
		"by an operator": func(p *testkit.Person) { acme.command(t, p.Email) },
	} {
		t.Log(name)
		email := strings.ReplaceAll(name, " ", "-") + "@example.com"
		p := s.SignUp(email)
		acme.join(ann, p, identity.RoleOrganizationAdmin)
		before := mails(t, s, "ann@example.com", "targets-paused")
		path := s.Identity + "/webhooks/" + p.Post(s.Identity+"/webhooks", target).Want(http.StatusCreated).String("uid")
		end(p)
		if got := ann.Get(path).Want(http.StatusOK); got.Value("active") != false || got.String("disabledReason") != "MAKER" {
			t.Errorf("%s: the target is %s", name, got.Body)
		}
		if got := mails(t, s, "ann@example.com", "targets-paused"); got != before+1 {
			t.Errorf("%s: ann was asked %d times", name, got-before)
		}
		if got := mails(t, s, email, "targets-paused"); got != 0 {
			t.Errorf("%s: the former administrator was asked", name)
		}
		s.Clock.Advance(2 * time.Minute)
	}
}

// TestAttackOperatorsAccomplice: an operator who makes somebody an administrator is seen by all administrators, with the reason, and cannot
// send incoming files elsewhere.
func TestAttackOperatorsAccomplice(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	acme := createOrganization(ann, "Acme")
	eve := s.SignUp("eve@example.com")
	s.Clock.Advance(8 * 24 * time.Hour)
	acme.command(t, "eve@example.com", identity.RoleOrganizationAdmin)
	got := s.Mail.Wait(t, "ann@example.com", importantChange, 1)
	if !strings.Contains(got.Text, "ticket 4711") {
		t.Errorf("the mail lacks the reason: %s", got.Text)
	}
	eve = eve.Login()
	eve.Post(s.Identity+"/webhooks", map[string]any{"organization": acme.uid, "url": "webdav+https://evil.example.org/",
		"events": []string{"TRANSFER_RECEIVED"}, "user": "eve", "password": "x"}).WantError(identity.ErrJunior)
	eve.Delete(acme.member(ann)).WantError(identity.ErrJunior)
	s.Stranger().Post(s.Identity+"/auth/undo/"+got.Key(t, "/undo/"), nil).Want(http.StatusOK)
	poll.Until(t, "Eve's session has ended", func() bool { return eve.Get(acme.path+"/members").Status == http.StatusUnauthorized })
}

// TestUndoOrganizationChanges: the link in the mail restores what was before each kind of change.
func TestUndoOrganizationChanges(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, dora := s.SignUp("ann@example.com"), s.SignUp("dora@example.com")
	acme := createOrganization(ann, "Acme")
	ann.Put(s.Transfer+"/adminunit", map[string]any{"protectionLevel": "password"}).Want(http.StatusOK)
	target := s.Identity + "/webhooks/" + ann.Post(s.Identity+"/webhooks", map[string]any{"organization": acme.uid,
		"url": "webdav+https://files.example.org/", "events": []string{"TRANSFER_RECEIVED"}, "user": "ann", "password": "x"}).Want(
		http.StatusCreated).String("uid")
	for i, c := range []struct {
		change                func()
		mail, path, at, after string
	}{
		{change: func() {}, mail: "export target of your organization", path: target, at: "disabledReason", after: "SECURITY"},
		{change: func() { ann.Put(s.Transfer+"/adminunit", map[string]any{}).Want(http.StatusOK) }, mail: "protect less",
			path: s.Transfer + "/adminunit",
			at:   "protectionLevel", after: "password"},
		{change: func() {
			ann.Put(acme.path+"/uploadorigins", map[string]any{"origins": []string{"https://a.example.org"}}).Want(http.StatusOK)
		}, mail: "websites that may upload", path: acme.path + "/uploadorigins", at: "origins.0"},
		{change: func() { acme.join(ann, dora, identity.RoleOrganizationAdmin) }, mail: "was invited to become",
			path: acme.path + "/members", at: "members.1"},
	} {
		c.change()
		key := s.Mail.Wait(t, "ann@example.com", c.mail, 1).Key(t, "/undo/")
		s.Stranger().Post(s.Identity+"/auth/undo/"+key, nil).Want(http.StatusOK)
		s.Clock.Advance(2 * time.Minute)
		ann = ann.Login()
		if got := ann.Get(c.path).Want(http.StatusOK); c.after != "" && got.String(c.at) != c.after || c.after == "" && got.Value(c.at) != nil {
			t.Errorf("change %d: %s", i, got.Body)
		}
	}
}
