package handler_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
)

// TestUndoOperatorsChanges: the link in the mail about what an operator has changed restores a hostname, the required second factor, and
// the role of a demoted administrator. A hostname that an administrator has changed comes back, too.
func TestUndoOperatorsChanges(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_BASE_DOMAIN", "base.test"))
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	acme := createOrganization(ann, "Acme")
	acme.join(ann, bob, identity.RoleOrganizationAdmin)
	ops, by := s.App.Identity, audit.Actor{Kind: audit.Command, Name: "root", Reason: "ticket 4711"}
	must(t, ops.SetLimits(t.Context(), by, acme.uid, identity.LimitsChange{ChangeHostname: identity.To("pro")}))
	must(t, ops.SetHostname(t.Context(), by, acme.uid, "first.base.test"))
	must(t, ops.SetOrganization(t.Context(), by, acme.uid, identity.OrganizationChange{MFARequired: new(true)}))
	s.Clock.Advance(8 * 24 * time.Hour)

	report := func() (hostname string, factor bool, admins []string) {
		t.Helper()
		r, members, err := ops.ShowOrganization(t.Context(), acme.uid)
		must(t, err)
		for m, err := range members {
			must(t, err)
			if slices.Contains(m.Roles, identity.RoleOrganizationAdmin) {
				admins = append(admins, m.Email)
			}
		}
		return r.Profile.Hostname, r.MFARequired, admins
	}
	before, factor, admins := report()
	if before != "first.base.test" || !factor || len(admins) != 2 {
		t.Fatalf("before: %s %t %v", before, factor, admins)
	}
	// arrived waits for all mails of that kind made so far: several senders work, so that a later one may overtake them.
	arrived := func() (n int) {
		t.Helper()
		if n = mails(t, s, "ann@example.com", "organization-changed"); n > 0 {
			s.Mail.Wait(t, "ann@example.com", importantChange, n)
		}
		return n
	}
	for name, change := range map[string]func() error{
		"hostname": func() error { return ops.SetHostname(t.Context(), by, acme.uid, "second.base.test") },
		"second factor": func() error {
			return ops.SetOrganization(t.Context(), by, acme.uid, identity.OrganizationChange{MFARequired: new(false)})
		},
		"demotion": func() error { return ops.SetMember(t.Context(), by, acme.uid, "bob@example.com", []string{}) },
	} {
		n := arrived()
		must(t, change())
		if host, f, a := report(); host == before && f && len(a) == 2 {
			t.Errorf("%s: nothing has changed", name)
		}
		key := s.Mail.Wait(t, "ann@example.com", importantChange, n+1).Key(t, "/undo/")
		s.Stranger().Post(s.Identity+"/auth/undo/"+key, nil).Want(http.StatusOK)
		if host, f, a := report(); host != before || !f || len(a) != 2 {
			t.Errorf("%s: after the undo %s %t %v", name, host, f, a)
		}
		s.Clock.Advance(2 * time.Minute)
	}

	must(t, ops.SetOrganization(t.Context(), by, acme.uid, identity.OrganizationChange{MFARequired: new(false)}))
	s.Clock.Advance(2 * time.Minute)
	n := arrived()
	at := s.Stranger().With("Host", before)
	home := &testkit.Person{Server: s, Email: "ann@example.com", Header: at.Header.Clone()}
	home.ID = at.Post(s.Identity+"/auth/login", credentials("ann@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK).String("token")
	home.Refresh()
	home.Put(acme.path+"/profile", profileWith("third.base.test", "second.base.test")).Want(http.StatusOK)
	key := s.Mail.Wait(t, "ann@example.com", importantChange, n+1).Key(t, "/undo/")
	s.Stranger().Post(s.Identity+"/auth/undo/"+key, nil).Want(http.StatusOK)
	if host, _, _ := report(); host != before {
		t.Errorf("after the undo the hostname is %s", host)
	}
}
