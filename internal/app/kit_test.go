package app_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/id"
	identityservice "github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
)

// loopback trusts the test's own client as a proxy.
func loopback() testkit.Option { return testkit.Env("CONSIGN_TRUSTED_PROXIES", "127.0.0.0/8,::1/128") }

// limited switches the rate limits on. The kit switches them off by default.
func limited() testkit.Option { return testkit.Env("CONSIGN_RATE_LIMIT", "on") }

// addOrganization makes an organization with an active hostname and maybe inactive ones.
func addOrganization(t *testing.T, s *testkit.Server, host string, inactive ...string) {
	t.Helper()
	uid := id.New[id.Organization]()
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := s.App.DB.Pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO identity.organizations (uid, name, locale, time_zone, created_at, updated_at) VALUES ($1, $2, 'en_US', 'UTC', now(), now())`, uid, host)
	exec(`INSERT INTO identity.limits (organization) VALUES ($1)`, uid)
	exec(`INSERT INTO identity.hosts (host, organization, active, created_at) VALUES ($1, $2, true, now())`, host, uid)
	for _, name := range inactive {
		exec(`INSERT INTO identity.hosts (host, organization, active, created_at) VALUES ($1, $2, false, now())`, name, uid)
	}
	exec(`SELECT pg_notify('directory', '')`)
}

// addPerson adds a person the way an operator does, with the kit's password, and makes it a member if an organization
// is named.
func addPerson(t *testing.T, s *testkit.Server, email, organization string, roles ...string) {
	t.Helper()
	_, err := s.App.Identity.CreatePerson(t.Context(), testkit.Command,
		identityservice.NewAccount{Address: email, Password: testkit.Password, Name: "Ann"}, true)
	if err == nil && organization != "" {
		err = s.App.Identity.SetMember(t.Context(), testkit.Command, organization, email, roles)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// signIn returns p after a login with the kit's password and p's headers.
func signIn(p *testkit.Person, email string) *testkit.Person {
	s := p.Server
	q := p.With("X-Nothing", "")
	q.Email = email
	q.ID = p.Post(s.Identity+"/auth/login", map[string]any{"email": email, "type": "bcrypt", "key": testkit.Password}).Want(
		http.StatusOK).String("token")
	q.Refresh()
	return q
}

// bearer returns the token in an answer's Authorization header.
func bearer(r *testkit.Response) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// reserve makes a reservation on a mailbox with one object, clientId a. It returns a client with the reservation
// token, and the reservation's path.
func reserve(p *testkit.Person, mailbox string, size int) (holder *testkit.Person, reservation string) {
	s := p.Server
	made := p.Post(s.Transfer+"/public/mailbox/"+mailbox,
		map[string]any{"subject": "X-ray", "anonSender": "Sam", "anonEmail": "sam@example.com"}).Want(http.StatusCreated)
	holder, reservation = p.As(bearer(made)), s.Transfer+"/reservations/"+made.String("uid")
	holder.Post(reservation+"/objects", map[string]any{"clientId": "a", "name": "x.bin", "intendedSize": size}).Want(http.StatusCreated)
	return holder, reservation
}

// checkError reports missing parts of an error body (contract 1.6).
func checkError(t *testing.T, what string, r *testkit.Response) {
	t.Helper()
	if len(r.Body) == 0 && strings.HasPrefix(what, http.MethodHead+" ") {
		return
	}
	var body struct {
		Error *struct {
			Code    int
			Message string
			Details *[]string
			Limit   int64
		}
	}
	decoder := json.NewDecoder(strings.NewReader(string(r.Body)))
	decoder.DisallowUnknownFields()
	switch err := decoder.Decode(&body); {
	case err != nil:
		t.Errorf("%s answered %d without an error body (%v): %.300q", what, r.Status, err, r.Body)
	case body.Error == nil || body.Error.Code/1000 != r.Status || body.Error.Message == "" || body.Error.Details == nil:
		t.Errorf("%s answered %d with an error body that lacks something: %s", what, r.Status, r.Body)
	}
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%s answered %d as %q", what, r.Status, got)
	}
}

// code returns the code of an error answer, 0 for other answers.
func code(r *testkit.Response) int {
	var body struct{ Error struct{ Code int } }
	if json.Unmarshal(r.Body, &body) != nil {
		return 0
	}
	return body.Error.Code
}

// number returns a numeric header, -1 if it is not a number.
func number(h http.Header, name string) int {
	n, err := strconv.Atoi(h.Get(name))
	if err != nil {
		return -1
	}
	return n
}
