// Tests of joining an organization by an invitation, and of leaving it.

package handler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
)

func TestPublicInvitation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.s.App.Identity.SetHostname(t.Context(), testkit.Command, w.acme.uid, "acme.example.com"))
	path := func(key string) string { return w.s.Identity + "/public/invitations/" + key }
	key := w.acme.invite(w.ann, "eve@example.com", "Contract.Read")
	stranger := w.s.Stranger()
	for range 2 { // reading consumes nothing
		i := stranger.Get(path(key)).Want(http.StatusOK)
		if i.Value("shared") != false || i.String("address") != "eve@example.com" || i.String("roles.0") != "Contract.Read" ||
			i.String("expiresAt") == "" ||
			i.String("inviter") != "Ann" || i.String("organization.name") != "Acme" || i.String("organization.uid") != w.acme.uid ||
			!strings.Contains(i.String("organization.url"), "//acme.example.com") || i.Value("organization.logo") != nil {
			t.Errorf("the invitation is %s", i.Body)
		}
		if i.Value("key") != nil || i.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("the answer is %s, %v", i.Body, i.Header)
		}
	}
	stranger.Get(path(key) + "/logo").WantError(identity.ErrAvatarNotFound)
	w.ann.With("Content-Type", "image/png").Put(w.acme.path+"/avatar", picture(t, 640, 320)).Want(http.StatusOK)
	if logo := stranger.Get(path(key)).String("organization.logo"); !strings.HasSuffix(logo, "/public/invitations/"+key+"/logo") {
		t.Errorf("the logo is at %q", logo)
	}
	stranger.Get(path(key) + "/logo?height=80").Want(http.StatusOK)
	for _, unknown := range []string{"nonsense", "%00", "%ff"} {
		stranger.Get(path(unknown)).WantError(identity.ErrInvitationNotFound)
		stranger.Get(path(unknown) + "/logo").WantError(identity.ErrInvitationNotFound)
	}
	eve := w.s.SignUp("eve@example.com")
	eve.Post(w.s.Identity+"/invitations/"+key+"/accept", nil).Want(http.StatusNoContent)
	stranger.Get(path(key)).WantError(identity.ErrInvitationNotFound) // used
	late := w.acme.invite(w.ann, "fay@example.com")
	w.s.Clock.Advance(14 * 24 * time.Hour)
	stranger.Get(path(late)).WantError(identity.ErrInvitationNotFound)
}

// TestInvitationNamesTheInviter: an organization without a name is represented by the person who invites.
func TestInvitationNamesTheInviter(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	zoe := s.SignUp("zoe@example.com")
	zoe.Put(s.Identity+"/profile", map[string]any{"name": "", "locale": "en_US", "timeZone": "UTC"}).Want(http.StatusOK)
	nameless := createOrganization(zoe, "")
	key := nameless.invite(zoe, "eve@example.com")
	if mail := s.Mail.Wait(t, "eve@example.com", "/invitation/", 1); !strings.Contains(mail.Subject, "zoe@example.com invited you") ||
		!strings.Contains(mail.Text, "zoe@example.com invited you to join an organization") {
		t.Errorf("the mail is %s: %s", mail.Subject, mail.Text)
	}
	if i := s.Stranger().Get(s.Identity + "/public/invitations/" + key); i.String("inviter") != "zoe@example.com" ||
		i.Value("organization.name") != nil {
		t.Errorf("the invitation is %s", i.Body)
	}
	shared := zoe.Post(nameless.path+"/invitations", map[string]any{"shared": true, "roles": []string{}}).Want(http.StatusCreated).String(
		"key")
	if i := s.Stranger().Get(s.Identity + "/public/invitations/" + shared); i.Value("inviter") != nil || i.Value("address") != nil {
		t.Errorf("the shared invitation is %s", i.Body)
	}
}

// TestSignUpFromAnInvitation walks from the invitation's mail to the membership, at the organization's own host.
func TestSignUpFromAnInvitation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.s.App.Identity.SetHostname(t.Context(), testkit.Command, w.acme.uid, "acme.example.com"))
	w.acme.invite(w.ann, "eve@example.com", identity.RoleTransferUse)
	link := w.s.Mail.Wait(t, "eve@example.com", "/invitation/", 1)
	key := link.Key(t, "/invitation/")
	if !strings.Contains(link.Link(t, "/invitation/"), "//acme.example.com") {
		t.Fatalf("the invitation is at %s", link.Link(t, "/invitation/"))
	}
	eve := w.s.Stranger().With("Host", "acme.example.com")
	signUp := func(next any) *testkit.Response {
		return eve.Post(w.s.Identity+"/signup", map[string]any{"address": "eve@example.com", "password": testkit.Password, "next": next})
	}
	for _, next := range []string{"invitation", "//evil.example", `/\evil.example`, "https://evil.example/", "/a//b", "/a b",
		"/" + strings.Repeat("a", 2048)} {
		signUp(next).WantError(fault.ErrInvalid)
	}
	signUp("/invitation/" + key).Want(http.StatusOK)
	want := "//acme.example.com"
	check := func(n int) string {
		t.Helper()
		got := w.s.Mail.Wait(t, "eve@example.com", "/confirm/", n).Link(t, "/confirm/")
		if !strings.Contains(got, want) || !strings.HasSuffix(got, "?next=%2Finvitation%2F"+key) {
			t.Errorf("the confirmation is at %s", got)
		}
		at, _, _ := strings.Cut(got, "?")
		return at[strings.LastIndex(at, "/")+1:]
	}
	check(1)
	// Another tab, which signs in at the organization's host, and asks for another mail.
	signIn := func() {
		t.Helper()
		eve.ID = eve.Post(w.s.Identity+"/auth/login", credentials("eve@example.com", "bcrypt", testkit.Password)).Want(http.StatusOK).String(
			"token")
		eve.Refresh()
	}
	signIn()
	verify := w.s.Identity + "/profile/emails/eve@example.com/verify"
	eve.Post(verify, map[string]any{"next": "//evil.example"}).Want(http.StatusBadRequest)
	w.s.Clock.Advance(time.Minute)
	eve.Refresh()
	eve.Post(verify, map[string]any{"next": "/invitation/" + key}).Want(http.StatusNoContent)
	useTokens(eve, eve.Post(w.s.Identity+"/confirm/"+check(2), nil).Want(http.StatusNoContent))
	useTokens(eve, eve.Post(w.s.Identity+"/invitations/"+key+"/accept", nil).Want(http.StatusNoContent))
	if got := eve.Get(w.s.Identity + "/profile").String("membership.organization.name"); got != "Acme" {
		t.Errorf("eve is in %q", got)
	}
	signIn() // at home at the organization's host
}

