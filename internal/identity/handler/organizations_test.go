// Tests of organizations: create, leave, delete, profile and theme.

package handler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

func TestCreateOrganization(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	other := ann.Login()
	resp := ann.Post(s.Identity+"/organizations", nil).Want(http.StatusCreated)
	uid := resp.String("uid")
	if got, want := resp.Header.Get("Location"), s.URL+s.Identity+"/organizations/"+uid; got != want {
		t.Errorf("Location is %s, want %s", got, want)
	}
	if resp.Value("profile.name") != nil || resp.String("profile.locale") != "en_US" || resp.String("profile.timeZone") != "Europe/Berlin" {
		t.Errorf("profile is %s", resp.Body)
	}
	for _, p := range []*testkit.Person{ann, other} {
		p.As(p.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
		p.As(p.ID).Post(s.Identity+"/auth/upgrade", nil).WantError(token.ErrEnded)
		poll.Until(t, "the end of access", func() bool { return p.Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	}
	old := claimsOf(t, ann.ID)
	useTokens(ann, resp)
	claims := claimsOf(t, ann.ID)
	if claims["https://consign.dev/org_id"] != uid || claims["sid"] != old["sid"] || claims["exp"] != old["exp"] {
		t.Errorf("claims are %v, before %v", claims, old)
	}
	if got := roles(ann); got != "Organization.Admin Service.Transfer.Use" {
		t.Errorf("roles are %s", got)
	}
	if event := firstEvent(t, ann); event["kind"] != "PRIVILEGES_UPDATED" || event["subject"] != claims["sub"] {
		t.Errorf("the event is %v", event)
	}
	ann.Post(s.Identity+"/organizations", nil).WantError(identity.ErrStillMember)
	ann.Get(s.Identity + "/organizations/" + uid).Want(http.StatusOK)
	for name, body := range map[string]string{
		"locale": `{"locale":"en"}`, "timeZone": `{"timeZone":"Mars/Olympus"}`, "name": `{"name":1}`,
	} {
		bad := s.SignUp(strings.ToLower(name)+"@example.com").With("Content-Type", "application/json").Post(s.Identity+"/organizations",
			body).WantError(fault.ErrInvalid)
		if !strings.HasPrefix(bad.Details(), name+": ") {
			t.Errorf("%s: %s", name, bad.Details())
		}
	}
}

// TestCreateLeavesFree: creating an organization replaces the membership of the free one. The last administrator of
// the free organization is refused.
func TestCreateLeavesFree(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	must(t, s.App.Identity.SetMember(t.Context(), testkit.Command, "free", "ann@example.com", []string{identity.RoleOrganizationAdmin}))
	ann = ann.Login()
	ann.Post(s.Identity+"/organizations", nil).WantError(identity.ErrLastAdmin)
	s.SignUp("bob@example.com")
	must(t, s.App.Identity.SetMember(t.Context(), testkit.Command, "free", "bob@example.com", []string{identity.RoleOrganizationAdmin}))
	acme := createOrganization(ann, "Acme")
	if got := ann.Get(s.Identity + "/profile").String("membership.organization.uid"); got != acme.uid {
		t.Errorf("the organization is %s, want %s", got, acme.uid)
	}
}

func TestLeave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ann.Post(w.acme.path+"/leave", nil).WantError(identity.ErrLastAdmin)
	resp := w.amy.Post(w.acme.path+"/leave", nil).Want(http.StatusNoContent)
	old := *w.amy
	useTokens(w.amy, resp)
	old.As(old.ID).Post(w.s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	if claims := claimsOf(t, w.amy.ID); claims["https://consign.dev/org_id"] != nil || len(claims["roles"].([]any)) != 0 {
		t.Errorf("claims are %v", claims)
	}
	w.amy.Get(w.acme.path).WantError(identity.ErrNotMember)
	w.amy.Post(w.acme.path+"/leave", nil).WantError(identity.ErrNotMember)
	w.dan.Post(w.acme.path+"/leave", nil).WantError(identity.ErrNotMember)
	w.dan.Post(w.s.Identity+"/organizations/0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11/leave", nil).WantError(identity.ErrOrganizationNotFound)
}

func TestDeleteOrganization(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.amy.Delete(w.acme.path).WantError(identity.ErrRoleMissing)
	resp := w.ann.Delete(w.acme.path).Want(http.StatusNoContent)
	w.amy.As(w.amy.ID).Post(w.s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	poll.Until(t, "the end of access", func() bool { return w.amy.Get(w.s.Identity+"/profile").Status == http.StatusUnauthorized })
	useTokens(w.ann, resp)
	if got := w.ann.Get(w.s.Identity + "/profile").Want(http.StatusOK).Value("membership"); got != nil {
		t.Errorf("membership is %v", got)
	}
	w.ann.Get(w.acme.path).WantError(identity.ErrOrganizationNotFound)
	amy := w.amy.Login()
	if event := firstEvent(t, amy); event["kind"] != "PRIVILEGES_UPDATED" {
		t.Errorf("the member's event is %v", event)
	}
	w.ben.Get(w.bolt.path).Want(http.StatusOK)

	must(t, w.s.App.Identity.SetMember(t.Context(), testkit.Command, "free", "dan@example.com", []string{identity.RoleOrganizationAdmin}))
	dan := w.dan.Login()
	free := dan.Get(w.s.Identity + "/profile").String("membership.organization.uid")
	dan.Delete(w.s.Identity + "/organizations/" + free).WantError(identity.ErrFreeOrganization)
}

// TestLastAdmin: when administrators leave, demote and remove one another in parallel, one stays.
func TestLastAdmin(t *testing.T) {
	t.Parallel()
	for range 4 {
		w := newWorld(t)
		admin := map[string]any{"roles": []string{identity.RoleOrganizationAdmin}}
		nothing := map[string]any{"roles": []string{}}
		w.acme.join(w.ann, w.dan)
		for _, p := range []*testkit.Person{w.amy, w.dan} {
			w.ann.Put(w.acme.member(p), admin).Want(http.StatusOK)
			useTokens(p, p.As(p.ID).Post(w.s.Identity+"/auth/access", nil).Want(http.StatusOK))
		}
		call := func(p *testkit.Person, method, path string, body any) func() (*testkit.Response, error) {
			return func() (*testkit.Response, error) { return p.Try(t.Context(), method, path, body) }
		}
		parallel(t,
			call(w.ann, "POST", w.acme.path+"/leave", nil), call(w.amy, "POST", w.acme.path+"/leave", nil),
			call(w.dan, "POST", w.acme.path+"/leave", nil),
			call(w.ann, "PUT", w.acme.member(w.amy), nothing), call(w.amy, "PUT", w.acme.member(w.dan), nothing),
			call(w.dan, "PUT", w.acme.member(w.ann), nothing),
			call(w.ann, "DELETE", w.acme.member(w.dan), nil), call(w.dan, "DELETE", w.acme.member(w.amy), nil),
		)
		var admins int
		err := w.s.App.DB.Pool.QueryRow(t.Context(), `
			SELECT count(*) FROM identity.memberships WHERE organization = $1 AND 'Organization.Admin' = ANY(roles)`, w.acme.uid).Scan(&admins)
		if err != nil || admins < 1 {
			t.Errorf("%d administrators are left, %v", admins, err)
		}
	}
}

func TestOrganizationProfile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.acme.path + "/profile"
	before := w.amy.Get(path).Want(http.StatusOK)
	w.ann.Put(path, before.Value("")).Want(http.StatusBadRequest)
	var same map[string]any
	before.JSON(&same)
	if again := w.ann.Put(path, same).Want(http.StatusOK); string(again.Body) != string(before.Body) {
		t.Errorf("PUT of the answer of GET changed %s to %s", before.Body, again.Body)
	}
	full := map[string]any{
		"name": "Acme Ltd.", "addressLine1": "1 High Street", "addressLine2": "2nd floor", "postCode": "N1 9GU", "city": "London",
		"state":   "Greater London",
		"country": "United Kingdom", "phoneNumber": "+44 20 7946 0000", "globalSignature": "Acme Ltd.\nLondon",
		"legalNoticeUrl":   "https://acme.example/legal",
		"privacyPolicyUrl": "https://acme.example/privacy", "locale": "fr_FR", "timeZone": "Europe/London", "inactiveHostnames": []string{},
	}
	after := w.ann.Put(path, full).Want(http.StatusOK)
	for name := range full {
		if name != "inactiveHostnames" && after.Value(name) != full[name] {
			t.Errorf("%s is %v, want %v", name, after.Value(name), full[name])
		}
	}
	for _, p := range []*testkit.Person{w.ann, w.amy} {
		if event := lastEvent(t, p); event["kind"] != "ORGANIZATION_PROFILE_UPDATED" || event["subject"] != w.acme.uid {
			t.Errorf("the event is %v", event)
		}
	}
	w.amy.Put(path, full).WantError(identity.ErrRoleMissing)
	w.bob.Put(path, full).WantError(identity.ErrNotMember)
	w.bob.Get(path).WantError(identity.ErrNotMember)
	for member, value := range map[string]any{
		"name": strings.Repeat("x", 256), "locale": "xx", "timeZone": "", "legalNoticeUrl": "javascript:alert(1)", "city": "a\nb",
		"hostname":          "a b",
		"inactiveHostnames": nil, "globalSignature": "\u0000", "country": 5,
	} {
		bad := map[string]any{}
		for k, v := range full {
			bad[k] = v
		}
		bad[member] = value
		if resp := w.ann.Put(path, bad).WantError(fault.ErrInvalid); !strings.Contains(resp.Details(), member) && member != "globalSignature" {
			t.Errorf("%s: %s", member, resp.Details())
		}
	}
	missing := w.ann.Put(path, map[string]any{}).WantError(fault.ErrInvalid)
	for _, m := range []string{"name", "locale", "timeZone", "inactiveHostnames"} {
		if !strings.Contains(missing.Details(), m+": is required") {
			t.Errorf("%s is not reported as missing: %s", m, missing.Details())
		}
	}
	must(t, w.s.App.Identity.Subscribe(t.Context(), testkit.Command, w.acme.uid,
		service.NewSubscription{Domain: "skp", Product: "business", Name: "Business"}))
	org := w.amy.Get(w.acme.path).Want(http.StatusOK)
	if org.String("subscriptions.0.domain") != "skp" || org.String("subscriptions.0.status") != "active" ||
		org.Value("subscriptions.0.expiresAt") != nil {
		t.Errorf("the organization is %s", org.Body)
	}
}

// TestForeignOrganization calls every route of an organization as persons who are no members: never 2xx, and no answer
// contains its data.
func TestForeignOrganization(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	acme := w.acme.path
	must(t, w.s.App.Identity.SetOrganization(t.Context(), testkit.Command, w.acme.uid, identity.OrganizationChange{City: new("Secretville")}))
	invitation := w.acme.invite(w.ann, "eve@example.com")
	amy := "/members/" + uid(t, w.amy.ID).String()
	routes := []struct{ method, path, body string }{
		{"GET", "", ""}, {"DELETE", "", ""}, {"POST", "/leave", ""}, {"GET", "/profile", ""},
		{"PUT", "/profile", `{"name":"x","locale":"en_US","timeZone":"UTC","inactiveHostnames":[]}`},
		{"PUT", "/theme", `{"primaryColor":"#123456"}`}, {"DELETE", "/theme", ""}, {"GET", "/avatar", ""}, {"DELETE", "/avatar", ""},
		{"GET", "/documents?type=dataProcessing&domain=skp", ""}, {"GET", "/members", ""}, {"GET", amy, ""}, {"PUT", amy, `{"roles":[]}`},
		{"DELETE", amy, ""},
		{"GET", "/invitations", ""}, {"POST", "/invitations", `{"address":"x@example.com","roles":[]}`},
		{"DELETE", "/invitations/" + invitation, ""},
	}
	for _, r := range routes {
		for name, p := range map[string]*testkit.Person{"a foreign administrator": w.bob, "a foreign member": w.ben,
			"a person without organization": w.dan} {
			resp := p.With("Content-Type", "application/json").Do(r.method, acme+r.path, r.body)
			if resp.Status != http.StatusForbidden || strings.Contains(string(resp.Body), "Secretville") ||
				strings.Contains(string(resp.Body), "example.com") {
				t.Errorf("%s: %s %s answers %d %s", name, r.method, r.path, resp.Status, resp.Body)
			}
		}
		w.s.Stranger().With("Content-Type", "application/json").Do(r.method, acme+r.path, r.body).WantError(token.ErrMissing)
		w.ann.With("Content-Type", "application/json").Do(r.method, w.s.Identity+"/organizations/0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11"+r.path,
			r.body).WantError(identity.ErrOrganizationNotFound)
		w.ann.With("Content-Type", "application/json").Do(r.method, w.s.Identity+"/organizations/nonsense"+r.path,
			r.body).WantError(identity.ErrOrganizationNotFound)
	}
	// An administrator cannot reach members of another organization through the path of their own.
	w.bob.Get(w.bolt.path + amy).WantError(identity.ErrMemberNotFound)
	w.bob.Put(w.bolt.path+amy, map[string]any{"roles": []string{identity.RoleOrganizationAdmin}}).WantError(identity.ErrMemberNotFound)
	w.bob.Delete(w.bolt.path + amy).WantError(identity.ErrMemberNotFound)
	w.bob.Delete(w.bolt.path + "/invitations/" + invitation).WantError(identity.ErrInvitationNotFound)
}

func TestTheme(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.acme.path + "/theme"
	if resp := w.ann.Put(path, map[string]any{"primaryColor": "#ABCDEF"}).Want(http.StatusOK); resp.String("primaryColor") != "#abcdef" {
		t.Errorf("the theme is %s", resp.Body)
	}
	w.amy.Put(path, map[string]any{"primaryColor": "#000000"}).WantError(identity.ErrRoleMissing)
	for _, body := range []map[string]any{{}, {"primaryColor": "red"}, {"primaryColor": "#fff"}, {"primaryColor": 1},
		{"backgroundColor": "#12345g"}} {
		w.ann.Put(path, body).WantError(fault.ErrInvalid)
	}
	w.ann.Delete(path).Want(http.StatusNoContent)
}

// TestSecondFactorRequired: mfaRequired ends access at once. A member without a second factor can register one or leave.
func TestSecondFactorRequired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.s.App.Identity.SetOrganization(t.Context(), testkit.Command, w.acme.uid, identity.OrganizationChange{MFARequired: new(true)}))
	poll.Until(t, "the end of access", func() bool { return w.amy.Get(w.acme.path).Status == http.StatusUnauthorized })
	w.amy.Refresh()
	for _, path := range []string{w.acme.path, w.acme.path + "/profile", w.s.Identity + "/invitations", w.s.Transfer + "/mailbox"} {
		w.amy.Get(path).WantError(token.ErrFactorRequired)
	}
	if profile := w.amy.Get(w.s.Identity + "/profile").Want(http.StatusOK); profile.Value("membership.organization.mfaRequired") != true {
		t.Errorf("the profile is %s", profile.Body)
	}
	useTokens(w.amy, w.amy.Post(w.acme.path+"/leave", nil).Want(http.StatusNoContent))
	w.amy.Get(w.s.Identity + "/invitations").Want(http.StatusOK)
	w.bob.Get(w.bolt.path).Want(http.StatusOK)
}

// TestMadeOrganizations: a person makes three organizations within 30 days.
func TestMadeOrganizations(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	for _, name := range []string{"One", "Two", "Three"} {
		useTokens(ann, ann.Delete(createOrganization(ann, name).path).Want(http.StatusNoContent))
		s.Clock.Advance(time.Minute)
	}
	body := map[string]any{"name": "Four"}
	ann.Post(s.Identity+"/organizations", body).WantError(identity.ErrTooManyOrganizations)
	s.SignUp("bob@example.com").Post(s.Identity+"/organizations", body).Want(http.StatusCreated)
	s.Clock.Advance(30*24*time.Hour - 150*time.Second) // the first is 30 days old, and the second is not
	ann = ann.Login()
	useTokens(ann, ann.Delete(createOrganization(ann, "Four").path).Want(http.StatusNoContent))
	ann.Post(s.Identity+"/organizations", body).WantError(identity.ErrTooManyOrganizations)
}
