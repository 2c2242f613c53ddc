// Tests of reservations at a mailbox.

package handler_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

func TestReservingAMailbox(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	sam := s.Stranger()
	public := s.Transfer + "/public/mailbox/ann"
	made := sam.Post(public, map[string]any{"subject": "Plans", "ttl": 99, "protection": "password", "recipients": []any{}}).Want(
		http.StatusCreated)
	if made.Header.Get("Location") != s.URL+s.Transfer+"/reservations/"+made.String("uid") {
		t.Errorf("Location %s", made.Header.Get("Location"))
	}
	if made.Value("ttl") != 7.0 || made.String("protection") != "none" || made.String("recipients.0.email") != "ann@example.com" ||
		made.String("type") != "mailbox" || made.String("recipients.0.destinationType") != "to" || made.Value("maxRecipients") != 1.0 {
		t.Errorf("%s", made.Body)
	}
	sam.With("Content-Type", "application/json").Post(public, "{").WantError(fault.ErrInvalid)
	sam.With("Content-Type", "text/plain").Post(public, "{}").WantError(fault.ErrUnsupported)
	sam.Post(public, map[string]any{"anonEmail": "no address", "subject": strings.Repeat("é", 128)}).WantError(fault.ErrInvalid)
	sam.As("rubbish").Post(public, nil).Want(http.StatusCreated) // ignored, as GET does

	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "secure": true}).Want(http.StatusOK)
	if got := sam.Post(public, nil).Want(http.StatusCreated).String("protection"); got != "recipientAuthentication" {
		t.Errorf("a secure mailbox reserves with protection %s", got)
	}
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "absent": true, "absenceMessage": "Back on Monday"}).Want(http.StatusOK)
	sam.Post(public, nil).WantError(transfer.ErrAbsent)
	sam.Get(public).Want(http.StatusOK)
}

func TestNewTransferBucket(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t, ofTwenty) // CONSIGN_RATE_LIMIT=off does not disable this bucket
	public := s.Transfer + "/public/mailbox/ann"
	for range 20 {
		s.Stranger().Post(public, nil).Want(http.StatusCreated)
	}
	refused := s.Stranger().Post(public, nil)
	refused.WantError(transfer.ErrClientTransfers)
	if refused.Header.Get("Retry-After") != "60" {
		t.Errorf("Retry-After %s", refused.Header.Get("Retry-After"))
	}
	s.Stranger().Post(public, map[string]any{"anonEmail": "x"}).WantError(fault.ErrInvalid)
	s.Clock.Advance(time.Minute)
	s.Stranger().Post(public, nil).Want(http.StatusCreated)
}

func TestReservationTokenOpensItsOwnOnly(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	one, other := reserve(s), reserve(s)
	one.attach("a", 5)
	for _, p := range []*testkit.Person{other.Person, ann} {
		p.Get(one.path).WantError(transfer.ErrNotFound)
		p.Patch(one.path, map[string]any{}).WantError(transfer.ErrNotFound)
		p.Delete(one.path).WantError(transfer.ErrNotFound)
		p.Post(one.path+"/confirm", nil).WantError(transfer.ErrNotFound)
		p.Post(one.path+"/objects", map[string]any{"clientId": "b", "name": "b", "intendedSize": 1}).WantError(transfer.ErrNotFound)
		p.Get(one.path + "/objects/a").WantError(transfer.ErrNotFound)
		p.Delete(one.path + "/objects/a").WantError(transfer.ErrNotFound)
		p.Put(one.path+"/objects/a/content", []byte("hello")).WantError(transfer.ErrNotFound)
		p.Head(one.path + "/objects/a/content").Want(http.StatusNotFound)
	}
	s.Stranger().Get(one.path).WantError(token.ErrMissing)
	one.Get(s.Transfer + "/transfers").WantError(token.ErrKind)
	one.Get(s.Transfer + "/reservations/no-uid").WantError(transfer.ErrNotFound)
	one.Get(one.path).Want(http.StatusOK)
}

