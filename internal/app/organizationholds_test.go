// Tests of holds by administrators of an organization, and by operators in the console (contract 4.30).

package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// holding is the body that holds something.
func holding(kind, of string, more ...any) map[string]any {
	return with(map[string]any{"kind": kind, "subject": of, "case": "Case 7", "reason": "Court order"}, more...)
}

// TestWhoHolds calls the routes of holds as everybody who is no administrator of the organization.
func TestWhoHolds(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own, other := addFirm(t, s, "org.test", ""), addFirm(t, s, "other.test", "o")
	at := own.at + "/holds"
	if err := s.App.Identity.AddOperator(t.Context(), testkit.Command, "bob@example.com", token.RoleOperator); err != nil {
		t.Fatal(err)
	}
	operator := mintAccess(t, s, "bob@example.com", func(*token.Claims) {})
	addPerson(t, s, "fred@example.com", "localhost", identity.RoleOrganizationAdmin) // of the free organization
	fred := signIn(s.Stranger(), "fred@example.com")
	program := own.ann.As(own.ann.As(own.ann.ID).Post(s.Identity+"/tokens",
		map[string]any{"name": "p", "scopes": []string{"organization:read", "organization:manage"}}).Want(http.StatusCreated).String("token"))
	one := own.ann.Post(at, holding("person", "bob@example.com")).Want(http.StatusCreated).String("uid")
	for _, c := range []struct{ method, path string }{{"GET", ""}, {"POST", ""}, {"POST", "/" + one + "/end"},
		{"POST", "/" + one + "/export"}} {
		var body any
		if c.method == "POST" {
			body = map[string]any{"reason": "Because"}
			if c.path == "" {
				body = holding("person", "bob@example.com")
			}
		}
		program.Do(c.method, at+c.path, body).WantError(token.ErrNoScope)
		own.ann.As("").Do(c.method, at+c.path, body).WantError(token.ErrMissing)
		own.bob.Do(c.method, at+c.path, body).WantError(transfer.ErrAdminRole)
		own.bob.As(operator).Do(c.method, at+c.path, body).WantError(transfer.ErrAdminRole)
		fred.Do(c.method, at+c.path, body).WantError(fault.ErrForbidden)
		own.ann.With("Host", "other.test").Do(c.method, at+c.path, body).WantError(transfer.ErrNotFound)
		if c.method == "GET" {
			if got := other.ann.Get(at).Want(http.StatusOK); got.Value("holds.0") != nil {
				t.Errorf("another organization sees %s", got.Body)
			}
			continue
		}
		other.ann.Do(c.method, at+c.path, body).WantError(transfer.ErrNotFound)
	}
	if got := own.ann.Get(at).Want(http.StatusOK); got.String("holds.0.email") != "bob@example.com" || got.Value("holds.1") != nil {
		t.Errorf("the holds are %s", got.Body)
	}
}

// TestAdministratorHoldsMember: what a held member sends and deletes stays, counts as the organization's volume and is exported without
// contents. The hold ends, and everything goes. It is so with a limit of volume and without one, when connections charge their advances.
func TestAdministratorHoldsMember(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]any{"with a limit": int64(1) << 40, "without a limit": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holdsMember(t, limit)
		})
	}
}

func holdsMember(t *testing.T, limit any) {
	s := testkit.New(t)
	own := addFirm(t, s, "org.test", "")
	const limits = `UPDATE identity.limits SET storage_volume_bytes = $1`
	if _, err := s.App.DB.Pool.Exec(t.Context(), limits, limit); err != nil {
		t.Fatal(err)
	}
	at := own.at + "/holds"
	uid := own.ann.Post(at, holding("person", "bob@example.com", "until", "2999-01-01T00:00:00Z")).Want(http.StatusCreated).String("uid")
	sent, received := sendFrom(own.bob, "kim@example.org"), own.receive("bob")
	before := storedVolume(t, s, "org.test")
	const advances = `SELECT count(*) FROM transfer.volume_advances WHERE month = '-infinity' AND subject = $1`
	if n := count(t, s, advances, organizationOf(t, s, "org.test")); (n > 0) != (limit == nil) {
		t.Errorf("the organization has %d advances for what it stores", n)
	}
	for _, transfer := range []string{sent, received} {
		own.bob.Delete(s.Transfer + "/transfers/" + transfer).Want(http.StatusNoContent)
	}
	if after := storedVolume(t, s, "org.test"); after < 12 || after >= before {
		t.Errorf("the organization has %d bytes, then %d: want the 12 bytes of the files, and no names", before, after)
	}
	if got := own.ann.Get(at).Want(http.StatusOK); got.Value("holds.0.files") != 2.0 || got.Value("holds.0.bytes") != 12.0 {
		t.Errorf("the hold is %s", got.Body)
	}
	exported := string(own.ann.Post(at+"/"+uid+"/export", map[string]any{"reason": "Court"}).Want(http.StatusOK).Body)
	for word, want := range map[string]bool{"bob@example.com": true, `"held":5`: true, "plans.pdf": false, "Plans": false, "sha256": false} {
		if strings.Contains(exported, word) != want {
			t.Errorf("the export has %s: %t; it is %s", word, !want, exported)
		}
	}
	own.ann.Post(at+"/"+uid+"/end", map[string]any{"reason": "Closed"}).Want(http.StatusNoContent)
	if after := storedVolume(t, s, "org.test"); after != 0 {
		t.Errorf("%d bytes are left", after)
	}
	own.ann.Post(at+"/"+uid+"/end", map[string]any{"reason": "Closed"}).WantError(transfer.ErrNotFound)
	trail := s.Identity + "/organizations/" + organizationOf(t, s, "org.test") + "/audit?action=hold."
	seen := string(own.ann.Get(trail).Want(http.StatusOK).Body)
	for _, action := range []string{"hold.add", "hold.export", "hold.end"} {
		if !strings.Contains(seen, action) {
			t.Errorf("the organization's audit lacks %s: %s", action, seen)
		}
	}
}

