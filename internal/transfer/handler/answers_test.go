package handler_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/testkit"
)

// asked gives Ann's mailbox two questions.
func asked(ann *testkit.Person, more object) {
	box := object{
		"vanityLink": "ann", "fieldsSchema": json.RawMessage(
			`{"type":"object","title":"About","required":[],"properties":{"kind":{"type":"string"},"due":{"type":"string"}}}`),
		"uiSchema": json.RawMessage(`{"ui:order":["kind","due"],"kind":{"ui:widget":"select","ui:title":"What is it?","ui:options":{"enumOptions":[{"value":"d","label":"Drawing"}]}},
			"due":{"ui:widget":"date","ui:title":"Needed by","ui:options":{}}}`),
	}
	for name, value := range more {
		box[name] = value
	}
	ann.Put(ann.Server.Transfer+"/mailbox", box).Want(http.StatusOK)
}

// wantAnswers checks the answers of an answer.
func wantAnswers(t *testing.T, where string, got any, want string) {
	t.Helper()
	encoded, err := json.Marshal(got)
	if err != nil || string(encoded) != want {
		t.Errorf("%s: answers are %s, want %s", where, encoded, want)
	}
}

// TestAnswersReachTheOwner: the answers to the mailbox's questions are in the mail, behind its link, in the inbox, its search and its
// export, and in the answer to the confirm.
func TestAnswersReachTheOwner(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	asked(ann, nil)
	d := reserve(s)
	for i := range 12 {
		d.send("sheet-"+string(rune('a'+i)), []byte("x"))
	}
	d.Patch(d.path, object{"fields": object{"due": "2026-12-24", "kind": "d", "old": "=1+1 zebra"}}).Want(http.StatusOK)
	done := d.Post(d.path+"/confirm", nil).Want(http.StatusOK)
	const want = `[{"format":"select","name":"kind","title":"What is it?","value":"Drawing"},{"format":"date","name":"due","title":"Needed by","value":"2026-12-24"},` +
		`{"format":"text","name":"old","title":"old","value":"=1+1 zebra"}]`
	wantAnswers(t, "confirm", done.Value("answers"), want)
	wantAnswers(t, "inbox", ann.Get(s.Transfer+"/transfers/"+done.String("uid")).Want(http.StatusOK).Value("answers"), want)

	m := s.Mail.Wait(t, "ann@example.com", "/t/", 1)
	for _, line := range []string{"What is it?: Drawing\n", "Needed by: December 24, 2026\n", "old: =1+1 zebra\n",
		"- sheet-a.bin (1\u00a0B)\n", "- sheet-j.bin (1\u00a0B)\nand 2 more files\n"} {
		if !strings.Contains(m.Text, line) {
			t.Errorf("no %q in the mail:\n%s", line, m.Text)
		}
	}
	if strings.Contains(m.Text, "SHA-256") || !strings.Contains(m.HTML, "What is it?") || !strings.Contains(m.HTML, "Drawing") {
		t.Errorf("mail: %s", m.HTML)
	}
	wantAnswers(t, "link", s.Stranger().Get(s.Transfer+"/public/transfers/"+m.Key(t, "/t/")).Want(http.StatusOK).Value("answers"), want)

	for text, found := range map[string]int{"ZEBRA": 1, "sheet-b": 1, "horse": 0} {
		list, _ := ann.Get(s.Transfer + "/transfers?search=" + text).Want(http.StatusOK).Value("transfers").([]any)
		if len(list) != found {
			t.Errorf("%s: %d transfers, want %d", text, len(list), found)
		}
	}
	table := ann.With("Accept", "text/csv").Get(s.Transfer + "/mailbox/transfers").Want(http.StatusOK)
	rows, err := csv.NewReader(strings.NewReader(string(table.Body))).ReadAll()
	if err != nil || len(rows) != 2 || !slices.Equal(rows[0][12:], []string{"What is it?", "Needed by", "otherAnswers"}) ||
		!slices.Equal(rows[1][12:], []string{"Drawing", "2026-12-24", "old: =1+1 zebra"}) {
		t.Errorf("%v %q", err, rows)
	}
	if table.Header.Get("Content-Disposition") != `attachment; filename="transfers.csv"` {
		t.Errorf("%v", table.Header)
	}
}

