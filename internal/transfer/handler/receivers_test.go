package handler_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
)

// TestSenderSeesEachRecipient: the sender sees who opened and downloaded when; recipients see nothing of one another.
func TestSenderSeesEachRecipient(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, ben := s.SignUp("ann@example.com"), s.SignUp("ben@example.com")
	d, _ := begin(ann, object{"subject": "Plans", "recipients": []object{
		{"email": "ben@example.com", "destinationType": "to"}, {"email": "cleo@example.com", "destinationType": "to"},
		{"email": "dora@example.com", "destinationType": "bcc"},
	}})
	d.send("plan", []byte("bytes"))
	uid := d.confirm()
	one := s.Transfer + "/transfers/" + uid
	file := ann.Get(one).Want(http.StatusOK).String("objects.0.uid")

	link := s.Transfer + "/public/transfers/" + s.Mail.Wait(t, "cleo@example.com", "/t/", 1).Key(t, "/t/")
	guest := s.Stranger().As(s.Stranger().Post(link+"/access", nil).Want(http.StatusOK).String("token"))
	guest.Get(link + "/objects/" + file + "/content").Want(http.StatusOK)
	guest.Get(link + "/archive").Want(http.StatusOK)
	guest.With("Range", "bytes=2-").Get(link + "/objects/" + file + "/content").Want(http.StatusPartialContent) // continues a download

	seen := ann.Get(one).Want(http.StatusOK)
	if seen.Value("recipients.0.accessedAt") != nil || seen.Value("recipients.0.downloads") != nil ||
		seen.Value("recipients.2.accessedAt") != nil {
		t.Errorf("nobody but Cleo opened it: %s", seen.Body)
	}
	if seen.Value("recipients.1.downloads") != 2.0 || seen.String("recipients.1.accessedAt") == "" ||
		seen.String("recipients.1.downloadedAt") == "" {
		t.Errorf("Cleo downloaded twice: %s", seen.Body)
	}
	ben.Get(one + "/archive").Want(http.StatusOK)
	if after := ann.Get(s.Transfer + "/transfers?location=sent").Want(http.StatusOK); after.Value(
		"transfers.0.recipients.0.downloads") != 1.0 {
		t.Errorf("Ben downloaded once: %s", after.Body)
	}
	if got := ben.Get(one).Want(http.StatusOK); strings.Contains(string(got.Body), "downloadedAt") ||
		strings.Contains(string(got.Body), `"downloads":2`) {
		t.Errorf("Ben sees what others did: %s", got.Body)
	}
}
