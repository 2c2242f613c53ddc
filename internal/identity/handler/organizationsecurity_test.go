package handler_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

// withTwoFactors has a person set up TOTP and log in with it.
func withTwoFactors(t *testing.T, s *testkit.Server, p *testkit.Person) (code func() string) {
	t.Helper()
	code = withTOTP(t, s, p)
	first := s.Stranger().Post(s.Identity+"/auth/login",
		map[string]any{"type": "bcrypt", "email": p.Email, "key": testkit.Password}).Want(http.StatusOK)
	second := s.Stranger().As(first.String("token")).Post(s.Identity+"/auth/login",
		map[string]any{"type": "totp", "email": p.Email, "key": code()}).Want(http.StatusOK)
	p.ID = second.String("token")
	p.Refresh()
	return code
}

// TestAdministratorRequiresSecondFactor: an administrator who has two factors can require them. Members are told by mail, and a
// session without a second factor ends at its next access.
func TestAdministratorRequiresSecondFactor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path, on, off := w.acme.path+"/security", map[string]any{"mfaRequired": true}, map[string]any{"mfaRequired": false}
	w.amy.Put(path, on).WantError(identity.ErrRoleMissing)
	w.bob.Put(path, on).WantError(identity.ErrNotMember)
	for _, body := range []map[string]any{{}, {"mfaRequired": nil}, {"mfaRequired": "on"}} {
		w.ann.Put(path, body).WantError(fault.ErrInvalid)
	}
	w.ann.Put(path, on).WantError(identity.ErrFactorFirst)
	w.ann.Put(path, off).Want(http.StatusOK)

	code := withTwoFactors(t, w.s, w.ann)
	w.s.Clock.Advance(16 * time.Minute)
	w.ann.Refresh()
	w.amy.Refresh()
	w.ann.Put(path, on).WantError(identity.ErrSessionNotYoung)
	w.ann.Put(path, map[string]any{"mfaRequired": true, "authKey": testkit.Password}).WantError(identity.ErrFactorFirst)
	proof := map[string]any{"mfaRequired": true, "authKey": testkit.Password, "authFactor": map[string]any{"type": "totp", "key": code()}}
	if got := w.ann.Put(path, proof).Want(http.StatusOK); got.Value("mfaRequired") != true {
		t.Errorf("%s", got.Body)
	}
	for _, p := range []*testkit.Person{w.ann, w.amy} {
		m := w.s.Mail.Wait(t, p.Email, "second factor", 1)
		if !strings.Contains(m.Text, "Acme") || !strings.Contains(m.Text, "/account") {
			t.Errorf("the mail to %s is %s", p.Email, m.Text)
		}
	}
	poll.Until(t, "the end of access", func() bool { return w.amy.Get(w.acme.path).Status == http.StatusUnauthorized })
	w.amy.Refresh()
	w.amy.Get(w.acme.path).WantError(token.ErrFactorRequired)
	w.ann.Refresh()
	w.ann.Get(w.acme.path).Want(http.StatusOK)
	withTwoFactors(t, w.s, w.amy)
	w.amy.Get(w.acme.path).Want(http.StatusOK)
	if got := w.ann.Get(w.acme.path + "/audit?action=organization.security").Want(http.StatusOK); got.String(
		"entries.0.details.mfaRequired") != "on" || got.Value("entries.1") != nil {
		t.Errorf("%s", got.Body)
	}
}

// TestExternalAdministratorRequiresSecondFactor: the session of an external provider meets the rule, so its administrator may set it.
// The page knows such a person by the missing password.
func TestExternalAdministratorRequiresSecondFactor(t *testing.T) {
	t.Parallel()
	a := newFederatedServer(t)
	eva := a.login("eva@example.com", nil)
	c := createOrganization(eva, "Elsewhere")
	if got := eva.Get(a.Identity + "/profile/authenticators").Want(http.StatusOK); got.Value("authenticators.0") != nil {
		t.Errorf("%s", got.Body)
	}
	eva.Put(c.path+"/security", map[string]any{"mfaRequired": true}).Want(http.StatusOK)
	poll.Until(t, "the end of access", func() bool { return eva.Get(c.path).Status == http.StatusUnauthorized })
	eva.Refresh()
	eva.Get(c.path).Want(http.StatusOK)
}

func TestOrganizationLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.s.App.Identity.SetLimits(t.Context(), testkit.Command, w.acme.uid,
		identity.LimitsChange{Users: identity.To(7), ChangeHostname: identity.To("custom"), StorageVolumeGB: identity.To(2.5)}))
	got := w.ann.Get(w.acme.path + "/limits").Want(http.StatusOK)
	if got.Value("members") != 2.0 || got.Value("limitations.users") != 7.0 || got.Value("limitations.changeHostname") != "custom" ||
		got.Value("limitations.storageVolumeGb") != 2.5 {
		t.Errorf("%s", got.Body)
	}
	w.amy.Get(w.acme.path + "/limits").WantError(identity.ErrRoleMissing)
	w.bob.Get(w.acme.path + "/limits").WantError(identity.ErrNotMember)
}

// TestOrganizationAudit: an administrator reads who did what for the organization, in pages and as a table, and nothing of
// another organization.
func TestOrganizationAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.acme.path + "/audit"
	w.amy.Get(path).WantError(identity.ErrRoleMissing)
	w.bob.Get(path).WantError(identity.ErrNotMember)
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "after=0", "after=x", "since=monday", "person=x", "format=xml",
		"action=a&action=b", "action=%00", "action=%ff", "%zz"} {
		w.ann.Get(path + "?" + query).Want(http.StatusBadRequest)
	}
	amy := uid(t, w.amy.ID).String()
	w.amy.Put(w.s.Identity+"/profile", map[string]any{"name": `=HYPERLINK("http://evil")`, "locale": "en_US", "timeZone": "UTC"}).Want(
		http.StatusOK)
	for i := range 3 {
		w.ann.Put(w.acme.path+"/theme", map[string]any{"primaryColor": fmt.Sprintf("#00000%d", i)}).Want(http.StatusOK)
	}
	w.bob.Put(w.bolt.path+"/theme", map[string]any{"primaryColor": "#000000"}).Want(http.StatusOK)
	w.ann.Put(w.acme.path+"/members/"+amy, map[string]any{"roles": []string{"Contract.Read"}}).Want(http.StatusOK)

	newest := w.ann.Get(path).Want(http.StatusOK)
	if newest.String("entries.0.action") != "member.roles" || newest.String("entries.0.actor.email") != w.ann.Email ||
		newest.String("entries.0.target.uid") != amy ||
		newest.String("entries.1.action") != "organization.theme" || strings.Contains(string(newest.Body), "127.0.0.1") ||
		strings.Contains(string(newest.Body), w.bob.Email) {
		t.Errorf("%s", newest.Body)
	}
	for query, want := range map[string]int{"action=organization.theme": 3, "action=organization.theme&limit=2": 2,
		"action=member.roles&person=" + amy: 1, "since=2099-01-01T00:00:00Z": 0} {
		if got := w.ann.Get(path + "?" + query).Want(http.StatusOK).Value("entries").([]any); len(got) != want {
			t.Errorf("%s: %d entries, want %d", query, len(got), want)
		}
	}
	page := w.ann.Get(path + "?action=organization.theme&limit=2").Want(http.StatusOK)
	next := w.ann.Get(fmt.Sprintf("%s?action=organization.theme&limit=2&after=%.0f", path, page.Number("entries.1.id"))).Want(http.StatusOK)
	if rest := next.Value("entries").([]any); len(rest) != 1 {
		t.Errorf("the second page is %s", next.Body)
	}
	for _, got := range []*testkit.Response{w.ann.Get(path + "?format=csv"), w.ann.With("Accept", "text/csv").Get(path)} {
		got.Want(http.StatusOK)
		rows, err := csv.NewReader(strings.NewReader(string(got.Body))).ReadAll()
		if err != nil || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/csv") || len(rows) < 5 || rows[1][1] != "member.roles" {
			t.Fatalf("%v %v", err, rows)
		}
		for _, row := range rows {
			for _, cell := range row {
				if strings.HasPrefix(cell, "=") {
					t.Errorf("the cell %q is a formula", cell)
				}
			}
		}
		if rows[1][7] != `'=HYPERLINK("http://evil")` {
			t.Errorf("the name is in %q", rows[1])
		}
	}
	w.ann.With("Accept", "image/png").Get(path).WantError(fault.ErrNotAcceptable)
}
