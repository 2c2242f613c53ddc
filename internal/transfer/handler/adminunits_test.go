// Tests of an organization's settings of transfers, and of usage.

package handler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

func TestAdminunit(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, eve := newOffice(t)
	unit := s.Transfer + "/adminunit"
	read := ann.Get(unit).Want(http.StatusOK)
	if read.Value("defaultTtl") != 7.0 || read.Value("maxRecipients") != 100.0 || read.String("protectionLevel") != "none" {
		t.Errorf("%s", read.Body)
	}
	if got := bob.Get(unit).Want(http.StatusOK); string(got.Body) != string(read.Body) {
		t.Errorf("a member reads %s", got.Body)
	}
	eve.Get(unit).WantError(transfer.ErrNotFound)
	for _, p := range []*testkit.Person{bob, eve} {
		p.Put(unit, object{}).WantError(transfer.ErrAdminRole)
	}
	for member, value := range map[string]any{
		"availableTtl": []int{}, "defaultTtl": 2, "protectionLevel": "some", "maxFiles": 0, "maxFileSizeMb": -1, "maxRecipients": 10_001,
		"priorityEnabled": "yes",
	} {
		r := ann.Put(unit, object{member: value})
		r.WantError(fault.ErrInvalid)
		if !strings.HasPrefix(r.Details(), member) {
			t.Errorf("%s: %q", member, r.Details())
		}
	}
	for _, bad := range [][]int{{7, 0}, {7, 7}, {7, 99_999}} {
		ann.Put(unit, object{"availableTtl": bad}).WantError(fault.ErrInvalid)
	}
	ann.With("Content-Type", "application/json").Put(unit, read.Body).Want(http.StatusOK)
	before, _ := begin(bob, object{"ttl": 14, "priority": 1})
	set := ann.Put(unit, object{"availableTtl": []int{2, 4}, "defaultTtl": 4, "priorityEnabled": false, "protectionLevel": "password",
		"maxFiles": 1, "maxFileSizeMb": 2, "maxRecipients": 1}).Want(http.StatusOK)
	if again := ann.Get(unit); string(again.Body) != string(set.Body) {
		t.Errorf("%s", again.Body)
	}
	d, made := begin(bob, nil)
	if made.Value("ttl") != 4.0 || made.String("protection") != "password" || made.Value("maxFiles") != 1.0 ||
		made.Value("maxFileSizeMb") != 2.0 || made.Value("maxRecipients") != 1.0 {
		t.Errorf("%s", made.Body)
	}
	for _, c := range []struct {
		body object
		want *fault.Error
	}{
		{object{"ttl": 7}, transfer.ErrTTL}, {object{"priority": 3}, transfer.ErrPriority},
		{object{"protection": "none"}, transfer.ErrProtection},
		{object{"recipients": []object{to("a@example.org"), to("b@example.org")}}, transfer.ErrTooManyRecipients},
	} {
		bob.Post(s.Transfer+"/reservations", c.body).WantError(c.want)
		d.Patch(d.path, c.body).WantError(c.want)
	}
	d.With("Content-Type", "application/json").Patch(d.path, d.Get(d.path).Body).Want(http.StatusOK)
	if r := d.Post(d.path+"/confirm", nil); r.Details() != "password: is required for the protection password" {
		t.Errorf("confirming without a password: %s", r.Body)
	}
	d.Patch(d.path, object{"password": "vermilion", "protection": "password"}).Want(http.StatusOK)
	d.attach("a", 2_000_000)
	d.Post(d.path+"/objects", object{"clientId": "b", "name": "b", "intendedSize": 1}).WantError(transfer.ErrTooManyFiles.AtMost(1))
	// the organization may keep its present values
	before.With("Content-Type", "application/json").Patch(before.path, before.Get(before.path).Body).Want(http.StatusOK)
	begin(bob, object{"protection": "recipientAuthentication", "recipients": []object{to("a@example.org")}})
	box := s.Stranger().Get(s.Transfer + "/public/mailbox/bob").Want(http.StatusOK)
	if box.Value("maxFiles") != 1.0 {
		t.Errorf("%s", box.Body)
	}
	if got := s.Stranger().Post(s.Transfer+"/public/mailbox/bob",
		nil).Want(http.StatusCreated); got.String("protection") != "recipientAuthentication" || got.Value("ttl") != 4.0 {
		t.Errorf("%s", got.Body)
	}
	if _, got := begin(eve, nil); got.Value("ttl") != 7.0 {
		t.Errorf("another organization's settings hold for eve: %s", got.Body)
	}
	lone, _ := begin(bob, object{"protection": "recipientAuthentication"})
	if r := lone.Post(lone.path+"/confirm", nil); r.Status != http.StatusBadRequest || !strings.HasPrefix(r.Details(), "recipients:") {
		t.Errorf("a drop that nobody could open: %s", r.Body)
	}
	reset := ann.Put(unit, object{}).Want(http.StatusOK)
	if string(reset.Body) != string(read.Body) {
		t.Errorf("absent members did not return to their defaults: %s", reset.Body)
	}
	useToken(ann, ann.Delete(acme.path).Want(http.StatusNoContent))
	ann.Get(unit).WantError(transfer.ErrNotFound)
}

