package testkit

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// Sink is a real SMTP server that keeps what it is sent.
type Sink struct {
	Addr string

	mu     sync.Mutex
	mails  []Mail
	refuse func(to string) *smtp.SMTPError
}

// Mail is one message as it arrived.
type Mail struct {
	To      string // envelope recipient
	Header  mail.Header
	Subject string // decoded
	Text    string // the decoded text/plain part
	HTML    string // the decoded text/html part
	Raw     []byte
	Files   map[string][]byte // attachments, by name
}

var links = regexp.MustCompile(`https?://[^\s<>"]+`)

// Link is the first link in the text that contains part.
func (m Mail) Link(t testing.TB, part string) string {
	t.Helper()
	for _, l := range links.FindAllString(m.Text, -1) {
		if strings.Contains(l, part) {
			return l
		}
	}
	t.Fatalf("mail %q to %s has no link with %q:\n%s", m.Subject, m.To, part, m.Text)
	return ""
}

// Key is the last path segment of the first link that contains part, such as the key of "/confirm/".
func (m Mail) Key(t testing.TB, part string) string {
	t.Helper()
	l := m.Link(t, part)
	return l[strings.LastIndexByte(l, '/')+1:]
}

// NewSink starts an SMTP server on loopback, ended with the test.
func NewSink(t testing.TB) *Sink {
	t.Helper()
	s := &Sink{}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = l.Addr().String()
	server := smtp.NewServer(s)
	server.AllowInsecureAuth = true
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return s
}

// Refuse makes the server answer recipients with the error that fn returns; nil accepts.
func (s *Sink) Refuse(fn func(to string) *smtp.SMTPError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = fn
}

// RefuseTo makes the server answer one recipient with an error.
func (s *Sink) RefuseTo(address string, refusal smtp.SMTPError) {
	s.Refuse(func(to string) *smtp.SMTPError {
		if to == address {
			return &refusal
		}
		return nil
	})
}

// To lists the mails to an address that have arrived so far.
func (s *Sink) To(address string) []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Mail
	for _, m := range s.mails {
		if strings.EqualFold(m.To, address) {
			found = append(found, m)
		}
	}
	return found
}

// Wait waits for the n-th mail (from 1) to an address that holds what in its text, headers or body.
func (s *Sink) Wait(t testing.TB, address, what string, n int) Mail {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		var match []Mail
		for _, m := range s.To(address) {
			if strings.Contains(m.Text, what) || strings.Contains(m.Subject, what) {
				match = append(match, m)
			}
		}
		if len(match) >= n {
			return match[n-1]
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d mails to %s with %q within 20 s, want %d", len(match), address, what, n)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// NewSession implements smtp.Backend.
func (s *Sink) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{sink: s}, nil }

type session struct {
	sink *Sink
	to   []string
}

func (s *session) Reset()                               { s.to = nil }
func (s *session) Logout() error                        { return nil }
func (s *session) Mail(string, *smtp.MailOptions) error { return nil }

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.sink.mu.Lock()
	refuse := s.sink.refuse
	s.sink.mu.Unlock()
	if refuse != nil {
		if e := refuse(to); e != nil {
			return e
		}
	}
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	parsed, err := parseMail(raw)
	if err != nil {
		return err
	}
	s.sink.mu.Lock()
	defer s.sink.mu.Unlock()
	for _, to := range s.to {
		parsed.To = to
		s.sink.mails = append(s.sink.mails, parsed)
	}
	return nil
}

func parseMail(raw []byte) (Mail, error) {
	msg, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return Mail{}, err
	}
	m := Mail{Header: msg.Header, Raw: raw}
	if m.Subject, err = new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject")); err != nil {
		return Mail{}, err
	}
	kind, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil {
		return Mail{}, err
	}
	if !strings.HasPrefix(kind, "multipart/") {
		m.Text, err = decoded(msg.Body, msg.Header.Get("Content-Transfer-Encoding"))
		return m, err
	}
	return m, m.read(multipart.NewReader(msg.Body, params["boundary"]))
}

// read takes text and HTML from the parts of a mail, and from the parts of these. It leaves out pictures.
func (m *Mail) read(parts *multipart.Reader) error {
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF { //nolint:errorlint // multipart documents the bare value
			return nil
		}
		if err != nil {
			return err
		}
		kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil {
			return err
		}
		if strings.HasPrefix(kind, "multipart/") {
			if err := m.read(multipart.NewReader(part, params["boundary"])); err != nil {
				return err
			}
			continue
		}
		body, err := decoded(part, part.Header.Get("Content-Transfer-Encoding"))
		if err != nil {
			return err
		}
		if name := part.FileName(); strings.HasPrefix(part.Header.Get("Content-Disposition"), "attachment") {
			raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(body, "\n", ""))
			if err != nil {
				return err
			}
			if m.Files == nil {
				m.Files = map[string][]byte{}
			}
			m.Files[name] = raw
		}
		switch kind {
		case "text/html":
			m.HTML = body
		case "text/plain":
			m.Text = body
		}
	}
}

func decoded(r io.Reader, encoding string) (string, error) {
	if strings.EqualFold(encoding, "quoted-printable") {
		r = quotedprintable.NewReader(r)
	}
	b, err := io.ReadAll(r)
	return strings.ReplaceAll(string(b), "\r\n", "\n"), err
}
