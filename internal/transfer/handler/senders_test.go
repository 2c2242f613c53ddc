// Tests of sending to recipients.

package handler_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type object = map[string]any

func to(email string) object { return object{"email": email, "destinationType": "to"} }

// begin creates a reservation of a person who is signed in.
func begin(p *testkit.Person, body any) (draft, *testkit.Response) {
	s := p.Server
	s.T.Helper()
	made := p.Post(s.Transfer+"/reservations", body).Want(http.StatusCreated)
	raw, ok := strings.CutPrefix(made.Header.Get("Authorization"), "Bearer ")
	if !ok {
		s.T.Fatal("no reservation token")
	}
	uid := made.String("uid")
	return draft{Person: s.Stranger().As(raw), uid: uid, path: s.Transfer + "/reservations/" + uid}, made
}

func uidOf(p *testkit.Person) string {
	p.Server.T.Helper()
	return p.Get(p.Server.Identity + "/profile").Want(http.StatusOK).String("uid")
}

func TestSendingToRecipients(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	s.SignUpUnconfirmed("cid@example.com") // has not verified the address
	d, made := begin(ann, object{
		"subject": "Plans", "message": "Both sheets.", "deliveryNotification": true, "ttl": 14, "priority": 2, "uid": "ignored", "type": "drop",
		"objects": []any{},
		"recipients": []object{
			{"email": "Bob@Example.com", "name": "Bobby", "destinationType": "to"},
			{"email": "cid@example.com", "destinationType": "cc", "uid": uidOf(ann)},
			{"email": "dan@example.org", "name": "Dan", "destinationType": "bcc"},
		},
	})
	if made.Header.Get("Location") != s.URL+d.path || made.String("type") != "p2p" || made.Value("ttl") != 14.0 ||
		made.Value("priority") != 2.0 ||
		made.String("protection") != "none" || made.Value("maxRecipients") != 100.0 || made.Value("maxFiles") != 10_000.0 ||
		made.Value("deliveryNotification") != true {
		t.Errorf("%s %s", made.Header.Get("Location"), made.Body)
	}
	if made.String("recipients.0.uid") != uidOf(bob) || made.String("recipients.0.email") != "bob@example.com" ||
		made.Value("recipients.1.uid") != nil || made.Value("recipients.2.uid") != nil {
		t.Errorf("uids of recipients: %s", made.Body)
	}
	bob.Get(d.path).WantError(transfer.ErrNotFound)
	d.send("a", []byte("hello"))
	ann.Get(d.path).Want(http.StatusOK)
	ann.Put(d.path+"/objects/a/content", []byte("HELLO")).Want(http.StatusOK)
	dan := s.SignUp("dan@example.org") // signed up after the transfer
	done := ann.Post(d.path+"/confirm", nil).Want(http.StatusOK)
	if done.String("type") != "p2p" || len(done.Value("recipients").([]any)) != 3 || done.String("recipients.2.uid") != uidOf(dan) ||
		done.String("sender.uid") != uidOf(ann) {
		t.Errorf("%s", done.Body)
	}
	keys := map[string]string{linkKey(t, s, done.String("link")): "link"}
	for address, other := range map[string][]string{"bob@example.com": {"dan@", "cid@"}, "cid@example.com": {"dan@", "bob@"},
		"dan@example.org": {"bob@", "cid@"}} {
		m := s.Mail.Wait(t, address, "/t/", 1)
		keys[linkKey(t, s, m.Link(t, "/t/"))] = address
		for _, o := range other {
			if strings.Contains(m.Text, o) || strings.Contains(m.Header.Get("To")+m.Header.Get("Cc")+m.Header.Get("Bcc"), o) {
				t.Errorf("the mail to %s names %s", address, o)
			}
		}
		if !strings.Contains(m.Header.Get("Reply-To"), "ann@example.com") || !strings.Contains(m.Text, "Both sheets.") {
			t.Errorf("the mail to %s: %v\n%s", address, m.Header, m.Text)
		}
	}
	if len(keys) != 4 {
		t.Errorf("keys are shared: %v", keys)
	}
	path := s.Transfer + "/transfers/" + done.String("uid")
	if got := bob.Get(path).Want(http.StatusOK); len(got.Value("recipients").([]any)) != 2 || got.Value("link") != nil ||
		strings.Contains(string(got.Body), "dan@") {
		t.Errorf("bob sees %s", got.Body)
	}
	dan.Get(path).Want(http.StatusOK)
	if got := ann.Get(path).Want(http.StatusOK); len(got.Value("recipients").([]any)) != 3 {
		t.Errorf("ann sees %s", got.Body)
	}
}

