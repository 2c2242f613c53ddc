package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// firm is an organization with an administrator, Ann, and a member, Bob, who both have mailboxes.
type firm struct {
	ann, bob *testkit.Person
	at       string // path of the administrators' lists
}

// addFirm makes an organization. prefix tells its people and links from those of others.
func addFirm(t *testing.T, s *testkit.Server, host, prefix string) firm {
	t.Helper()
	addOrganization(t, s, host)
	addPerson(t, s, prefix+"ann@example.com", host, identity.RoleOrganizationAdmin, transfer.RoleTransferUse)
	addPerson(t, s, prefix+"bob@example.com", host, transfer.RoleTransferUse)
	f := firm{at: s.Transfer + "/adminunit"}
	f.ann, f.bob = signIn(s.Stranger().With("Host", host), prefix+"ann@example.com"),
		signIn(s.Stranger().With("Host", host), prefix+"bob@example.com")
	f.ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": prefix + "ann"}).Want(http.StatusCreated)
	f.bob.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": prefix + "bob"}).Want(http.StatusCreated)
	return f
}

// receive has Sam send 7 bytes to a mailbox of the firm, and returns the uid of the transfer.
func (f firm) receive(mailbox string) string {
	sam, reservation := reserve(f.ann.As(""), mailbox, 7)
	sam.Put(reservation+"/objects/a/content", []byte("x-ray 1")).Want(http.StatusOK)
	return sam.Post(reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
}

// sendFrom sends plans.pdf of 5 bytes to an address, and returns the uid of the transfer.
func sendFrom(p *testkit.Person, address string) string {
	s := p.Server
	made := p.Post(s.Transfer+"/reservations", map[string]any{"subject": "Plans", "ttl": 7,
		"recipients": []map[string]any{{"email": address, "destinationType": "to"}}}).Want(http.StatusCreated)
	reservation := s.Transfer + "/reservations/" + made.String("uid")
	p.Post(reservation+"/objects", map[string]any{"clientId": "a", "name": "plans.pdf", "intendedSize": 5}).Want(http.StatusCreated)
	p.Put(reservation+"/objects/a/content", []byte("plans")).Want(http.StatusOK)
	return p.Post(reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
}

// TestAdministratorsSeeTheirTransfers: an administrator finds what members have sent and received, by member and state, and nothing of
// another organization, nor anything of the contents.
func TestAdministratorsSeeTheirTransfers(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own, other := addFirm(t, s, "org.test", ""), addFirm(t, s, "other.test", "o")
	received := own.receive("bob")
	s.Clock.Advance(time.Minute)
	sent := sendFrom(own.bob, "oann@example.com")
	s.Clock.Advance(time.Minute)
	foreign := []string{other.receive("oann"), sendFrom(other.bob, "ann@example.com")}
	bob := own.bob.Get(s.Identity + "/profile").Want(http.StatusOK).String("uid")
	stranger := other.bob.Get(s.Identity + "/profile").Want(http.StatusOK).String("uid")
	for query, want := range map[string]string{
		"": sent + " " + received, "?person=BOB@example.com": sent + " " + received, "?person=" + bob: sent + " " + received,
		"?person=ann@example.com":  "",
		"?person=obob@example.com": "", "?person=" + stranger: "", "?person=nobody@example.com": "", "?state=delivered": sent + " " + received,
		"?state=revoked&person=" + bob: "",
	} {
		if got, _ := uids(t, own.ann, own.at+"/transfers"+query, "transfers"); strings.Join(got, " ") != want {
			t.Errorf("%q finds %q, want %q", query, strings.Join(got, " "), want)
		}
	}
	for _, query := range []string{"?state=lost", "?after=x", "?person=%00", "?state=delivered&state=revoked"} {
		own.ann.Get(own.at + "/transfers" + query).WantError(fault.ErrInvalid)
	}
	report := own.ann.Get(own.at + "/transfers/" + sent).Want(http.StatusOK)
	if report.String("owner.email") != "bob@example.com" || report.String("recipients.0.email") != "oann@example.com" ||
		report.Number("bytes") != 5 {
		t.Errorf("the transfer is %s", report.Body)
	}
	for _, secret := range []string{"X-ray", "x.bin", "Plans", "plans.pdf"} {
		for _, answer := range []*testkit.Response{report, own.ann.Get(own.at + "/transfers"), own.ann.Get(own.at + "/transfers/" + received)} {
			if strings.Contains(string(answer.Body), secret) {
				t.Errorf("%s is in %s", secret, answer.Body)
			}
		}
	}
	for _, uid := range append(foreign, "x", id.New[id.Transfer]().String()) {
		at := own.at + "/transfers/" + uid
		own.ann.Get(at).WantError(transfer.ErrNotFound)
		own.ann.Post(at+"/extend", map[string]any{"reason": "x", "days": 9}).WantError(transfer.ErrNotFound)
		own.ann.Post(at+"/revoke", map[string]any{"reason": "x"}).WantError(transfer.ErrNotFound)
	}
	if got := other.ann.Get(s.Transfer + "/transfers/" + foreign[0]).Want(http.StatusOK); got.String("state") != "delivered" {
		t.Errorf("the transfer of the other organization is %s", got.Body)
	}
	// What Bob sends later, as nobody's member, is not the organization's.
	own.ann.Delete(s.Identity + "/organizations/" + organizationOf(t, s, "org.test") + "/members/" + bob).Want(http.StatusNoContent)
	free := signIn(s.Stranger(), "bob@example.com")
	sendFrom(free, "sam@example.com")
	if got, _ := uids(t, own.ann, own.at+"/transfers?person="+bob, "transfers"); strings.Join(got, " ") != sent+" "+received {
		t.Errorf("of the former member %v is found", got)
	}
}

// organizationOf returns the uid of the organization at a host.
func organizationOf(t *testing.T, s *testkit.Server, host string) (uid string) {
	t.Helper()
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT organization::text FROM identity.hosts WHERE host = $1`,
		host).Scan(&uid); err != nil {
		t.Fatal(err)
	}
	return uid
}

// TestWhoSeesOrganizationLists calls each list and change as everybody who is no administrator of the organization.
func TestWhoSeesOrganizationLists(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own, other := addFirm(t, s, "org.test", ""), addFirm(t, s, "other.test", "o")
	uid := own.receive("bob")
	if err := s.App.Identity.AddOperator(t.Context(), testkit.Command, "bob@example.com", token.RoleOperator); err != nil {
		t.Fatal(err)
	}
	operator := mintAccess(t, s, "bob@example.com", func(*token.Claims) {})
	addPerson(t, s, "fred@example.com", "localhost", identity.RoleOrganizationAdmin) // of the free organization
	fred := signIn(s.Stranger(), "fred@example.com")
	program := func(scope string) *testkit.Person {
		made := own.ann.As(own.ann.ID).Post(s.Identity+"/tokens",
			map[string]any{"name": "program", "scopes": []string{scope}}).Want(http.StatusCreated)
		return own.ann.As(made.String("token"))
	}
	reader, sender := program("organization:read"), program("transfers:send")
	for _, path := range []string{"/usage", "/mailboxes", "/transfers", "/transfers/" + uid} {
		at := own.at + path
		own.ann.Get(at).Want(http.StatusOK)
		reader.Get(at).Want(http.StatusOK)
		sender.Get(at).WantError(token.ErrScope)
		own.ann.As("").Get(at).WantError(token.ErrMissing)
		own.bob.Get(at).WantError(transfer.ErrAdminRole)
		own.bob.As(operator).Get(at).WantError(transfer.ErrAdminRole)
		fred.Get(at).WantError(fault.ErrForbidden)
		own.ann.With("Host", "other.test").Get(at).WantError(transfer.ErrNotFound)
		if got := other.ann.Get(at); strings.Contains(string(got.Body), uid) || strings.Contains(string(got.Body), "\"bob@") {
			t.Errorf("%s shows another organization %s", path, got.Body)
		}
	}
	other.ann.Get(own.at + "/transfers/" + uid).WantError(transfer.ErrNotFound)
	for verb, body := range map[string]map[string]any{"extend": {"reason": "x", "days": 9}, "revoke": {"reason": "x"}} {
		at := own.at + "/transfers/" + uid + "/" + verb
		program("organization:manage").Post(at, body).WantError(token.ErrNoScope)
		own.ann.As("").Post(at, body).WantError(token.ErrMissing)
		own.bob.Post(at, body).WantError(transfer.ErrAdminRole)
		own.bob.As(operator).Post(at, body).WantError(transfer.ErrAdminRole)
		fred.Post(at, body).WantError(fault.ErrForbidden)
		other.ann.Post(at, body).WantError(transfer.ErrNotFound)
	}
	if got := own.bob.Get(s.Transfer + "/transfers/" + uid).Want(http.StatusOK); got.String("state") != "delivered" {
		t.Errorf("the transfer is %s", got.Body)
	}
}

// TestAdministratorChangesTransfer: an administrator extends a transfer as far as senders can, and revokes it. The organization's audit has
// who did it and why. The sender sees that an administrator did it, but not from where.
func TestAdministratorChangesTransfer(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own := addFirm(t, s, "org.test", "")
	uid := sendFrom(own.bob, "sam@example.com")
	at := own.at + "/transfers/" + uid
	for _, body := range []any{
		map[string]any{"days": 9}, map[string]any{"reason": "x", "days": 0}, map[string]any{"reason": "x", "days": 31},
		map[string]any{"reason": "x", "days": 1},
	} {
		own.ann.Post(at+"/extend", body).WantError(fault.ErrInvalid)
	}
	own.ann.Post(at+"/extend", map[string]any{"reason": "Bob is ill", "days": 30}).Want(http.StatusNoContent)
	until, err := time.Parse(time.RFC3339, own.ann.Get(at).Want(http.StatusOK).String("expiresAt"))
	if want := s.Clock.Now().Add(30 * 24 * time.Hour); err != nil || until.Before(want.Add(-time.Minute)) ||
		until.After(want.Add(time.Minute)) {
		t.Errorf("it expires at %v (%v)", until, err)
	}
	own.ann.Post(at+"/revoke", map[string]any{"reason": ""}).WantError(fault.ErrInvalid)
	own.ann.Post(at+"/revoke", map[string]any{"reason": "Wrong address"}).Want(http.StatusNoContent)
	own.ann.Post(at+"/revoke", map[string]any{"reason": "again"}).WantError(transfer.ErrEnded)
	own.ann.Post(at+"/extend", map[string]any{"reason": "again", "days": 30}).WantError(transfer.ErrEnded)
	if got := own.ann.Get(at).Want(http.StatusOK); got.String("state") != "revoked" || got.String("endedAt") == "" {
		t.Errorf("the transfer is %s", got.Body)
	}
	told := 0
	for _, a := range own.bob.Get(s.Transfer + "/transfers/" + uid + "/activity").Want(http.StatusOK).Value("activity").([]any) {
		if m := a.(map[string]any); m["kind"] == "changed" || m["kind"] == "revoked" {
			told++
			if m["addresses"] != nil || m["reason"] != "administrator" {
				t.Errorf("the sender sees %v", m)
			}
		}
	}
	if told != 2 {
		t.Errorf("the sender sees %d changes, want 2", told)
	}
	organization := organizationOf(t, s, "org.test")
	for action, why := range map[string]string{"transfer.update": "Bob is ill", "transfer.revoke": "Wrong address"} {
		entries, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: action})
		if err != nil || len(entries) != 1 || entries[0].Organization.String() != organization || entries[0].Details["why"] != why {
			t.Fatalf("%s is %+v (%v)", action, entries, err)
		}
		seen := own.ann.Get(s.Identity + "/organizations/" + organization + "/audit?action=" + action).Want(http.StatusOK)
		if seen.String("entries.0.actor.email") != "ann@example.com" || seen.String("entries.0.target.email") != "bob@example.com" {
			t.Errorf("the audit of the organization has %s", seen.Body)
		}
	}
	// A server without the service for the organization extends nothing.
	if err := s.App.Identity.SetLimits(t.Context(), testkit.Command, "org.test",
		identity.LimitsChange{ServiceEnabled: identity.To(false)}); err != nil {
		t.Fatal(err)
	}
	own.ann.Post(at+"/extend", map[string]any{"reason": "x", "days": 30}).WantError(transfer.ErrServiceDisabled)
}

// TestAdministratorsSeeTheirMailboxes: an administrator finds mailboxes of members by name, address and link, page by page, with their use,
// and none of another organization.
func TestAdministratorsSeeTheirMailboxes(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own, other := addFirm(t, s, "org.test", ""), addFirm(t, s, "other.test", "o")
	other.receive("obob")
	uid := own.receive("bob")
	own.receive("bob")
	sendFrom(own.bob, "sam@example.com")
	reserve(own.ann.As(""), "bob", 7)
	own.ann.Post(own.at+"/transfers/"+uid+"/revoke", map[string]any{"reason": "x"}).Want(http.StatusNoContent)
	own.ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "absent": true, "maxFiles": 3}).Want(http.StatusOK)
	list := func(query string) []map[string]any {
		t.Helper()
		var body struct{ Mailboxes []map[string]any }
		own.ann.Get(own.at + "/mailboxes" + query).Want(http.StatusOK).JSON(&body)
		return body.Mailboxes
	}
	if got := list("?search=BOB"); len(got) != 1 || got[0]["email"] != "bob@example.com" || got[0]["link"] != "bob" ||
		got[0]["unavailable"] != nil ||
		got[0]["transfers"] != 1.0 || got[0]["bytes"] != 7.0 || got[0]["partly"] != false || got[0]["reservations"] != 1.0 ||
		got[0]["receivedAt"] == nil || got[0]["uploadBytes"].(float64) < 19 {
		t.Errorf("Bob's mailbox is %v", got)
	}
	if got := list("?search=ann%40example"); len(got) != 1 || got[0]["unavailable"] != "absent" || got[0]["maxFiles"] != 3.0 ||
		got[0]["receivedAt"] != nil {
		t.Errorf("Ann's mailbox is %v", got)
	}
	for query, want := range map[string]int{"": 2, "?search=example.com": 2, "?search=obob": 0, "?search=%25": 0, "?search=_": 0} {
		if got := list(query); len(got) != want {
			t.Errorf("%q finds %v, want %d", query, got, want)
		}
	}
	for _, query := range []string{"?after=x", "?search=%00", "?search=%ff", "?search=" + strings.Repeat("x", 300)} {
		own.ann.Get(own.at + "/mailboxes" + query).WantError(fault.ErrInvalid)
	}
	// Many members, of whom the last one only is called Zoe, and 600 transfers to her.
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		WITH p AS (
			INSERT INTO identity.persons (uid, name, locale, time_zone, created_at)
			SELECT (lpad(to_hex(n), 8, '0') || '-ffff-7000-8000-000000000000')::uuid, CASE WHEN n = 2100 THEN 'Zoe' ELSE 'Many' END, 'en_US', 'UTC',
				now() FROM generate_series(1, 2100) n RETURNING uid, name
		), a AS (
			INSERT INTO identity.memberships (person, organization, roles, created_at) SELECT p.uid, h.organization, '{}', now() FROM p,
				identity.hosts h WHERE h.host = 'org.test' RETURNING person, organization
		), m AS (
			INSERT INTO transfer.mailboxes (person, created_at, updated_at) SELECT uid, now(), now() FROM p
		), r AS (
			INSERT INTO transfer.reservations (uid, type, state, transfer, owner, limits_organization, ttl, protection, max_files, max_file_size_mb,
				max_recipients, created_at, expires_at)
			SELECT gen_random_uuid(), 'mailbox', 'confirmed', gen_random_uuid(), p.uid, a.organization, 7, 'none', 1, 1, 1, now(), now()
			FROM p JOIN a ON a.person = p.uid, generate_series(1, 600) WHERE p.name = 'Zoe' RETURNING *
		)
		INSERT INTO transfer.transfers (uid, reservation, type, owner, sender_managed, limits_organization, delivery_notification, protection,
			object_count, total_bytes, created_at, expires_at)
		SELECT transfer, uid, type, owner, false, limits_organization, false, 'none', 1, 10, created_at, now() + interval '7 days'
			FROM r`); err != nil {
		t.Fatal(err)
	}
	got, pages := uids(t, own.ann, own.at+"/mailboxes", "mailboxes")
	slices.Sort(got)
	if different := len(slices.Compact(slices.Clone(got))); len(got) != 2102 || different != 2102 || pages != 43 {
		t.Errorf("%d mailboxes, %d of them different, in %d pages", len(got), different, pages)
	}
	if got, pages := uids(t, own.ann, own.at+"/mailboxes?search=zoe", "mailboxes"); len(got) != 1 || pages != 2 {
		t.Errorf("zoe finds %v in %d pages", got, pages)
	}
	var second struct{ Next string }
	own.ann.Get(own.at + "/mailboxes?search=zoe").Want(http.StatusOK).JSON(&second)
	if got := list("?search=zoe&after=" + second.Next); len(got) != 1 || got[0]["partly"] != true || got[0]["transfers"] != 500.0 ||
		got[0]["bytes"] != 5000.0 {
		t.Errorf("Zoe's mailbox is %v", got)
	}
}
