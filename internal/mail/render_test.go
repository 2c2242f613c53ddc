// Tests of all templates in all locales, and of headers.

package mail

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
)

var testTime = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

const (
	testLink = "https://files.example.org/confirm/K3y-of_the-link"
	testCode = "493817"
)

// allData holds all keys of all templates.
func allData() map[string]any {
	return map[string]any{
		"address": "ann.other@example.org", "expiresAt": testTime.Add(48 * time.Hour), "at": testTime,
		"clientAddress": "2001:db8::7", "type": "totp", "name": "Phone", "organization": "Muster AG", "inviter": "Ann",
		"sender": "Bob", "senderEmail": "bob@example.com", "subject": "The plans", "message": "Dear Ann,\n\n<b>here</b> they are.",
		"fileCount": 3, "totalBytes": 104_857_600, "protection": "none", "mailbox": "Ann Example",
		"files": []File{{"plan.pdf", 1_500_000, strings.Repeat("ab", 32)}, {"größe 図面.dwg", 0, strings.Repeat("cd", 32)},
			{"model.ifc", 103_357_600, strings.Repeat("ef", 32)}},
		"recipient": "cleo@example.net", "role": "recipient", "answer": "550 5.1.1 no such user", "vanityLink": "ann",
		"host": "files.example.org", "link": "https://files.example.org/mailbox", "inbox": "https://files.example.org/inbox",
		"device": "Firefox, Linux", "power": PowerUndo, "received": 12, "sent": 3,
	}
}

func renderer(t testing.TB) *Mailer {
	t.Helper()
	sealer, catalog := Parts(t)
	return &Mailer{
		box: sealer.Box("mail"), catalog: catalog, log: slog.New(slog.DiscardHandler),
		from: mail.Address{Name: "Consign", Address: "no-reply@example.org"}, now: func() time.Time { return testTime },
		options: Options{ProductName: "Consign", ProductURL: "https://example.org/", SupportContact: "help@example.org"},
	}
}

func testMessage(template, locale string) Message {
	return Message{
		To: "ann@example.org", ToName: "Ann Example", Locale: locale, TimeZone: "Europe/Berlin", Template: template,
		ReplyTo: "bob@example.com", ReplyToName: "Bob", Data: allData(),
		Secret: map[string]string{"link": testLink, "code": testCode},
	}
}

func rendered(t testing.TB, m *Mailer, msg Message) Envelope {
	t.Helper()
	if err := msg.check(); err != nil {
		t.Fatal(err)
	}
	r, err := m.row(msg)
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.render(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.render(t.Context(), r, nil)
	if err != nil || !bytes.Equal(e.Bytes, again.Bytes) {
		t.Fatalf("%s: rendering the same row twice gives different bytes (%v)", msg.Template, err)
	}
	return e
}

// parsed holds the parts of a mail that a mail program shows.
type parsed struct {
	header      mail.Header
	subject     string
	text, html  string
	pictureKind string
	picture     []byte
}

func parse(t testing.TB, raw []byte) parsed {
	t.Helper()
	for _, l := range bytes.SplitAfter(raw, []byte("\n")) {
		if len(l) > 0 && (!bytes.HasSuffix(l, []byte("\r\n")) || bytes.ContainsAny(l[:len(l)-2], "\r\n\x00")) {
			t.Fatalf("line end missing or within %q", l)
		}
		if len(l) > 80 {
			t.Errorf("line of %d bytes: %q", len(l), l)
		}
		for _, c := range l {
			if c >= 0x80 {
				t.Fatalf("not ASCII: %q", l)
			}
		}
	}
	msg, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	p := parsed{header: msg.Header}
	if p.subject, err = new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	outer := partsOf(t, msg.Header.Get("Content-Type"), "multipart/alternative", msg.Body)
	if len(outer) != 2 {
		t.Fatalf("%d parts of multipart/alternative", len(outer))
	}
	p.text = outer[0].decoded(t, "text/plain; charset=utf-8")
	inner := partsOf(t, outer[1].header.Get("Content-Type"), "multipart/related", bytes.NewReader(outer[1].body))
	if len(inner) != 2 {
		t.Fatalf("%d parts of multipart/related", len(inner))
	}
	p.html = inner[0].decoded(t, "text/html; charset=utf-8")
	p.pictureKind = inner[1].header.Get("Content-Type")
	if id := inner[1].header.Get("Content-ID"); id != "<picture>" || !strings.Contains(p.html, `src="cid:picture"`) {
		t.Errorf("the picture %q is not in the HTML", id)
	}
	if p.picture, err = io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(inner[1].body))); err != nil {
		t.Fatal(err)
	}
	return p
}

type part struct {
	header textproto.MIMEHeader
	body   []byte
}

func (p part) decoded(t testing.TB, kind string) string {
	t.Helper()
	if got := p.header.Get("Content-Type"); got != kind {
		t.Fatalf("part %q, want %q", got, kind)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(p.body)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(body), "\r\n", "\n")
}

// partsOf returns the parts of a multipart body, not decoded.
func partsOf(t testing.TB, contentType, kind string, body io.Reader) (list []part) {
	t.Helper()
	got, params, err := mime.ParseMediaType(contentType)
	if err != nil || got != kind {
		t.Fatalf("Content-Type %q, %v, want %q", got, err, kind)
	}
	reader := multipart.NewReader(body, params["boundary"])
	for {
		next, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(next)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, part{next.Header, b})
	}
}

