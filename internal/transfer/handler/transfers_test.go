// Tests of received transfers: download, list, mails and expiry.

package handler_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

func TestDownloading(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	data := random(100_000)
	d.Post(d.path+"/objects", map[string]any{"clientId": "a", "name": "C:\\Pläne/\"1\"; x.bin", "intendedSize": len(data)}).Want(
		http.StatusCreated)
	d.Put(d.path+"/objects/a/content", data).Want(http.StatusOK)
	d.attach("empty", 0)
	uid := d.confirm()
	transferPath := s.Transfer + "/transfers/" + uid
	got := ann.Get(transferPath).Want(http.StatusOK)
	file := transferPath + "/objects/" + got.String("objects.0.uid") + "/content"
	if got.String("state") != "delivered" || got.Value("accessedAt") != nil {
		t.Errorf("%s", got.Body)
	}
	head := ann.Head(file).Want(http.StatusOK)
	if head.Header.Get("Content-Length") != "100000" || head.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("%v", head.Header)
	}
	tail := ann.With("Range", "bytes=-10").Get(file).Want(http.StatusPartialContent)
	if string(tail.Body) != string(data[99_990:]) || tail.Header.Get("Content-Range") != "bytes 99990-99999/100000" {
		t.Errorf("%v", tail.Header)
	}
	if after := ann.Get(transferPath); after.Value("objects.0.downloads") != 0.0 || after.String("state") != "delivered" {
		t.Errorf("HEAD or a later part counted: %s", after.Body)
	}
	whole := ann.Get(file).Want(http.StatusOK)
	if string(whole.Body) != string(data) || whole.Header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" ||
		whole.Header.Get("Content-Disposition") != `attachment; filename="_1__ x.bin"; filename*=UTF-8''%221%22%3B%20x.bin` {
		t.Errorf("%v", whole.Header)
	}
	if after := ann.Get(transferPath); after.Value("objects.0.downloads") != 1.0 || after.String("state") != "accessed" ||
		after.Value("accessedAt") == nil {
		t.Errorf("the download did not count: %s", after.Body)
	}
	etag := whole.Header.Get("ETag")
	ann.With("If-None-Match", etag).Get(file).Want(http.StatusNotModified)
	if r := ann.With("Range", "bytes=5-").With("If-Range", etag).Get(file).Want(http.StatusPartialContent); len(r.Body) != 99_995 {
		t.Errorf("%d bytes", len(r.Body))
	}
	ann.With("Range", "bytes=5-").With("If-Range", `"other"`).Get(file).Want(http.StatusOK)
	for _, bad := range []string{"bytes=100000-", "bytes=5-4", "bytes=x", "bytes=-0", "bytes=--1"} {
		r := ann.With("Range", bad).Get(file)
		r.WantError(transfer.ErrRange)
		if r.Header.Get("Content-Range") != "bytes */100000" {
			t.Errorf("%s: %v", bad, r.Header)
		}
	}
	if r := ann.With("Range", "bytes=0-1,10-11").Get(file).Want(http.StatusPartialContent); !strings.HasPrefix(r.Header.Get("Content-Type"),
		"multipart/byteranges") {
		t.Errorf("%v", r.Header)
	}
	for ranges, status := range map[int]int{100: http.StatusPartialContent, 101: http.StatusOK} { // ranges of one byte
		ann.With("Range", "bytes="+strings.Repeat("7-7,", ranges-1)+"9-9").Get(file).Want(status)
	}
	if r := ann.With("Range", "bytes=0-").Get(transferPath + "/objects/" + got.String("objects.1.uid") + "/content").Want(http.StatusOK); len(
		r.Body) != 0 {
		t.Errorf("%d bytes", len(r.Body))
	}
	bob := s.SignUp("bob@example.com")
	bob.Get(file).WantError(transfer.ErrNotFound)
	bob.Get(transferPath).WantError(transfer.ErrNotFound)
	bob.Delete(transferPath).WantError(transfer.ErrNotFound)
	s.Stranger().Get(file).WantError(token.ErrMissing)
	ann.Get(transferPath + "/objects/" + d.uid + "/content").WantError(transfer.ErrNotFound)
}

