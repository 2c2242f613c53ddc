// Tests of SMTP against a real server.

package mail_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
)

func TestNewSMTP(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"smtp://localhost", "smtp://mail.example.org:2525", "smtps://a%40b:c%2Fd@mail.example.org", "smtp://[::1]:25",
		"smtp://mail.example.org?tls=required", "smtp://mail.example.org?tls=none", "smtp://u:p@h?tls=offered",
	} {
		if _, err := mail.NewSMTP(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "mail.example.org", "http://h", "smtp://", "smtp://u:s3cret@h:x", "smtp://h:0", "smtp://h:70000", "smtp://h/path",
		"smtp://u:s3cret@h?tls=maybe", "smtp://u:s3cret@%zz",
	} {
		if _, err := mail.NewSMTP(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

func send(t testing.TB, url string, e mail.Envelope) (string, error) {
	t.Helper()
	s, err := mail.NewSMTP(url)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return s.Send(ctx, e)
}

func envelope() mail.Envelope {
	return mail.Envelope{
		UID: id.New[id.Mail](), From: "no-reply@example.org", To: "ann@example.org",
		Bytes: []byte("Subject: x\r\n\r\n.\r\n..leading dots\r\n"),
	}
}

func TestSMTPSends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options serverOptions
		url     func(addr string) string
		tls     bool
		user    string
	}{
		"plain":             {serverOptions{}, func(a string) string { return "smtp://" + a }, false, ""},
		"STARTTLS offered":  {serverOptions{startTLS: true}, func(a string) string { return "smtp://" + a }, true, ""},
		"STARTTLS required": {serverOptions{startTLS: true}, func(a string) string { return "smtp://" + a + "?tls=required" }, true, ""},
		"STARTTLS disabled": {serverOptions{startTLS: true}, func(a string) string { return "smtp://" + a + "?tls=none" }, false, ""},
		"smtps":             {serverOptions{implicitTLS: true}, func(a string) string { return "smtps://" + a }, true, ""},
		"smtps login": {serverOptions{implicitTLS: true, auth: true},
			func(a string) string { return "smtps://consign:p%40ss%3Aw%2Frd@" + a }, true, "consign"},
		"STARTTLS login": {serverOptions{startTLS: true, auth: true}, func(a string) string { return "smtp://consign:p%40ss%3Aw%2Frd@" + a },
			true, "consign"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, c.options)
			e := envelope()
			answer, err := send(t, c.url(s.addr), e)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(answer, "250 ") {
				t.Errorf("answer %q", answer)
			}
			got := s.mails()
			if len(got) != 1 || got[0].from != e.From || got[0].to != e.To || got[0].raw != string(e.Bytes) ||
				got[0].tls != c.tls || got[0].user != c.user {
				t.Errorf("the server got %+v", got)
			}
		})
	}
}

func TestSMTPFails(t *testing.T) {
	t.Parallel()
	closed := newServer(t, serverOptions{})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := l.Addr().String()
	_ = l.Close()
	for name, c := range map[string]struct {
		url        string
		rcpt, data func(int) error
		permanent  bool
		says       string
	}{
		"connection refused":  {"smtp://" + refusing, nil, nil, false, "connect to " + refusing},
		"no STARTTLS":         {newServer(t, serverOptions{}).url() + "?tls=required", nil, nil, false, "STARTTLS"},
		"TLS to a plain port": {"smtps://" + closed.addr, nil, nil, false, "connect"},
		"wrong password":      {"smtp://consign:wrong@" + newServer(t, serverOptions{auth: true}).addr, nil, nil, false, "535"},
		"login needed":        {newServer(t, serverOptions{auth: true}).url(), nil, nil, false, "530"},
		"unknown recipient":   {"", refuse(550, "no such user"), nil, true, "550 5.1.1 no such user"},
		"greylisted":          {"", refuse(451, "come back later"), nil, false, "451"},
		"content refused":     {"", nil, refuse(554, "looks like spam"), true, "554"},
		"mailbox full":        {"", nil, refuse(452, "full"), false, "452"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := c.url
			if url == "" {
				s := newServer(t, serverOptions{})
				s.answer(c.rcpt, c.data)
				url = s.url()
			}
			_, err := send(t, url, envelope())
			if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, mail.ErrPermanent) != c.permanent {
				t.Errorf("error %v, permanent %v", err, errors.Is(err, mail.ErrPermanent))
			}
			if err != nil && (strings.Contains(err.Error(), "wrong@") || strings.Contains(err.Error(), ":wrong")) {
				t.Errorf("the error contains the password: %v", err)
			}
		})
	}
}

// Send returns when its context ends, even when the server does not answer.
func TestSMTPCancelled(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s, err := mail.NewSMTP("smtp://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := s.Send(ctx, envelope()); err == nil {
		t.Error("Send to a silent server succeeded")
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("gave up after %v", d)
	}
}

// Send succeeds once the server has accepted the mail, even when it does not answer QUIT.
func TestSMTPWithoutAnswerToQuit(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "220 ready\r\n")
		content := false
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			switch line := lines.Text(); {
			case content && line != ".", line == "QUIT":
			case line == "DATA":
				content = true
				fmt.Fprint(conn, "354 go on\r\n")
			default:
				content = false
				fmt.Fprint(conn, "250 accepted\r\n")
			}
		}
	}()
	s, err := mail.NewSMTP("smtp://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	if answer, err := s.Send(ctx, envelope()); err != nil || answer != "250 accepted" {
		t.Errorf("%s, %v", answer, err)
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("waited %v for the answer to QUIT", d)
	}
}
