// Tests of the rules of organizations about how long things stay, and of the certificate of erasure.

package handler_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/fault"
	holds "github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// ruled stores rules of ann's organization with a proof, and waits until transfers have them.
func ruled(t *testing.T, s *testkit.Server, ann *testkit.Person, retention object) {
	t.Helper()
	ann.Put(s.Transfer+"/adminunit", object{"availableTtl": []int{1, 7}, "defaultTtl": 7, "retention": retention,
		"authKey": testkit.Password}).Want(http.StatusOK)
	poll.Until(t, "it is done", func() bool {
		return count(t, s, `SELECT count(*) FROM river_job WHERE kind = 'transfer_retention' AND state <> 'completed'`) == 0
	})
}

// handPlans sends a file from a member to eve, and returns the path of the transfer and its uid.
func handPlans(p *testkit.Person) (path, uid string) {
	d, _ := begin(p, object{"subject": "Plans", "recipients": []object{to("eve@example.com")}})
	d.send("a", []byte("hello"))
	uid = d.confirm()
	return p.Server.Transfer + "/transfers/" + uid, uid
}

func TestRetentionRules(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, _ := newOffice(t)
	unit := s.Transfer + "/adminunit"
	for member, rules := range map[string]object{
		"retention.transfers.most":  {"transfers": object{"least": 10, "most": 9}},
		"retention.transfers.least": {"transfers": object{"least": -1}},
		"retention.receipts.most":   {"receipts": object{"most": 36_501}},
		"retention.mails.least":     {"mails": object{"least": 1}},
		"retention.audit.most":      {"audit": object{"most": 29}},
		"availableTtl":              {"transfers": object{"most": 29}}, // 30 days are among the defaults
	} {
		r := ann.Put(unit, object{"retention": rules, "authKey": testkit.Password})
		r.WantError(fault.ErrInvalid)
		if !strings.HasPrefix(r.Details(), member) {
			t.Errorf("%s: %q", member, r.Details())
		}
	}
	bob.Put(unit, object{"retention": object{"transfers": object{"most": 40}}}).WantError(transfer.ErrAdminRole)
	set := ann.Put(unit, object{"retention": object{"transfers": object{"least": 2, "most": 40}},
		"authKey": testkit.Password}).Want(http.StatusOK)
	if set.Value("retention.transfers.least") != 2.0 || set.Value("retention.transfers.most") != 40.0 ||
		string(bob.Get(unit).Want(http.StatusOK).Body) != string(set.Body) {
		t.Errorf("%s", set.Body)
	}
}

// TestMostOfTransfers: after the most of its organization a transfer is erased, also a pinned, extended or held one, and one that was there
// before the rule once the change could be undone no longer.
func TestMostOfTransfers(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, _ := newOffice(t)
	before, _ := handPlans(bob)
	s.Clock.Advance(9 * 24 * time.Hour) // within its grace, and older than the rule allows
	bob = bob.Login()
	ann = ann.Login()
	ruled(t, s, ann, object{"transfers": object{"most": 7}})
	run(t, s, service.ExpireTransfersJob)
	if got := bob.Get(before).Want(http.StatusOK); got.String("subject") != "Plans" {
		t.Errorf("the rule erased at once what was there before: %s", got.Body)
	}
	path, _ := handPlans(bob)
	made := s.Clock.Now()
	bob.Patch(path, object{"ttl": 7}).Want(http.StatusOK)
	s.Clock.Advance(5 * 24 * time.Hour)
	bob = bob.Login()
	latest := bob.Patch(path, object{"ttl": 7}).Want(http.StatusOK)
	if at, err := time.Parse(time.RFC3339, latest.String("expiresAt")); err != nil || at.After(made.Add(7*24*time.Hour)) {
		t.Errorf("an extension goes beyond the rule: %s", latest.Body)
	}
	sam := reserve(s) // to ann's mailbox, and pinned
	sam.send("x", []byte("x-ray"))
	received := s.Transfer + "/transfers/" + sam.confirm()
	ann = ann.Login()
	ann.Patch(received, object{"pinned": true}).Want(http.StatusOK)
	s.Clock.Advance(3 * 24 * time.Hour)
	run(t, s, service.ExpireTransfersJob)
	bob = bob.Login()
	for _, gone := range []string{path, before} {
		if got := bob.Get(gone).Want(http.StatusOK); got.String("state") != "expired" || strings.Contains(string(got.Body), "Plans") {
			t.Errorf("it is not erased: %s", got.Body)
		}
	}
	ann = ann.Login()
	ann.Get(received + "/archive").Want(http.StatusOK)
	s.Clock.Advance(5 * 24 * time.Hour)
	run(t, s, service.ExpireTransfersJob)
	ann = ann.Login()
	ann.Get(received + "/archive").WantError(transfer.ErrNotFound)
}

