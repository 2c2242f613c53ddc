// Tests of transfers in the console.

package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
)

const operatorTransfers = httpapi.OperatorBase + "/transfers"

// sendTo sends a file to a mailbox as Sam, and returns the uid of the transfer.
func sendTo(s *testkit.Server, mailbox string) string {
	sam, reservation := reserve(s.Stranger(), mailbox, 7)
	sam.Put(reservation+"/objects/a/content", []byte("x-ray 1")).Want(http.StatusOK)
	return sam.Post(reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
}

// uids returns the uids of all pages of a list of the console that begins at path.
func uids(t *testing.T, olga *testkit.Person, path, member string) (all []string, pages int) {
	t.Helper()
	at := path
	for at != "" {
		answer := olga.Get(at).Want(http.StatusOK)
		for _, item := range answer.Value(member).([]any) {
			all = append(all, item.(map[string]any)["uid"].(string))
		}
		pages++
		var body struct{ Next string }
		answer.JSON(&body)
		if at = ""; body.Next != "" {
			separator := "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			at = path + separator + "after=" + body.Next
		}
	}
	return all, pages
}

// TestTransfersAreFound: an operator finds transfers by person, mailbox, organization and state, newest first and page by page, and sees
// nothing of their contents.
func TestTransfersAreFound(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	bob.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "bob"}).Want(http.StatusCreated)
	var toAnn []string
	for range 2 {
		toAnn = append([]string{sendTo(s, "ann")}, toAnn...)
		s.Clock.Advance(time.Minute)
	}
	toBob := sendTo(s, "bob")
	expectTransfers(t, olga, map[string]string{
		"": toBob + " " + strings.Join(toAnn, " "), "?person=ANN@example.com": strings.Join(toAnn, " "), "?mailbox=bob@example.com": toBob,
		"?person=nobody@example.com": "", "?organization=nowhere.test": "", "?mailbox=" + id.New[id.Person]().String(): "", "?state=revoked": "",
		"?state=delivered&mailbox=bob@example.com": toBob,
	})
	report := olga.Get(operatorTransfers + "/" + toBob).Want(http.StatusOK)
	if report.String("owner.email") != "bob@example.com" || report.Number("files") != 1 || report.Number("bytes") != 7 ||
		report.String("sender.email") != "sam@example.com" {
		t.Errorf("the transfer is %s", report.Body)
	}
	for _, secret := range []string{"X-ray", "x.bin"} {
		for _, answer := range []*testkit.Response{report, olga.Get(operatorTransfers)} {
			if strings.Contains(string(answer.Body), secret) {
				t.Errorf("%s is in %s", secret, answer.Body)
			}
		}
	}
	free := report.String("organization.uid")
	expectTransfers(t, olga, map[string]string{"?organization=" + free: toBob + " " + strings.Join(toAnn, " "),
		"?organization=" + report.String("organization.uid") + "&state=accessed": ""})
	for _, query := range []string{"?state=lost", "?after=x", "?person=a&mailbox=b", "?after=AAAAAAAAAAAAAAAAAAAAAAA", "?person=%00"} {
		olga.Get(operatorTransfers + query).WantError(fault.ErrInvalid)
	}
	for _, uid := range []string{"x", id.New[id.Transfer]().String()} {
		olga.Get(operatorTransfers + "/" + uid).WantError(transfer.ErrNotFound)
	}
}

func expectTransfers(t *testing.T, olga *testkit.Person, queries map[string]string) {
	t.Helper()
	for query, want := range queries {
		if got, _ := uids(t, olga, operatorTransfers+query, "transfers"); strings.Join(got, " ") != want {
			t.Errorf("%q finds %q, want %q", query, strings.Join(got, " "), want)
		}
	}
}

