package mail

import (
	"bytes"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
)

var moment = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

const (
	theLink = "https://files.example.org/confirm/K3y-of_the-link"
	theCode = "493817"
)

// full holds all keys of all templates.
func full() map[string]any {
	return map[string]any{
		"address": "ann.other@example.org", "expiresAt": moment.Add(48 * time.Hour), "at": moment,
		"clientAddress": "2001:db8::7", "type": "totp", "name": "Phone", "organization": "Muster AG", "inviter": "Ann",
		"sender": "Bob", "senderEmail": "bob@example.com", "subject": "The plans", "message": "Dear Ann,\n\n<b>here</b> they are.",
		"fileCount": 3, "totalBytes": 104_857_600, "protection": "none", "mailbox": "Ann Example",
		"files":     []File{{"plan.pdf", 1_500_000, strings.Repeat("ab", 32)}, {"größe 図面.dwg", 0, strings.Repeat("cd", 32)}, {"model.ifc", 103_357_600, strings.Repeat("ef", 32)}},
		"recipient": "cleo@example.net", "role": "recipient", "answer": "550 5.1.1 no such user", "vanityLink": "ann",
		"host": "files.example.org", "link": "https://files.example.org/mailbox",
	}
}

func renderer(t testing.TB) *Mailer {
	t.Helper()
	sealer, err := seal.New(bytes.Repeat([]byte{7}, 32), nil)
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	return &Mailer{
		box: sealer.Box("mail"), catalog: catalog, log: slog.New(slog.DiscardHandler),
		from: mail.Address{Name: "Consign", Address: "no-reply@example.org"}, now: func() time.Time { return moment },
		options: Options{ProductName: "Consign", ProductURL: "https://example.org/", SupportContact: "help@example.org"},
	}
}

