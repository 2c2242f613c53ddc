// Tests of members and their roles.

package handler_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := w.ann.Get(w.acme.path + "/members").Want(http.StatusOK)
	if all, _ := list.Value("members").([]any); len(all) != 2 || list.String("members.0.uid") != uid(t, w.ann.ID).String() ||
		list.String("members.1.email") != "amy@example.com" || list.Value("members.1.reference") != nil ||
		list.Value("members.1.externalUid") != nil {
		t.Errorf("members are %s", list.Body)
	}
	w.amy.Get(w.acme.path + "/members").WantError(identity.ErrRoleMissing)
	w.amy.Get(w.acme.member(w.amy)).WantError(identity.ErrRoleMissing)

	amy := w.acme.member(w.amy)
	changed := w.ann.Put(amy, map[string]any{"roles": []string{"Service.All.Use", "Contract.Read", "Service.All.Use"},
		"reference": "Desk 4"}).Want(http.StatusOK)
	if changed.String("roles.0") != "Contract.Read" || changed.String("roles.1") != "Service.All.Use" ||
		changed.String("reference") != "Desk 4" || changed.Value("externalUid") != nil ||
		strings.Contains(string(changed.Body), "externalIdentityProvider") {
		t.Errorf("the member is %s", changed.Body)
	}
	w.ann.Put(amy, map[string]any{"roles": []string{"Contract.Read"}, "externalUid": "hr-17"}).WantError(fault.ErrForbidden)
	poll.Until(t, "the end of access", func() bool { return w.amy.Get(w.s.Identity+"/profile").Status == http.StatusUnauthorized })
	graced := w.amy.As(w.amy.ID).Post(w.s.Identity+"/auth/access", nil).Want(http.StatusOK)
	w.amy.As(w.amy.ID).Post(w.s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	useTokens(w.amy, graced)
	if got := roles(w.amy); got != "Contract.Read Service.All.Use" {
		t.Errorf("roles are %s", got)
	}
	if event := lastEvent(t, w.amy); event["kind"] != "PRIVILEGES_UPDATED" {
		t.Errorf("the event is %v", event)
	}
	// The same roles again end nobody's access, and what is left out is unset.
	same := w.ann.Put(amy, map[string]any{"roles": []string{"Service.All.Use", "Contract.Read"}}).Want(http.StatusOK)
	if same.Value("reference") != nil || same.Value("externalUid") != nil {
		t.Errorf("the member is %s", same.Body)
	}
	w.amy.Get(w.s.Identity + "/profile").Want(http.StatusOK)

	for _, body := range []map[string]any{{}, {"roles": nil}, {"roles": []string{"Organization.Owner"}},
		{"roles": []string{"organization.admin"}}, {"roles": "x"}, {"roles": []string{}, "reference": "a\nb"}} {
		w.ann.Put(amy, body).WantError(fault.ErrInvalid)
	}
	w.ann.Get(w.acme.path + "/members/nobody").WantError(identity.ErrMemberNotFound)
	w.ann.Get(w.acme.member(w.bob)).WantError(identity.ErrMemberNotFound)
	w.ann.Put(w.acme.member(w.ann), map[string]any{"roles": []string{}}).WantError(identity.ErrLastAdmin)
	w.ann.Delete(w.acme.member(w.ann)).WantError(identity.ErrLastAdmin)
}

// TestManyInvalidEntries: the answer to a long list of invalid entries names a few of them, so it stays short.
func TestManyInvalidEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wrong := make([]string, 5000)
	for i := range wrong {
		wrong[i] = fmt.Sprintf("!%d", i)
	}
	for path, body := range map[string]map[string]any{
		w.acme.member(w.amy):     {"roles": wrong},
		w.acme.path + "/profile": {"name": nil, "locale": "en_US", "timeZone": "UTC", "inactiveHostnames": wrong},
	} {
		resp := w.ann.Put(path, body).WantError(fault.ErrInvalid)
		if !strings.Contains(resp.Details(), "!0 ") && !strings.Contains(resp.Details(), "inactiveHostnames[0]") || len(resp.Body) > 8<<10 {
			t.Errorf("%s: %d bytes: %.200s", path, len(resp.Body), resp.Body)
		}
	}
}

// TestRemoveMember: a removed member loses access without a grace time.
func TestRemoveMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := testkit.New(t, testkit.Beside(w.s))
	w.amy.At(second).Get(second.Identity + "/profile").Want(http.StatusOK)
	w.amy.Delete(w.acme.member(w.ann)).WantError(identity.ErrRoleMissing)
	w.ann.Delete(w.acme.member(w.amy)).Want(http.StatusNoContent)
	w.ann.Delete(w.acme.member(w.amy)).WantError(identity.ErrMemberNotFound)
	w.amy.As(w.amy.ID).Post(w.s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	for _, s := range []*testkit.Server{w.s, second} {
		poll.Until(t, "the end of access", func() bool { return w.amy.At(s).Get(s.Identity+"/profile").Status == http.StatusUnauthorized })
	}
	amy := w.amy.Login()
	amy.Get(w.acme.path).WantError(identity.ErrNotMember)
	if event := lastEvent(t, amy); event["kind"] != "PRIVILEGES_UPDATED" {
		t.Errorf("the event is %v", event)
	}
}
