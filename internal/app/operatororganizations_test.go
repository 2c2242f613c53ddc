// Tests of organizations in the console.

package app_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

const operatorOrganizations = httpapi.OperatorBase + "/organizations"

// because is the body of an operator's change: a reason, and more members as name and value.
func because(more ...any) map[string]any {
	body := map[string]any{"reason": "ticket 7"}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

// organizationAt returns the uid of the organization of a hostname.
func organizationAt(t *testing.T, olga *testkit.Person, host string) string {
	t.Helper()
	return olga.Get(operatorOrganizations + "?organization=" + host).Want(http.StatusOK).String("organizations.0.uid")
}

// TestOrganizationsAreFound: an operator finds organizations by the beginning of a name or hostname, and by uid, hostname or the address of
// a member, page by page.
func TestOrganizationsAreFound(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	addOrganization(t, s, "acme.test", "old.acme.test", "acme-old.test")
	addOrganization(t, s, "bolt.test")
	addPerson(t, s, "ann@example.com", "acme.test", identity.RoleOrganizationAdmin)
	acme, bolt := organizationAt(t, olga, "acme.test"), organizationAt(t, olga, "bolt.test")
	free := organizationAt(t, olga, "free")
	for query, want := range map[string]string{
		"?name=AC": acme, "?name=": strings.Join([]string{acme, bolt, free}, " "), "?name=a%25": "", "?name=a_": "", "?hostname=Ac": acme,
		"?hostname=old": acme, "?hostname=b": bolt,
		"?hostname=cme": "", "?organization=ANN@example.com": acme, "?organization=" + bolt: bolt, "?organization=old.acme.test": acme,
		"?organization=nowhere.test":     "",
		"?organization=olga@example.com": "", "?organization=" + id.New[id.Organization]().String(): "",
	} {
		got, _ := uids(t, olga, operatorOrganizations+query, "organizations")
		if query == "?name=" {
			slices.Sort(got)
			parts := strings.Fields(want)
			slices.Sort(parts)
			want = strings.Join(parts, " ")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q finds %v, want %s", query, got, want)
		}
	}
	first := olga.Get(operatorOrganizations + "?name=acme").Want(http.StatusOK)
	if first.Number("organizations.0.members") != 1 || first.String("organizations.0.hostname") != "acme.test" ||
		first.Value("organizations.0.free") != false || first.Value("organizations.0.serviceEnabled") != true {
		t.Errorf("Acme is %s", first.Body)
	}
	for _, query := range []string{"?name=a&hostname=b", "?name=a&organization=b", "?after=x", "?name=%00", "?hostname=%ff",
		"?organization=a%0ab", "?name=" + strings.Repeat("x", 256)} {
		olga.Get(operatorOrganizations + query).WantError(fault.ErrInvalid)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		WITH o AS (
			INSERT INTO identity.organizations (uid, name, locale, time_zone, created_at, updated_at)
			SELECT gen_random_uuid(), CASE WHEN n % 3 > 0 THEN 'Many ' || n % 2 END, 'en_US', 'UTC', now(), now() FROM generate_series(1, 180) n
				RETURNING uid, name
		), h AS (
			INSERT INTO identity.hosts (host, organization, active, created_at)
			SELECT a || '-many-' || uid || '.test', uid, a = 'x', now() FROM o, unnest(ARRAY['x', 'xx']) a WHERE name IS NOT NULL
		), p AS (
			INSERT INTO identity.persons (uid, name, locale, time_zone, created_at) SELECT gen_random_uuid(), 'Many', 'en_US', 'UTC', now() FROM o
				RETURNING uid
		)
		INSERT INTO identity.memberships (person, organization, roles, created_at)
		SELECT p.uid, h.organization, '{}', now() - row_number() OVER () / 3 * interval '1 second' FROM p, identity.hosts h
			WHERE h.host = 'bolt.test'`); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, member string
		items, pages int
	}{
		{"?name=many", "organizations", 120, 3}, {"", "organizations", 183, 4}, {"?hostname=x", "organizations", 120, 3},
		{"/" + bolt + "/members", "members", 180, 4},
	} {
		got, pages := uids(t, olga, operatorOrganizations+c.path, c.member)
		slices.Sort(got)
		if different := len(slices.Compact(slices.Clone(got))); len(got) != c.items || different != c.items || pages != c.pages {
			t.Errorf("%q finds %d, %d of them different, in %d pages", c.path, len(got), different, pages)
		}
	}
	olga.Get(operatorOrganizations + "/" + bolt + "/members?after=x").WantError(fault.ErrInvalid)
	olga.Get(operatorOrganizations + "/" + bolt + "/members?after=AAAAAAAAAAAAAAAAAAAAAAA").WantError(fault.ErrInvalid)
}

// TestOperatorChangesOrganization: an operator creates an organization, sets its profile, limitations, subscription, hostname and members.
// Each needs a reason, which the audit has beside the operator.
func TestOperatorChangesOrganization(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	made := olga.Post(operatorOrganizations, because("name", "Acme", "timeZone", "Europe/Berlin")).Want(http.StatusCreated)
	at := operatorOrganizations + "/" + made.String("uid")
	if where := made.Header.Get("Location"); !strings.HasSuffix(where, at) {
		t.Errorf("it is at %s", where)
	}
	for _, body := range []any{because(), because("name", " "), because("name", "A", "locale", "xx"), map[string]any{"name": "Acme"}} {
		olga.Post(operatorOrganizations, body).WantError(fault.ErrInvalid)
	}
	show := func() *testkit.Response { t.Helper(); return olga.Get(at).Want(http.StatusOK) }
	if got := show(); got.String("profile.name") != "Acme" || got.String("profile.timeZone") != "Europe/Berlin" ||
		got.Number("members") != 0 || got.Number("limitations.users") != 100 || got.String("ownLimits.0") != "users" {
		t.Errorf("the new organization is %s", got.Body)
	}

	olga.Post(at+"/set", because("city", "Berlin", "externalUid", "crm-1", "globalSignature", "a=b\nc")).Want(http.StatusNoContent)
	if got := show(); got.String("profile.city") != "Berlin" || got.String("externalUid") != "crm-1" ||
		got.String("profile.globalSignature") != "a=b\nc" || got.String("profile.name") != "Acme" {
		t.Errorf("after a change it is %s", got.Body)
	}
	olga.Post(at+"/set", because("city", "")).Want(http.StatusNoContent)
	if got := show(); strings.Contains(string(got.Body), `"city"`) {
		t.Errorf("the city is not unset: %s", got.Body)
	}
	for _, body := range []any{because(), because("locale", ""), because("legalNoticeUrl", "x"), because("name", "a\nb")} {
		olga.Post(at+"/set", body).WantError(fault.ErrInvalid)
	}

	olga.Post(at+"/limits", because("users", 2, "transferVolumeGb", 1.5, "serviceEnabled", false, "changeHostname", "custom",
		"newTransferDrainRate", 0.25)).Want(http.StatusNoContent)
	if got := show(); got.Number("limitations.users") != 2 || got.Number("limitations.transferVolumeGb") != 1.5 ||
		got.Value("limitations.serviceEnabled") != false || got.Number("limitations.newTransferDrainRate") != 0.25 ||
		len(got.Value("ownLimits").([]any)) != 5 {
		t.Errorf("the limitations are %s", got.Body)
	}
	olga.Post(at+"/limits", because("serviceEnabled", nil, "users", nil)).Want(http.StatusNoContent)
	if got := show(); got.Value("limitations.serviceEnabled") != true || len(got.Value("ownLimits").([]any)) != 3 {
		t.Errorf("after restoring, the limitations are %s", got.Body)
	}
	s.SendUndocumented()
	for _, body := range []any{
		because(), because("users", -1), because("users", 1.5), because("users", "x"), because("serviceEnabled", 1),
		because("changeHostname", "any"), because("transferVolumeGb", 1e10), because("changeHostname", 3),
	} {
		olga.Post(at+"/limits", body).WantError(fault.ErrInvalid)
	}
	olga.Post(operatorOrganizations+"/"+organizationAt(t, olga, "free")+"/limits", because("users", nil)).WantError(fault.ErrInvalid)

	olga.Post(at+"/subscribe", because("domain", "skp", "product", "pro-100", "name", "Pro")).Want(http.StatusNoContent)
	olga.Post(at+"/subscribe", because("domain", "skp", "product", "pro-100", "status", "cancelled", "expiresAt",
		"2030-01-01T00:00:00Z")).Want(http.StatusNoContent)
	if got := show(); got.String("subscriptions.0.status") != "cancelled" ||
		!strings.HasPrefix(got.String("subscriptions.0.expiresAt"), "2030-01-01") || len(got.Value("subscriptions").([]any)) != 1 {
		t.Errorf("the subscriptions are %s", got.Body)
	}
	for _, body := range []any{because("domain", "x"), because("domain", "skp", "status", "x"), because("domain", "skp", "name", "Pro"),
		because("domain", "skp", "expiresAt", "soon")} {
		olga.Post(at+"/subscribe", body).WantError(fault.ErrInvalid)
	}

	addOrganization(t, s, "taken.test")
	olga.Post(at+"/host", because("hostname", "Files.Acme.test")).Want(http.StatusNoContent)
	olga.Post(at+"/host", because("hostname", "send.acme.test")).Want(http.StatusNoContent)
	if got := show(); got.String("profile.hostname") != "send.acme.test" || got.String("profile.inactiveHostnames.0") != "files.acme.test" {
		t.Errorf("the hostnames are %s", got.Body)
	}
	olga.Post(at+"/host", because("hostname", "taken.test")).WantError(identity.ErrHostInUse)
	olga.Post(at+"/host", because("hostname", "a b")).WantError(fault.ErrInvalid)
	olga.Post(at+"/host", because("hostname", "localhost")).WantError(identity.ErrHostnameRefused)

	absent := operatorOrganizations + "/" + id.New[id.Organization]().String()
	for _, path := range []string{absent, operatorOrganizations + "/acme"} {
		olga.Get(path).WantError(identity.ErrOrganizationNotFound)
		olga.Get(path + "/members").WantError(identity.ErrOrganizationNotFound)
		olga.Get(path + "/usage").WantError(transfer.ErrNotFound)
		olga.Post(path+"/set", because("city", "x")).WantError(identity.ErrOrganizationNotFound)
		olga.Post(path+"/limits", because("users", 1)).WantError(identity.ErrOrganizationNotFound)
		olga.Post(path+"/subscribe", because("domain", "skp")).WantError(identity.ErrOrganizationNotFound)
		olga.Post(path+"/host", because("hostname", "x.test")).WantError(identity.ErrOrganizationNotFound)
		olga.Post(path+"/set-member", because("person", "olga@example.com", "roles", []string{})).WantError(identity.ErrOrganizationNotFound)
		olga.Post(path+"/remove-member", because("person", "olga@example.com")).WantError(identity.ErrOrganizationNotFound)
	}
	operator, err := s.App.Identity.ShowPerson(t.Context(), "olga@example.com")
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"organization.create", "organization.set", "organization.limits", "organization.subscribe",
		"organization.host"} {
		entries, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: action})
		if err != nil || len(entries) == 0 {
			t.Fatalf("no entry %s (%v)", action, err)
		}
		if e := entries[0]; e.Person != operator.UID || e.Details["why"] != "ticket 7" || e.Object != made.String("uid") {
			t.Errorf("%s is by %s of %s with %v", action, e.Person, e.Object, e.Details)
		}
	}
}

// TestLimitsTakeValuesOnly: a limitation of a request takes the values that the document names. A word of the command line is none:
// "default" would erase the organization's own limitation.
func TestLimitsTakeValuesOnly(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	at := operatorOrganizations + "/" + olga.Post(operatorOrganizations, because("name", "Acme")).Want(http.StatusCreated).String("uid")
	olga.Post(at+"/limits", because("changeHostname", "custom")).Want(http.StatusNoContent)
	s.SendUndocumented()
	for _, value := range []any{"default", "", "on", []string{"custom"}, map[string]any{}} {
		olga.Post(at+"/limits", because("changeHostname", value)).WantError(fault.ErrInvalid)
	}
	olga.Post(at+"/limits", because("users", 5, "changeHostname", "default")).WantError(fault.ErrInvalid)
	for _, body := range []map[string]any{because("users", "default"), because("serviceEnabled", "off"),
		because("newTransferDrainRate", "1/60"), because("users", 1e20)} {
		olga.Post(at+"/limits", body).WantError(fault.ErrInvalid)
	}
	if got := olga.Get(at).Want(http.StatusOK); got.String("limitations.changeHostname") != "custom" ||
		len(got.Value("ownLimits").([]any)) != 2 {
		t.Errorf("the limitations are %s", got.Body)
	}
}

// revoked waits until a person's access token is revoked.
func revoked(t *testing.T, p *testkit.Person) {
	t.Helper()
	poll.Until(t, "the token is revoked", func() bool { return p.Get(p.Server.Identity+"/profile").Status == http.StatusUnauthorized })
}

// TestOperatorChangesMembers: an operator adds a member with rights that take effect at once, demands second factors, and ends a membership
// with its sessions. The last administrator stays.
func TestOperatorChangesMembers(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	at := operatorOrganizations + "/" + olga.Post(operatorOrganizations, because("name", "Acme")).Want(http.StatusCreated).String("uid")
	addPerson(t, s, "ann@example.com", "")
	addPerson(t, s, "bob@example.com", "")
	addOrganization(t, s, "bolt.test")
	addPerson(t, s, "eve@example.com", "bolt.test")
	s.SignUpUnconfirmed("zoe@example.com")
	member := func(email string, roles ...string) map[string]any {
		return because("person", email, "roles", append([]string{}, roles...))
	}
	olga.Post(at+"/set-member", member("ANN@example.com", identity.RoleOrganizationAdmin)).Want(http.StatusNoContent)
	olga.Post(at+"/set-member", member("bob@example.com")).Want(http.StatusNoContent)
	olga.Post(at+"/set-member", member("eve@example.com")).WantError(identity.ErrMemberElsewhere)
	olga.Post(at+"/set-member", member("zoe@example.com")).WantError(identity.ErrMemberNotVerified)
	olga.Post(at+"/set-member", member("nobody@example.com")).WantError(identity.ErrPersonNotFound)
	olga.Post(at+"/set-member", member("ann@example.com")).WantError(identity.ErrLastAdmin)
	olga.Post(at+"/remove-member", because("person", "ann@example.com")).WantError(identity.ErrLastAdmin)
	olga.Post(at+"/remove-member", because("person", "eve@example.com")).WantError(identity.ErrMemberNotFound)
	list := olga.Get(at + "/members").Want(http.StatusOK)
	if list.String("members.0.email") != "ann@example.com" || list.String("members.0.roles.0") != identity.RoleOrganizationAdmin ||
		list.String("members.1.email") != "bob@example.com" {
		t.Errorf("the members are %s", list.Body)
	}

	ann, bob := signIn(s.Stranger(), "ann@example.com"), signIn(s.Stranger(), "bob@example.com")
	bob.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "bob"}).Want(http.StatusForbidden)
	olga.Post(at+"/set-member", member("bob@example.com", identity.RoleTransferUse)).Want(http.StatusNoContent)
	revoked(t, bob)
	bob.Refresh()
	bob.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "bob"}).Want(http.StatusCreated)
	sendTo(s, "bob")
	usage := olga.Get(at + "/usage").Want(http.StatusOK)
	if usage.Number("mailboxes") != 1 || usage.Number("storedBytes") == 0 || usage.Number("transferBytes") == 0 ||
		usage.Number("mailboxGroups") != 0 {
		t.Errorf("the usage is %s", usage.Body)
	}

	olga.Post(at+"/set", because("mfaRequired", true)).Want(http.StatusNoContent)
	if got := olga.Get(at).Want(http.StatusOK); got.Value("mfaRequired") != true || got.Number("members") != 2 {
		t.Errorf("the organization is %s", got.Body)
	}
	revoked(t, ann)
	if m := s.Mail.Wait(t, "bob@example.com", "second factor", 1); !strings.Contains(m.Text, "Acme") {
		t.Errorf("the mail to Bob is %s", m.Text)
	}
	olga.Post(at+"/remove-member", because("person", "bob@example.com")).Want(http.StatusNoContent)
	bob.As(bob.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	olga.Post(at+"/remove-member", because("person", "bob@example.com")).WantError(identity.ErrMemberNotFound)
	for _, action := range []string{"member.set", "member.remove"} {
		entries, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: action})
		if err != nil || len(entries) == 0 || entries[0].Details["why"] != "ticket 7" || entries[0].Person == entries[0].Target {
			t.Errorf("%s is %+v (%v)", action, entries, err)
		}
	}
}

// TestOrganizationIsCreatedOnce: of parallel requests with one key at two replicas one creates an organization.
func TestOrganizationIsCreatedOnce(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	two := testkit.New(t, testkit.Beside(s))
	olga, _ := s.SignUpOperator("olga@example.com")
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			p := olga.With("Idempotency-Key", "one")
			if n%2 > 0 {
				p = p.At(two)
			}
			if r := p.Post(operatorOrganizations, because("name", "Acme")); r.Status != http.StatusCreated && r.Status != http.StatusConflict {
				t.Errorf("%d %s", r.Status, r.Body)
			}
		})
	}
	wait.Wait()
	first := olga.With("Idempotency-Key", "one").Post(operatorOrganizations, because("name", "Acme")).Want(http.StatusCreated)
	got, _ := uids(t, olga, operatorOrganizations+"?name=acme", "organizations")
	if len(got) != 1 || got[0] != first.String("uid") {
		t.Errorf("there are %v, the answer names %s", got, first.String("uid"))
	}
}

// TestOrganizationIsChangedWhileItEnds: a change that meets the deletion of the organization is refused or done, and never fails.
func TestOrganizationIsChangedWhileItEnds(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	for range 5 {
		ann := s.SignUp("ann" + id.New[id.Person]().String() + "@example.com")
		made := ann.Post(s.Identity+"/organizations", map[string]any{"name": "Acme"}).Want(http.StatusCreated)
		uid := made.String("uid")
		ann.ID = bearer(made)
		ann.Refresh()
		at := operatorOrganizations + "/" + uid
		var wait sync.WaitGroup
		for path, body := range map[string]map[string]any{
			"/limits": because("users", 5), "/subscribe": because("domain", "skp"), "/set": because("city", "Berlin"),
			"/host": because("hostname", uid+".test"),
		} {
			wait.Go(func() {
				if r := olga.Post(at+path, body); r.Status != http.StatusNoContent && r.Status != http.StatusNotFound {
					t.Errorf("%s: %d %s", path, r.Status, r.Body)
				}
			})
		}
		wait.Go(func() { ann.Delete(s.Identity + "/organizations/" + uid).Want(http.StatusNoContent) })
		wait.Wait()
	}
}

// TestOperatorInvites: an operator creates an invitation for everybody who has its link, once for an Idempotency-Key, and Ann joins with
// it.
func TestOperatorInvites(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	ann := s.SignUp("ann@example.com")
	at := operatorOrganizations + "/" + olga.Post(operatorOrganizations, because("name", "Acme")).Want(http.StatusCreated).String("uid")
	body := because("roles", []string{identity.RoleTransferUse})
	made := olga.With("Idempotency-Key", "invitation-1").Post(at+"/invitations", body).Want(http.StatusCreated)
	key := made.String("key")
	if where := made.String("url"); !strings.HasSuffix(where, "/invitation/"+key) || made.Header.Get("Location") != where {
		t.Errorf("the invitation is %s", made.Body)
	}
	if again := olga.With("Idempotency-Key", "invitation-1").Post(at+"/invitations",
		body).Want(http.StatusCreated); again.String("key") != key {
		t.Error("the repeated request has made another invitation")
	}
	s.Stranger().Get(s.Identity + "/public/invitations/" + key).Want(http.StatusOK)
	ann.Post(s.Identity+"/invitations/"+key+"/accept", nil).Want(http.StatusNoContent)
	if got := olga.Get(at).Want(http.StatusOK); got.Number("members") != 1 {
		t.Errorf("after Ann has joined it is %s", got.Body)
	}
	olga.Post(at+"/invitations", because("roles", []string{identity.RoleOrganizationAdmin})).WantError(identity.ErrSharedRoles)
	olga.Post(at+"/invitations", map[string]any{}).WantError(fault.ErrInvalid)
	olga.Post(operatorOrganizations+"/"+id.New[id.Organization]().String()+"/invitations",
		because()).WantError(identity.ErrOrganizationNotFound)
}