// TestMembersSendByTheirOrganizationsSettings: a member sends with the values that the environment offers, also when the
// organization has no hostname of its own.
func TestMembersSendByTheirOrganizationsSettings(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, eve := newOffice(t)
	environment := s.Transfer + "/environment"
	ann.Put(s.Transfer+"/adminunit", object{"availableTtl": []int{2, 4}, "defaultTtl": 4, "protectionLevel": "password",
		"priorityEnabled": false}).Want(http.StatusOK)
	offered := bob.Get(environment).Want(http.StatusOK)
	if offered.Value("defaultTtl") != 4.0 || offered.String("protectionLevel") != "password" || offered.Value("priorityEnabled") != false {
		t.Errorf("a member is offered %s", offered.Body)
	}
	begin(bob, object{"ttl": offered.Value("availableTtl.0"), "protection": offered.String("protectionLevel"), "password": "vermilion"})
	for name, p := range map[string]*testkit.Person{"nobody": s.Stranger(), "no member": eve} {
		if got := p.Get(environment).Want(http.StatusOK); got.Value("defaultTtl") != 7.0 || got.String("protectionLevel") != "none" {
			t.Errorf("%s is offered %s", name, got.Body)
		}
	}
	d, _ := begin(bob, nil)
	if got := d.Get(environment).Want(http.StatusOK); got.Value("defaultTtl") != 7.0 {
		t.Errorf("with a token of another kind: %s", got.Body)
	}
	s.Stranger().As("rubbish").Get(environment).WantError(token.ErrInvalid)

	if err := s.App.Identity.SetHostname(t.Context(), testkit.Command, acme.uid, "files.acme.test"); err != nil {
		t.Fatal(err)
	}
	for host, p := range map[string]*testkit.Person{"localhost": bob, "files.acme.test": s.Stranger()} {
		if got := p.With("Host", host).Get(environment).Want(http.StatusOK); got.Value("defaultTtl") != 4.0 {
			t.Errorf("at %s: %s", host, got.Body)
		}
	}
	if got := eve.With("Host", "files.acme.test").Get(environment).Want(http.StatusOK); got.Value("defaultTtl") != 7.0 {
		t.Errorf("who is no member is offered, at the organization's host, %s", got.Body)
	}
}

// TestEnvironmentFollowsTheAdminunit asks two replicas on an organization's host for a change made on one of them.
func TestEnvironmentFollowsTheAdminunit(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	other := testkit.New(t, testkit.Beside(s))
	ann := s.SignUp("ann@example.com")
	acme := createOrganization(ann, "Acme")
	if err := s.App.Identity.SetHostname(t.Context(), testkit.Command, acme.uid, "files.acme.test"); err != nil {
		t.Fatal(err)
	}
	ann = ann.With("Host", "files.acme.test")
	path := s.Transfer + "/environment"
	level := func(server *testkit.Server, host string) any {
		return server.Stranger().With("Host", host).Get(path).Want(http.StatusOK).Value("protectionLevel")
	}
	for _, server := range []*testkit.Server{s, other} {
		if got := level(server, "files.acme.test"); got != "none" {
			t.Errorf("before: %v", got)
		}
	}
	ann.Put(s.Transfer+"/adminunit", object{"protectionLevel": "password"}).Want(http.StatusOK)
	changed := time.Now()
	if got := level(s, "files.acme.test"); got != "password" {
		t.Errorf("on the replica that was told: %v", got)
	}
	poll.Until(t, "the other replica knows", func() bool { return level(other, "files.acme.test") == "password" })
	if took := time.Since(changed); took > time.Second {
		t.Errorf("the other replica needed %s", took)
	}
	if got := level(other, "localhost"); got != "none" {
		t.Errorf("of the free organization: %v", got)
	}
	ann.With("Host", "localhost").Get(s.Transfer + "/adminunit").WantError(transfer.ErrNotFound)
}

