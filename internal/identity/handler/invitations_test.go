// Tests of invitations: ends, refusals and races.

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

func TestPersonalizedInvitation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ann.Put(w.acme.path+"/profile", map[string]any{"name": "Acme", "locale": "de_DE", "timeZone": "Europe/Berlin",
		"inactiveHostnames": []string{}}).Want(http.StatusOK)
	resp := w.ann.Post(w.acme.path+"/invitations", map[string]any{"address": "Eve@Example.com",
		"roles": []string{"Service.Transfer.Use", "Contract.Read"}}).Want(http.StatusCreated)
	key := resp.String("key")
	if resp.Header.Get("Location") != w.s.URL+w.acme.path+"/invitations/"+key || resp.Value("shared") != false ||
		resp.String("address") != "eve@example.com" ||
		resp.String("inviterUid") != uid(t, w.ann.ID).String() || resp.String("organization.name") != "Acme" ||
		resp.String("roles.0") != "Contract.Read" {
		t.Errorf("the invitation is %s, at %s", resp.Body, resp.Header.Get("Location"))
	}
	mail := w.s.Mail.Wait(t, "eve@example.com", "/invitation/", 1)
	if mail.Key(t, "/invitation/") != key || !strings.Contains(mail.Text, "Ann") || !strings.Contains(mail.Subject, "Acme") ||
		!strings.Contains(mail.Text, "Europe/Berlin") {
		t.Errorf("the mail is %s: %s", mail.Subject, mail.Text)
	}
	// It is worth nothing without the address, which has to be verified.
	w.dan.Post(w.s.Identity+"/invitations/"+key+"/accept", nil).WantError(identity.ErrInvitationAddress)
	unconfirmed := w.s.SignUpUnconfirmed("eve@example.com")
	unconfirmed.Post(w.s.Identity+"/invitations/"+key+"/accept", nil).Want(http.StatusForbidden)
	confirmation := w.s.Mail.Wait(t, "eve@example.com", "/confirm/", 1).Key(t, "/confirm/")
	eve := unconfirmed
	useTokens(eve, eve.Post(w.s.Identity+"/confirm/"+confirmation, nil).Want(http.StatusNoContent))
	if mine := eve.Get(w.s.Identity + "/invitations").Want(http.StatusOK); mine.String("invitations.0.key") != key {
		t.Errorf("eve's invitations are %s", mine.Body)
	}
	if none := w.dan.Get(w.s.Identity + "/invitations").Want(http.StatusOK); len(none.Value("invitations").([]any)) != 0 {
		t.Errorf("dan's invitations are %s", none.Body)
	}
	useTokens(eve, eve.Post(w.s.Identity+"/invitations/"+key+"/accept", nil).Want(http.StatusNoContent))
	if got := roles(eve); got != "Contract.Read Service.Transfer.Use" {
		t.Errorf("roles are %s", got)
	}
	if event := lastEvent(t, eve); event["kind"] != "PRIVILEGES_UPDATED" {
		t.Errorf("the event is %v", event)
	}
	eve.Post(w.s.Identity+"/invitations/"+key+"/accept", nil).WantError(identity.ErrInvitationNotFound)
	w.ann.Post(w.acme.path+"/invitations", map[string]any{"address": "eve@example.com", "roles": []string{}}).WantError(
		identity.ErrAlreadyMember)
	other := w.bolt.invite(w.bob, "eve@example.com")
	eve.Post(w.s.Identity+"/invitations/"+other+"/accept", nil).WantError(identity.ErrStillMember)
	if list := w.bob.Get(w.bolt.path + "/invitations").Want(http.StatusOK); list.String("invitations.0.key") != other {
		t.Errorf("a refused acceptance consumed the invitation: %s", list.Body)
	}
}

func TestInvitationEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accept := func(key string) *testkit.Response { return w.dan.Post(w.s.Identity+"/invitations/"+key+"/accept", nil) }
	first := w.acme.invite(w.ann, "dan@example.com")
	second := w.acme.invite(w.ann, "dan@example.com")
	accept(first).WantError(identity.ErrInvitationNotFound) // replaced
	w.ann.Delete(w.acme.path + "/invitations/" + second).Want(http.StatusNoContent)
	w.ann.Delete(w.acme.path + "/invitations/" + second).WantError(identity.ErrInvitationNotFound)
	accept(second).WantError(identity.ErrInvitationNotFound) // revoked
	third := w.acme.invite(w.ann, "dan@example.com")
	w.s.Clock.Advance(14*24*time.Hour - time.Minute)
	w.dan.Refresh()
	if mine := w.dan.Get(w.s.Identity + "/invitations").Want(http.StatusOK); mine.String("invitations.0.key") != third {
		t.Errorf("dan's invitations are %s", mine.Body)
	}
	w.s.Clock.Advance(time.Minute)
	accept(third).WantError(identity.ErrInvitationNotFound) // expired
	w.ann.Refresh()
	for _, key := range []string{"nonsense", "%00", "%ff"} { // what Postgres could not even compare is no key either
		accept(key).WantError(identity.ErrInvitationNotFound)
		w.ann.Delete(w.acme.path + "/invitations/" + key).WantError(identity.ErrInvitationNotFound)
	}
	if list := w.ann.Get(w.acme.path + "/invitations").Want(http.StatusOK); len(list.Value("invitations").([]any)) != 0 {
		t.Errorf("invitations are %s", list.Body)
	}
}

func TestInvitationRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.acme.path + "/invitations"
	for _, body := range []map[string]any{
		{}, {"roles": []string{}}, {"address": "eve@example.com"}, {"address": "nobody", "roles": []string{}}, {"shared": true},
		{"shared": true, "address": "eve@example.com", "roles": []string{}}, {"address": "eve@example.com", "roles": []string{"Root"}},
		{"shared": "yes", "roles": []string{}},
	} {
		w.ann.Post(path, body).WantError(fault.ErrInvalid)
	}
	for _, role := range []string{identity.RoleOrganizationAdmin, identity.RoleContractAdmin, identity.RoleContractRead} {
		w.ann.Post(path, map[string]any{"shared": true, "roles": []string{role}}).WantError(identity.ErrSharedRoles)
	}
	w.amy.Post(path, map[string]any{"shared": true, "roles": []string{}}).WantError(identity.ErrRoleMissing)
}

func TestSharedInvitation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	resp := w.ann.Post(w.acme.path+"/invitations", map[string]any{"shared": true, "roles": []string{"Service.Transfer.Use"}}).Want(
		http.StatusCreated)
	key := resp.String("key")
	free, err := w.s.App.Identity.CreateSharedInvitation(t.Context(), testkit.Command, "free", []string{"Service.Transfer.Use"})
	must(t, err)
	mine := w.dan.Get(w.s.Identity + "/invitations").Want(http.StatusOK)
	if list := mine.Value("invitations").([]any); len(list) != 1 || mine.String("invitations.0.key") != free.Key ||
		mine.Value("invitations.0.inviterUid") != nil ||
		mine.Value("invitations.0.organization.selfSignup") != true || mine.Value("invitations.0.expiresAt") != nil {
		t.Errorf("dan's invitations are %s", mine.Body)
	}
	eve := w.s.SignUp("eve@example.com")
	for _, p := range []*testkit.Person{w.dan, eve} { // one's key serves many
		useTokens(p, p.Post(w.s.Identity+"/invitations/"+key+"/accept", nil).Want(http.StatusNoContent))
		if got := p.Get(w.s.Identity + "/profile").String("membership.organization.uid"); got != w.acme.uid {
			t.Errorf("the organization is %s", got)
		}
	}
	fay := w.s.SignUp("fay@example.com")
	useTokens(fay, fay.Post(w.s.Identity+"/invitations/"+free.Key+"/accept", nil).Want(http.StatusNoContent))
	fay.Post(w.s.Identity+"/invitations/"+key+"/accept", nil).WantError(identity.ErrStillMember)
}

// TestInvitationRace: of parallel acceptances of a personalized invitation one succeeds.
func TestInvitationRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.acme.invite(w.ann, "dan@example.com")
	var calls []func() (*testkit.Response, error)
	for range 12 {
		calls = append(calls, func() (*testkit.Response, error) {
			return w.dan.Try(t.Context(), "POST", w.s.Identity+"/invitations/"+key+"/accept", nil)
		})
	}
	statuses := parallel(t, calls...)
	if statuses[http.StatusNoContent] != 1 || statuses[http.StatusNotFound]+statuses[http.StatusUnauthorized]+
		statuses[http.StatusNoContent] != len(calls) {
		t.Errorf("answers are %v", statuses)
	}
	if list := w.ann.Get(w.acme.path + "/members"); len(list.Value("members").([]any)) != 3 {
		t.Errorf("members are %s", list.Body)
	}
}

// TestUserLimit: of people who join in parallel, only as many succeed as the limit of users allows.
func TestUserLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.ann.Post(w.acme.path+"/invitations", map[string]any{"shared": true, "roles": []string{}}).Want(http.StatusCreated).String("key")
	must(t, w.s.App.Identity.SetLimits(t.Context(), testkit.Command, w.acme.uid, identity.LimitsChange{Users: identity.To(4)})) // two are in
	people := []*testkit.Person{w.dan}
	for _, name := range []string{"eve", "fay", "gus", "hal", "ivy"} {
		people = append(people, w.s.SignUp(name+"@example.com"))
	}
	var calls []func() (*testkit.Response, error)
	for _, p := range people {
		calls = append(calls, func() (*testkit.Response, error) {
			return p.Try(t.Context(), "POST", w.s.Identity+"/invitations/"+key+"/accept", nil)
		})
	}
	if statuses := parallel(t, calls...); statuses[http.StatusNoContent] != 2 || statuses[http.StatusForbidden] != 4 {
		t.Errorf("answers are %v", statuses)
	}
	w.ann.Post(w.acme.path+"/invitations", map[string]any{"address": "zoe@example.com", "roles": []string{}}).WantError(identity.ErrUserLimit)
	must(t, w.s.App.Identity.SetLimits(t.Context(), testkit.Command, w.acme.uid, identity.LimitsChange{Users: identity.ToDefault[int]()}))
	w.acme.invite(w.ann, "zoe@example.com")
}
