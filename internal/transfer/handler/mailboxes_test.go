// Tests of mailboxes.

package handler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

func TestEnvironmentIsFreeOfLimits(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_RATE_LIMIT", "on"))
	for range 100 {
		r := s.Stranger().Get(s.Transfer + "/environment").Want(http.StatusOK)
		if r.Header.Get("X-RateLimit-Limit") != "" || r.Value("defaultTtl") != 7.0 || r.String("protectionLevel") != "none" {
			t.Fatalf("%v %s", r.Header, r.Body)
		}
	}
}

func TestMailboxOfOnesOwn(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	box := s.Transfer + "/mailbox"
	s.Stranger().Get(box).WantError(token.ErrMissing)
	ann.Get(box).WantError(transfer.ErrNotFound)
	made := ann.Put(box, map[string]any{"vanityLink": "Ann.Lee", "maxFiles": 5, "fieldsSchema": map[string]any{
		"type": "object", "title": "T", "properties": map[string]any{"nr": map[string]any{"type": "string"}}, "required": []string{"nr"},
	}, "mimeTypeFilter": []string{"IMAGE/*"}}).Want(http.StatusCreated)
	if made.Header.Get("Location") != s.URL+box || made.String("vanityLink") != "ann.lee" || made.String("name") != "Ann" ||
		made.String("email") != "ann@example.com" {
		t.Errorf("%s %s", made.Header.Get("Location"), made.Body)
	}
	again := ann.Put(box, []byte(made.Body)) // without a content type
	again.WantError(fault.ErrUnsupported)
	ann.With("Content-Type", "application/json").Put(box, made.Body).Want(http.StatusOK)
	public := s.Stranger().Get(s.Transfer + "/public/mailbox/" + made.String("uid")).Want(http.StatusOK)
	if public.Value("mimeTypeFilter") != nil || public.Value("mimeTypeFilterEnabled") != true || public.Value("maxFiles") != 5.0 ||
		public.String("fieldsSchema.title") != "T" {
		t.Errorf("%s", public.Body)
	}
	reset := ann.Put(box, map[string]any{}).Want(http.StatusOK)
	if reset.Value("vanityLink") != nil || reset.Value("maxFiles") != 10_000.0 || reset.Value("fieldsSchema") != nil {
		t.Errorf("absent members did not return to their defaults: %s", reset.Body)
	}
	ann.Delete(box).Want(http.StatusNoContent)
	ann.Delete(box).WantError(transfer.ErrNotFound)
	s.Stranger().Get(s.Transfer + "/public/mailbox/ann.lee").WantError(transfer.ErrNotFound)
}

// TestMailboxOfALostAddress: an address that its owner has removed is no longer shown on the mailbox and gets none of its mails.
func TestMailboxOfALostAddress(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	box, office := s.Transfer+"/mailbox", "office@example.com"
	ann.Post(s.Identity+"/profile/emails", map[string]any{"address": office}).Want(http.StatusCreated)
	ann.Put(box, map[string]any{"email": office}).WantError(transfer.ErrAddressNotOwn)
	s.Clock.Advance(time.Minute)
	ann.Post(s.Identity+"/confirm/"+s.Mail.Wait(t, office, "/confirm/", 1).Key(t, "/confirm/"), nil).Want(http.StatusNoContent)
	if made := ann.Put(box, map[string]any{"email": office, "vanityLink": "ann"}).Want(http.StatusCreated); made.String("email") != office {
		t.Errorf("%s", made.Body)
	}
	ann.Delete(s.Identity + "/profile/emails/" + office).Want(http.StatusNoContent)
	for who, r := range map[string]*testkit.Response{"ann": ann.Get(box), "a stranger": s.Stranger().Get(s.Transfer + "/public/mailbox/ann")} {
		if r.String("email") != "ann@example.com" {
			t.Errorf("%s sees %s", who, r.Body)
		}
	}
}