// TestOrganizationChangesReachMailboxes: a change for a whole organization shows in a mailbox that was just read: at once on
// the replica that made it, within a second on the other.
func TestOrganizationChangesReachMailboxes(t *testing.T) {
	t.Parallel()
	here, acme, ann, bob, _ := newOffice(t)
	there := testkit.New(t, testkit.Beside(here))
	box := here.Transfer + "/public/mailbox/" + uidOf(bob)
	shown := func(s *testkit.Server, host, member string) any {
		r := s.Stranger().With("Host", host).Get(box)
		if r.Status != http.StatusOK {
			return r.Status
		}
		return r.Value(member)
	}
	for _, c := range []struct {
		change       func() error
		host, member string
		want         any
	}{
		{func() error {
			ann.Put(here.Transfer+"/adminunit", object{"maxFiles": 3}).Want(http.StatusOK)
			return nil
		}, "localhost", "maxFiles", 3.0},
		{func() error {
			return here.App.Identity.SetLimits(t.Context(), testkit.Command, acme.uid, identity.LimitsChange{TransferVolumeGB: identity.To(0.0)})
		}, "localhost", "volumeLimitExceeded", true},
		{func() error {
			return here.App.Identity.SetHostname(t.Context(), testkit.Command, acme.uid, "files.acme.test")
		}, "files.acme.test", "maxFiles", 3.0},
		{func() error { return nil }, "localhost", "maxFiles", http.StatusNotFound},
	} {
		_, _ = shown(here, "localhost", c.member), shown(there, "localhost", c.member)
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		changed := time.Now()
		if got := shown(here, c.host, c.member); got != c.want {
			t.Errorf("where it was changed, %s is %v, want %v", c.member, got, c.want)
		}
		for shown(there, c.host, c.member) != c.want {
			if time.Since(changed) > time.Second {
				t.Fatalf("after a second %s is %v on the other replica, want %v", c.member, shown(there, c.host, c.member), c.want)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, eve := newOffice(t)
	usage := s.Transfer + "/usage"
	if got := eve.Get(usage).Want(http.StatusOK); got.String("month") != "2026-11" || got.Value("uploadBytes") != 0.0 ||
		got.Value("uploadLimitBytes") != 50e9 ||
		got.Value("organizationBytes") != nil || got.Value("organizationLimitBytes") != nil {
		t.Errorf("%s", got.Body)
	}
	d, _ := begin(bob, nil)
	d.send("a", random(1000)) // and transfer.ObjectCost
	e, _ := begin(ann, nil)
	e.send("a", random(500))
	if err := s.App.Identity.SetLimits(t.Context(), testkit.Command, acme.uid,
		identity.LimitsChange{TransferVolumeGB: identity.To(2.0)}); err != nil {
		t.Fatal(err)
	}
	if got := bob.Get(usage).Want(http.StatusOK); got.Value("uploadBytes") != 5000.0 || got.Value("uploadLimitBytes") != nil ||
		got.Value("organizationBytes") != 9500.0 || got.Value("organizationLimitBytes") != 2e9 {
		t.Errorf("%s", got.Body)
	}
	d.Delete(d.path).Want(http.StatusNoContent)
	e.confirm()
	if got := ann.Get(usage); got.Value("uploadBytes") != 4500.0 || got.Value("organizationBytes") != 4500.0 {
		t.Errorf("after one was cancelled: %s", got.Body)
	}
	s.Clock.Advance(15 * 24 * time.Hour)
	ann.Refresh()
	if got := ann.Get(usage); got.String("month") != "2026-12" || got.Value("uploadBytes") != 0.0 {
		t.Errorf("in the next month: %s", got.Body)
	}
}
