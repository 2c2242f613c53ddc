// Tests of mailboxes in the console.

package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
)

const operatorMailboxes = httpapi.OperatorBase + "/mailboxes"

// TestMailboxesAreFound: an operator finds mailboxes and groups by link, person and organization, page by page.
func TestMailboxesAreFound(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	addOrganization(t, s, "org.test")
	addPerson(t, s, "ann@example.com", "org.test", identity.RoleOrganizationAdmin, transfer.RoleTransferUse)
	ann := signIn(s.Stranger().With("Host", "org.test"), "ann@example.com")
	own := ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "sales-ann"}).Want(http.StatusCreated).String("uid")
	if err := s.App.Identity.SetLimits(t.Context(), testkit.Command, "org.test",
		identity.LimitsChange{MailboxGroups: identity.To(5)}); err != nil {
		t.Fatal(err)
	}
	group := ann.Post(s.Transfer+"/mailboxgroups", map[string]any{"name": "Sales", "vanityLink": "sales", "mailboxUids": []string{own}}).Want(
		http.StatusCreated).String("uid")
	bob := s.SignUp("bob@example.com").Put(s.Transfer+"/mailbox", map[string]any{}).Want(http.StatusCreated).String("uid")
	for query, want := range map[string]string{
		"": group + " " + own, "?link=SALES-": own, "?link=sal%25": "", "?person=BOB@example.com": bob, "?person=" + own: own,
		"?person=nobody@example.com": "",
		"?organization=org.test":     group + " " + own, "?organization=nowhere.test": "",
	} {
		if got, _ := uids(t, olga, operatorMailboxes+query, "mailboxes"); strings.Join(got, " ") != want {
			t.Errorf("%q finds %v, want %s", query, got, want)
		}
	}
	for _, query := range []string{"?link=a&person=b", "?after=x", "?link=%00", "?organization=a&person=b", "?link=%ff"} {
		olga.Get(operatorMailboxes + query).WantError(fault.ErrInvalid)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		WITH p AS (
			INSERT INTO identity.persons (uid, name, locale, time_zone, created_at) SELECT gen_random_uuid(), 'Many', 'en_US', 'UTC', now()
				FROM generate_series(1, 120) RETURNING uid
		), a AS (
			INSERT INTO identity.memberships (person, organization, roles, created_at) SELECT p.uid, h.organization, '{}', now() FROM p,
				identity.hosts h WHERE h.host = 'org.test'
		), m AS (
			INSERT INTO transfer.mailboxes (person, created_at, updated_at) SELECT uid, now(), now() FROM p RETURNING person
		)
		INSERT INTO transfer.vanity_links (host_organization, link, mailbox) SELECT h.organization, 'many-' || person, person FROM m,
			identity.hosts h WHERE h.host = 'org.test'`); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{"?link=many-": 120, "?organization=org.test": 122} {
		got, pages := uids(t, olga, operatorMailboxes+query, "mailboxes")
		slices.Sort(got)
		if different := len(slices.Compact(got)); different != want || len(got) != want || pages != 3 {
			t.Errorf("%s finds %d, %d of them different, in %d pages", query, len(got), different, pages)
		}
	}
}

// TestOperatorChangesMailbox: an operator sees the open reservations of strangers at a mailbox without who began them, ends one and then
// all, and creates a mailbox for a person who has none.
func TestOperatorChangesMailbox(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	ann := s.SignUp("ann@example.com")
	uid := ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann"}).Want(http.StatusCreated).String("uid")
	for range 3 {
		sam, reservation := reserve(s.Stranger(), "ann", 7)
		sam.Put(reservation+"/objects/a/content", []byte("x-ray 1")).Want(http.StatusOK)
	}
	at := operatorMailboxes + "/" + uid
	var before struct {
		Reservations, ReservationsBytes int
		Open                            []struct{ UID string }
	}
	answer := olga.Get(at).Want(http.StatusOK)
	answer.JSON(&before)
	if before.Reservations != 3 || before.ReservationsBytes != 21 || len(before.Open) != 3 || strings.Contains(string(answer.Body), "sam@") ||
		strings.Contains(string(answer.Body), "X-ray") {
		t.Errorf("the mailbox is %s", answer.Body)
	}
	if got := olga.Get(operatorMailboxes + "?link=ann").Want(http.StatusOK); got.Number("mailboxes.0.reservations") != 3 {
		t.Errorf("the list is %s", got.Body)
	}
	end, one := at+"/end-reservations", map[string]any{"reason": "ticket 7", "reservation": before.Open[1].UID}
	olga.Post(end, map[string]any{"reservation": before.Open[1].UID}).WantError(fault.ErrInvalid)
	olga.Post(end, one).Want(http.StatusNoContent)
	olga.Post(end, one).WantError(transfer.ErrNotFound)
	if got := olga.Get(at).Want(http.StatusOK).Number("reservations"); got != 2 {
		t.Errorf("%v reservations are left, want 2", got)
	}
	olga.Post(end, map[string]any{"reason": "ticket 8"}).Want(http.StatusNoContent)
	olga.Post(end, map[string]any{"reason": "ticket 8"}).Want(http.StatusNoContent)
	if got := olga.Get(at).Want(http.StatusOK).Number("reservations"); got != 0 {
		t.Errorf("%v reservations are left", got)
	}
	entries, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: "reservation.end"})
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries (%v)", len(entries), err)
	}
	if e := entries[2]; e.Person == e.Target || e.Details["why"] != "ticket 7" || e.Target.String() != uid {
		t.Errorf("the first entry is %+v", e)
	}

	bob, err := s.App.Identity.ShowPerson(t.Context(), s.SignUp("bob@example.com").Email)
	if err != nil {
		t.Fatal(err)
	}
	at = operatorMailboxes + "/" + bob.UID.String()
	olga.Get(at).WantError(transfer.ErrNotFound)
	olga.Post(at+"/create", map[string]any{"reason": "ticket 9", "link": "ann"}).WantError(transfer.ErrVanityLink)
	olga.Post(at+"/create", map[string]any{"reason": "ticket 9", "link": "bob"}).Want(http.StatusNoContent)
	olga.Post(at+"/create", map[string]any{"reason": "ticket 9", "link": "bob2"}).WantError(fault.ErrConflict)
	if got := olga.Get(at).Want(http.StatusOK); got.String("link") != "bob" || got.Value("absent") != false {
		t.Errorf("the new mailbox is %s", got.Body)
	}
	for _, path := range []string{"/x", "/" + id.New[id.Person]().String()} {
		olga.Get(operatorMailboxes + path).WantError(transfer.ErrNotFound)
		for _, verb := range []string{"create", "end-reservations"} {
			olga.Post(fmt.Sprintf("%s%s/%s", operatorMailboxes, path, verb), map[string]any{"reason": "x"}).WantError(transfer.ErrNotFound)
		}
	}
}
