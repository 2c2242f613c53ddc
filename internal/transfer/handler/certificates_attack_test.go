// Attacks on certificates of erasure (contract 4.32): who reads one, and what a guessed key tells.

package handler_test

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// TestAttackCertificatesOfOthers: somebody who knows the uid of an erased transfer gets its certificate only as sender, recipient, or
// administrator of the organization. Everybody else is answered as if there were no such transfer, at any time.
func TestAttackCertificatesOfOthers(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, eve := newOffice(t)
	certificate := func(uid string) string { return s.Transfer + "/transfers/" + uid + "/receipt?of=erased" }
	path, uid := handPlans(bob)
	locked := deliver(bob, object{"subject": "Safe", "recipients": []object{to("eve@example.com")}, "protection": "password",
		"password": "vermilion"}, [2]string{"a.txt", "hello"})
	link := linkTo(s, "eve@example.com")
	free, ofFree := handPlans(eve) // of the free organization
	sign := func(name string) *testkit.Person { return s.SignUp(name + "@example.com") }
	dan, gus, hal, kim, lea, fay := sign("dan"), sign("gus"), sign("hal"), sign("kim"), sign("lea"), sign("fay")
	createOrganization(gus, "Globex")
	acme.join(ann, hal, use)
	for _, p := range []*testkit.Person{kim, lea} {
		acme.join(ann, p, identity.RoleOrganizationAdmin)
	}
	ann.Delete(acme.path + "/members/" + uidOf(kim)).Want(http.StatusNoContent)
	ann.Put(acme.path+"/members/"+uidOf(lea), object{"roles": []string{use}}).Want(http.StatusOK)
	if err := s.App.Identity.SetMember(t.Context(), testkit.Command, "free", fay.Email,
		[]string{identity.RoleOrganizationAdmin, use}); err != nil {
		t.Fatal(err)
	}
	kim, lea, fay = kim.Login(), lea.Login(), fay.Login()
	others := map[string]*testkit.Person{"an outsider": dan, "another organization's administrator": gus, "a member": hal,
		"an expelled administrator": kim, "a demoted one": lea, "the administrator of the free organization": fay}
	refused := func(when string) {
		t.Helper()
		for name, p := range others {
			unknown := p.Get(certificate(uuid.NewString()))
			unknown.WantError(transfer.ErrNotFound)
			for _, of := range []string{uid, locked.uid, ofFree} {
				if got := p.Get(certificate(of)); got.Status != unknown.Status || !bytes.Equal(got.Body, unknown.Body) {
					t.Errorf("%s: %s gets %d %s", when, name, got.Status, got.Body)
				}
			}
		}
		s.Stranger().Get(certificate(uid)).WantError(token.ErrMissing)
	}
	refused("before")
	for at, p := range map[string]*testkit.Person{path: bob, locked.path: bob, free: eve} {
		p.Delete(at).Want(http.StatusNoContent)
	}
	refused("before the purge")
	purgedTo(t, s, 0)
	run(t, s, service.CertifyErasureJob)
	refused("while it is signed")
	for _, p := range []*testkit.Person{bob, eve, ann} {
		signed(t, p, certificate(uid))
	}
	signed(t, ann, certificate(locked.uid))
	signed(t, eve, certificate(ofFree))
	refused("after")
	ann.Get(certificate(ofFree)).WantError(transfer.ErrNotFound)
	eve.Get(certificate(locked.uid)).WantError(transfer.ErrNotFound) // never opened it
	s.Stranger().Get(link + "/receipt?of=erased").WantError(transfer.ErrNotFound)
	for _, kind := range []string{"", "?of=delivered", "?of=revoked", "?of=downloaded"} {
		ann.Get(path + "/receipt" + kind).WantError(transfer.ErrNotFound) // what it says is not the administrators'
	}
	program(ann, token.ScopeOrganizationManage, token.ScopeTransfersSend).Get(certificate(uid)).WantError(token.ErrScope)
	reads := program(ann, token.ScopeTransfersRead)
	reads.Get(certificate(uid)).Want(http.StatusOK)

	bob.Delete(s.Identity + "/profile").Want(http.StatusNoContent)
	finished(t, s, 1, 0)
	again := s.SignUp("bob+again@example.com")
	others = map[string]*testkit.Person{"a new account": again}
	refused("after the sender's account")
	if err := s.App.Identity.SuspendPerson(t.Context(), testkit.Command, ann.Email); err != nil {
		t.Fatal(err)
	}
	cutOff(t, certificate(uid), ann, reads)
	ann.Get(certificate(uid)).WantError(token.ErrEnded)
	reads.Get(certificate(uid)).WantError(token.ErrInvalid)
}