// TestAnswersOfSecureMailboxes: a mail and a link that need a code show no answers.
func TestAnswersOfSecureMailboxes(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	asked(ann, object{"secure": true})
	d := reserve(s)
	d.send("sheet", []byte("x"))
	d.Patch(d.path, object{"fields": object{"kind": "zebra"}}).Want(http.StatusOK)
	uid := d.confirm()
	m := s.Mail.Wait(t, "ann@example.com", "/t/", 1)
	if strings.Contains(m.Text+m.HTML, "zebra") || strings.Contains(m.Text, "sheet") {
		t.Errorf("the mail shows contents: %s", m.Text)
	}
	link := s.Transfer + "/public/transfers/" + m.Key(t, "/t/")
	if locked := s.Stranger().Get(link).Want(http.StatusOK); locked.Value("answers") != nil || locked.Value("locked") != true {
		t.Errorf("%s", locked.Body)
	}
	raw := ann.Post(link+"/access", nil).Want(http.StatusOK).String("token")
	const want = `[{"format":"select","name":"kind","title":"What is it?","value":"zebra"}]`
	wantAnswers(t, "opened", s.Stranger().As(raw).Get(link).Want(http.StatusOK).Value("answers"), want)
	ann.Delete(s.Transfer + "/transfers/" + uid).Want(http.StatusNoContent)
}

// TestMailboxTable: the table has all pages, of transfers to the mailbox only, and cells that are not formulas.
func TestMailboxTable(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	s.SignUp("bob@example.com").Get(s.Transfer + "/mailbox/transfers").Want(http.StatusNotFound)
	for range 5 {
		d := reserve(s)
		d.Patch(d.path, object{"subject": "=cmd()"}).Want(http.StatusOK)
		d.send("sheet", []byte("x"))
		d.confirm()
	}
	other, _ := begin(s.SignUp("cleo@example.com"), object{"subject": "not to the mailbox",
		"recipients": []object{{"email": "ann@example.com", "destinationType": "to"}}})
	other.send("sheet", []byte("x"))
	other.confirm()
	rows, err := csv.NewReader(strings.NewReader(string(
		ann.With("Accept", "text/csv").Get(s.Transfer + "/mailbox/transfers").Want(http.StatusOK).Body))).ReadAll()
	if err != nil || len(rows) != 6 {
		t.Fatalf("%v: %d rows", err, len(rows))
	}
	for _, row := range rows[1:] {
		if row[6] != "'=cmd()" || row[10] != "sheet.bin" || row[4] != "sam@example.com" {
			t.Errorf("%q", row)
		}
	}
	ann.With("Accept", "application/json").Get(s.Transfer + "/mailbox/transfers").Want(http.StatusNotAcceptable)
}

// TestTransferQRCode: the sender of a link gets it as a QR code, until it is revoked. Nobody else does.
func TestTransferQRCode(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	drop := deliver(ann, object{}, [2]string{"a", "a"})
	svg := ann.With("Accept", "image/*").Get(drop.path + "/qr").Want(http.StatusOK)
	if !strings.HasPrefix(string(svg.Body), "<svg ") || svg.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("%v %.80s", svg.Header, svg.Body)
	}
	bob.With("Accept", "image/*").Get(drop.path + "/qr").Want(http.StatusNotFound)
	sent := deliver(ann, object{"recipients": []object{{"email": "bob@example.com", "destinationType": "to"}}}, [2]string{"a", "a"})
	bob.With("Accept", "image/*").Get(sent.path + "/qr").Want(http.StatusNotFound) // a recipient
	ann.Delete(drop.path).Want(http.StatusNoContent)
	ann.With("Accept", "image/*").Get(drop.path + "/qr").Want(http.StatusNotFound)
}

// TestMailboxQRCode: everybody gets the link of a mailbox as a QR code; an unknown one is 404.
func TestMailboxQRCode(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	svg := s.Stranger().With("Accept", "image/*").Get(s.Transfer + "/public/mailbox/ann/qr").Want(http.StatusOK)
	if !strings.HasPrefix(string(svg.Body), "<svg ") || svg.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("%v %.80s", svg.Header, svg.Body)
	}
	s.Stranger().With("Accept", "image/*").Get(s.Transfer + "/public/mailbox/nobody/qr").Want(http.StatusNotFound)
	with := func(query string) *testkit.Response {
		return s.Stranger().With("Accept", "image/*").Get(s.Transfer + "/public/mailbox/ann/qr?prefill=" + url.QueryEscape(query))
	}
	filled := with("subject=Case 4711&field.order=12&shared").Want(http.StatusOK)
	want, err := imaging.QRCode(s.URL + "/m/ann?field.order=12&shared=&subject=Case+4711")
	if err != nil || string(want) != string(filled.Body) {
		t.Errorf("%v: the code is of another link", err)
	}
	for _, query := range []string{"next=https://evil.test", "subject=%zz", "subject=" + strings.Repeat("ä", 400), "a;b"} {
		with(query).Want(http.StatusBadRequest)
	}
	ann.Delete(s.Transfer + "/mailbox").Want(http.StatusNoContent)
}