// linkKey returns the key in a link to a transfer. It checks that the link is at the sender's host.
func linkKey(t *testing.T, s *testkit.Server, link string) string {
	t.Helper()
	key, ok := strings.CutPrefix(link, s.URL+"/t/")
	if !ok || len(key) < 22 {
		t.Fatalf("link %s", link)
	}
	return key
}

// TestLinksOutliveTheSecretKey: a repeated link, for its sender and in the expiry warning, is the original link, also
// after the operator has changed the secret key. A link made with the new key would not work.
func TestLinksOutliveTheSecretKey(t *testing.T) {
	t.Parallel()
	first := testkit.New(t, testkit.Env("CONSIGN_EXPIRY_WARNING", "2d"))
	ann := first.SignUp("ann@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.org")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	link, mailed := ann.Get(x.path).Want(http.StatusOK).String("link"), linkTo(first, "bob@example.org")
	first.Stop()
	s := testkit.New(t, testkit.Beside(first), testkit.Env("CONSIGN_EXPIRY_WARNING", "2d"),
		testkit.Env("CONSIGN_SECRET_KEY", base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("n"), 32))),
		testkit.Env("CONSIGN_SECRET_KEY_PREVIOUS", base64.StdEncoding.EncodeToString(first.Config.SecretKey)))
	if again := ann.At(s).Get(x.path).Want(http.StatusOK); again.String("link") != link {
		t.Errorf("%s was %s", again.String("link"), link)
	}
	s.Clock.Advance(5 * 24 * time.Hour)
	run(t, s, service.WarnExpiringJob)
	warned := s.Transfer + "/public/transfers/" + s.Mail.Wait(t, "bob@example.org", "expire soon", 1).Key(t, "/t/")
	if warned != mailed {
		t.Errorf("%s was %s", warned, mailed)
	}
	s.Stranger().Get(warned).Want(http.StatusOK)
}

func TestDrop(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	d, made := begin(ann, nil)
	if made.String("type") != "drop" || made.Value("ttl") != 7.0 || len(made.Value("recipients").([]any)) != 0 {
		t.Errorf("%s", made.Body)
	}
	d.send("a", []byte("hello"))
	done := d.Post(d.path+"/confirm", nil).Want(http.StatusOK)
	link := done.String("link")
	linkKey(t, s, link)
	// Only the link opens a drop, so a repeated confirm must return it again.
	again := d.Post(d.path+"/confirm", nil).WantError(transfer.ErrConfirmed)
	path := s.Transfer + "/transfers/" + done.String("uid")
	if !strings.Contains(again.String("error.details.0"), done.String("uid")) || ann.Get(path).Want(http.StatusOK).String("link") != link {
		t.Errorf("%s, then %s", again.Body, ann.Get(path).Body)
	}
	ann.Delete(path).Want(http.StatusNoContent)
	if got := ann.Get(path).Want(http.StatusOK); got.Value("link") != nil {
		t.Errorf("revoked: %s", got.Body)
	}
	s.Stranger().Post(s.Transfer+"/reservations", nil).WantError(token.ErrMissing)
	d.Post(s.Transfer+"/reservations", nil).WantError(token.ErrKind)
	s.SignUpUnconfirmed("eve@example.com").Post(s.Transfer+"/reservations", nil).WantError(token.ErrUnverified)
	ann.With("Content-Type", "text/plain").Post(s.Transfer+"/reservations", "{}").WantError(fault.ErrUnsupported)
	ann.Get(s.Transfer + "/reservations").Want(http.StatusMethodNotAllowed)
}

