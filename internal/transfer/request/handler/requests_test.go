// Requests from asking to completion, over HTTP.

package handler_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request/service"
)

// TestRequest: Ann asks Bob. He uploads on two devices, hands in, gets one item back, and is complete.
func TestRequest(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	made := ann.ask(map[string]any{"due": in(s, 96*time.Hour), "message": "Please by Friday."}, "bob@example.org")
	uid, bob := made.String("uid"), ann.partyOf(made, "0")
	who, one := made.String("parties.0.uid"), ann.base+"/"+made.String("uid")

	invitation := s.Mail.Wait(t, "bob@example.org", "documents", 1)
	if key := invitation.Key(t, "/q/"); key != bob.key {
		t.Errorf("the mail has the key %s, the owner sees %s", key, bob.key)
	}
	for _, words := range []string{"Ann asks you for documents: Statement 2026", "Identity card", "Lease", "Please by Friday."} {
		if !strings.Contains(invitation.Subject+invitation.Text, words) {
			t.Errorf("the mail lacks %q:\n%s", words, invitation.Text)
		}
	}

	bob.open().send(0, "front.pdf", "front")
	if got := s.Stranger().Get(bob.link).Want(http.StatusOK); got.String("states.0.files.0.name") != "front.pdf" ||
		got.String("states.0.state") != "open" || got.String("owner.email") != "ann@example.com" {
		t.Errorf("the page shows %s", got.Body)
	}
	laptop := ann.partyOf(made, "0").open() // another device, the same reservation
	if laptop.draft != bob.draft {
		t.Errorf("the other device has %s, the first %s", laptop.draft, bob.draft)
	}
	laptop.send(0, "back.pdf", "back")
	if ann.Get(one).Want(http.StatusOK).Value("parties.0.items.0.files.0") != nil {
		t.Error("the owner sees a file that was not handed in")
	}
	s.Stranger().Get(bob.link + "/receipt").WantError(transfer.ErrNotFound)
	handed := laptop.handIn(false).Want(http.StatusOK)
	visit := s.Stranger() // later, without a token
	poll.Until(t, "the receipt is signed", func() bool { return visit.Get(bob.link+"/receipt").Status == http.StatusOK })
	if got := visit.Get(bob.link + "/receipt").Want(http.StatusOK); !strings.Contains(string(got.Body), handed.String("transfer")) {
		t.Errorf("the receipt is\n%s", got.Body)
	}
	if handed.Value("late") != false || handed.String("due") != made.String("due") {
		t.Errorf("handed in as %s", handed.Body)
	}
	seen := ann.Get(one).Want(http.StatusOK)
	if seen.String("parties.0.items.0.state") != "uploaded" || seen.String("parties.0.handedInAt") != handed.String("at") {
		t.Errorf("after the hand-in the owner sees %s", seen.Body)
	}
	file := seen.String("parties.0.items.0.files.0.uid")
	content := ann.Get(s.Transfer + "/transfers/" + handed.String("transfer") + "/objects/" + file + "/content").Want(http.StatusOK)
	if string(content.Body) != "front" {
		t.Errorf("downloaded %q", content.Body)
	}
	laptop.announce(0, "more.pdf", 1).WantError(transfer.ErrConfirmed)

	ann.decide(uid, who, bob.items[0], "The back is blurred.").Want(http.StatusOK)
	s.Clock.Advance(3 * time.Minute)
	must(t, s.App.Jobs.RunOnce(t.Context(), service.ReturnedJob))
	back := s.Mail.Wait(t, "bob@example.org", "sent documents back", 1)
	if !strings.Contains(back.Text, "The back is blurred.") {
		t.Errorf("the mail lacks the reason:\n%s", back.Text)
	}
	again := ann.partyOf(made, "0").open()
	again.send(0, "both.pdf", "both sides")
	again.handIn(false).Want(http.StatusOK)
	done := ann.decide(uid, who, bob.items[0], "").Want(http.StatusOK)
	if done.Value("parties.0.completedAt") == nil || done.Value("completedAt") == nil && ann.Get(one).Value("completedAt") == nil {
		t.Errorf("not complete: %s", done.Body)
	}
	for _, to := range []string{"bob@example.org", "ann@example.com"} {
		if m := s.Mail.Wait(t, to, "Complete: Statement 2026", 1); len(m.Files) != 1 {
			t.Errorf("the mail to %s has %d attachments", to, len(m.Files))
		}
	}
	if list := ann.Get(ann.base).Want(http.StatusOK); list.Number("requests.0.complete") != 1 || list.Number("requests.0.waiting") != 0 {
		t.Errorf("the list says %s", list.Body)
	}
	archived(t, ann.Get(one+"/archive").Want(http.StatusOK).Body, map[string]string{"Bob Miller/Miller - Identity card.pdf": "both sides"})
	table := string(ann.Get(one + "/table").Want(http.StatusOK).Body)
	if !strings.Contains(table, "Bob Miller,bob@example.org,Identity card,true,accepted,") {
		t.Errorf("the table is\n%s", table)
	}
}

