package handler_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
)

// company is an organization of a test.
type company struct {
	s    *testkit.Server
	uid  string
	path string // of the organization in the API
}

// createOrganization creates an organization and gives its creator the tokens of an administrator.
func createOrganization(p *testkit.Person, name string) company {
	s := p.Server
	s.T.Helper()
	resp := p.Post(s.Identity+"/organizations", map[string]any{"name": name}).Want(http.StatusCreated)
	useTokens(p, resp)
	uid := resp.String("uid")
	return company{s: s, uid: uid, path: s.Identity + "/organizations/" + uid}
}

// useTokens gives p the ID token of an answer, and an access token for it.
func useTokens(p *testkit.Person, r *testkit.Response) {
	p.Server.T.Helper()
	raw := bearer(r)
	if raw == "" {
		p.Server.T.Fatalf("no new ID token in %v", r.Header)
	}
	p.ID = raw
	p.Refresh()
}

// invite invites an address and returns the invitation's key.
func (c company) invite(admin *testkit.Person, address string, roles ...string) string {
	c.s.T.Helper()
	return admin.Post(c.path+"/invitations", map[string]any{"address": address, "roles": append([]string{}, roles...)}).Want(
		http.StatusCreated).String("key")
}

// join makes a person a member by an invitation.
func (c company) join(admin, p *testkit.Person, roles ...string) {
	c.s.T.Helper()
	key := c.invite(admin, p.Email, roles...)
	useTokens(p, p.Post(c.s.Identity+"/invitations/"+key+"/accept", nil).Want(http.StatusNoContent))
}

// member returns the path of a person's membership.
func (c company) member(p *testkit.Person) string {
	return c.path + "/members/" + uid(c.s.T, p.ID).String()
}

// world has three organizations with an administrator and a member each, and a person in none.
type world struct {
	s                *testkit.Server
	acme, bolt, cord company
	ann, amy         *testkit.Person // of acme
	bob, ben         *testkit.Person // of bolt
	cat, cid         *testkit.Person // of cord
	dan              *testkit.Person // of none
}

func newWorld(t *testing.T, options ...testkit.Option) world {
	t.Helper()
	w := world{s: testkit.New(t, options...)}
	sign := func(name string) *testkit.Person { return w.s.SignUp(name + "@example.com") }
	w.ann, w.amy, w.bob, w.ben, w.cat, w.cid, w.dan = sign("ann"), sign("amy"), sign("bob"), sign("ben"), sign("cat"), sign("cid"), sign("dan")
	w.acme, w.bolt, w.cord = createOrganization(w.ann, "Acme"), createOrganization(w.bob, "Bolt"), createOrganization(w.cat, "Cord")
	w.acme.join(w.ann, w.amy, identity.RoleTransferUse)
	w.bolt.join(w.bob, w.ben, identity.RoleTransferUse)
	w.cord.join(w.cat, w.cid, identity.RoleTransferUse)
	return w
}

// roles returns the roles in a person's profile.
func roles(p *testkit.Person) string {
	all, _ := p.Get(p.Server.Identity + "/profile").Want(http.StatusOK).Value("membership.roles").([]any)
	names := make([]string, len(all))
	for i, r := range all {
		names[i], _ = r.(string)
	}
	return strings.Join(names, " ")
}

// parallel runs the calls in parallel and counts the answers by status.
func parallel(t *testing.T, calls ...func() (*testkit.Response, error)) map[int]int {
	t.Helper()
	start, done := make(chan struct{}), make(chan int, len(calls))
	for _, call := range calls {
		go func() {
			<-start
			resp, err := call()
			if err != nil {
				t.Error(err)
				done <- 0
				return
			}
			done <- resp.Status
		}()
	}
	close(start)
	statuses := map[int]int{}
	for range calls {
		statuses[<-done]++
	}
	return statuses
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