// TestTermsOfAReservation: the same rules apply when a reservation is created and when it is changed.
func TestTermsOfAReservation(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	many := make([]object, 101)
	for i := range many {
		many[i] = to(fmt.Sprintf("r%d@example.com", i))
	}
	cases := []struct {
		body   object
		want   *fault.Error
		detail string
	}{
		{object{"ttl": 2}, transfer.ErrTTL, "ttl: not acceptable"},
		{object{"ttl": -1}, transfer.ErrTTL, "ttl: not acceptable"},
		{object{"ttl": 1.5}, fault.ErrInvalid, "ttl"},
		{object{"ttl": "7"}, fault.ErrInvalid, "ttl"},
		{object{"priority": 0}, fault.ErrInvalid, "priority: must be from 1"},
		{object{"priority": 6}, fault.ErrInvalid, "priority: must be from 1"},
		{object{"protection": "strong"}, fault.ErrInvalid, "protection: must be"},
		{object{"protection": "password"}, fault.ErrInvalid, "password: is required"},
		{object{"password": "secret"}, fault.ErrInvalid, "password: needs"},
		{object{"protection": "password", "password": ""}, fault.ErrInvalid, "password: must not be empty"},
		{object{"protection": "password", "password": strings.Repeat("é", 36) + "x"}, fault.ErrInvalid, "password: is longer than 72 bytes"},
		{object{"recipients": many}, transfer.ErrTooManyRecipients, "recipients: at most 100"},
		{object{"recipients": []object{{"email": "a@example.com"}}}, fault.ErrInvalid, "recipients[0].destinationType: is required"},
		{object{"recipients": []object{{"destinationType": "to"}}}, fault.ErrInvalid, "recipients[0].email: is required"},
		{object{"recipients": []object{to("nobody")}}, fault.ErrInvalid, "recipients[0].email: is not"},
		{object{"recipients": []object{{"email": "a@example.com", "destinationType": "link"}}}, fault.ErrInvalid,
			"recipients[0].destinationType: must be"},
		{object{"recipients": []object{to("a@example.com"), {"email": "A@example.com", "destinationType": "bcc"}}}, fault.ErrInvalid,
			"recipients[1].email: is given twice"},
		{object{"recipients": []object{{"email": "a@example.com", "destinationType": "to", "phone": "1"}}}, fault.ErrInvalid,
			"recipients[0].phone"},
		{object{"recipients": []object{{"email": "a@example.com", "destinationType": "to", "name": strings.Repeat("x", 256)}}}, fault.ErrInvalid,
			"recipients[0].name"},
		{object{"recipients": "bob"}, fault.ErrInvalid, "recipients"},
		{object{"deliveryNotification": "yes"}, fault.ErrInvalid, "deliveryNotification"},
		{object{"subject": strings.Repeat("x", 256)}, fault.ErrInvalid, "subject"},
		{object{"message": "a\x00b"}, fault.ErrInvalid, ""},
	}
	d, _ := begin(ann, object{"subject": "kept"})
	for _, c := range cases {
		for _, r := range []*testkit.Response{ann.Post(s.Transfer+"/reservations", c.body), d.Patch(d.path, c.body)} {
			r.WantError(c.want)
			if !strings.Contains(r.Details(), c.detail) {
				t.Errorf("%v: details %q", c.body, r.Details())
			}
		}
	}
	if got := ann.Get(d.path); got.String("subject") != "kept" || got.Value("ttl") != 7.0 {
		t.Errorf("a refused change was stored: %s", got.Body)
	}
	all := ann.Post(s.Transfer+"/reservations", object{"priority": 9, "protection": "x", "recipients": []object{to("x")}}).Want(
		http.StatusBadRequest)
	if strings.Count(all.Details(), "\n") != 2 {
		t.Errorf("details %q", all.Details())
	}
}