// TestArchiveInBrowser: a browser downloads the archive with a one-time key, goes on after a cut, and gets the same bytes. The key opens
// one download of one request, for one browser. Eve gets none.
func TestArchiveInBrowser(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	made := ann.ask(map[string]any{"title": "Statement: 2026"}, "bob@example.org")
	bob := ann.partyOf(made, "0").open()
	bob.send(0, "lease.pdf", "the lease of Bob")
	bob.handIn(true).Want(http.StatusOK)
	one, other := ann.base+"/"+made.String("uid"), ann.base+"/"+ann.ask(map[string]any{}, "carol@example.org").String("uid")
	eve := s.SignUp("eve@example.com")
	eve.Post(one+"/otk", nil).WantError(transfer.ErrNotFound)
	s.Stranger().Post(one+"/otk", nil).WantError(token.ErrMissing)
	s.Stranger().Get(one + "/archive").WantError(token.ErrMissing)

	pass := "/archive?otk=" + ann.Post(one+"/otk", nil).Want(http.StatusOK).String("key")
	s.Stranger().Get(other + pass).WantError(transfer.ErrOneTimeKey)
	whole := s.Stranger().Get(one + pass).Want(http.StatusOK)
	archived(t, whole.Body, map[string]string{"Bob Miller/Miller - Identity card.pdf": "the lease of Bob"})
	if got := whole.Header.Get("Content-Disposition"); !strings.Contains(got, "Statement: 2026.zip") {
		t.Errorf("the archive is called %s", got)
	}
	s.Stranger().Get(one + pass).WantError(transfer.ErrOneTimeKey)
	s.Clock.Advance(time.Minute)
	rest := s.Stranger().With("Cookie", strings.Split(whole.Header.Get("Set-Cookie"), ";")[0]).With("Range", "bytes=10-").
		With("If-Range", whole.Header.Get("ETag")).Get(one + pass).Want(http.StatusPartialContent)
	if !bytes.Equal(rest.Body, whole.Body[10:]) {
		t.Error("the rest has other bytes")
	}
	bob.open().send(1, "letter.pdf", "a letter")
	bob.handIn(true).Want(http.StatusOK)
	if later := ann.Get(one + "/archive").Want(http.StatusOK); later.Header.Get("ETag") == whole.Header.Get("ETag") {
		t.Error("the archive has other bytes and the same ETag")
	}
	pass = "/archive?otk=" + ann.Post(one+"/otk", nil).Want(http.StatusOK).String("key")
	ann.As(ann.ID).Post(s.Identity+"/auth/logout", nil).Want(http.StatusNoContent)
	poll.Until(t, "the key is refused", func() bool { return s.Stranger().Get(one+pass).Status == http.StatusUnauthorized })
}