func message1(template, locale string) Message {
	return Message{
		To: "ann@example.org", ToName: "Ann Example", Locale: locale, TimeZone: "Europe/Berlin", Template: template,
		ReplyTo: "bob@example.com", ReplyToName: "Bob", Data: full(),
		Secret: map[string]string{"link": theLink, "code": theCode},
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
	e, err := m.render(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.render(r)
	if err != nil || !bytes.Equal(e.Bytes, again.Bytes) {
		t.Fatalf("%s: rendering the same row twice gives different bytes (%v)", msg.Template, err)
	}
	return e
}

// parsed is a mail as a mail program parses it.
type parsed struct {
	header     mail.Header
	subject    string
	text, html string
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
	kind, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("Content-Type %q, %v", kind, err)
	}
	reader := multipart.NewReader(msg.Body, params["boundary"])
	for _, want := range []struct {
		kind string
		into *string
	}{{"text/plain; charset=utf-8", &p.text}, {"text/html; charset=utf-8", &p.html}} {
		part, err := reader.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		if got := part.Header.Get("Content-Type"); got != want.kind {
			t.Fatalf("part %q, want %q", got, want.kind)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
		*want.into = strings.ReplaceAll(string(body), "\r\n", "\n")
	}
	if _, err := reader.NextRawPart(); err != io.EOF {
		t.Fatalf("more than two parts: %v", err)
	}
	return p
}

// TestEveryTemplateInEveryLocale renders every template in every locale, with all data and without data.
func TestEveryTemplateInEveryLocale(t *testing.T) {
	t.Parallel()
	m := renderer(t)
	for template := range compositions {
		english := map[bool]string{}
		for _, locale := range append([]string{i18n.Default}, i18n.Locales()...) {
			for _, bare := range []bool{false, true} {
				msg := message1(template, locale)
				if bare {
					msg.Data, msg.Secret, msg.ToName, msg.ReplyTo = nil, nil, "", ""
				}
				e := rendered(t, m, msg)
				p := parse(t, e.Bytes)
				all := p.subject + p.text + p.html
				if strings.Contains(all, "%!") || strings.Contains(all, "<no value>") || strings.Contains(all, "ZgotmplZ") {
					t.Errorf("%s %s: a gap in\n%s", template, locale, all)
				}
				if p.subject == "" || !strings.Contains(p.text, "Consign") || !strings.Contains(p.html, "Consign") {
					t.Errorf("%s %s: says too little:\n%s", template, locale, all)
				}
				if got, want := p.header.Get("Content-Language"), strings.ReplaceAll(locale, "_", "-"); got != want {
					t.Errorf("Content-Language %q, want %q", got, want)
				}
				if english[bare] == "" {
					english[bare] = p.text
				} else if locale != i18n.Default && p.text == english[bare] {
					t.Errorf("%s %s: is in English", template, locale)
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
	msg := message1(TransferDelivered, "de_DE")
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

// Untrusted text cannot inject headers, markup or links.
func TestHostileWords(t *testing.T) {
	t.Parallel()
	m := renderer(t)
	hostile := "Eve\r\nBcc: all@example.org\r\n\r\n<script>alert(1)</script>\x00\u202egpj.exe =?utf-8?q?x?= \"q\" " + strings.Repeat("ü", 400)
	for template := range compositions {
		msg := message1(template, "en_US")
		msg.ToName, msg.ReplyToName = hostile, hostile
		for key, value := range msg.Data {
			if _, ok := value.(string); ok && key != "protection" && key != "role" && key != "type" && key != "link" {
				msg.Data[key] = hostile
			}
		}
		msg.Data["files"] = []File{{hostile, -5, hostile}, {"http://evil.example/login", 1, ""}, {"www.evil.example", 1, ""}}
		p := parse(t, rendered(t, m, msg).Bytes)
		if len(p.header["Bcc"]) > 0 || len(p.header) != 11 {
			t.Errorf("%s: headers %v", template, p.header)
		}
		if strings.Contains(p.html, "<script") || strings.Contains(p.html, "\u202e") || strings.Contains(p.text, "\u202e") {
			t.Errorf("%s: taken literally:\n%s", template, p.html)
		}
		if template == UploadConfirmation {
			for _, body := range []string{p.text, p.html} {
				if strings.Contains(body, "http://evil") || strings.Contains(body, "www.evil") || strings.Contains(body, "href") {
					t.Errorf("a file name is or becomes a link:\n%s", body)
				}
			}
		}
	}
	msg := message1(VerifyEmail, "en_US")
	msg.Secret["link"] = "javascript:alert(1)"
	if p := parse(t, rendered(t, m, msg).Bytes); strings.Contains(p.html, `href="javascript`) {
		t.Error("a javascript link got through")
	}
}

func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"", "ann", "Ann <ann@example.org>", "ann@example.org\r\nBcc: b@example.org", "ann@example.org, b@example.org", "<ann@example.org>"} {
		msg := message1(VerifyEmail, "en_US")
		msg.To = to
		if err := msg.check(); err == nil {
			t.Errorf("To %q was accepted", to)
		}
	}
	msg := message1("no-such-template", "en_US")
	if err := msg.check(); err == nil {
		t.Error("an unknown template was accepted")
	}
	msg = message1(VerifyEmail, "en_US")
	msg.ReplyTo = "x"
	if err := msg.check(); err == nil {
		t.Error("a wrong Reply-To was accepted")
	}
}

func TestUploadConfirmation(t *testing.T) {
	t.Parallel()
	p := parse(t, rendered(t, renderer(t), message1(UploadConfirmation, "de_DE")).Bytes)
	want := `Guten Tag Ann Example,

Ann Example hat über Consign diese Dateien erhalten.

Empfangen: 20. November 2026, 10:30 (Europe/Berlin, UTC+01:00)
Inhalt: 3 Dateien, 104,85 MB

- plan.pdf
  1,5 MB
  SHA-256 ` + strings.Repeat("ab", 32) + `
- größe 図面.dwg
  0 B
  SHA-256 ` + strings.Repeat("cd", 32) + `
- model.ifc
  103,35 MB
  SHA-256 ` + strings.Repeat("ef", 32) + `

Mit den SHA-256-Werten können Sie prüfen, dass die Dateien unverändert angekommen sind.

Wenn Sie nichts hochgeladen haben, hat jemand anderes Ihre Adresse angegeben: Sie können diese E-Mail ignorieren.

--
Diese E-Mail wurde automatisch von Consign gesendet.
Hilfe: help@example.org
https://example.org/
`
	if diff := cmp.Diff(want, strings.ReplaceAll(p.text, "\u00a0", " ")); diff != "" {
		t.Error(diff)
	}
	if plain := strings.ReplaceAll(p.html, "<wbr>", ""); !strings.Contains(plain, "<strong>plan.pdf</strong>") ||
		!strings.Contains(plain, "größe 図面.dwg") || strings.Contains(plain, "The plans") {
		t.Error(p.html)
	}
}

func TestUploadConfirmationOfManyFiles(t *testing.T) {
	t.Parallel()
	msg := message1(UploadConfirmation, "en_US")
	files := make([]File, MaxFiles+2)
	for i := range files {
		files[i] = File{Name: strings.Repeat("n", 110) + "scan.tif", Size: 10, SHA256: strings.Repeat("0", 64)}
	}
	for _, data := range []map[string]any{
		{"files": files[:MaxFiles], "fileCount": MaxFiles + 2, "totalBytes": 520},
		{"files": files}, // from the queue of an older version
	} {
		data["mailbox"], data["at"] = msg.Data["mailbox"], msg.Data["at"]
		msg.Data = data
		e := rendered(t, renderer(t), msg)
		p := parse(t, e.Bytes)
		if n := strings.Count(p.text, "- "+strings.Repeat("n", 99)+"…\n"); n != MaxFiles {
			t.Errorf("%d files listed", n)
		}
		if !strings.Contains(p.text, "\nand 2 more files\n") || !strings.Contains(p.html, "and 2 more files") || !strings.Contains(p.text, "Content: 52 files, 520\u00a0B\n") {
			t.Errorf("the rest is not mentioned: %.300s", p.text)
		}
		if len(e.Bytes) > 100_000 {
			t.Errorf("the mail has %d bytes", len(e.Bytes))
		}
	}
}

// An uploader whose address was not checked gets no list of files.
func TestUploadConfirmationWithoutList(t *testing.T) {
	t.Parallel()
	msg := message1(UploadConfirmation, "en_US")
	delete(msg.Data, "files")
	msg.Data["fileCount"], msg.Data["totalBytes"] = 3, 520
	p := parse(t, rendered(t, renderer(t), msg).Bytes)
	for _, want := range []string{"has received your files through", "Content: 3 files, 520\u00a0B\n", "The files are not listed because this address was not checked."} {
		if !strings.Contains(p.text, want) {
			t.Errorf("no %q in %s", want, p.text)
		}
	}
	if strings.Contains(p.text, "SHA-256") || strings.Contains(p.text, "more file") {
		t.Errorf("%s", p.text)
	}
}

// A sender whose address was not checked is marked in every mail that names the sender, also when the name looks like a checked one.
func TestUncheckedSendersAreMarked(t *testing.T) {
	t.Parallel()
	for _, locale := range i18n.Locales() {
		for _, template := range []string{TransferDelivered, TransferExpiring, AccessCode} {
			msg := message1(template, locale)
			msg.Data["sender"], msg.Data["senderEmail"], msg.Data["role"] = "Your bank", "mallory@example.org", "recipient"
			mark := renderer(t).catalog.Forms(locale, "address not checked")[0]
			for _, unverified := range []bool{false, true} {
				msg.Data["senderUnverified"] = unverified
				p := parse(t, rendered(t, renderer(t), msg).Bytes)
				if marked := strings.Contains(p.text, "Your bank (mallory@example.org, "+mark+")"); marked != unverified {
					t.Errorf("%s %s: marked is %t in %s", locale, template, marked, p.text)
				}
			}
		}
	}
}

// A mail about a protected transfer shows nothing of its contents.
func TestProtectedTransfersStayClosed(t *testing.T) {
	t.Parallel()
	m := renderer(t)
	for _, template := range []string{TransferDelivered, TransferExpiring} {
		for _, protection := range []string{"password", "recipientAuthentication", ""} {
			msg := message1(template, "en_US")
			msg.Data["protection"] = protection
			p := parse(t, rendered(t, m, msg).Bytes)
			for _, secret := range []string{"The plans", "they are.", "104.85", "3 files"} {
				if strings.Contains(p.subject+p.text+p.html, secret) {
					t.Errorf("%s with %q shows %q:\n%s", template, protection, secret, p.text)
				}
			}
		}
	}
	p := parse(t, rendered(t, m, message1(TransferDelivered, "en_US")).Bytes)
	for _, want := range []string{"> Dear Ann,\n> \n> <b>here</b> they are.\n", "Subject: The plans\n", "Content: 3 files, 104.85\u00a0MB\n", "Available until: November 22, 2026, 10:30 AM (Europe/Berlin, UTC+01:00)\n"} {
		if !strings.Contains(p.text, want) {
			t.Errorf("no %q in\n%s", want, p.text)
		}
	}
	if !strings.Contains(p.html, "&lt;b&gt;here&lt;/b&gt;") {
		t.Error("the message is not escaped")
	}
}

func TestSealedForItsRow(t *testing.T) {
	t.Parallel()
	m := renderer(t)
	r, err := m.row(message1(VerifyEmail, "en_US"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(r.Secret, []byte("confirm")) || bytes.Contains(r.Data, []byte("K3y")) {
		t.Error("the link is readable in the row")
	}
	r.UID = id.New[id.Mail]()
	if _, err := m.render(r); err == nil {
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
			msg := message1(template, "en_US")
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