func TestPatchingOnesOwnReservation(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	d, _ := begin(ann, object{"recipients": []object{to("bob@example.org")}, "protection": "password", "password": strings.Repeat("é", 36),
		"priority": 1})
	read := d.Get(d.path).Want(http.StatusOK)
	if read.Value("password") != nil {
		t.Errorf("the password comes back: %s", read.Body)
	}
	if again := d.With("Content-Type", "application/json").Patch(d.path,
		read.Body).Want(http.StatusOK); string(again.Body) != string(read.Body) {
		t.Errorf("sent back, it became %s", again.Body)
	}
	d.Patch(d.path, object{"ttl": nil, "recipients": nil, "password": nil}).Want(http.StatusOK)
	drop := d.Patch(d.path, object{"recipients": []object{}, "fields": object{"nr": "7"}, "deliveryNotification": true}).Want(http.StatusOK)
	if drop.String("type") != "drop" || drop.Value("priority") != 1.0 || drop.String("fields.nr") != "7" ||
		drop.Value("deliveryNotification") != true {
		t.Errorf("%s", drop.Body)
	}
	p2p := d.Patch(d.path, object{"recipients": []object{to("cid@example.org"), {"email": "ann@example.com", "destinationType": "cc"}},
		"ttl": 30}).Want(http.StatusOK)
	if p2p.String("type") != "p2p" || p2p.String("recipients.0.email") != "cid@example.org" || p2p.String("recipients.1.uid") != uidOf(ann) ||
		p2p.Value("ttl") != 30.0 {
		t.Errorf("%s", p2p.Body)
	}
	if got := d.Get(d.path); string(got.Body) != string(p2p.Body) {
		t.Errorf("stored is %s", got.Body)
	}
	d.Patch(d.path, object{"protection": "none"}).Want(http.StatusOK)
	d.Patch(d.path, object{"protection": "password"}).WantError(fault.ErrInvalid) // the earlier password was deleted
	d.Patch(d.path, object{"protection": "password", "password": "new one"}).Want(http.StatusOK)
	d.Patch(d.path, object{"password": "another"}).Want(http.StatusOK)
	d.send("a", []byte("hello"))
	d.Post(d.path+"/confirm", nil).Want(http.StatusOK)
	d.Patch(d.path, object{"password": "too late"}).WantError(transfer.ErrConfirmed)
	s.SignUp("eve@example.com").Patch(d.path, object{"password": "not hers"}).WantError(transfer.ErrNotFound)
}

// TestTenThousandRecipients: ten thousand recipients are refused before they are checked one by one.
func TestTenThousandRecipients(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	d, _ := begin(ann, nil)
	many := make([]object, 10_000)
	for i := range many {
		many[i] = to(fmt.Sprintf("r%d@example.com", i))
	}
	began := time.Now()
	ann.Post(s.Transfer+"/reservations", object{"recipients": many}).WantError(transfer.ErrTooManyRecipients)
	d.Patch(d.path, object{"recipients": many}).WantError(transfer.ErrTooManyRecipients)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("refusing took %v", took)
	}
}