// archived checks the files of a zip.
func archived(t *testing.T, raw []byte, want map[string]string) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	must(t, err)
	if len(z.File) != len(want) {
		t.Errorf("the archive has %d files, want %d", len(z.File), len(want))
	}
	for _, f := range z.File {
		r, err := f.Open()
		must(t, err)
		content, err := io.ReadAll(r)
		must(t, err)
		if want[f.Name] != string(content) {
			t.Errorf("the archive has %s with %q", f.Name, content)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRequestItems: items bound what a party uploads for them.
func TestRequestItems(t *testing.T) {
	t.Parallel()
	_, ann := newOffice(t)
	made := ann.ask(map[string]any{"items": []any{
		map[string]any{"name": "Statement", "mimeTypes": []string{"application/pdf"}, "maxFiles": 1, "maxFileSizeMb": 1},
		map[string]any{"name": "Photo", "mimeTypes": []string{"image/*"}},
	}}, "bob@example.org")
	bob := ann.partyOf(made, "0").open()
	bob.announce(0, "a.png", 10).WantError(transfer.ErrMIMEType)
	bob.announce(0, "a.pdf", 1_000_001).WantError(transfer.ErrFileTooLarge.AtMost(1_000_000))
	bob.announce(0, "a.pdf", 10).Want(http.StatusCreated)
	bob.announce(0, "b.pdf", 10).WantError(transfer.ErrTooManyFiles)
	bob.Post(bob.draft+"/objects", map[string]any{"clientId": "x", "name": "x.pdf", "intendedSize": 1}).WantError(fault.ErrInvalid)
	bob.Put(bob.draft+"/objects/a.pdf/content", append([]byte("\x89PNG\r\n\x1a\n"), 0, 0)).WantError(transfer.ErrMIMEType)
	bob.handIn(false).WantError(transfer.ErrUnconfirmable)
}

// TestHandInAfterClockWasSetBack: Ann has the files of Bob's second time, although the clock says that it was before the first.
func TestHandInAfterClockWasSetBack(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	made := ann.ask(nil, "bob@example.org")
	uid, bob := made.String("uid"), ann.partyOf(made, "0")
	bob.open().send(0, "old.pdf", "old")
	first := bob.handIn(true).Want(http.StatusOK).String("at")
	ann.decide(uid, made.String("parties.0.uid"), bob.items[0], "It is the old one.").Want(http.StatusOK)
	s.Clock.Advance(-2 * time.Second)
	bob.open().send(0, "new.pdf", "new")
	second := bob.handIn(true).Want(http.StatusOK).String("at")
	has := fmt.Sprint(ann.Get(ann.base + "/" + uid).Want(http.StatusOK).Value("parties.0.items.0.files"))
	if !strings.Contains(has, "new.pdf") {
		t.Errorf("Ann has %s", has)
	}
	if second <= first {
		t.Errorf("received at %s after %s", second, first)
	}
}

// TestRequestUploadProtocols: tus and IETF uploads name the item, too.
func TestRequestUploadProtocols(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	made := ann.ask(nil, "bob@example.org")
	bob := ann.partyOf(made, "0").open()
	bob.With("Tus-Resumable", "1.0.0").With("Upload-Length", "3").With("Upload-Metadata", "filename YS5wZGY=").
		With("Content-Type", "application/offset+octet-stream").Post(bob.draft+"/tus?item="+bob.items[0], []byte("tus")).
		Want(http.StatusCreated)
	bob.With("Upload-Complete", "?1").With("Content-Disposition", `attachment; filename="b.pdf"`).
		Post(bob.draft+"/uploads?item="+bob.items[1], []byte("ietf")).Want(http.StatusCreated)
	got := s.Stranger().Get(bob.link).Want(http.StatusOK)
	if got.String("states.0.files.0.name") != "a.pdf" || got.String("states.1.files.0.name") != "b.pdf" {
		t.Errorf("the page shows %s", got.Body)
	}
}

// TestRequestChanges: the owner changes, closes and deletes a request; of two edits of one version one succeeds.
func TestRequestChanges(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	made := ann.ask(nil, "bob@example.org")
	one, who := ann.base+"/"+made.String("uid"), made.String("parties.0.uid")
	bob := ann.partyOf(made, "0").open()
	bob.send(0, "front.pdf", "front")

	edit := ann.With("If-Match", made.Header.Get("ETag"))
	edit.Patch(one, map[string]any{"title": "Statement 2027"}).Want(http.StatusOK)
	edit.Patch(one, map[string]any{"title": "Statement 2028"}).WantError(fault.ErrVersion)
	ann.Patch(one, map[string]any{"due": in(s, -time.Hour)}).WantError(fault.ErrInvalid)
	ann.Patch(one, map[string]any{"state": "closed"}).Want(http.StatusOK)
	bob.announce(0, "back.pdf", 4).WantError(transfer.ErrRequestClosed)
	bob.handIn(false).WantError(transfer.ErrRequestClosed)
	ann.Post(one+"/parties", map[string]any{"csv": "carol@example.org"}).WantError(transfer.ErrRequestClosed)
	ann.Patch(one, map[string]any{"state": "open"}).Want(http.StatusOK)
	bob.handIn(false).Want(http.StatusOK)
	ann.Patch(one, map[string]any{"items": []any{map[string]any{"name": "Other"}}}).WantError(transfer.ErrItemUsed)
	ann.Patch(one, map[string]any{"items": []any{map[string]any{"name": "ID", "uid": bob.items[0]}}}).Want(http.StatusOK)

	version := ann.With("If-Match", `"1"`)
	version.Patch(one+"/parties/"+who+"/items/"+bob.items[0], map[string]any{"state": "accepted"}).WantError(fault.ErrVersion)
	ann.decide(made.String("uid"), who, bob.items[0], "").Want(http.StatusOK)
	ann.decide(made.String("uid"), who, bob.items[0], "").WantError(transfer.ErrItemState)

	added := ann.Post(one+"/parties",
		map[string]any{"csv": "name;email\nCarol Cutter;carol@example.org\nbob@example.org;Bob"}).Want(http.StatusOK)
	if list, _ := added.Value("parties").([]any); len(list) != 2 || added.String("parties.1.name") != "Carol Cutter" {
		t.Errorf("asked %s", added.Body)
	}
	s.Mail.Wait(t, "carol@example.org", "documents", 1)
	ann.Delete(one).Want(http.StatusNoContent)
	s.Stranger().Get(bob.link).WantError(transfer.ErrNotFound)
	if list, _ := ann.Get(s.Transfer + "/transfers").Want(http.StatusOK).Value("transfers").([]any); len(list) != 1 {
		t.Error("what was handed in is gone with the request")
	}
}

// TestAttackRequestAsPostcard: the mail to an address that somebody typed at a public link has neither the texts of the request's owner nor
// the name that was typed.
func TestAttackRequestAsPostcard(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	const lure = "Your account is locked! Verify at evil.example"
	ann.Put(s.Identity+"/profile", map[string]any{"name": lure + " A"}).Want(http.StatusOK)
	made := ann.ask(map[string]any{"publicLink": true, "title": lure, "items": []any{map[string]any{"name": lure}}})
	link := made.String("link")
	s.Stranger().Post(s.Transfer+"/public/requests/"+link[strings.LastIndex(link, "/")+1:]+"/parties",
		map[string]any{"email": "victim@example.org", "name": lure + " B"}).Want(http.StatusNoContent)
	m := s.Mail.Wait(t, "victim@example.org", "Your link", 1)
	if all := fmt.Sprintf("%+v", m); strings.Contains(all, "locked") || strings.Contains(all, "evil") {
		t.Errorf("the mail has texts of strangers: %s", all)
	}
	if !strings.Contains(m.Text, "ann@example.com") {
		t.Errorf("the mail does not say for whom: %s", m.Text)
	}
}

// TestRequestJoin: a stranger becomes a party through the public link, after the mail has proven the address.
func TestRequestJoin(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	made := ann.ask(map[string]any{"publicLink": true})
	link := made.String("link")
	public := s.Transfer + "/public/requests/" + link[strings.LastIndex(link, "/")+1:]
	if got := s.Stranger().Get(public).Want(http.StatusOK); got.Value("party") != nil {
		t.Errorf("the public link shows %s", got.Body)
	}
	s.Stranger().Post(public, nil).WantError(transfer.ErrNotFound)
	for range 2 { // the second mail brings the same link
		s.Stranger().Post(public+"/parties", map[string]any{"email": "dana@example.org", "name": "Dana Draper"}).Want(http.StatusNoContent)
	}
	key := s.Mail.Wait(t, "dana@example.org", "Your link", 2).Key(t, "/q/")
	if list, _ := ann.Get(ann.base + "/" + made.String("uid")).Value("parties").([]any); len(list) != 0 {
		t.Error("the owner sees an address that is not proven")
	}
	dana := &party{key: key, Person: s.Stranger(), link: s.Transfer + "/public/requests/" + key, items: ann.partyItems(made)}
	dana.open().send(0, "id.pdf", "id")
	dana.handIn(false).Want(http.StatusOK)
	seen := ann.Get(ann.base + "/" + made.String("uid")).Want(http.StatusOK)
	if seen.Value("parties.0.link") != nil || seen.Value("parties.0.joined") != true {
		t.Errorf("the owner sees %s", seen.Body)
	}
}

// partyItems returns the uids of the items of a request.
func (o office) partyItems(made *testkit.Response) (uids []string) {
	list, _ := made.Value("items").([]any)
	for _, one := range list {
		uid, _ := one.(map[string]any)["uid"].(string)
		uids = append(uids, uid)
	}
	return uids
}

// TestRequestOfDeletedPerson: the requests of a deleted account are gone, with what parties have uploaded.
func TestRequestOfDeletedPerson(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	made := ann.ask(nil, "bob@example.org")
	bob := ann.partyOf(made, "0").open()
	bob.send(0, "front.pdf", "front")
	ann.Do("DELETE", s.Identity+"/profile", map[string]any{"authKey": testkit.Password}).Want(http.StatusNoContent)
	poll.Until(t, "the request is deleted", func() bool {
		var n int
		must(t, s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM transfer.requests`).Scan(&n))
		return n == 0
	})
	s.Stranger().Get(bob.link).WantError(transfer.ErrNotFound)
}

// TestRequestAnswers: the questions of a request are asked at the hand-in.
func TestRequestAnswers(t *testing.T) {
	t.Parallel()
	_, ann := newOffice(t)
	made := ann.ask(map[string]any{"fieldsSchema": map[string]any{"type": "object", "title": "Questions", "required": []string{"year"},
		"properties": map[string]any{"year": map[string]any{"type": "string", "pattern": "^[0-9]{4}$"}}}}, "bob@example.org")
	bob := ann.partyOf(made, "0").open()
	bob.send(0, "front.pdf", "front")
	bob.handIn(false).WantError(transfer.ErrUnconfirmable)
	bob.Patch(bob.draft, map[string]any{"fields": map[string]any{"year": "2026"}}).Want(http.StatusOK)
	bob.handIn(false).Want(http.StatusOK)
	bob.Patch(bob.draft, map[string]any{"anonEmail": "victim@example.com"}).WantError(transfer.ErrConfirmed)
}

// TestRemindAll: Ann reminds everybody who has not handed in, each once a day; Carol has handed in, and Dan's reminders are paused.
func TestRemindAll(t *testing.T) {
	t.Parallel()
	s, ann := newOffice(t)
	made := ann.ask(nil, "bob@example.org", "carol@example.org", "dan@example.org")
	one := ann.base + "/" + made.String("uid")
	carol := ann.partyOf(made, "1").open()
	carol.send(0, "card.pdf", "card")
	carol.handIn(false).Want(http.StatusOK)
	s.Stranger().Get(ann.partyOf(made, "0").link + "/receipt").WantError(transfer.ErrNotFound) // of Carol
	ann.Patch(one+"/parties/"+made.String("parties.2.uid"), map[string]any{"reminders": false}).Want(http.StatusOK)
	if got := ann.Post(one+"/remind", nil).Want(http.StatusOK); got.Number("reminded") != 1 {
		t.Errorf("reminded %s, want Bob only", got.Body)
	}
	s.Mail.Wait(t, "bob@example.org", "Reminder", 1)
	if got := ann.Post(one+"/remind", nil).Want(http.StatusOK); got.Number("reminded") != 0 {
		t.Errorf("reminded again at once: %s", got.Body)
	}
	s.Clock.Advance(25 * time.Hour)
	ann.Refresh()
	if got := ann.Post(one+"/remind", nil).Want(http.StatusOK); got.Number("reminded") != 1 {
		t.Errorf("reminded %s on the next day, want Bob only", got.Body)
	}
	eve := s.SignUp("eve@example.com")
	eve.Post(one+"/remind", nil).WantError(transfer.ErrNotFound)
	ann.Patch(one, map[string]any{"state": "closed"}).Want(http.StatusOK)
	ann.Post(one+"/remind", nil).WantError(transfer.ErrRequestClosed)
}