// TestMostUndone: a rule that goes gives the transfers back the expiry that it had cut; what the sender chose meanwhile stays.
func TestMostUndone(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, _ := newOffice(t)
	path, _ := handPlans(bob)
	chosen, _ := handPlans(bob)
	expiry := func(path string) string { return bob.Get(path).Want(http.StatusOK).String("expiresAt") }
	ann.Put(s.Transfer+"/adminunit", object{"availableTtl": []int{1, 7, 30}, "defaultTtl": 7}).Want(http.StatusOK)
	bob.Patch(path, object{"ttl": 30}).Want(http.StatusOK)
	bob.Patch(chosen, object{"ttl": 30}).Want(http.StatusOK)
	before := expiry(path)
	ruled(t, s, ann, object{"transfers": object{"most": 7}})
	cut := expiry(path)
	bob.Patch(path, object{"subject": "Plans of the house"}).Want(http.StatusOK) // leaves the expiry as it is
	bob.Patch(chosen, object{"ttl": 1}).Want(http.StatusOK)
	sooner := expiry(chosen)
	ruled(t, s, ann, object{})
	if cut >= before || expiry(path) != before || sooner >= cut || expiry(chosen) != sooner {
		t.Errorf("from %s to %s and back to %s; chosen %s, then %s", before, cut, expiry(path), sooner, expiry(chosen))
	}
}