func TestListingTransfers(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	var uids []string
	for i := range 5 {
		d := reserve(s)
		d.Patch(d.path, map[string]any{"subject": fmt.Sprintf("Plan %d%%", i)}).Want(http.StatusOK)
		uids = append(uids, d.confirm())
		s.Clock.Advance(time.Second)
	}
	list := s.Transfer + "/transfers"
	first := ann.Get(list + "?limit=3").Want(http.StatusOK)
	if first.String("transfers.0.uid") != uids[4] || first.String("transfers.2.uid") != uids[2] {
		t.Errorf("%s", first.Body)
	}
	second := ann.Get(list + "?limit=3&after=" + first.String("next")).Want(http.StatusOK)
	if second.String("transfers.0.uid") != uids[1] || second.String("transfers.1.uid") != uids[0] || second.Value("next") != nil {
		t.Errorf("%s", second.Body)
	}
	if found := ann.Get(list + "?search=PLAN+3%25&location=received").Want(http.StatusOK); found.String("transfers.0.uid") != uids[3] ||
		found.Value("transfers.1") != nil {
		t.Errorf("%s", found.Body)
	}
	if sent := ann.Get(list + "?location=sent").Want(http.StatusOK); len(sent.Value("transfers").([]any)) != 0 {
		t.Errorf("%s", sent.Body)
	}
	for _, bad := range []string{"limit=0", "limit=201", "limit=x", "location=drafts", "after=x", "search=%00", "limit=%",
		"location=received;sent"} {
		ann.Get(list + "?" + bad).WantError(fault.ErrInvalid)
	}
	ann.Delete(list + "/" + uids[4]).Want(http.StatusNoContent)
	ann.Get(list + "/" + uids[4]).WantError(transfer.ErrNotFound)
	if left := ann.Get(list).Want(http.StatusOK); left.String("transfers.0.uid") != uids[3] {
		t.Errorf("%s", left.Body)
	}
	// The name has decomposed accents, as macOS writes them. The search has composed ones, in the other case.
	d := reserve(s)
	d.Patch(d.path, map[string]any{"subject": "U\u0308bergabe"}).Want(http.StatusOK)
	apart := d.confirm()
	for _, typed := range []string{"%C3%9CBERGABE", "%C3%BCberg", "u%CC%88berg"} {
		if found := ann.Get(list + "?search=" + typed).Want(http.StatusOK); found.Value("transfers.0") == nil ||
			found.String("transfers.0.uid") != apart {
			t.Errorf("%s: %s", typed, found.Body)
		}
	}
}

func TestMailsOfADelivery(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserveAs(s.SignUp("sam@example.org"), "sam@example.org")
	d.Patch(d.path, map[string]any{"subject": "Bridge plans", "message": "As agreed."}).Want(http.StatusOK)
	d.send("sheet", []byte("%PDF-1.4 sheet"))
	d.confirm()
	delivered := s.Mail.Wait(t, "ann@example.com", "Bridge plans", 1)
	if !strings.Contains(delivered.Text, s.URL+"/t/") || !strings.HasPrefix(delivered.Subject, "Sam (sam@example.org) sent you files") {
		t.Errorf("%s\n%s", delivered.Subject, delivered.Text)
	}
	confirmation := s.Mail.Wait(t, "sam@example.org", "sheet.bin", 1)
	if strings.Contains(confirmation.Text, "Bridge plans") || strings.Contains(confirmation.Text, "As agreed") ||
		!strings.Contains(confirmation.Text, "Ann") {
		t.Errorf("%s", confirmation.Text)
	}
}

func TestTransfersExpire(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	d.send("a", []byte("hello"))
	path := s.Transfer + "/transfers/" + d.confirm()
	file := path + "/objects/" + ann.Get(path).String("objects.0.uid") + "/content"
	s.Clock.Advance(7*24*time.Hour - time.Minute)
	ann = ann.Login()
	ann.Get(file).Want(http.StatusOK)
	s.Clock.Advance(time.Minute)
	ann.Get(file).WantError(transfer.ErrNotFound)
	if err := s.App.Jobs.RunOnce(t.Context(), service.ExpireTransfersJob); err != nil {
		t.Fatal(err)
	}
	left := ann.Get(path).Want(http.StatusOK)
	if left.String("state") != "expired" || left.Value("objects.0.name") != nil || left.Value("objects.0.sha256") != nil ||
		left.Value("totalBytes") != 5.0 {
		t.Errorf("%s", left.Body)
	}
}
