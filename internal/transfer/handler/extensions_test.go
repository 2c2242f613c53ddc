// Tests of asking for more time.

package handler_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

func TestAskingForAnExtension(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	x := deliver(ann, object{"subject": "Plans", "ttl": 1,
		"recipients": []object{{"email": "bob@example.org", "name": "Bob", "destinationType": "to"}, to("cid@example.org")}},
		[2]string{"plan.pdf", "%PDF-1.4"})
	closed := deliver(ann, object{"subject": "Merger", "ttl": 1, "protection": "password", "password": "Geheimnis!",
		"recipients": []object{to("dan@example.org")}}, [2]string{"deal.pdf", "%PDF-1.4"})
	link, sealed := linkTo(s, "bob@example.org"), linkTo(s, "dan@example.org")
	other := linkTo(s, "cid@example.org")
	ask := link + "/extension"
	s.Stranger().Get(ask).WantError(transfer.ErrNotFound) // it has not expired
	s.Stranger().Post(ask, nil).WantError(transfer.ErrNotFound)
	s.Clock.Advance(24 * time.Hour)
	if got := s.Stranger().Get(ask).Want(http.StatusOK); got.String("sender.email") != "ann@example.com" || got.Value("objectCount") != 1.0 ||
		got.Value("asked") != false || strings.Contains(string(got.Body), "Plans") {
		t.Errorf("%s", got.Body)
	}
	if got := s.Stranger().Get(sealed + "/extension").Want(http.StatusOK); got.Value("objectCount") != nil || got.Value("totalBytes") != nil {
		t.Errorf("%s", got.Body)
	}
	s.Stranger().Post(ask, object{"message": strings.Repeat("x", 1001)}).WantError(fault.ErrInvalid)
	s.Stranger().Post(ask, object{"message": "I was on holiday."}).Want(http.StatusNoContent)
	m := s.Mail.Wait(t, "ann@example.com", "asks for files", 1)
	if !strings.Contains(m.Subject, "Bob") || !strings.Contains(m.Text, "I was on holiday.") || !strings.Contains(m.Text, "Plans") ||
		!strings.Contains(m.Text, "/inbox?extend="+x.uid) {
		t.Errorf("%s\n%s", m.Subject, m.Text)
	}
	ann = ann.Login()
	if !hasEvent(t, ann, "TRANSFER_EXTENSION_ASKED", x.uid) {
		t.Error("ann did not hear of it")
	}
	s.Stranger().Post(other+"/extension", nil).WantError(transfer.ErrAsked) // one a day for the transfer
	if got := s.Stranger().Get(other + "/extension").Want(http.StatusOK); got.Value("asked") != true {
		t.Errorf("%s", got.Body)
	}
	ann.Patch(x.path, object{"ttl": 3}).Want(http.StatusOK)
	if m := s.Mail.Wait(t, "bob@example.org", "available again", 1); s.Transfer+"/public/transfers/"+m.Key(t, "/t/") != link {
		t.Errorf("%s", m.Text)
	}
	if n := count(t, s, `SELECT count(*) FROM mails WHERE template = 'transfer-extended'`); n != 1 {
		t.Errorf("%d mails about the extension", n)
	}
	s.Stranger().Get(ask).WantError(transfer.ErrNotFound)
	openLink(s, link, nil).Get(link + "/archive").Want(http.StatusOK)
	ann.Delete(closed.path).Want(http.StatusNoContent)
	s.Stranger().Get(sealed + "/extension").WantError(transfer.ErrNotFound)
	s.Clock.Advance(10 * 24 * time.Hour) // with the grace
	s.Stranger().Get(ask).WantError(transfer.ErrNotFound)
	s.Stranger().Post(ask, nil).WantError(transfer.ErrNotFound)
	run(t, s, service.ExpireTransfersJob)
	s.Stranger().Post(ask, nil).WantError(transfer.ErrNotFound)
}

// TestParallelAsks: of parallel requests one mails the sender, however many links and replicas.
func TestParallelAsks(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	x := deliver(ann, object{"ttl": 1, "recipients": []object{to("bob@example.org"), to("cid@example.org")}},
		[2]string{"plan.pdf", "%PDF-1.4"})
	links := []string{linkTo(s, "bob@example.org"), linkTo(s, "cid@example.org"), x.public}
	s.Clock.Advance(24 * time.Hour)
	var asked atomic.Int32
	var wg sync.WaitGroup
	for i := range 9 {
		wg.Go(func() {
			switch r, err := s.Stranger().Try(t.Context(), "POST", links[i%3]+"/extension", nil); {
			case err != nil:
				t.Error(err)
			case r.Status == http.StatusNoContent:
				asked.Add(1)
			case r.Status != http.StatusTooManyRequests:
				t.Errorf("%d %s", r.Status, r.Body)
			}
		})
	}
	wg.Wait()
	if mails := count(t, s, `SELECT count(*) FROM mails WHERE template = 'extension-asked'`); asked.Load() != 1 || mails != 1 {
		t.Errorf("%d asked, %d mails", asked.Load(), mails)
	}
}
