package handler_test

import (
	"net/http"
	"strings"

	"github.com/consign-dev/consign/internal/testkit"
)

// company is an organization of a test.
type company struct{ uid, path string }

// createOrganization creates an organization and gives its creator the token of an administrator.
func createOrganization(p *testkit.Person, name string) company {
	s := p.Server
	s.T.Helper()
	made := p.Post(s.Identity+"/organizations", object{"name": name}).Want(http.StatusCreated)
	useToken(p, made)
	return company{uid: made.String("uid"), path: s.Identity + "/organizations/" + made.String("uid")}
}

// join makes a person a member with these roles, by an invitation.
func (c company) join(admin, p *testkit.Person, roles ...string) {
	s := p.Server
	s.T.Helper()
	if roles == nil {
		roles = []string{}
	}
	key := admin.Post(c.path+"/invitations", object{"address": p.Email, "roles": roles}).Want(http.StatusCreated).String("key")
	useToken(p, p.Post(s.Identity+"/invitations/"+key+"/accept", nil).Want(http.StatusNoContent))
}

// useToken gives p the ID token of an answer.
func useToken(p *testkit.Person, r *testkit.Response) {
	p.Server.T.Helper()
	raw, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		p.Server.T.Fatalf("no new ID token in %v", r.Header)
	}
	p.ID = raw
	p.Refresh()
}