// TestEveryTemplateInEveryLocale renders every template in every locale, with all data and without data.
func TestEveryTemplateInEveryLocale(t *testing.T) {
	t.Parallel()
	m := renderer(t)
	for template := range compositions {
		english := map[bool]string{}
		for _, locale := range append([]string{i18n.Default}, i18n.Locales()...) {
			for _, bare := range []bool{false, true} {
				msg := testMessage(template, locale)
				if bare {
					msg.Data, msg.Secret, msg.ToName, msg.ReplyTo = nil, nil, "", ""
				}
				e := rendered(t, m, msg)
				p := parse(t, e.Bytes)
				all := p.subject + p.text + p.html
				if strings.Contains(all, "%!") || strings.Contains(all, "<no value>") || strings.Contains(all, "ZgotmplZ") {
					t.Errorf("%s %s: missing value in\n%s", template, locale, all)
				}
				if p.subject == "" || !strings.Contains(p.text, "Consign") || !strings.Contains(p.html, "Consign") {
					t.Errorf("%s %s: no subject or no product name:\n%s", template, locale, all)
				}
				if got, want := p.header.Get("Content-Language"), strings.ReplaceAll(locale, "_", "-"); got != want {
					t.Errorf("Content-Language %q, want %q", got, want)
				}
				if english[bare] == "" {
					english[bare] = p.text
				} else if locale != i18n.Default && p.text == english[bare] {
					t.Errorf("%s %s: not translated", template, locale)
				}
				if len(e.Links) == 1 && (!strings.Contains(p.text, "\n"+e.Links[0]+"\n") || !strings.Contains(p.html, `href="`+e.Links[0]+`"`)) {
					t.Errorf("%s %s: the link %s is not in both parts:\n%s", template, locale, e.Links[0], all)
				}
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	msg := testMessage(TransferDelivered, "de_DE")
	msg.ToName = "Änne Müller"
	p := parse(t, rendered(t, renderer(t), msg).Bytes)
	got := map[string]string{}
	for _, name := range []string{"From", "Reply-To", "Date", "Auto-Submitted", "Mime-Version"} {
		got[name] = p.header.Get(name)
	}
	want := map[string]string{
		"From": `"Consign" <no-reply@example.org>`, "Reply-To": `"Bob" <bob@example.com>`,
		"Date": "Fri, 20 Nov 2026 09:30:00 +0000", "Auto-Submitted": "auto-generated", "Mime-Version": "1.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	to, err := p.header.AddressList("To")
	if err != nil || len(to) != 1 || *to[0] != (mail.Address{Name: "Änne Müller", Address: "ann@example.org"}) {
		t.Errorf("To = %v, %v", to, err)
	}
	if p.subject != "Bob (bob@example.com) hat Ihnen Dateien gesendet: The plans" {
		t.Errorf("Subject = %q", p.subject)
	}
	if messageID := p.header.Get("Message-Id"); !strings.HasPrefix(messageID, "<") || !strings.HasSuffix(messageID, "@example.org>") {
		t.Errorf("Message-ID = %q", messageID)
	}
}

func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"", "ann", "Ann <ann@example.org>", "ann@example.org\r\nBcc: b@example.org", "ann@example.org, b@example.org",
		"<ann@example.org>"} {
		msg := testMessage(VerifyEmail, "en_US")
		msg.To = to
		if err := msg.check(); err == nil {
			t.Errorf("To %q was accepted", to)
		}
	}
	msg := testMessage("no-such-template", "en_US")
	if err := msg.check(); err == nil {
		t.Error("an unknown template was accepted")
	}
	msg = testMessage(VerifyEmail, "en_US")
	msg.ReplyTo = "x"
	if err := msg.check(); err == nil {
		t.Error("an invalid Reply-To was accepted")
	}
}

func TestSealedForItsRow(t *testing.T) {
	t.Parallel()
	m := renderer(t)
	r, err := m.row(testMessage(VerifyEmail, "en_US"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(r.Secret, []byte("confirm")) || bytes.Contains(r.Data, []byte("K3y")) {
		t.Error("the link is readable in the row")
	}
	r.UID = id.New[id.Mail]()
	if _, err := m.render(t.Context(), r, nil); err == nil {
		t.Error("a sealed link opens in another mail's row")
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Subject: short":                            "Subject: short",
		"Subject: a\r\nBcc: b":                      "Subject: a  Bcc: b",
		"X: " + strings.Repeat("a", 100):            "X: " + strings.Repeat("a", 100),
		"X: " + strings.Repeat("word ", 20) + "end": "X: " + strings.Repeat("word ", 13) + "word\r\n " + strings.Repeat("word ", 6) + "end",
	} {
		if got := fold(in); got != want {
			t.Errorf("fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzRender(f *testing.F) {
	m := renderer(f)
	f.Add("Ann", "subject", "message", "file.txt")
	f.Add("\r\n.\r\n", "=?utf-8?b?AAAA?=", "\u2028", "\xff\xfe")
	f.Fuzz(func(t *testing.T, name, subject, message, file string) {
		for _, template := range []string{TransferDelivered, UploadConfirmation} {
			msg := testMessage(template, "en_US")
			msg.ToName, msg.ReplyToName = name, name
			msg.Data["sender"], msg.Data["subject"], msg.Data["message"] = name, subject, message
			msg.Data["files"] = []File{{Name: file}}
			p := parse(t, rendered(t, m, msg).Bytes)
			if len(p.header) != 11 {
				t.Errorf("headers: %v", p.header)
			}
		}
	})
}