// TestAcceptAndLeave: a member of another organization leaves it and joins in one step.
func TestAcceptAndLeave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accept := func(p *testkit.Person, key string, leave any) *testkit.Response {
		return p.Post(w.s.Identity+"/invitations/"+key+"/accept", map[string]any{"leave": leave})
	}
	in := func(p *testkit.Person) string {
		return p.Get(w.s.Identity + "/profile").String("membership.organization.uid")
	}
	free, err := w.s.App.Identity.CreateSharedInvitation(t.Context(), testkit.Command, "free", []string{"Service.Transfer.Use"})
	must(t, err)
	useTokens(w.dan, accept(w.dan, free.Key, nil).Want(http.StatusNoContent))
	key := w.acme.invite(w.ann, "dan@example.com", "Contract.Read")
	accept(w.dan, key, false).WantError(identity.ErrStillMember)
	accept(w.dan, key, "yes").WantError(fault.ErrInvalid)
	useTokens(w.dan, accept(w.dan, key, true).Want(http.StatusNoContent))
	if in(w.dan) != w.acme.uid || roles(w.dan) != "Contract.Read" {
		t.Errorf("dan is in %s with the roles %s", in(w.dan), roles(w.dan))
	}
	// From one organization to another. The last administrator cannot leave, and the invitation stays.
	amy := w.bolt.invite(w.bob, "amy@example.com")
	useTokens(w.amy, accept(w.amy, amy, true).Want(http.StatusNoContent))
	if in(w.amy) != w.bolt.uid {
		t.Errorf("amy is in %s", in(w.amy))
	}
	ann := w.bolt.invite(w.bob, "ann@example.com")
	accept(w.ann, ann, true).WantError(identity.ErrLastAdmin)
	w.s.Stranger().Get(w.s.Identity + "/public/invitations/" + ann).Want(http.StatusOK)
	if in(w.ann) != w.acme.uid {
		t.Errorf("ann is in %s", in(w.ann))
	}
	// Nobody leaves an organization to join the same one, which would lose roles.
	own := w.cat.Post(w.cord.path+"/invitations", map[string]any{"shared": true, "roles": []string{}}).Want(http.StatusCreated).String("key")
	accept(w.cid, own, true).WantError(identity.ErrStillMember)
	// A full organization: nothing is left.
	must(t, w.s.App.Identity.SetLimits(t.Context(), testkit.Command, w.cord.uid, identity.LimitsChange{Users: identity.To(2)}))
	accept(w.ben, own, true).WantError(identity.ErrUserLimit)
	if in(w.ben) != w.bolt.uid {
		t.Errorf("ben is in %s", in(w.ben))
	}
}

// TestSwapOrganizations: two people who change places at once do not block each other.
func TestSwapOrganizations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amy, ben := w.bolt.invite(w.bob, "amy@example.com"), w.acme.invite(w.ann, "ben@example.com")
	accept := func(p *testkit.Person, key string) func() (*testkit.Response, error) {
		return func() (*testkit.Response, error) {
			return p.Try(t.Context(), "POST", w.s.Identity+"/invitations/"+key+"/accept", map[string]any{"leave": true})
		}
	}
	if statuses := parallel(t, accept(w.amy, amy), accept(w.ben, ben)); statuses[http.StatusNoContent] != 2 {
		t.Errorf("answers are %v", statuses)
	}
}

func TestRemoveOneself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ann.Delete(w.acme.member(w.ann)).WantError(identity.ErrLastAdmin) // leaving is no way out
	w.ann.Put(w.acme.member(w.amy), map[string]any{"roles": []string{identity.RoleOrganizationAdmin}}).Want(http.StatusOK)
	w.ann.Delete(w.acme.member(w.ann)).WantError(identity.ErrSelfRemoval)
	useTokens(w.ann, w.ann.Post(w.acme.path+"/leave", nil).Want(http.StatusNoContent))
}