// TestAttackCertificateKeys: keys near those in mails, and what a stranger can make of a uid, open no certificate and check no address. The
// key of one account opens its own certificate only, which names nobody.
func TestAttackCertificateKeys(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, eve := newOffice(t)
	d := reserve(s)
	d.send("a", []byte("hello"))
	sent := d.confirm()
	ofSam := mailedReceipt(t, s, "sam@example.com", 1)
	handPlans(eve)
	shared := linkTo(s, "eve@example.com")
	keys, people := map[string]string{}, map[string]string{bob.Email: uidOf(bob), eve.Email: uidOf(eve)}
	for _, p := range []*testkit.Person{bob, eve} {
		p.Delete(s.Identity + "/profile").Want(http.StatusNoContent)
		keys[p.Email] = s.Mail.Wait(t, p.Email, "Your account was deleted", 1).Key(t, "/r/")
	}
	ann.Delete(s.Transfer + "/transfers/" + sent).Want(http.StatusNoContent)
	finished(t, s, 2, 1) // what eve sent stays
	if n := certified(t, s); n != 2 {
		t.Fatalf("%d accounts have a certificate", n)
	}
	run(t, s, service.CertifyErasureJob)

	public := s.Transfer + "/public/receipts/"
	key, person := keys[bob.Email], uuid.MustParse(people[bob.Email])
	near := []byte(key)
	near[20] ^= 1
	guesses := []string{people[bob.Email], sent, base64.RawURLEncoding.EncodeToString(person[:]),
		base64.RawURLEncoding.EncodeToString(proof.Entry(person[:])), base64.RawURLEncoding.EncodeToString(make([]byte, 32)),
		string(near), key[:42], key + "A", strings.ToUpper(key), shared[len(shared)-43:], strings.Repeat("a", 2000), "%00", "..%2f" + key}
	nothing := s.Stranger().Get(public + strings.Repeat("x", 43))
	nothing.WantError(transfer.ErrNotFound)
	for _, guess := range guesses {
		for _, got := range []*testkit.Response{s.Stranger().Get(public + guess), s.Stranger().Post(public+guess, nil),
			s.Stranger().Get(public + guess + "/receipt?of=erased")} {
			if got.Status != http.StatusNotFound || !bytes.Equal(got.Body, nothing.Body) {
				t.Errorf("%s answers %d %s", guess, got.Status, got.Body)
			}
		}
	}
	for email, key := range keys {
		for _, kind := range []string{"", "?of=delivered", "?of=revoked", "?of=expired"} {
			s.Stranger().Get(public + key + "/receipt" + kind).WantError(transfer.ErrNotFound)
		}
		statement, _, err := proof.Split(signed(t, s.Stranger(), public+key+"/receipt?of=erased"))
		if err != nil {
			t.Fatal(err)
		}
		told := string(s.Stranger().Get(public+key).Want(http.StatusOK).Body) + string(statement)
		if !strings.Contains(told, people[email]) {
			t.Errorf("%s is told of somebody else: %s", email, told)
		}
		for other, uid := range people {
			if name, _, _ := strings.Cut(other, "@"); other != email && strings.Contains(told, uid) || strings.Contains(told, other) ||
				strings.Contains(told, strings.ToUpper(name[:1])+name[1:]) {
				t.Errorf("%s is told of %s: %s", email, other, told)
			}
		}
		if n := count(t, s, `SELECT count(*) FROM transfer.person_erasures e WHERE e::text LIKE '%' || $1 || '%'`, key); n != 0 {
			t.Error("the database has a key")
		}
	}

	s.Stranger().Get(ofSam + "/receipt?of=erased").WantError(transfer.ErrLocked) // until the address is checked
	s.Stranger().Post(ofSam, nil).Want(http.StatusOK)
	statement, _, err := proof.Split(signed(t, s.Stranger(), ofSam+"/receipt?of=erased"))
	if err != nil || !strings.Contains(string(statement), sent) {
		t.Errorf("%v %s", err, statement)
	}
	if _, err := s.App.Transfer.PersonCertificate(t.Context(), id.Person{UUID: uuid.MustParse(sent)}); err == nil {
		t.Error("the uid of a transfer has the certificate of a person")
	}
}