func TestSendingNeedsRoleAndVolume(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	acme := createOrganization(ann, "Acme")
	begin(ann, nil)
	acme.join(ann, bob)
	bob.Post(s.Transfer+"/reservations", nil).WantError(transfer.ErrRoleMissing)
	if err := s.App.Identity.SetLimits(t.Context(), testkit.Command, acme.uid,
		identity.LimitsChange{NewTransferReceiversLimit: identity.To(2)}); err != nil {
		t.Fatal(err)
	}
	_, made := begin(ann, object{"recipients": []object{to("a@example.org"), to("b@example.org")}})
	if made.Value("maxRecipients") != 2.0 {
		t.Errorf("maxRecipients %v", made.Value("maxRecipients"))
	}
	ann.Post(s.Transfer+"/reservations",
		object{"recipients": []object{to("a@example.org"), to("b@example.org"), to("c@example.org")}}).WantError(transfer.ErrTooManyRecipients)
	limit := func(c identity.LimitsChange) {
		t.Helper()
		if err := s.App.Identity.SetLimits(t.Context(), testkit.Command, acme.uid, c); err != nil {
			t.Fatal(err)
		}
	}
	limit(identity.LimitsChange{TransferVolumeGB: identity.To(0.0)})
	ann.Post(s.Transfer+"/reservations", nil).WantError(transfer.ErrSubscriptionVolume)
	limit(identity.LimitsChange{TransferVolumeGB: identity.To(1.0)})
	if err := s.App.Identity.SetUploadVolume(t.Context(), testkit.Command, "ann@example.com", new(0.0)); err != nil {
		t.Fatal(err)
	}
	ann.Post(s.Transfer+"/reservations", nil).WantError(transfer.ErrPersonalVolume)
	if err := s.App.Identity.SetUploadVolume(t.Context(), testkit.Command, "ann@example.com", new(1.0)); err != nil {
		t.Fatal(err)
	}
	limit(identity.LimitsChange{NewTransferLimit: identity.To(3), NewTransferDrainRate: identity.To(1.0 / 60)})
	begin(ann, nil) // the third reservation: refused ones do not count
	ann.Post(s.Transfer+"/reservations", nil).WantError(transfer.ErrNewTransfers)
	limit(identity.LimitsChange{ServiceEnabled: identity.To(false)})
	ann.Post(s.Transfer+"/reservations", nil).WantError(transfer.ErrServiceDisabled)
}

func TestOpenReservationsOnAMailbox(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	bob := s.SignUp("bob@example.com")
	path := s.Transfer + "/mailbox/reservations"
	bob.Get(path).WantError(transfer.ErrNotFound)
	if got := ann.Get(path).Want(http.StatusOK); len(got.Value("reservations").([]any)) != 0 {
		t.Errorf("%s", got.Body)
	}
	d := reserve(s)
	d.send("a", []byte("hello"))
	s.Clock.Advance(time.Second)
	other := reserve(s)
	begin(ann, nil) // her own reservation is not a stranger's
	sent := reserve(s)
	sent.confirm()
	list := ann.Get(path).Want(http.StatusOK)
	if len(list.Value("reservations").([]any)) != 2 || list.String("reservations.0.uid") != other.uid ||
		list.String("reservations.1.uid") != d.uid ||
		list.Value("reservations.1.bytes") != 5.0 || list.String("reservations.1.anonEmail") != "sam@example.com" {
		t.Errorf("%s", list.Body)
	}
	bob.Delete(path + "/" + d.uid).WantError(transfer.ErrNotFound)
	ann.Delete(path + "/" + sent.uid).WantError(transfer.ErrNotFound)
	ann.Delete(path + "/" + d.uid).Want(http.StatusNoContent)
	ann.Delete(path + "/" + d.uid).WantError(transfer.ErrNotFound)
	d.Get(d.path).WantError(transfer.ErrNotFound)
	if got := ann.Get(s.Transfer + "/usage"); got.Value("uploadBytes") != 0.0 {
		t.Errorf("the volume was not released: %s", got.Body)
	}
	other.Get(other.path).Want(http.StatusOK)
	s.Clock.Advance(49 * time.Hour)
	ann.Refresh()
	if got := ann.Get(path).Want(http.StatusOK); len(got.Value("reservations").([]any)) != 0 {
		t.Errorf("expired ones are open: %s", got.Body)
	}
}
