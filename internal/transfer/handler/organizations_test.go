package handler_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
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

// TestAttackOrganizationVolumes: organizations that a person makes share the person's own volume, until an operator raises one.
func TestAttackOrganizationVolumes(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t, testkit.Env("CONSIGN_UPLOAD_VOLUME_GB", "1"))
	one := createOrganization(ann, "One")
	d := reserve(s)
	d.send("a", []byte("some bytes"))
	d.confirm()
	n, err := database.Exec(t.Context(), s.App.DB.Pool, "fill", `UPDATE transfer.volumes SET held = 1000000000 WHERE kind = 'person'`)
	if err != nil || n != 1 {
		t.Fatalf("%d volumes of a person, %v", n, err)
	}
	reservations := s.Transfer + "/reservations"
	ann.Post(reservations, object{}).WantError(transfer.ErrPersonalVolume)
	useToken(ann, ann.Delete(one.path).Want(http.StatusNoContent))
	two := createOrganization(ann, "Two")
	ann.Post(reservations, object{}).WantError(transfer.ErrPersonalVolume)
	organization, err := id.Parse[id.Organization](two.uid)
	if err != nil {
		t.Fatal(err)
	}
	limit, err := database.Scalar[int64](t.Context(), s.App.DB.Pool, "read limit", nil, `
		SELECT transfer_volume_bytes FROM identity.limits WHERE organization = $1 AND storage_volume_bytes = transfer_volume_bytes`,
		organization)
	if err != nil || limit != 1_000_000_000 {
		t.Errorf("the organization may send %d bytes, %v", limit, err)
	}
	more := identity.LimitsChange{TransferVolumeGB: identity.To(5.0)}
	if err := s.App.Identity.SetLimits(t.Context(), testkit.Command, two.uid, more); err != nil {
		t.Fatal(err)
	}
	ann.Post(reservations, object{}).Want(http.StatusCreated)
}