func TestPatchingAReservation(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s)
	d.attach("a", 5)
	got := d.Patch(d.path, map[string]any{"subject": "Plans", "message": "two\nlines", "fields": map[string]any{"nr": "7"}}).Want(
		http.StatusOK)
	if got.String("anonSender") != "Sam" || got.String("subject") != "Plans" || got.String("fields.nr") != "7" ||
		got.String("objects.0.clientId") != "a" {
		t.Errorf("%s", got.Body)
	}
	d.With("Content-Type", "application/json").Patch(d.path, d.Get(d.path).Body).Want(http.StatusOK) // PATCH accepts the answer of GET
	for member, value := range map[string]any{
		"ttl": 30, "priority": 1, "protection": "password", "password": "secret", "deliveryNotification": true,
		"recipients": []any{map[string]any{"email": "bob@example.com", "destinationType": "to"}},
	} {
		r := d.Patch(d.path, map[string]any{"subject": "other", member: value})
		r.WantError(transfer.ErrFixedMember)
		if !strings.HasPrefix(r.Details(), member) {
			t.Errorf("%s: %q", member, r.Details())
		}
	}
	d.Patch(d.path, map[string]any{"fields": map[string]any{"nr": 7}}).WantError(fault.ErrInvalid)
	for _, name := range []string{"", "a\nb", "a\x1bb", "a\u0085b", strings.Repeat("n", 256)} { // names are strings too
		if got := d.Patch(d.path, map[string]any{"fields": map[string]any{name: "7"}}).WantError(fault.ErrInvalid).Details(); !strings.HasPrefix(
			got, "fields: ") {
			t.Errorf("field %q: %s", name, got)
		}
	}
	d.Patch(d.path, map[string]any{"recipients": []any{
		map[string]any{"email": "a@example.com", "destinationType": "to", "phone": "1"}}}).WantError(fault.ErrInvalid)
	if got := d.Get(d.path); got.String("subject") != "Plans" {
		t.Errorf("a refused change was stored: %s", got.Body)
	}
	d.Patch(d.path, map[string]any{"subject": ""}).Want(http.StatusOK)
	if d.Get(d.path).Value("subject") != nil {
		t.Error("an empty subject did not take the subject away")
	}
}

// TestMergePatch: in a merge patch (RFC 7396) null removes a member, which returns to its default; in other JSON it is absent.
func TestMergePatch(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	s.SendUndocumented() // null as the name of a recipient
	made := ann.Post(s.Transfer+"/reservations", map[string]any{
		"subject": "Plans", "message": "Hello", "ttl": 1, "priority": 2, "protection": "password", "password": "opensesame",
		"deliveryNotification": true,
		"recipients":           []any{map[string]any{"email": "bob@example.com", "destinationType": "to", "name": nil}},
		"fields":               map[string]any{"a": "1", "b": "2"},
	}).Want(http.StatusCreated)
	path := s.Transfer + "/reservations/" + made.String("uid")
	all := map[string]any{
		"subject": nil, "message": nil, "anonSender": nil, "anonEmail": nil, "recipients": nil, "deliveryNotification": nil, "ttl": nil,
		"priority":   nil,
		"protection": nil, "password": nil, "fields": nil,
	}
	if got := ann.Patch(path, all).Want(http.StatusOK); got.String("subject") != "Plans" || got.Number("priority") != 2 ||
		got.Number("ttl") != 1 || got.String("type") != "p2p" {
		t.Errorf("null in application/json changed %s", got.Body)
	}
	merge := ann.With("Content-Type", "application/merge-patch+json")
	got := merge.Patch(path, map[string]any{"fields": map[string]any{"b": nil, "c": "3"}}).Want(http.StatusOK)
	if got.String("fields.a") != "1" || got.Value("fields.b") != nil || got.String("fields.c") != "3" {
		t.Errorf("merged fields: %s", got.Body)
	}
	if got := ann.Patch(path, map[string]any{"fields": map[string]any{"b": nil, "c": "4"}}).Want(http.StatusOK); got.Value(
		"fields.a") != nil || got.String("fields.c") != "4" {
		t.Errorf("replaced fields: %s", got.Body)
	}
	merge.Patch(path, map[string]any{"password": nil}).WantError(fault.ErrInvalid)
	got = merge.Patch(path, map[string]any{"priority": nil, "unknown": nil}).Want(http.StatusOK)
	if got.Value("priority") != nil || got.String("subject") != "Plans" {
		t.Errorf("without priority: %s", got.Body)
	}
	got = merge.Patch(path, all).Want(http.StatusOK)
	for _, member := range []string{"subject", "message", "priority", "fields", "recipients.0"} {
		if got.Value(member) != nil {
			t.Errorf("%s is still there: %s", member, got.Body)
		}
	}
	if got.Number("ttl") != 7 || got.String("protection") != "none" || got.Value("deliveryNotification") != false ||
		got.String("type") != "drop" {
		t.Errorf("not the defaults: %s", got.Body)
	}
	d := reserve(s)
	fixed := d.With("Content-Type", "application/merge-patch+json")
	fixed.Patch(d.path, map[string]any{"priority": nil, "ttl": nil, "password": nil, "protection": nil, "deliveryNotification": nil}).Want(
		http.StatusOK)
	fixed.Patch(d.path, map[string]any{"recipients": nil}).WantError(transfer.ErrFixedMember)
	if got := fixed.Patch(d.path, map[string]any{"anonSender": nil}).Want(http.StatusOK); got.Value("anonSender") != nil {
		t.Errorf("the sender is still there: %s", got.Body)
	}
	fixed.Patch(d.path, `{"subject":`).WantError(fault.ErrInvalid)
	fixed.Patch(d.path, nil).WantError(fault.ErrInvalid)
}

