// Makes the bytes of a message: headers, encoded words, boundaries and pictures.

package mail

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"
)

// foldAt is the longest header line in characters (RFC 5322, 2.1.1: at most 78).
const foldAt = 76

// bytesPerWord is the most bytes of text in an encoded word, which then has at most 60 characters.
const bytesPerWord = 36

// render returns the bytes of a mail. They depend on its row only, so that each attempt sends the same, and on the look of its
// organization and the attachment at the time of the attempt.
func (m *Mailer) render(ctx context.Context, r row, attached *Attachment) (Envelope, error) {
	var s sender
	if err := json.Unmarshal(r.Sender, &s); err != nil {
		return Envelope{}, fmt.Errorf("read sender: %w", err)
	}
	from, err := mail.ParseAddress(s.From)
	if err != nil {
		return Envelope{}, fmt.Errorf("read sender: %w", err)
	}
	data, err := decodeValues(r.Data)
	if err != nil {
		return Envelope{}, fmt.Errorf("read data: %w", err)
	}
	data["attached"] = attached != nil
	secret := map[string]string{}
	if r.Secret != nil {
		plain, err := m.box.Open(r.Secret, r.UID.UUID[:])
		if err != nil {
			return Envelope{}, fmt.Errorf("open the sealed link (was SECRET_KEY changed?): %w", err)
		}
		if err := json.Unmarshal(plain, &secret); err != nil {
			return Envelope{}, fmt.Errorf("read secret: %w", err)
		}
	}
	p := m.catalog.Printer(r.Locale)
	c := compose(r, s, p, data, secret)
	e := Envelope{UID: r.UID, Template: r.Template, From: from.Address, To: r.Recipient}
	if c.Link != "" {
		e.Links = []string{c.Link}
	}
	look := m.lookOf(ctx, s.Host).checked()
	e.Bytes, err = message(r, from, c.Subject, text(c), html(c, s.Product, p, look), look.picture(), attached)
	return e, err
}

// message returns the bytes of a mail.
func message(r row, from *mail.Address, subject string, text, html []byte, shown picture, attached *Attachment) ([]byte, error) {
	var b bytes.Buffer
	header := headersOf(&b)
	header("From", mailbox(from.Name, from.Address))
	header("To", mailbox(r.RecipientName, r.Recipient))
	if r.ReplyTo != "" {
		header("Reply-To", mailbox(r.ReplyToName, r.ReplyTo))
	}
	header("Subject", encodeWords(subject))
	header("Date", r.CreatedAt.UTC().Format(time.RFC1123Z))
	header("Message-ID", r.MessageID)
	header("Auto-Submitted", "auto-generated")           // RFC 3834: no automatic replies
	header("X-Auto-Response-Suppress", "OOF, AutoReply") // the same for Exchange
	header("Content-Language", languageTag(r.Locale))
	header("MIME-Version", "1.0")
	unique := strings.ReplaceAll(r.UID.String(), "-", "")
	body := func() error { return alternative(&b, unique, text, html, shown) }
	if attached == nil {
		err := body()
		return b.Bytes(), err
	}
	err := mixed(&b, "=_m"+unique, *attached, body)
	return b.Bytes(), err
}

// alternative writes a multipart/alternative message (RFC 2046, 5.1.4) of two quoted-printable parts. The HTML is in a multipart/related
// part (RFC 2387) with the picture that it shows.
func alternative(b *bytes.Buffer, unique string, text, html []byte, shown picture) error {
	header := headersOf(b)
	outer := "=_" + unique // "=_" never occurs in quoted-printable or base64
	inner := outer + "_r"
	header("Content-Type", `multipart/alternative; boundary="`+outer+`"`)
	b.WriteString("\r\n--" + outer + "\r\n")
	if err := quoted(b, "text/plain", text); err != nil {
		return err
	}
	b.WriteString("\r\n--" + outer + "\r\n")
	header("Content-Type", `multipart/related; type="text/html"; boundary="`+inner+`"`)
	b.WriteString("\r\n--" + inner + "\r\n")
	if err := quoted(b, "text/html", html); err != nil {
		return err
	}
	b.WriteString("\r\n--" + inner + "\r\n")
	header("Content-Type", shown.kind)
	header("Content-Transfer-Encoding", "base64")
	header("Content-ID", "<"+pictureID+">")
	header("Content-Disposition", `inline; filename="`+strings.Replace(shown.kind, "image/", "logo.", 1)+`"`)
	b.WriteString("\r\n")
	based(b, shown.bytes)
	b.WriteString("\r\n--" + inner + "--\r\n\r\n--" + outer + "--\r\n")
	return nil
}

// headersOf returns a function that writes a header line.
func headersOf(b *bytes.Buffer) func(name, value string) {
	return func(name, value string) { b.WriteString(fold(name+": "+value) + "\r\n") }
}

// quoted writes a part in UTF-8 as quoted-printable.
func quoted(b *bytes.Buffer, kind string, body []byte) error {
	header := headersOf(b)
	header("Content-Type", kind+"; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(b)
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("encode mail: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("encode mail: %w", err)
	}
	return nil
}

// encodeWords returns a header's text in ASCII, as encoded words (RFC 2047) where necessary, also when the text itself
// looks like an encoded word. Each word fits on a line with the header's name.
func encodeWords(s string) string {
	if ascii(s) && !strings.Contains(s, "=?") {
		return s
	}
	var words []string
	for len(s) > 0 {
		n := 0
		for n < len(s) {
			_, size := utf8.DecodeRuneInString(s[n:])
			if n+size > bytesPerWord {
				break
			}
			n += size
		}
		words = append(words, "=?utf-8?B?"+base64.StdEncoding.EncodeToString([]byte(s[:n]))+"?=")
		s = s[n:]
	}
	return strings.Join(words, " ")
}

// mailbox returns a name and an address as a mailbox (RFC 5322, 3.4).
func mailbox(name, address string) string {
	if words := encodeWords(name); words != name {
		return words + " " + (&mail.Address{Address: address}).String()
	}
	return (&mail.Address{Name: name, Address: address}).String()
}

// fold breaks a header at single spaces. It also replaces line ends, as a second defence against header injection: line
// and the address parser have already removed them.
func fold(s string) string {
	words := strings.Split(strings.NewReplacer("\r", " ", "\n", " ").Replace(s), " ")
	var b strings.Builder
	length := 0
	for i, word := range words {
		switch {
		case i == 0:
		case i > 1 && word != "" && length+1+len(word) > foldAt:
			b.WriteString("\r\n ")
			length = 1
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	return b.String()
}
