package handler_test

import (
	"net/http"
	"strings"

	"github.com/consign-dev/consign/internal/testkit"
)

// company is an organization of a test.
type company struct{ uid, path string }

// found has a person found an organization and go on as its administrator.
func found(p *testkit.Person, name string) company {
	s := p.Server
	s.T.Helper()
	made := p.Post(s.Identity+"/organizations", object{"name": name}).Want(http.StatusCreated)
	goOn(p, made)
	return company{uid: made.String("uid"), path: s.Identity + "/organizations/" + made.String("uid")}
}

// join makes somebody a member with those roles.
func (c company) join(admin, p *testkit.Person, roles ...string) {
	s := p.Server
	s.T.Helper()
	if roles == nil {
		roles = []string{}
	}
	key := admin.Post(c.path+"/invitations", object{"address": p.Email, "roles": roles}).Want(http.StatusCreated).String("key")
	goOn(p, p.Post(s.Identity+"/invitations/"+key+"/accept", nil).Want(http.StatusNoContent))
}

// goOn takes the ID token of an answer.
func goOn(p *testkit.Person, r *testkit.Response) {
	p.Server.T.Helper()
	raw, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		p.Server.T.Fatalf("no new ID token in %v", r.Header)
	}
	p.ID = raw
	p.Refresh()
}
