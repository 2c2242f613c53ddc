// Tests of people in the console.

package app_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

const people = httpapi.OperatorBase + "/people"

type listedPeople struct {
	People []struct {
		UID, Email, Name    string
		Verified, HasFactor bool
		Organization        *struct{ UID, Name string }
	}
	Next string
}

func addresses(l listedPeople) string {
	var all []string
	for _, p := range l.People {
		all = append(all, p.Email)
	}
	return strings.Join(all, " ")
}

// TestPeopleAreFound: an operator finds people by a part of the address or the beginning of the name, page by page.
func TestPeopleAreFound(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	addOrganization(t, s, "org.test")
	addPerson(t, s, "ann@example.com", "org.test", identity.RoleOrganizationAdmin)
	addPerson(t, s, "anna@example.com", "")
	s.SignUpUnconfirmed("zoe@example.com")
	find := func(query string) (l listedPeople) {
		t.Helper()
		olga.Get(people + query).Want(http.StatusOK).JSON(&l)
		return l
	}
	for query, want := range map[string]string{
		"": "ann@example.com anna@example.com olga@example.com zoe@example.com", "?search=AnN": "ann@example.com anna@example.com",
		"?search=nna": "anna@example.com", "?search=a@EX": "anna@example.com olga@example.com", "?by=name&search=lga": "",
		"?search=ann%25": "", "?search=ann_": "",
		"?by=name&search=OLG": "olga@example.com", "?by=name&search=zo": "zoe@example.com", "?search=nobody": "",
	} {
		if got := addresses(find(query)); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	if p := find("?search=ann@").People[0]; p.Organization == nil || !p.Verified || p.HasFactor {
		t.Errorf("Ann is %+v", p)
	}
	if p := find("?search=olga").People[0]; p.Organization != nil || !p.HasFactor {
		t.Errorf("Olga is %+v", p)
	}
	if find("?search=zoe").People[0].Verified {
		t.Error("Zoe's address is verified")
	}
	for _, query := range []string{"?search=%00", "?after=x", "?by=age", "?search=a&search=b", "?after=AAAAAAAAAAAAAAAAAAAAAAA",
		"?search=%ff"} {
		olga.Get(people + query).WantError(fault.ErrInvalid)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		WITH p AS (INSERT INTO identity.persons (uid, name, locale, time_zone, created_at)
			SELECT gen_random_uuid(), 'Many ' || n % 2, 'en_US', 'UTC', now() FROM generate_series(1, 120) n RETURNING uid)
		INSERT INTO identity.addresses (person, address, is_primary, verified_at, created_at) SELECT uid, 'many-' || uid || '@example.com', true,
			now(), now() FROM p`); err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"?search=many", "?by=name&search=many"} {
		seen, pages := map[string]bool{}, 0
		for query := by; query != ""; pages++ {
			l := find(query)
			for _, p := range l.People {
				seen[p.UID] = true
			}
			if query = ""; l.Next != "" {
				query = by + "&after=" + l.Next
			}
		}
		if len(seen) != 120 || pages != 3 {
			t.Errorf("%s finds %d people in %d pages", by, len(seen), pages)
		}
	}
}

// TestOperatorChangesPerson: an operator ends the sessions of a person, resets second factors, verifies an address, sets a limit and
// deletes an account. Each needs a reason, which the audit has beside the operator.
func TestOperatorChangesPerson(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	ann, _ := s.SignUpOperator("ann@example.com") // with a second factor
	if err := s.App.Identity.RemoveOperator(t.Context(), testkit.Command, "ann@example.com"); err != nil {
		t.Fatal(err)
	}
	s.SignUpUnconfirmed("zoe@example.com")
	uid := func(email string) string {
		p, err := s.App.Identity.ShowPerson(t.Context(), email)
		if err != nil {
			t.Fatal(err)
		}
		return p.UID.String()
	}
	at := people + "/" + uid("ann@example.com")
	type report struct {
		Authenticators    []struct{ Type string }
		Sessions          []struct{ SID string }
		Emails            []struct{ Verified bool }
		UploadVolumeBytes *int64
	}
	show := func(path string) (r report) {
		t.Helper()
		olga.Get(path).Want(http.StatusOK).JSON(&r)
		return r
	}
	if r := show(at); len(r.Sessions) == 0 || len(r.Authenticators) != 2 || r.UploadVolumeBytes != nil {
		t.Errorf("before: %+v", r)
	}
	for _, body := range []any{map[string]any{}, map[string]any{"reason": " "}, map[string]any{"reason": "a\nb"},
		map[string]any{"reason": strings.Repeat("x", 501)}} {
		olga.Post(at+"/end-sessions", body).WantError(fault.ErrInvalid)
	}
	olga.Post(at+"/reset-factors", because()).Want(http.StatusNoContent)
	if r := show(at); len(r.Sessions) != 0 || len(r.Authenticators) != 1 {
		t.Errorf("after the reset: %+v", r)
	}
	ann.As(ann.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	again := s.Stranger()
	again.Email = "ann@example.com"
	again = again.Login()
	olga.Post(at+"/end-sessions", because()).Want(http.StatusNoContent)
	again.As(again.ID).Post(s.Identity+"/auth/access", nil).WantError(token.ErrEnded)
	olga.Post(at+"/limits", because("uploadVolumeGb", 1.5)).Want(http.StatusNoContent)
	if r := show(at); r.UploadVolumeBytes == nil || *r.UploadVolumeBytes != 1_500_000_000 {
		t.Errorf("the limit is %v", r.UploadVolumeBytes)
	}
	olga.Post(at+"/limits", because("uploadVolumeGb", -1)).WantError(fault.ErrInvalid)
	olga.Post(at+"/limits", because("uploadVolumeGb", nil)).Want(http.StatusNoContent)
	if r := show(at); r.UploadVolumeBytes != nil {
		t.Errorf("the limit is %v", *r.UploadVolumeBytes)
	}
	zoe := people + "/" + uid("zoe@example.com")
	olga.Post(zoe+"/verify", because()).Want(http.StatusNoContent)
	if r := show(zoe); !r.Emails[0].Verified {
		t.Error("Zoe's address is not verified")
	}
	olga.Post(zoe+"/delete", because()).Want(http.StatusNoContent)
	for _, path := range []string{zoe, people + "/" + id.New[id.Person]().String(), people + "/zoe"} {
		olga.Get(path).WantError(identity.ErrPersonNotFound)
		olga.Post(path+"/end-sessions", because()).WantError(identity.ErrPersonNotFound)
	}
	for _, action := range []string{"factor.reset", "session.end-all", "person.limits", "person.verify", "person.delete"} {
		entries, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: action})
		if err != nil || len(entries) == 0 {
			t.Fatalf("no entry %s (%v)", action, err)
		}
		if e := entries[0]; e.Person.String() != uid("olga@example.com") || e.Details["why"] != "ticket 7" || !e.Client.Address.IsValid() {
			t.Errorf("%s is by %s with %v", action, e.Person, e.Details)
		}
	}
}

// TestOperatorExportsPerson: an operator exports what is stored about a person, without the contents of transfers.
func TestOperatorExportsPerson(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	received := sendTo(s, "ann")
	ann.Post(s.Transfer+"/requests", map[string]any{"title": "Statement of Ann", "items": []any{map[string]any{"name": "Lease of Ann"}},
		"parties": []any{map[string]any{"email": "bob@example.org", "name": "Bob"}}}).Want(http.StatusCreated)
	uid := olga.Get(people + "?search=ann").Want(http.StatusOK).Value("people").([]any)[0].(map[string]any)["uid"].(string)
	export := func(answer *testkit.Response) string {
		t.Helper()
		answer.Want(http.StatusOK)
		archive, err := zip.NewReader(bytes.NewReader(answer.Body), int64(len(answer.Body)))
		if err != nil {
			t.Fatal(err)
		}
		content, err := fs.ReadFile(archive, "export.json")
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	own := export(ann.Get(s.Identity + "/profile/export"))
	listed := export(olga.Post(people+"/"+uid+"/export", map[string]any{"reason": "request for access"}))
	for text, content := range map[string]bool{"ann@example.com": false, `"ann"`: false, received: false, "X-ray": true, "x.bin": true,
		`"sha256"`: true, "bob@example.org": false, "Statement of Ann": true, "Lease of Ann": true} {
		if !strings.Contains(own, text) || strings.Contains(listed, text) == content {
			t.Errorf("%q: the own export is %s, the operator's %s", text, own, listed)
		}
	}
	var exported struct {
		Requests []struct {
			Title   string
			Items   []string
			Parties []struct{ Email, Name string }
		}
	}
	if err := json.Unmarshal([]byte(own), &exported); err != nil || len(exported.Requests) != 1 || len(exported.Requests[0].Parties) != 1 ||
		exported.Requests[0].Title != "Statement of Ann" || exported.Requests[0].Parties[0].Name != "Bob" {
		t.Errorf("the own export has the requests %+v (%v)", exported.Requests, err)
	}
	olga.Post(people+"/"+uid+"/export", map[string]any{}).WantError(fault.ErrInvalid)
	olga.Post(people+"/"+id.New[id.Person]().String()+"/export", map[string]any{"reason": "r"}).WantError(identity.ErrPersonNotFound)
	entries, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: "person.export"})
	if err != nil || len(entries) != 2 || entries[0].Details["why"] != "request for access" || entries[0].Target.String() != uid {
		t.Errorf("the audit has %+v (%v)", entries, err)
	}
}

// TestCreatedPersonGetsALink: consign person create makes a link that sets the password, once and for an hour, and no password.
func TestCreatedPersonGetsALink(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	create := func(address string) (path string) {
		t.Helper()
		_, link, err := s.App.Identity.CreateWithLink(t.Context(), testkit.Command, service.NewAccount{Address: address})
		if err != nil {
			t.Fatal(err)
		}
		_, key, found := strings.Cut(link, "/reset/")
		if !found {
			t.Fatalf("the link is %s", link)
		}
		return s.Identity + "/auth/reset/" + key
	}
	ann, late := create("ann@example.com"), create("late@example.com")
	session := s.Stranger().Post(ann, nil).Want(http.StatusOK).String("token")
	s.Stranger().As(session).Post(s.Identity+"/auth/access", nil).Want(http.StatusOK)
	s.Stranger().Post(ann, nil).WantError(identity.ErrKeyNotFound)
	s.Clock.Advance(time.Hour)
	s.Stranger().Post(late, nil).WantError(identity.ErrKeyNotFound)
}

// TestOperatorRegistersPerson: an operator registers a person, who sets the password with the link of a mail and signs in.
func TestOperatorRegistersPerson(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	body := map[string]any{"reason": "new colleague", "address": "Ann@Example.com", "name": "Ann"}
	made := olga.Post(people, body).Want(http.StatusCreated)
	at := people + "/" + made.String("uid")
	if got := olga.Get(at).Want(http.StatusOK); !strings.HasSuffix(made.Header.Get("Location"), at) ||
		got.String("emails.0.email") != "ann@example.com" || got.Value("emails.0.verified") != true {
		t.Errorf("%s is %s", made.Header.Get("Location"), got.Body)
	}
	key := s.Mail.Wait(t, "ann@example.com", "/reset/", 1).Key(t, "/reset/")
	s.Stranger().Post(s.Identity+"/auth/reset/"+key, nil).Want(http.StatusOK)
	olga.Post(people, body).WantError(identity.ErrAddressInUse)
	for _, bad := range []map[string]any{{"address": "bob@example.com"}, {"reason": "r"}, {"reason": "r", "address": "bob"},
		{"reason": "r", "address": "bob@example.com", "locale": "xx"}} {
		olga.Post(people, bad).WantError(fault.ErrInvalid)
	}
}

// TestAttackHelpDeskAgainstOperators: the help desk takes no second factor from somebody with a role in the console, and ends no sessions
// of such people. With others both work.
func TestAttackHelpDeskAgainstOperators(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	uid := func(email string) string {
		p, err := s.App.Identity.ShowPerson(t.Context(), email)
		if err != nil {
			t.Fatal(err)
		}
		return p.UID.String()
	}
	hal, _ := s.SignUpOperator("hal@example.com")
	olga, _ := s.SignUpOperator("olga@example.com")
	s.SignUpOperator("aud@example.com")
	s.SignUp("ann@example.com")
	for email, role := range map[string]token.OperatorRole{"hal@example.com": token.RoleHelpDesk, "aud@example.com": token.RoleAuditor} {
		if err := s.App.Identity.AddOperator(t.Context(), testkit.Command, email, role); err != nil {
			t.Fatal(err)
		}
	}
	for _, change := range []string{"/reset-factors", "/end-sessions"} {
		for _, email := range []string{"olga@example.com", "aud@example.com", "hal@example.com"} {
			hal.Post(people+"/"+uid(email)+change, because()).WantError(token.ErrOperatorRole)
		}
		hal.Post(people+"/"+uid("ann@example.com")+change, because()).Want(http.StatusNoContent)
	}
	olga.Post(people+"/"+uid("aud@example.com")+"/reset-factors", because()).Want(http.StatusNoContent)
}
