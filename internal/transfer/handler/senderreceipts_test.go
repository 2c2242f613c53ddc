// Tests of the link that a sender is mailed: it checks the address once, and opens the receipt afterwards.

package handler_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

// mailedReceipt returns the path in the API of the link that an uploader is mailed.
func mailedReceipt(t *testing.T, s *testkit.Server, address string, n int) string {
	t.Helper()
	return s.Transfer + "/public/receipts/" + s.Mail.Wait(t, address, "/r/", n).Key(t, "/r/")
}

// sentToAnn lets Sam upload a file for Ann, and returns the transfer's uid and the link that Sam is mailed.
func sentToAnn(t *testing.T, s *testkit.Server) (uid, link string) {
	t.Helper()
	d := reserve(s)
	d.Patch(d.path, object{"subject": "Plans of the harbour"}).Want(http.StatusOK)
	d.send("one", []byte("hello"))
	return d.confirm(), mailedReceipt(t, s, "sam@example.com", 1)
}

// TestSenderOpensReceipt: a sender whose address was not checked proves it by the link of the mail, on any device. Then the owner of the
// mailbox sees a checked address, and the link opens the receipt and tells what happened.
func TestSenderOpensReceipt(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	uid, link := sentToAnn(t, s)
	path := s.Transfer + "/transfers/" + uid
	device := s.Stranger()
	for range 3 { // as programs that follow links do
		if got := device.Get(link).Want(http.StatusOK); got.Value("checked") != false || got.String("mailbox") != "Ann" ||
			strings.Contains(string(got.Body), "harbour") || strings.Contains(string(got.Body), "since") {
			t.Errorf("before: %s", got.Body)
		}
	}
	device.Get(link + "/receipt").WantError(transfer.ErrLocked)
	device.With("Accept", "application/pdf").Get(link + "/receipt").WantError(transfer.ErrLocked)
	if got := ann.Get(path).Want(http.StatusOK); got.Value("sender.verified") != false {
		t.Errorf("before: %s", got.Body)
	}
	s.Clock.Advance(30 * time.Hour)
	if got := device.Post(link, nil).Want(http.StatusOK); got.Value("checked") != true || got.String("checkedAt") == "" {
		t.Errorf("after: %s", got.Body)
	}
	ann = ann.Login()
	if got := ann.Get(path).Want(http.StatusOK); got.Value("sender.verified") != true {
		t.Errorf("the owner still sees %s", got.Body)
	}
	if got := string(receiptFile(t, s.Stranger(), link+"/receipt")); got != string(receiptFile(t, ann, path+"/receipt")) {
		t.Error("sender and owner have different receipts")
	}
	objects := ann.Get(path).Value("objects").([]any)
	ann.Get(path + "/objects/" + objects[0].(map[string]any)["uid"].(string) + "/content").Want(http.StatusOK)
	poll.Until(t, "the download is told", func() bool {
		return strings.Contains(string(device.Get(link).Want(http.StatusOK).Body), `"kind":"downloaded"`)
	})
	ann.Delete(path).Want(http.StatusNoContent)
	if got := device.Get(link).Want(http.StatusOK); !strings.Contains(string(got.Body), `"kind":"revoked"`) {
		t.Errorf("the end is not told: %s", got.Body)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `DELETE FROM transfer.transfers WHERE uid = $1`, uid); err != nil {
		t.Fatal(err)
	}
	device.Post(link, nil).Want(http.StatusOK)
	if r := receipt(t, device, link+"/receipt"); r.Get("subject") != "Plans of the harbour" || r.Get("sender-checked") != "no" {
		t.Errorf("the signed text has changed: %v", r.Lines)
	}
}

