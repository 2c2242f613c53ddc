package mail

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/i18n"
)

// Untrusted text cannot inject headers, markup or links.
func TestUntrustedText(t *testing.T) {
	t.Parallel()
	m := renderer(t)
	hostile := "Eve\r\nBcc: all@example.org\r\n\r\n<script>alert(1)</script>\x00\u202egpj.exe =?utf-8?q?x?= \"q\" " + strings.Repeat("ü", 400)
	for template := range compositions {
		msg := testMessage(template, "en_US")
		msg.ToName, msg.ReplyToName = hostile, hostile
		for key, value := range msg.Data {
			if _, ok := value.(string); ok && key != "protection" && key != "role" && key != "type" && key != "link" && key != "inbox" {
				msg.Data[key] = hostile
			}
		}
		msg.Data["files"] = []File{{hostile, -5, hostile}, {"http://evil.example/login", 1, ""}, {"www.evil.example", 1, ""}}
		p := parse(t, rendered(t, m, msg).Bytes)
		if len(p.header["Bcc"]) > 0 || len(p.header) != 11 {
			t.Errorf("%s: headers %v", template, p.header)
		}
		if strings.Contains(p.html, "<script") || strings.Contains(p.html, "\u202e") || strings.Contains(p.text, "\u202e") {
			t.Errorf("%s: not escaped:\n%s", template, p.html)
		}
		if template == UploadConfirmation {
			for _, body := range []string{p.text, p.html} {
				body = strings.ReplaceAll(body, `href="https://files.example.org/confirm/`, "") // of the button
				if strings.Contains(body, "http://evil") || strings.Contains(body, "www.evil") || strings.Contains(body, "href") {
					t.Errorf("a file name is or becomes a link:\n%s", body)
				}
			}
		}
	}
	msg := testMessage(VerifyEmail, "en_US")
	msg.Secret["link"] = "javascript:alert(1)"
	if p := parse(t, rendered(t, m, msg).Bytes); strings.Contains(p.html, `href="javascript`) {
		t.Error("a javascript link is rendered")
	}
}

func TestUploadConfirmation(t *testing.T) {
	t.Parallel()
	p := parse(t, rendered(t, renderer(t), testMessage(UploadConfirmation, "de_DE")).Bytes)
	want := `Guten Tag Ann Example,

Ann Example hat über Consign diese Dateien erhalten.

Empfangen: 20. November 2026, 10:30 (Europe/Berlin, UTC+01:00)
Inhalt: 3 Dateien, 104 MB

- plan.pdf (1,5 MB)
  SHA-256 ` + strings.Repeat("ab", 32) + `
- größe 図面.dwg (0 B)
  SHA-256 ` + strings.Repeat("cd", 32) + `
- model.ifc (103 MB)
  SHA-256 ` + strings.Repeat("ef", 32) + `

Meine Quittung öffnen:
https://files.example.org/confirm/K3y-of_the-link

Mit den SHA-256-Werten können Sie prüfen, dass die Dateien unverändert angekommen sind.

Bewahren Sie diese E-Mail auf: Ihr Link öffnet die Quittung auf jedem Gerät.

Wenn Sie nichts hochgeladen haben, hat jemand anderes Ihre Adresse angegeben: Sie können diese E-Mail ignorieren.

--
Diese E-Mail wurde automatisch von Consign gesendet.
Hilfe: help@example.org
https://example.org/
`
	if diff := cmp.Diff(want, strings.ReplaceAll(p.text, "\u00a0", " ")); diff != "" {
		t.Error(diff)
	}
	if plain := strings.ReplaceAll(p.html, "<wbr>", ""); !strings.Contains(plain, ">plan.pdf</strong>") ||
		!strings.Contains(plain, "größe 図面.dwg") || strings.Contains(plain, "The plans") {
		t.Error(p.html)
	}
}

func TestUploadConfirmationOfManyFiles(t *testing.T) {
	t.Parallel()
	msg := testMessage(UploadConfirmation, "en_US")
	files := make([]File, MaxFiles+2)
	for i := range files {
		files[i] = File{Name: strings.Repeat("n", 110) + "scan.tif", Size: 10, SHA256: strings.Repeat("0", 64)}
	}
	msg.Data = map[string]any{
		"files": files[:MaxFiles], "fileCount": MaxFiles + 2, "totalBytes": 520,
		"mailbox": msg.Data["mailbox"], "at": msg.Data["at"],
	}
	e := rendered(t, renderer(t), msg)
	p := parse(t, e.Bytes)
	if n := strings.Count(p.text, "- "+strings.Repeat("n", 99)+"… (10\u00a0B)\n"); n != MaxFiles {
		t.Errorf("%d files listed", n)
	}
	if !strings.Contains(p.text, "\nand 2 more files\n") || !strings.Contains(p.html, "and 2 more files") ||
		!strings.Contains(p.text, "Content: 52 files, 520\u00a0B\n") {
		t.Errorf("the number of further files is missing: %.300s", p.text)
	}
	if len(e.Bytes) > 100_000 {
		t.Errorf("the mail has %d bytes", len(e.Bytes))
	}
}

// An uploader whose address was not checked gets no list of files.
func TestUploadConfirmationWithoutList(t *testing.T) {
	t.Parallel()
	msg := testMessage(UploadConfirmation, "en_US")
	delete(msg.Data, "files")
	msg.Data["fileCount"], msg.Data["totalBytes"] = 3, 520
	p := parse(t, rendered(t, renderer(t), msg).Bytes)
	for _, want := range []string{"received your files with", "Content: 3 files, 520\u00a0B\n",
		"The files aren’t listed because this address wasn’t confirmed.",
		"Yes, I sent this: open my receipt:\nhttps://files.example.org/"} {
		if !strings.Contains(p.text, want) {
			t.Errorf("no %q in %s", want, p.text)
		}
	}
	if strings.Contains(p.text, "SHA-256") || strings.Contains(p.text, "more file") {
		t.Errorf("%s", p.text)
	}
}

// A sender whose address was not checked is marked in every mail that names the sender.
func TestUncheckedSendersAreMarked(t *testing.T) {
	t.Parallel()
	for _, locale := range i18n.Locales() {
		for _, template := range []string{TransferDelivered, TransferExpiring, AccessCode} {
			msg := testMessage(template, locale)
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
func TestMailsAboutProtectedTransfers(t *testing.T) {
	t.Parallel()
	m := renderer(t)
	for _, template := range []string{TransferDelivered, TransferExpiring} {
		for _, protection := range []string{"password", "recipientAuthentication", ""} {
			msg := testMessage(template, "en_US")
			msg.Data["protection"] = protection
			p := parse(t, rendered(t, m, msg).Bytes)
			for _, secret := range []string{"The plans", "they are.", "104", "3 files"} {
				if strings.Contains(p.subject+p.text+p.html, secret) {
					t.Errorf("%s with %q shows %q:\n%s", template, protection, secret, p.text)
				}
			}
		}
	}
	p := parse(t, rendered(t, m, testMessage(TransferDelivered, "en_US")).Bytes)
	for _, want := range []string{"> Dear Ann,\n> \n> <b>here</b> they are.\n", "Subject: The plans\n", "Content: 3 files, 104\u00a0MB\n",
		"Available until: November 22, 2026, 10:30 AM (Europe/Berlin, UTC+01:00)\n"} {
		if !strings.Contains(p.text, want) {
			t.Errorf("no %q in\n%s", want, p.text)
		}
	}
	if !strings.Contains(p.html, "&lt;b&gt;here&lt;/b&gt;") {
		t.Error("the message is not escaped")
	}
}
