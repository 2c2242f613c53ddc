package handler_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// deliveryTo returns the path of a recipient in the sender's view of a transfer.
func deliveryTo(ann *testkit.Person, x sent, email string) string {
	ann.Server.T.Helper()
	for _, d := range ann.Get(x.path).Want(http.StatusOK).Value("recipients").([]any) {
		if one := d.(map[string]any); one["email"] == email {
			return x.path + "/recipients/" + one["delivery"].(string)
		}
	}
	ann.Server.T.Fatalf("%s is not a recipient", email)
	return ""
}

// endsEarly reads a large download slowly until the server cuts it off.
func endsEarly(t *testing.T, body io.Reader) {
	t.Helper()
	part := make([]byte, 16<<10)
	var err error
	poll.Until(t, "the download ends", func() bool {
		_, err = body.Read(part)
		return err != nil
	})
	if err == io.EOF {
		t.Error("the download went on to the end")
	}
}

func TestAddingRecipients(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	x := deliver(ann, object{"subject": "Plans", "recipients": []object{to("cid@example.org")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	got := ann.Post(x.path+"/recipients",
		object{"recipients": []object{to("bob@example.com"), {"email": "Dan@Example.org", "name": "Dan", "destinationType": "bcc"}}}).Want(
		http.StatusOK)
	if got.String("recipients.1.email") != "bob@example.com" || got.String("recipients.2.email") != "dan@example.org" ||
		got.Value("recipients.2.delivery") == nil {
		t.Errorf("%s", got.Body)
	}
	link := linkTo(s, "dan@example.org")
	openLink(s, link, nil).Get(link + "/archive").Want(http.StatusOK)
	s.Mail.Wait(t, "bob@example.com", "Plans", 1)
	if seen := bob.Get(x.path).Want(http.StatusOK); seen.String("subject") != "Plans" || seen.Value("recipients.2") != nil ||
		seen.Value("recipients.0.delivery") != nil || seen.Value("deliveryNotification") != nil {
		t.Errorf("%s", seen.Body)
	}
	if !hasEvent(t, bob, "TRANSFER_RECEIVED", x.uid) || !hasEvent(t, ann, "TRANSFER_UPDATED", x.uid) {
		t.Error("bob or ann did not hear of it")
	}
	if seen := ann.Get(x.path); seen.Value("recipients.2.accessedAt") == nil || seen.Value("recipients.0.accessedAt") != nil {
		t.Errorf("%s", seen.Body)
	}
	for _, again := range []string{"cid@example.org", "BOB@example.com"} {
		ann.Post(x.path+"/recipients", object{"recipients": []object{to("eve@example.org"), to(again)}}).WantError(transfer.ErrRecipientTaken)
	}
	for _, bad := range []object{{}, {"recipients": []object{}}, {"recipients": []object{to("nobody")}},
		{"recipients": []object{to("e@example.org"), to("e@example.org")}}} {
		ann.Post(x.path+"/recipients", bad).WantError(fault.ErrInvalid)
	}
	bob.Post(x.path+"/recipients", object{"recipients": []object{to("eve@example.org")}}).WantError(transfer.ErrSenderOnly)
	if n := count(t, s, `SELECT count(*) FROM mails WHERE template = 'transfer-delivered'`); n != 3 {
		t.Errorf("%d mails", n)
	}
	wantBooked(t, s)
	exec(t, s, `INSERT INTO transfer.adminunits (organization, available_ttl, default_ttl, priority_enabled, protection_level, max_files, max_file_size_mb, max_recipients, updated_at)
		SELECT organization, '{7}', 7, true, 'none', 9, 9, 3, now() FROM directory.organizations WHERE free`)
	s.App.Transfer.ForgetOrganizations()
	ann.Post(x.path+"/recipients", object{"recipients": []object{to("eve@example.org")}}).WantError(transfer.ErrTooManyRecipients)
	note := deliver(ann, object{"message": "Hello.", "recipients": []object{to("cid@example.org")}})
	ann.Post(note.path+"/recipients", object{"recipients": []object{to("eve@example.org")}}).WantError(transfer.ErrMessageToMany)
	drop := deliver(ann, object{}, [2]string{"plan.pdf", "%PDF-1.4"})
	if got := ann.Post(drop.path+"/recipients", object{"recipients": []object{to("eve@example.org")}}).Want(http.StatusOK); got.String(
		"type") != "p2p" || got.Value("link") == nil {
		t.Errorf("%s", got.Body)
	}
	s.Clock.Advance(7 * 24 * time.Hour)
	ann.Login().Post(drop.path+"/recipients", object{"recipients": []object{to("fay@example.org")}}).WantError(transfer.ErrEnded)
}

// TestParallelRecipients: of parallel requests with the same address one succeeds, and one mail is sent.
func TestParallelRecipients(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"recipients": []object{to("cid@example.org")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	var added, taken atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			switch r, err := ann.Try(t.Context(), "POST", x.path+"/recipients", object{"recipients": []object{to("bob@example.org")}}); {
			case err != nil:
				t.Error(err)
			case r.Status == http.StatusOK:
				added.Add(1)
			case r.Status == http.StatusConflict:
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if mails := count(t, s, `SELECT count(*) FROM mails WHERE recipient = 'bob@example.org'`); added.Load() != 1 || taken.Load() != 19 ||
		mails != 1 {
		t.Errorf("%d added, %d taken, %d mails", added.Load(), taken.Load(), mails)
	}
	wantBooked(t, s)
}

// TestAttackRemovedRecipient: link, account and running download of a removed recipient end, also on another replica.
func TestAttackRemovedRecipient(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	other := testkit.New(t, testkit.Beside(s))
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	data := strings.Repeat("a file that takes a while ", 2_000_000)
	x := deliver(ann, object{"recipients": []object{to("bob@example.com"), to("cid@example.org")}}, [2]string{"plan.pdf", data})
	link := linkTo(s, "bob@example.com")
	reader := openLink(s, link, nil)
	file := "/objects/" + ann.Get(x.path).String("objects.0.uid") + "/content"
	var running []io.ReadCloser
	for _, open := range []struct {
		p    *testkit.Person
		path string
	}{{reader.At(other), link + file}, {reader, link + "/archive"}, {bob, x.path + file}} {
		resp, err := open.p.Open(t.Context(), "GET", open.path, nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(err, resp)
		}
		defer resp.Body.Close()
		if _, err := io.ReadFull(resp.Body, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		running = append(running, resp.Body)
	}
	path := deliveryTo(ann, x, "bob@example.com")
	bob.Delete(path).WantError(transfer.ErrSenderOnly)
	ann.Delete(path).Want(http.StatusNoContent)
	s.Stranger().Get(link).WantError(transfer.ErrNotFound)
	reader.Get(link + "/archive").WantError(transfer.ErrNotFound)
	bob.Get(x.path).WantError(transfer.ErrNotFound)
	bob.Get(x.path + file).WantError(transfer.ErrNotFound)
	for _, body := range running {
		endsEarly(t, body)
	}
	if !hasEvent(t, bob, "TRANSFER_REVOKED", x.uid) {
		t.Error("bob did not hear of it")
	}
	ann.Delete(path).WantError(transfer.ErrNotFound)
	if got := ann.Get(x.path).Want(http.StatusOK); got.String("recipients.0.email") != "cid@example.org" || got.Value("recipients.1") != nil {
		t.Errorf("%s", got.Body)
	}
	wantBooked(t, s)
	ann.Post(x.path+"/recipients", object{"recipients": []object{to("bob@example.com")}}).Want(http.StatusOK)
	bob.Get(x.path + file).Want(http.StatusOK)
}

func TestResending(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"subject": "Plans", "recipients": []object{to("bob@example.org")}}, [2]string{"plan.pdf", "%PDF-1.4"})
	first := linkTo(s, "bob@example.org")
	resend := deliveryTo(ann, x, "bob@example.org") + "/resend"
	ann.Post(resend, nil).WantError(transfer.ErrResent) // it has just been mailed
	s.Clock.Advance(time.Minute)
	ann.Post(resend, nil).Want(http.StatusNoContent)
	if again := s.Mail.Wait(t, "bob@example.org", "/t/", 2); s.Transfer+"/public/transfers/"+again.Key(t, "/t/") != first {
		t.Errorf("%s", again.Text)
	}
	ann.Post(resend, object{"newLink": true}).WantError(transfer.ErrResent)
	s.Clock.Advance(time.Minute)
	reader := openLink(s, first, nil)
	ann.Post(resend, object{"newLink": true}).Want(http.StatusNoContent)
	renewed := s.Transfer + "/public/transfers/" + s.Mail.Wait(t, "bob@example.org", "/t/", 3).Key(t, "/t/")
	if renewed == first {
		t.Error("the link is the same")
	}
	s.Stranger().Get(first).WantError(transfer.ErrNotFound)
	reader.Get(first + "/archive").WantError(transfer.ErrNotFound)
	openLink(s, renewed, nil).Get(renewed + "/archive").Want(http.StatusOK)
	s.Clock.Advance(3 * 24 * time.Hour) // until the warning before expiry, which has the new link
	run(t, s, service.WarnExpiringJob)
	s.Clock.Advance(2 * 24 * time.Hour)
	run(t, s, service.WarnExpiringJob)
	if warned := s.Mail.Wait(t, "bob@example.org", "expire soon", 1); s.Transfer+"/public/transfers/"+warned.Key(t, "/t/") != renewed {
		t.Errorf("%s", warned.Text)
	}
	ann = ann.Login()
	ann.Post(x.path+"/recipients/"+x.uid+"/resend", nil).WantError(transfer.ErrNotFound)
	var sentAgain atomic.Int32
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if r, err := ann.Try(t.Context(), "POST", resend, nil); err == nil && r.Status == http.StatusNoContent {
				sentAgain.Add(1)
			}
		})
	}
	wg.Wait()
	if sentAgain.Load() != 1 {
		t.Errorf("%d of 10 parallel requests mailed the link", sentAgain.Load())
	}
}

func TestReminding(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"subject": "Plans", "recipients": []object{to("bob@example.org"), to("cid@example.org")}},
		[2]string{"plan.pdf", "%PDF-1.4"})
	link := linkTo(s, "bob@example.org")
	openLink(s, link, nil).Get(link + "/archive").Want(http.StatusOK)
	if got := ann.Post(x.path+"/remind", nil).Want(http.StatusOK); got.Value("reminded") != 1.0 {
		t.Errorf("%s", got.Body)
	}
	if m := s.Mail.Wait(t, "cid@example.org", "Reminder", 1); !strings.Contains(m.Text, "Plans") || m.Key(t, "/t/") == "" {
		t.Errorf("%s", m.Text)
	}
	if got := ann.Post(x.path+"/remind", nil).Want(http.StatusOK); got.Value("reminded") != 0.0 {
		t.Errorf("%s", got.Body)
	}
	if got := ann.Patch(x.path, object{"remindBefore": 2}).Want(http.StatusOK); got.Value("remindBefore") != 2.0 ||
		got.Value("recipients.1.remindedAt") == nil {
		t.Errorf("%s", got.Body)
	}
	ann.Patch(x.path, object{"remindBefore": 366}).WantError(fault.ErrInvalid)
	s.Clock.Advance(5*24*time.Hour - time.Second)
	run(t, s, service.RemindJob)
	s.Clock.Advance(time.Second)
	run(t, s, service.RemindJob)
	run(t, s, service.RemindJob)
	poll.Until(t, "the reminders are sent", func() bool {
		return count(t, s, `SELECT count(*) FROM mails WHERE template = 'transfer-reminder' AND state = 'sent'`) == 2
	})
	if n := count(t, s, `SELECT count(*) FROM mails WHERE template = 'transfer-reminder' AND recipient = 'cid@example.org'`); n != 2 {
		t.Errorf("%d reminders for Cid", n)
	}
	ann = ann.Login()
	if got := ann.Patch(x.path, object{"ttl": 7, "remindBefore": 0}).Want(http.StatusOK); got.Value("remindBefore") != nil {
		t.Errorf("%s", got.Body)
	}
	s.Clock.Advance(6 * 24 * time.Hour)
	run(t, s, service.RemindJob)
	if n := count(t, s, `SELECT count(*) FROM mails WHERE template = 'transfer-reminder'`); n != 2 {
		t.Errorf("%d reminders", n)
	}
}

// TestRevokeEndsDownloads: a download that runs ends when the sender revokes the transfer.
func TestRevokeEndsDownloads(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"recipients": []object{to("bob@example.org")}},
		[2]string{"plan.pdf", strings.Repeat("a file that takes a while ", 2_000_000)})
	link := linkTo(s, "bob@example.org")
	resp, err := openLink(s, link, nil).Open(t.Context(), "GET", link+"/archive", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	ann.Delete(x.path).Want(http.StatusNoContent)
	endsEarly(t, resp.Body)
}