// TestSenderProvedOnce: parallel calls, on two replicas, count once.
func TestSenderProvedOnce(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	other := testkit.New(t, testkit.Beside(s))
	uid, link := sentToAnn(t, s)
	var all sync.WaitGroup
	for i := range 8 {
		on := []*testkit.Server{s, other}[i%2]
		all.Go(func() {
			if r := on.Stranger().Post(link, nil); r.Status != http.StatusOK {
				t.Errorf("%d %s", r.Status, r.Body)
			}
		})
	}
	all.Wait()
	if !hasEvent(t, ann, events.TransferUpdated, uid) {
		t.Error("the owner is not told")
	}
	var entries, told int
	err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM audit WHERE action = 'transfer.sender-checked' AND object = $1),
		(SELECT count(*) FROM events WHERE kind = $2 AND subject = $1)`, uid, events.TransferUpdated).Scan(&entries, &told)
	if err != nil || entries != 1 || told != 1 {
		t.Errorf("%d audit entries, %d events, %v", entries, told, err)
	}
	if got := ann.Get(s.Transfer + "/transfers/" + uid); got.Value("sender.verified") != true {
		t.Errorf("%s", got.Body)
	}
}

// TestCheckedSenderOpensReceipt: the link of a sender whose address was checked before the delivery opens the receipt at once.
func TestCheckedSenderOpensReceipt(t *testing.T) {
	t.Parallel()
	s, _ := careful(t)
	d := reserveAs(s.Stranger(), "sam@example.org")
	d.send("one", []byte("hello"))
	d.Post(d.path+"/code", nil).Want(http.StatusNoContent)
	d.Post(d.path+"/verify", object{"code": senderCode(s, "sam@example.org", 1)}).Want(http.StatusNoContent)
	uid := d.confirm()
	link := mailedReceipt(t, s, "sam@example.org", 1)
	if got := s.Stranger().Get(link).Want(http.StatusOK); got.Value("checked") != true {
		t.Errorf("%s", got.Body)
	}
	if r := receipt(t, s.Stranger(), link+"/receipt"); r.Get("transfer") != uid {
		t.Errorf("%v", r.Lines)
	}
}

// TestSenderReceiptIsErased: the link ends with the receipt, and with the account of a person whom it names. The database has the hash of
// its key only, and the mail's secret is gone once it is sent.
func TestSenderReceiptIsErased(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	_, link := sentToAnn(t, s)
	s.Stranger().Post(link, nil).Want(http.StatusOK)
	key := link[strings.LastIndexByte(link, '/')+1:]
	var found int
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM transfer.receipts r WHERE r::text LIKE '%' || $1 || '%'`, key).
		Scan(&found); err != nil || found != 0 {
		t.Errorf("%d rows have the key, %v", found, err)
	}
	ann.Do("DELETE", s.Identity+"/profile", map[string]any{"authKey": testkit.Password}).Want(http.StatusNoContent)
	poll.Until(t, "the link has ended", func() bool { return s.Stranger().Get(link).Status == http.StatusNotFound })
	s.Stranger().Post(link, nil).WantError(transfer.ErrNotFound)
	s.Stranger().Get(link + "/receipt").WantError(transfer.ErrNotFound)
}

// TestGuessedSenderReceipt: keys of other links and near ones open nothing, so no address is checked by them.
func TestGuessedSenderReceipt(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	uid, link := sentToAnn(t, s)
	m := s.Mail.Wait(t, "ann@example.com", "/t/", 1)
	eve := s.Stranger()
	for _, key := range []string{m.Key(t, "/t/"), uid, link[len(link)-43:len(link)-1] + "!", "x", strings.Repeat("a", 2000)} {
		for _, of := range []string{"", "/receipt"} {
			eve.Get(s.Transfer + "/public/receipts/" + key + of).WantError(transfer.ErrNotFound)
		}
		eve.Post(s.Transfer+"/public/receipts/"+key, nil).WantError(transfer.ErrNotFound)
	}
	eve.Get(s.Transfer + "/public/transfers/" + link[len(link)-43:]).WantError(transfer.ErrNotFound)
	if got := ann.Get(s.Transfer + "/transfers/" + uid); got.Value("sender.verified") != false {
		t.Errorf("%s", got.Body)
	}
}