// storedVolume returns the bytes that the organization at a host is charged with.
func storedVolume(t *testing.T, s *testkit.Server, host string) (n int64) {
	t.Helper()
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT coalesce((SELECT bytes FROM transfer.stored_totals WHERE organization = $1), 0)`,
		organizationOf(t, s, host)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAdministratorsHoldTheirOwn: an administrator holds transfers of the organization, and those sent to a member while it is one; nothing
// of others, and nothing that operators hold.
func TestAdministratorsHoldTheirOwn(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own, other := addFirm(t, s, "org.test", ""), addFirm(t, s, "other.test", "o")
	at := own.at + "/holds"
	among, to := sendFrom(other.ann, "obob@example.com"), sendFrom(other.ann, "bob@example.com")
	for _, body := range []map[string]any{holding("transfer", among), holding("person", "obob@example.com"),
		holding("mailbox", "obob@example.com"), holding("person", "nobody@example.com"), holding("transfer", "x")} {
		own.ann.Post(at, body).WantError(transfer.ErrNotFound)
	}
	own.ann.Post(at, holding("transfer", to)).Want(http.StatusCreated)
	own.ann.Post(at, holding("mailbox", "bob@example.com")).Want(http.StatusCreated)
	own.ann.Post(at, holding("planet", "bob@example.com")).Want(http.StatusBadRequest)
	operators, err := hold.Add(t.Context(), s.App.DB, testkit.Command, hold.Hold{Kind: hold.Person, Subject: uuid.MustParse(subject(own.bob)),
		Name: "Case 9", Reason: "secret"}, s.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got := own.ann.Get(at).Want(http.StatusOK); got.Value("holds.2") != nil || strings.Contains(string(got.Body), "Case 9") {
		t.Errorf("the administrator sees %s", got.Body)
	}
	for _, verb := range []string{"end", "export"} {
		own.ann.Post(at+"/"+operators.String()+"/"+verb, map[string]any{"reason": "x"}).WantError(transfer.ErrNotFound)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `INSERT INTO holds (uid, kind, subject, name, reason, created_at, organization)
		SELECT gen_random_uuid(), 'transfer', gen_random_uuid(), 'x', 'x', now(), $1 FROM generate_series(1, $2)`,
		organizationOf(t, s, "org.test"), hold.MaxOfOrganization-2); err != nil {
		t.Fatal(err)
	}
	own.ann.Post(at, holding("person", "bob@example.com")).WantError(fault.ErrConflict)
}

// TestHoldOfLeavingMember: what a member sent stays held when the member leaves; what is deleted of the account afterwards is not the
// organization's, until the member is back. An account that is deleted as a member's is kept.
func TestHoldOfLeavingMember(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own := addFirm(t, s, "org.test", "")
	organization, at := organizationOf(t, s, "org.test"), own.at+"/holds"
	uid := own.ann.Post(at, holding("person", "bob@example.com")).Want(http.StatusCreated).String("uid")
	sent := sendFrom(own.bob, "kim@example.org")
	covered := func() (kinds string) {
		if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT string_agg(DISTINCT kind, ' ' ORDER BY kind) FROM hold_scope WHERE hold = $1`,
			uid).Scan(&kinds); err != nil {
			t.Fatal(err)
		}
		return kinds
	}
	const all, left = "address delivery mailbox person reservation transfer", "delivery reservation transfer"
	if got := covered(); got != all {
		t.Errorf("of a member it covers %s", got)
	}
	bob := subject(own.bob)
	own.ann.Delete(s.Identity + "/organizations/" + organization + "/members/" + bob).Want(http.StatusNoContent)
	if got := covered(); got != left {
		t.Errorf("of a former member it covers %s", got)
	}
	if got := own.ann.Get(at).Want(http.StatusOK); got.Value("holds.0.email") != nil {
		t.Errorf("of a former member it shows %s", got.Body)
	}
	if err := s.App.Identity.SetMember(t.Context(), testkit.Command, organization, "bob@example.com", []string{use}); err != nil {
		t.Fatal(err)
	}
	if got := covered(); got != all {
		t.Errorf("of a member who is back it covers %s", got)
	}
	if err := s.App.Identity.DeletePerson(t.Context(), testkit.Command, "bob@example.com"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the account is kept", func() bool {
		exported := string(own.ann.Post(at+"/"+uid+"/export", map[string]any{"reason": "Court"}).Want(http.StatusOK).Body)
		return strings.Contains(exported, `"identity.addresses"`) && strings.Contains(exported, `"bob@example.com"`) &&
			strings.Contains(exported, sent)
	})
	o, err := id.Parse[id.Organization](organization)
	if err == nil {
		err = s.App.Transfer.DeleteOrganizationData(t.Context(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := own.ann.Get(at).Want(http.StatusOK); got.Value("holds.0") != nil {
		t.Errorf("a deleted organization holds %s", got.Body)
	}
}

// TestHoldNotice: the sender, the owner of the mailbox and the held person see that something is kept only where the hold says so. The
// person's own export never names a hold.
func TestHoldNotice(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own := addFirm(t, s, "org.test", "")
	sent, received := sendFrom(own.bob, "ann@example.com"), own.receive("bob")
	shown := func(notice bool) {
		t.Helper()
		for _, path := range []string{s.Transfer + "/transfers/" + sent, s.Transfer + "/transfers/" + received, s.Identity + "/profile"} {
			if got := own.bob.Get(path).Want(http.StatusOK); (got.Value("legalHold") == true) != notice {
				t.Errorf("notice %t: %s is %s", notice, path, got.Body)
			}
		}
		if got := own.ann.Get(s.Transfer + "/transfers/" + sent).Want(http.StatusOK); got.Value("legalHold") != nil {
			t.Errorf("a recipient sees %s", got.Body)
		}
	}
	own.ann.Post(own.at+"/holds", holding("person", "bob@example.com")).Want(http.StatusCreated)
	shown(false)
	own.ann.Post(own.at+"/holds", holding("person", "bob@example.com", "notice", true)).Want(http.StatusCreated)
	shown(true)
	own.bob.Delete(s.Transfer + "/transfers/" + sent).Want(http.StatusNoContent)
	shown(true)
	for e, err := range s.App.Identity.PersonAudit(t.Context(), mustPerson(t, subject(own.bob)), audit.Filter{}) {
		if err != nil || strings.HasPrefix(e.Action, "hold.") {
			t.Errorf("the person's export has %s of %v, %v", e.Action, e.Details, err)
		}
	}
}

func mustPerson(t *testing.T, uid string) id.Person {
	t.Helper()
	p, err := id.Parse[id.Person](uid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOperatorHolds: an operator sees all holds in the console, begins, exports and ends them.
func TestOperatorHolds(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own := addFirm(t, s, "org.test", "")
	olga, _ := s.SignUpOperator("olga@example.com")
	own.ann.Post(own.at+"/holds", holding("person", "bob@example.com")).Want(http.StatusCreated)
	s.Clock.Advance(time.Second) // the newest one is listed first
	const at = "/admin/v1/holds"
	olga.Post(at, holding("person", "nobody@example.com")).WantError(hold.ErrNotFound)
	uid := olga.Post(at, holding("mailbox", "bob@example.com")).Want(http.StatusCreated).String("uid")
	got := olga.Get(at).Want(http.StatusOK)
	if got.String("holds.0.uid") != uid || got.Value("holds.0.organization") != nil ||
		got.String("holds.1.organization") != organizationOf(t, s, "org.test") {
		t.Errorf("the console shows %s", got.Body)
	}
	received := own.receive("bob")
	own.bob.Delete(s.Transfer + "/transfers/" + received).Want(http.StatusNoContent)
	if exported := string(olga.Post(at+"/"+uid+"/export", map[string]any{"reason": "Court"}).Want(http.StatusOK).Body); !strings.Contains(
		exported, received) || strings.Contains(exported, "x-ray") {
		t.Errorf("the export is %s", exported)
	}
	for _, h := range []string{uid, got.String("holds.1.uid")} {
		olga.Post(at+"/"+h+"/end", map[string]any{"reason": "Closed"}).Want(http.StatusNoContent)
		for _, verb := range []string{"end", "export"} {
			olga.Post(at+"/"+h+"/"+verb, map[string]any{"reason": "Closed"}).WantError(hold.ErrNotFound)
		}
	}
}