// TestManyTransfersAreFound: no page of many transfers leaves one out, whatever selects them. A rare state is found behind many others.
func TestManyTransfersAreFound(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated)
	first := sendTo(s, "ann")
	olga.Post(operatorTransfers+"/"+first+"/revoke", map[string]any{"reason": "first"}).Want(http.StatusNoContent)
	// Copies of it, some of the same time, each received by Ann.
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		WITH r AS (
			INSERT INTO transfer.reservations (uid, type, state, transfer, owner, limits_organization, ttl, protection, max_files, max_file_size_mb,
				max_recipients, created_at, expires_at)
			SELECT gen_random_uuid(), 'mailbox', 'confirmed', (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, t.owner,
				t.limits_organization, 7, 'none', 1, 1, 1,
				t.created_at + (n / 3) * interval '1 second', t.expires_at FROM transfer.transfers t, generate_series(1, 2220) n RETURNING *
		), t AS (
			INSERT INTO transfer.transfers (uid, reservation, type, owner, sender_managed, limits_organization, delivery_notification, protection,
				object_count, total_bytes, created_at, expires_at)
			SELECT transfer, uid, type, owner, false, limits_organization, false, 'none', 1, 1, created_at, expires_at + interval '7 days' FROM r
				RETURNING *
		)
		INSERT INTO transfer.deliveries (uid, transfer, position, destination_type, person, email, key_hash, created_at)
		SELECT gen_random_uuid(), uid, 1, 'to', owner, 'ann@example.com', sha256(uid::text::bytea), created_at FROM t`); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"?person=ann@example.com", "?mailbox=ann@example.com"} {
		got, pages := uids(t, olga, operatorTransfers+query, "transfers")
		seen := map[string]bool{}
		for _, uid := range got {
			seen[uid] = true
		}
		if len(got) != 2221 || len(seen) != 2221 || pages != 45 {
			t.Errorf("%s has %d transfers, %d of them different, in %d pages", query, len(got), len(seen), pages)
		}
	}
	got, pages := uids(t, olga, operatorTransfers+"?mailbox=ann@example.com&state=revoked", "transfers")
	if len(got) != 1 || got[0] != first || pages != 2 {
		t.Errorf("revoked are %v, in %d pages", got, pages)
	}
}

// TestOperatorChangesTransfer: an operator extends and revokes a transfer for a reason. The audit has both, and the sender does not see
// where the operator was.
func TestOperatorChangesTransfer(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	ann := s.SignUp("ann@example.com")
	made := ann.Post(s.Transfer+"/reservations", map[string]any{"type": "drop", "ttl": 7, "subject": "Plans"}).Want(http.StatusCreated)
	reservation := s.Transfer + "/reservations/" + made.String("uid")
	ann.Post(reservation+"/objects", map[string]any{"clientId": "a", "name": "plans.pdf", "intendedSize": 5}).Want(http.StatusCreated)
	ann.Put(reservation+"/objects/a/content", []byte("plans")).Want(http.StatusOK)
	uid := ann.Post(reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
	at := operatorTransfers + "/" + uid
	for _, body := range []any{map[string]any{"days": 30}, map[string]any{"reason": "x", "days": 0},
		map[string]any{"reason": "x", "days": 3651}, map[string]any{"reason": "x", "days": 1}} {
		olga.Post(at+"/extend", body).WantError(fault.ErrInvalid)
	}
	olga.Post(at+"/extend", map[string]any{"reason": "ticket 7", "days": 30}).Want(http.StatusNoContent)
	until, err := time.Parse(time.RFC3339, olga.Get(at).Want(http.StatusOK).String("expiresAt"))
	if want := s.Clock.Now().Add(30 * 24 * time.Hour); err != nil || until.Before(want.Add(-time.Minute)) ||
		until.After(want.Add(time.Minute)) {
		t.Errorf("it expires at %v (%v)", until, err)
	}
	olga.Post(at+"/revoke", map[string]any{"reason": ""}).WantError(fault.ErrInvalid)
	olga.Post(at+"/revoke", map[string]any{"reason": "ticket 8"}).Want(http.StatusNoContent)
	if got := olga.Get(at).Want(http.StatusOK); got.String("state") != "revoked" || got.String("endedAt") == "" {
		t.Errorf("the transfer is %s", got.Body)
	}
	olga.Post(at+"/revoke", map[string]any{"reason": "again"}).WantError(transfer.ErrEnded)
	olga.Post(at+"/extend", map[string]any{"reason": "again", "days": 60}).WantError(transfer.ErrEnded)
	olga.Post(at+"/inspect", map[string]any{"reason": "no scanner"}).WantError(fault.ErrConflict)
	if olga.Get(at).Want(http.StatusOK).Value("hasReceipt") != true {
		t.Error("there is no receipt")
	}
	olga.Post(at+"/erase-receipt", map[string]any{"reason": "ticket 9"}).Want(http.StatusNoContent)
	if olga.Get(at).Want(http.StatusOK).Value("hasReceipt") != false {
		t.Error("the receipt was not erased")
	}
	olga.Post(operatorTransfers+"/"+id.New[id.Transfer]().String()+"/erase-receipt",
		map[string]any{"reason": "x"}).WantError(transfer.ErrNotFound)
	activity := ann.Get(s.Transfer + "/transfers/" + uid + "/activity").Want(http.StatusOK)
	for _, a := range activity.Value("activity").([]any) {
		if m := a.(map[string]any); (m["kind"] == "changed" || m["kind"] == "revoked") && m["addresses"] != nil {
			t.Errorf("the sender sees %v", m)
		}
	}
	operator, err := s.App.Identity.ShowPerson(t.Context(), "olga@example.com")
	if err != nil {
		t.Fatal(err)
	}
	for action, why := range map[string]string{"transfer.update": "ticket 7", "transfer.revoke": "ticket 8", "receipt.erase": "ticket 9"} {
		entries, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: action})
		if err != nil || len(entries) != 1 || entries[0].Person != operator.UID || entries[0].Details["why"] != why {
			t.Errorf("%s is %+v (%v)", action, entries, err)
		}
	}
}