// TestLeastOfTransfers: what is deleted before the least ends for everybody, and its bytes stay until then. Nobody in the organization
// sees or ends what keeps them.
func TestLeastOfTransfers(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, eve := newOffice(t)
	ruled(t, s, ann, object{"transfers": object{"least": 30}})
	path, _ := handPlans(bob)
	other, _ := handPlans(eve) // of the free organization
	bob.Delete(path).Want(http.StatusNoContent)
	eve.Delete(other).Want(http.StatusNoContent)
	eve.Get(path + "/archive").WantError(transfer.ErrNotFound)
	keeps(t, s, 1)
	run(t, s, service.CertifyErasureJob)
	if n := count(t, s, `SELECT count(*) FROM transfer.receipts WHERE kind = 'erased'`); n != 1 {
		t.Errorf("%d erasures are certified, one of two transfers is kept", n)
	}
	var kept uuid.UUID
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT uid FROM holds WHERE kind = 'retention'`).Scan(&kept); err != nil {
		t.Fatal(err)
	}
	list := s.Transfer + "/adminunit/holds"
	if found := ann.Get(list).Want(http.StatusOK); len(found.Value("holds").([]any)) != 0 {
		t.Errorf("%s", found.Body)
	}
	ann.Post(list+"/"+kept.String()+"/end", object{"reason": "Away with it", "authKey": testkit.Password}).WantError(holds.ErrNotFound)
	useToken(ann, ann.Delete(acme.path).Want(http.StatusNoContent)) // nor does the end of the organization
	for _, days := range []time.Duration{29, 2} {
		keeps(t, s, 1)
		s.Clock.Advance(days * 24 * time.Hour)
		if err := holds.Expire(t.Context(), s.App.DB, s.Clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	keeps(t, s, 0)
	run(t, s, service.CertifyErasureJob)
	if n := count(t, s, `SELECT count(*) FROM transfer.receipts WHERE kind = 'erased'`); n != 2 {
		t.Errorf("%d erasures are certified", n)
	}
}

// keeps purges, and waits until so many files are stored. Kept ones count as volume of the organization.
func keeps(t *testing.T, s *testkit.Server, n int) {
	t.Helper()
	run(t, s, content.PurgeBytesJob)
	poll.Until(t, "the purge is done", func() bool { return stored(t, s) == n })
	if got := count(t, s, `SELECT coalesce(sum(bytes), 0)::int FROM transfer.stored_totals`); got != 5*n {
		t.Errorf("%d bytes count as stored, want %d", got, 5*n)
	}
}

// TestHoldBeatsMost: the most of an organization ends access to a held transfer, and its bytes stay.
func TestHoldBeatsMost(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, _ := newOffice(t)
	ruled(t, s, ann, object{"transfers": object{"most": 7}})
	path, uid := handPlans(bob)
	held, err := holds.Add(t.Context(), s.App.DB, testkit.Command,
		holds.Hold{Kind: holds.Transfer, Subject: uuid.MustParse(uid), Name: "Case 7", Reason: "Court order"}, s.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(7*24*time.Hour + time.Minute)
	run(t, s, service.ExpireTransfersJob)
	bob = bob.Login()
	if got := bob.Get(path).Want(http.StatusOK); got.String("state") != "expired" || strings.Contains(string(got.Body), "Plans") {
		t.Errorf("%s", got.Body)
	}
	purged(t, s, 1)
	if err := holds.End(t.Context(), s.App.DB, testkit.Command, id.Organization{}, held, s.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	purged(t, s, 0)
}

// TestRetentionOfReceiptsMailsAudit: each kind is erased after its most, and only of the organization; a receipt not before its least.
func TestRetentionOfReceiptsMailsAudit(t *testing.T) {
	t.Parallel()
	s, acme, ann, bob, eve := newOffice(t)
	ruled(t, s, ann, object{"receipts": object{"least": 20, "most": 60}, "mails": object{"most": 10}, "audit": object{"most": 30}})
	path, _ := handPlans(bob)
	other, _ := handPlans(eve)
	poll.Until(t, "it is done", func() bool { return count(t, s, `SELECT count(*) FROM mails WHERE state = 'queued'`) == 0 })
	mails := func(of string) int {
		return count(t, s, `SELECT count(*) FROM mails WHERE recipient <> '' AND reference LIKE 'delivery:%' AND organization `+of, acme.uid)
	}
	audited := func() int { return count(t, s, `SELECT count(*) FROM audit WHERE organization = $1`, acme.uid) }
	if mails("= $1") != 1 || mails("<> $1") != 1 || audited() == 0 {
		t.Fatalf("mails %d and %d, audit %d", mails("= $1"), mails("<> $1"), audited())
	}
	s.Clock.Advance(11 * 24 * time.Hour)
	run(t, s, service.RetentionJob)
	if mails("= $1") != 0 || mails("<> $1") != 1 || audited() == 0 {
		t.Errorf("after 11 days: mails %d and %d, audit %d", mails("= $1"), mails("<> $1"), audited())
	}
	s.Clock.Advance(20 * 24 * time.Hour)
	run(t, s, service.RetentionJob)
	if n := audited(); n != 0 {
		t.Errorf("after 31 days %d entries of the audit are left", n)
	}
	bob = bob.Login()
	signed(t, bob, path+"/receipt")
	s.Clock.Advance(30 * 24 * time.Hour)
	run(t, s, service.RetentionJob)
	bob = bob.Login()
	eve = eve.Login()
	bob.Get(path + "/receipt").WantError(transfer.ErrNotFound)
	signed(t, eve, other+"/receipt") // that of another organization stays
	if n := count(t, s, `SELECT count(*) FROM hold_rows WHERE source = 'transfer.receipts'`); n != 0 {
		t.Errorf("%d receipts are kept after their most", n)
	}
	later, uid := handPlans(bob)
	if err := s.App.Transfer.EraseReceipts(t.Context(), testkit.Command, id.Transfer{UUID: uuid.MustParse(uid)}); err != nil {
		t.Fatal(err)
	}
	bob.Get(later + "/receipt").WantError(transfer.ErrNotFound)
	if n := count(t, s, `SELECT count(*) FROM hold_rows WHERE source = 'transfer.receipts' AND data ->> 'body' IS NOT NULL`); n != 1 {
		t.Errorf("%d erased receipts are kept until their least", n)
	}
}

// TestCertificateOfErasure: each reason is stated, with nothing that names a person or file; it outlives the receipt.
func TestCertificateOfErasure(t *testing.T) {
	t.Parallel()
	s, _, ann, bob, eve := newOffice(t)
	deleted, _ := handPlans(bob)
	expired, _ := handPlans(bob)
	_, lost := handPlans(bob)
	bob.Delete(deleted).Want(http.StatusNoContent)
	if err := s.App.Transfer.EraseReceipts(t.Context(), testkit.Command, id.Transfer{UUID: uuid.MustParse(lost)}); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(15 * 24 * time.Hour)
	run(t, s, service.ExpireTransfersJob)
	purged(t, s, 0)
	run(t, s, service.CertifyErasureJob)
	bob = bob.Login()
	for path, reason := range map[string]string{deleted: "deletion", expired: "expiry", s.Transfer + "/transfers/" + lost: "expiry"} {
		file := signed(t, bob, path+"/receipt?of=erased")
		statement, _, err := proof.Split(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := transfer.ParseStatement(statement)
		if err != nil || got.Get("event") != "erased" || got.Get("reason") != reason || got.Get("files") != "1" || got.Get("ended") == "" {
			t.Errorf("%s: %v %s", reason, err, statement)
		}
		for _, word := range []string{"@", "Plans", "Bob", "Eve"} {
			if strings.Contains(string(statement), word) {
				t.Errorf("it says %q: %s", word, statement)
			}
		}
	}
	eve = eve.Login()
	signed(t, eve, deleted+"/receipt?of=erased")
	ann = ann.Login()
	signed(t, ann, deleted+"/receipt?of=erased")
	ann.Get(deleted + "/receipt").WantError(transfer.ErrNotFound)
	s.SignUp("dan@example.com").Get(deleted + "/receipt?of=erased").WantError(transfer.ErrNotFound)
}

// signed reads a statement once it is signed.
func signed(t *testing.T, p *testkit.Person, path string) (file []byte) {
	t.Helper()
	poll.Until(t, "it is done", func() bool {
		r := p.Get(path)
		if r.Status == http.StatusAccepted {
			return false
		}
		file = r.Want(http.StatusOK).Body
		return true
	})
	return file
}