// TestMailboxIsAsItWasLeft: a change of a mailbox that was just read shows at once on the replica that made it, and within a second on
// the other.
func TestMailboxIsAsItWasLeft(t *testing.T) {
	t.Parallel()
	here := testkit.New(t)
	there := testkit.New(t, testkit.Beside(here))
	ann := here.SignUp("ann@example.com")
	ann.Put(here.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	slogan := func(s *testkit.Server) any {
		return s.Stranger().Get(s.Transfer + "/public/mailbox/ann").Want(http.StatusOK).Value("slogan")
	}
	for _, now := range []string{"one", "two", "three"} {
		_, _ = slogan(here), slogan(there)
		ann.Put(here.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "slogan": now}).Want(http.StatusOK)
		changed := time.Now()
		if got := slogan(here); got != now {
			t.Errorf("the replica that changed the slogan to %s shows %v", now, got)
		}
		for slogan(there) != now {
			if time.Since(changed) > time.Second {
				t.Fatalf("the other replica shows %v a second after it became %s", slogan(there), now)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	slogan(here)
	ann.Put(here.Identity+"/profile", map[string]any{"name": "Dr. Ann", "locale": "en_US", "timeZone": "UTC"}).Want(http.StatusOK)
	if r := here.Stranger().Get(here.Transfer + "/public/mailbox/ann"); r.String("name") != "Dr. Ann" {
		t.Errorf("after a change in the profile: %s", r.Body)
	}
	ann.Put(here.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "absent": true}).Want(http.StatusOK)
	here.Stranger().Post(here.Transfer+"/public/mailbox/ann", map[string]any{}).WantError(transfer.ErrAbsent)
	ann.Delete(here.Transfer + "/mailbox").Want(http.StatusNoContent)
	here.Stranger().Get(here.Transfer + "/public/mailbox/ann").WantError(transfer.ErrNotFound)
}

func TestMailboxRefuses(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	bob := s.SignUp("bob@example.com")
	box := s.Transfer + "/mailbox"
	for _, link := range []string{"ann", "ANN"} {
		bob.Put(box, map[string]any{"vanityLink": link}).WantError(transfer.ErrVanityLink)
	}
	bob.Get(box).WantError(transfer.ErrNotFound)
	bob.Put(box, map[string]any{"email": "ann@example.com"}).WantError(transfer.ErrAddressNotOwn)
	bob.Put(box, map[string]any{"maxFiles": 10_001, "maxFileSizeMb": 50_001}).WantError(transfer.ErrLimitRaised)
	for member, value := range map[string]any{
		"vanityLink": "a", "name": strings.Repeat("x", 256), "slogan": "a\x01b", "email": "bob", "absenceMessage": strings.Repeat("x", 20_001),
		"fieldsSchema": map[string]any{}, "uiSchema": map[string]any{}, "mimeTypeFilter": []string{"image"}, "maxFiles": 0, "maxFileSizeMb": -1,
		"absent": "yes",
	} {
		r := bob.Put(box, map[string]any{member: value})
		r.WantError(fault.ErrInvalid)
		if !strings.HasPrefix(r.Details(), member) {
			t.Errorf("%s: details %q", member, r.Details())
		}
	}
	all := bob.Put(box, map[string]any{"vanityLink": "a", "slogan": "\u2028", "email": "x"}).Want(http.StatusBadRequest)
	if n := strings.Count(all.Details(), "\n"); n != 2 {
		t.Errorf("details %q", all.Details())
	}
	s.SignUpUnconfirmed("eve@example.com").Put(box, map[string]any{}).WantError(token.ErrUnverified)
}

// TestFormsNeedTheirMembers: the members of a mailbox's form have exact names, and a form that lacks one is refused. A
// mailbox with REQUIRED would show its fields as required to its owner and require nothing of senders.
func TestFormsNeedTheirMembers(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	fields := func(edit ...string) string {
		return `{"fieldsSchema":` + strings.NewReplacer(edit...).Replace(`{"type":"object","title":"T","properties":{"a":{}},"required":["a"]}`) +
			`}`
	}
	look := func(edit ...string) string {
		return `{"uiSchema":` + strings.NewReplacer(edit...).Replace(
			`{"ui:order":["a"],"a":{"ui:widget":"text","ui:title":"A","ui:description":"","ui:options":{}}}`) + `}`
	}
	put := func(body string) *testkit.Response {
		return ann.With("Content-Type", "application/json").Put(s.Transfer+"/mailbox", body)
	}
	put(fields()).Want(http.StatusOK)
	put(look()).Want(http.StatusOK)
	for _, body := range []string{
		fields(`"type"`, `"TYPE"`), fields(`"title"`, `"Title"`), fields(`"properties"`, `"PROPERTIES"`), fields(`"required"`, `"Required"`),
		fields(`"T"`, `null`), fields(`{"a":{}}`, `null`), fields(`["a"]`, `[null]`), fields(`["a"]`, `["`+strings.Repeat("b", 2000)+`"]`),
		look(`ui:widget`, `UI:WIDGET`), look(`ui:title`, `ui:Title`), look(`ui:options`, `ui:OPTIONS`), look(`ui:order`, `ui:Order`),
		look(`ui:description":""`, `ui:description":null`), look(`ui:description":""`, `ui:placeholder":7`), look(`{}`, `null`),
		look(`["a"]`, `["`+strings.Repeat("b", 2000)+`"]`),
	} {
		r := put(body)
		if r.WantError(fault.ErrInvalid); len(r.Details()) > 400 {
			t.Errorf("%.80s: a detail of %d bytes", body, len(r.Details()))
		}
	}
}

func TestPublicMailboxKeys(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	sam := s.Stranger()
	public := s.Transfer + "/public/mailbox/"
	for key, want := range map[string]int{
		"ann": 200, "Ann": 200, "nobody": 404, "019abcde-0000-7000-8000-000000000001": 404, "a": 400, "-ann": 400, "ann%20lee": 400,
		"%C3%A4nn":              400,
		strings.Repeat("a", 65): 400, "a%2Fb": 400,
	} {
		if r := sam.Get(public + key); r.Status != want {
			t.Errorf("GET %s answered %d", key, r.Status)
		}
		if r := sam.Head(public + key); r.Status != want || len(r.Body) > 0 {
			t.Errorf("HEAD %s answered %d %s", key, r.Status, r.Body)
		}
		if want == 200 {
			want = 201
		}
		if r := sam.Post(public+key, nil); r.Status != want {
			t.Errorf("POST %s answered %d %s", key, r.Status, r.Body)
		}
	}
	sam.Get(public + "a").WantError(transfer.ErrKeyInvalid)
	sam.With("Host", "other.example.net").Get(public + "ann").Want(http.StatusOK) // no organization's: the free one's
	sam.Put(public+"ann", nil).Want(http.StatusMethodNotAllowed)
	sam.With("Accept", "text/html").Get(public + "ann").Want(http.StatusNotAcceptable)
}

// TestReasonsOfClosedMailbox: GET shows the reason with which POST is refused, for every reason.
func TestReasonsOfClosedMailbox(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, _ := newOffice(t)
	public, sam := s.Transfer+"/public/mailbox/bob", s.Stranger()
	group := s.Transfer + "/public/mailboxgroup/" + ann.Post(s.Transfer+"/mailboxgroups",
		object{"name": "Office", "mailboxUids": []string{uidOf(bob)}}).Want(http.StatusCreated).String("uid")
	limit := func(c identity.LimitsChange) func() error {
		return func() error { return s.App.Identity.SetLimits(t.Context(), testkit.Command, acme.uid, c) }
	}
	person := func(gigabytes *float64) func() error {
		return func() error {
			return s.App.Identity.SetUploadVolume(t.Context(), testkit.Command, "bob@example.com", gigabytes)
		}
	}
	roles := func(roles ...string) func() error {
		return func() error {
			return s.App.Identity.SetMember(t.Context(), testkit.Command, acme.uid, "bob@example.com", roles)
		}
	}
	absent := func(is bool) func() error {
		return func() error {
			renew(bob)
			bob.Put(s.Transfer+"/mailbox", object{"vanityLink": "bob", "absent": is}).Want(http.StatusOK)
			return nil
		}
	}
	for _, c := range []struct {
		change, undo func() error
		reason       any
		refusal      *fault.Error
		volume       bool
	}{
		{limit(identity.LimitsChange{ServiceEnabled: identity.To(false)}), limit(identity.LimitsChange{ServiceEnabled: identity.To(true)}),
			"serviceDisabled", transfer.ErrServiceDisabled, false},
		{roles(), roles(use), "roleMissing", transfer.ErrServiceDisabled, false},
		{absent(true), absent(false), "absent", transfer.ErrAbsent, false},
		{person(new(0.0)), person(nil), "volume", transfer.ErrPersonalVolume, true},
		{limit(identity.LimitsChange{TransferVolumeGB: identity.To(0.0)}), limit(identity.LimitsChange{TransferVolumeGB: identity.To(1.0)}),
			"volume", transfer.ErrSubscriptionVolume, true},
		{limit(identity.LimitsChange{StorageVolumeGB: identity.To(0.0)}), limit(identity.LimitsChange{StorageVolumeGB: identity.To(1.0)}),
			"storage", transfer.ErrStorageVolume, true},
	} {
		for _, undone := range []bool{false, true} {
			change := c.change
			if undone {
				change = c.undo
			}
			if err := change(); err != nil {
				t.Fatal(err)
			}
			s.App.Transfer.ForgetOrganizations() // without waiting for the notification
			for path, at := range map[string]string{public: "", group: "mailboxes.0."} {
				got := sam.Get(path).Want(http.StatusOK)
				var reason any
				if !undone {
					reason = c.reason
				}
				if got.Value(at+"available") != undone || got.Value(at+"unavailableReason") != reason ||
					got.Value(at+"volumeLimitExceeded") != (c.volume && !undone) {
					t.Errorf("%v, undone %t: %s", c.reason, undone, got.Body)
				}
			}
			if undone {
				sam.Post(public, nil).Want(http.StatusCreated)
				continue
			}
			sam.Post(public, nil).WantError(c.refusal)
			renew(bob)
			if got := bob.Get(s.Transfer + "/mailbox").Want(http.StatusOK); got.Value("available") != false ||
				got.Value("unavailableReason") != c.reason {
				t.Errorf("the owner sees %s", got.Body)
			}
		}
	}
}

// renew replaces a person's tokens. After a change of roles, each ID token can be used for this once more.
func renew(p *testkit.Person) {
	p.Server.T.Helper()
	useToken(p, p.As(p.ID).Post(p.Server.Identity+"/auth/upgrade", nil).Want(http.StatusOK))
}

// TestMailboxIsSecureByTheOrganization: secure tells a visitor how transfers are protected. The owner's own setting stays.
func TestMailboxIsSecureByTheOrganization(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, _ := newOffice(t)
	public := s.Transfer + "/public/mailbox/bob"
	for level, want := range map[string]bool{"password": true, "recipientAuthentication": true, "none": false} {
		ann.Put(s.Transfer+"/adminunit", object{"protectionLevel": level}).Want(http.StatusOK)
		if got := s.Stranger().Get(public).Want(http.StatusOK); got.Value("secure") != want {
			t.Errorf("%s: %s", level, got.Body)
		}
		protection := map[bool]string{true: "recipientAuthentication", false: "none"}[want]
		if got := s.Stranger().Post(public, nil).Want(http.StatusCreated); got.String("protection") != protection {
			t.Errorf("%s: %s", level, got.Body)
		}
		own := bob.Get(s.Transfer + "/mailbox").Want(http.StatusOK)
		if own.Value("secure") != false {
			t.Errorf("%s, to the owner: %s", level, own.Body)
		}
	}
}