func TestConfirmConditions(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "fieldsSchema": json.RawMessage(
		`{"type":"object","title":"T","properties":{"nr":{"type":"string","pattern":"^[0-9]+$"}},"required":["nr"]}`)}).Want(http.StatusOK)
	d := reserve(s)
	d.Patch(d.path, map[string]any{"anonSender": "", "anonEmail": ""}).Want(http.StatusOK)
	content := d.attach("a", 3)
	d.attach("nothing", 0)
	r := d.Post(d.path+"/confirm", nil)
	r.WantError(transfer.ErrUnconfirmable)
	for _, missing := range []string{"anonSender", "anonEmail", "fields", "objects: a holds 0 of 3 bytes"} {
		if !strings.Contains(r.Details(), missing) {
			t.Errorf("details %q lack %q", r.Details(), missing)
		}
	}
	d.Patch(d.path, map[string]any{"anonSender": "Sam", "anonEmail": "Sam@Example.com", "fields": map[string]any{"nr": "12"}}).Want(
		http.StatusOK)
	d.Put(content, "abc").Want(http.StatusOK)
	done := d.Post(d.path+"/confirm", nil).Want(http.StatusOK)
	if done.String("sender.email") != "sam@example.com" || done.String("fields.nr") != "12" || done.Value("objectCount") != 2.0 {
		t.Errorf("%s", done.Body)
	}
	uid := done.String("uid")
	for _, again := range []*testkit.Response{
		d.Post(d.path+"/confirm", nil), d.Patch(d.path, map[string]any{}), d.Delete(d.path), d.Put(content, "abc"),
		d.Delete(d.path + "/objects/a"),
		d.Post(d.path+"/objects", map[string]any{"clientId": "b", "name": "b", "intendedSize": 1}),
	} {
		again.WantError(transfer.ErrConfirmed)
		if !strings.Contains(again.Details(), uid) || again.String("error.transfer") != uid {
			t.Errorf("%s lacks the transfer", again.Body)
		}
	}
	d.Get(d.path).Want(http.StatusOK)
}

// TestReservationWithoutItsMailbox: a reservation made while its mailbox was deleted answers 404. Delivered transfers
// stay.
func TestReservationWithoutItsMailbox(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	done, open := reserve(s), reserve(s)
	for _, d := range []draft{done, open} {
		d.send("a", []byte("hello"))
	}
	done.confirm()
	exec(t, s, `DELETE FROM transfer.mailboxes`)
	done.Get(done.path).Want(http.StatusOK)
	open.Get(open.path).WantError(transfer.ErrNotFound)
	open.Post(open.path+"/objects", map[string]any{"clientId": "b", "name": "b.bin", "intendedSize": 1}).WantError(transfer.ErrNotFound)
	open.Post(open.path+"/confirm", nil).WantError(transfer.ErrNotFound)
}

func TestCancelledAndExpiredReservations(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	d.send("a", []byte("hello"))
	d.Delete(d.path).Want(http.StatusNoContent)
	d.Get(d.path).WantError(transfer.ErrNotFound)
	d.Delete(d.path).WantError(transfer.ErrNotFound)

	late := reserve(s)
	late.send("a", []byte("hello"))
	s.Clock.Advance(48*time.Hour - time.Second)
	late.Get(late.path).Want(http.StatusOK)
	s.Clock.Advance(time.Minute)
	late.Get(late.path).WantError(token.ErrExpired)
	ann.Refresh()

	gone := reserve(s)
	ann.Delete(s.Transfer + "/mailbox").Want(http.StatusNoContent)
	gone.Get(gone.path).WantError(transfer.ErrNotFound)
}

// TestFieldsAreBounded: names and values of fields have 64 KiB together, counted in bytes, at a mailbox and for a sender. A refused
// change stores nothing.
func TestFieldsAreBounded(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	sent := s.Transfer + "/reservations/" + ann.Post(s.Transfer+"/reservations", nil).Want(http.StatusCreated).String("uid")
	d := reserve(s)
	for name, patch := range map[string]func(map[string]any) *testkit.Response{
		"mailbox": func(change map[string]any) *testkit.Response { return d.Patch(d.path, change) },
		"sender":  func(change map[string]any) *testkit.Response { return ann.Patch(sent, change) },
	} {
		fields := map[string]any{}
		for i := range 16 {
			fields[fmt.Sprintf("n%02d", i)] = strings.Repeat("é", 2000) // 3 and 4000 bytes
		}
		last := 64<<10 - 16*(3+4000) - len("rest")
		fields["rest"] = strings.Repeat("x", last)
		patch(map[string]any{"subject": "full", "fields": fields}).Want(http.StatusOK)
		fields["rest"] = strings.Repeat("x", last+1)
		got := patch(map[string]any{"subject": "more", "fields": fields}).WantError(fault.ErrInvalid)
		if want := "fields: has more than 65536 bytes of names and values"; got.Details() != want {
			t.Errorf("%s: details %q, want %q", name, got.Details(), want)
		}
		kept := patch(map[string]any{}).Want(http.StatusOK)
		if kept.String("subject") != "full" || len(kept.String("fields.rest")) != last {
			t.Errorf("%s: the refused change was stored", name)
		}
	}
}
