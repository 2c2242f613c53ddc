package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// SMTP is the transport to a mail server. It opens one connection for each mail.
type SMTP struct {
	host     string
	port     int
	user     string
	password string
	implicit bool // TLS from the first byte
	policy   gomail.TLSPolicy
	tls      *tls.Config
}

const (
	connectTimeout = 20 * time.Second
	quitTimeout    = time.Second // for the answer to QUIT
)

var errSMTPURL = errors.New("CONSIGN_SMTP_URL is not of the form smtp://user:password@host:port?tls=required or " +
	"smtps://user:password@host:port")

// NewSMTP parses CONSIGN_SMTP_URL:
//
//	smtps://user:password@host:port   TLS from the start, port 465 unless given
//	smtp://user:password@host:port    STARTTLS, port 587 with a user, else 25
//
// User and password are optional and percent-encoded. The query tls=required, offered or none says how smtp:// uses
// STARTTLS. The default is required with a password (except to a loopback host), else offered. With offered and without
// a password the certificate is not verified. Errors never contain the password.
func NewSMTP(raw string) (*SMTP, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "smtp" && u.Scheme != "smtps") || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, errSMTPURL
	}
	s := &SMTP{host: u.Hostname(), user: u.User.Username(), implicit: u.Scheme == "smtps"}
	s.password, _ = u.User.Password()
	switch {
	case s.implicit:
		s.port = 465
	case s.user != "":
		s.port = 587
	default:
		s.port = 25
	}
	if text := u.Port(); text != "" {
		if s.port, err = strconv.Atoi(text); err != nil || s.port < 1 || s.port > 65535 {
			return nil, errSMTPURL
		}
	}
	mode := u.Query().Get("tls")
	if mode == "" && s.user != "" && !loopback(s.host) {
		mode = "required"
	}
	s.tls = &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}
	switch mode {
	case "required":
		s.policy = gomail.TLSMandatory
	case "", "offered":
		s.policy = gomail.TLSOpportunistic
		s.tls.InsecureSkipVerify = s.user == "" && !s.implicit
	case "none":
		s.policy = gomail.NoTLS
	default:
		return nil, errSMTPURL
	}
	return s, nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// Send delivers one mail. A 5xx answer to sender, recipient or message is permanent. An earlier error, such as a failed
// login, is temporary, because the operator can correct it.
func (s *SMTP) Send(ctx context.Context, e Envelope) (answer string, err error) {
	ctx, closeConnection := context.WithCancel(ctx)
	defer closeConnection()
	dialer, err := s.client(s.closing(ctx))
	if err != nil {
		return "", fmt.Errorf("configure SMTP: %w", err)
	}
	client, err := dialer.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return "", fmt.Errorf("connect to %s: %w", net.JoinHostPort(s.host, strconv.Itoa(s.port)), err)
	}
	client.SkipSMTPUTF8(ascii(e.From) && ascii(e.To)) // servers further on may reject a mail that needlessly asks for SMTPUTF8
	if deadline, ok := ctx.Deadline(); ok {
		if err := client.UpdateDeadline(time.Until(deadline)); err != nil {
			return "", err
		}
	}
	answer, err = converse(client, e)
	if err != nil {
		return "", err
	}
	// The mail is accepted. A slow or failing QUIT must not delay or undo that.
	_ = client.UpdateDeadline(quitTimeout)
	_ = client.Quit()
	return answer, nil
}

// Causes of an error of Try, besides an unreachable server.
var (
	ErrLogin  = errors.New("the mail server refuses the login")
	ErrSender = errors.New("the mail server refuses the sender")
	ErrTLS    = errors.New("the mail server does not speak the TLS that is asked for")
	ErrBusy   = errors.New("the mail server answers, and takes no mails now")
)

// Try connects, logs in and offers a mail of from, which it does not send.
// Errors: ErrLogin, ErrSender, ErrTLS, ErrBusy, or those of the connection.
func (s *SMTP) Try(ctx context.Context, from string) error {
	ctx, closeConnection := context.WithCancel(ctx)
	defer closeConnection()
	var upgrading atomic.Bool
	dialer, err := s.client(func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := s.closing(ctx)(dialing, network, address)
		return &watched{conn, &upgrading}, err
	})
	if err != nil {
		return fmt.Errorf("configure SMTP: %w", err)
	}
	client, err := dialer.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", s.trouble(err, upgrading.Load()), err)
	}
	if err := client.Mail("<" + from + ">"); err != nil {
		var answer *textproto.Error
		if errors.As(err, &answer) && answer.Code < 500 {
			return fmt.Errorf("%w: %w", ErrBusy, refusal(err))
		}
		return fmt.Errorf("%w: %w", ErrSender, refusal(err))
	}
	_ = client.UpdateDeadline(quitTimeout)
	_ = client.Quit()
	return nil
}

// watched is a connection that notices STARTTLS.
type watched struct {
	net.Conn
	upgrading *atomic.Bool
}

// Write implements net.Conn.
func (w *watched) Write(p []byte) (int, error) {
	if string(p) == "STARTTLS\r\n" {
		w.upgrading.Store(true)
	}
	return w.Conn.Write(p)
}

// trouble returns what a failure to connect and log in means. upgrading: it came after STARTTLS was asked for.
func (s *SMTP) trouble(err error, upgrading bool) error {
	var answer *textproto.Error
	answered := errors.As(err, &answer)
	switch {
	case answered && answer.Code < 500, answered && answer.Code == 554 && !upgrading: // 554 in place of a greeting (RFC 5321, 3.1)
		return ErrBusy
	case answered && answer.Code >= 530 && answer.Code <= 538, errors.Is(err, gomail.ErrNoSupportedAuthDiscovered):
		return ErrLogin
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(tls.RecordHeaderError)),
		errors.As(err, new(tls.AlertError)), errors.Is(err, errHandshake), upgrading && !answered, strings.Contains(err.Error(), "STARTTLS"):
		return ErrTLS
	}
	return fmt.Errorf("connect to %s", net.JoinHostPort(s.host, strconv.Itoa(s.port)))
}

// closing returns a dialer whose connections end with ctx. The library leaves the connection open when the greeting or the login fails,
// and ignores ctx after connecting.
func (s *SMTP) closing(ctx context.Context) gomail.DialContextFunc {
	return func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := s.dial(dialing, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	}
}

func (s *SMTP) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil || !s.implicit {
		return conn, err
	}
	secured := tls.Client(conn, s.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", errHandshake, errors.Join(err, conn.Close()))
	}
	return secured, nil
}

var errHandshake = errors.New("the TLS handshake failed")

func (s *SMTP) client(dial gomail.DialContextFunc) (*gomail.Client, error) {
	options := []gomail.Option{
		gomail.WithPort(s.port), gomail.WithTimeout(connectTimeout), gomail.WithDialContextFunc(dial),
		gomail.WithTLSPolicy(s.policy), gomail.WithTLSConfig(s.tls),
	}
	if s.implicit {
		options = append(options, gomail.WithSSL())
	}
	if s.user != "" {
		// PLAIN and LOGIN refuse to send the password over an unencrypted connection, except to a loopback host.
		options = append(options, gomail.WithUsername(s.user), gomail.WithPassword(s.password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1,
				gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5))
	}
	return gomail.NewClient(s.host, options...)
}

// converse sends one message.
func converse(client *smtp.Client, e Envelope) (string, error) {
	if err := client.Mail("<" + e.From + ">"); err != nil {
		return "", refusal(err)
	}
	if err := client.Rcpt("<" + e.To + ">"); err != nil {
		return "", refusal(err)
	}
	w, err := client.Data()
	if err != nil {
		return "", refusal(err)
	}
	if _, err := w.Write(e.Bytes); err != nil {
		return "", fmt.Errorf("send message: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", refusal(err)
	}
	if d, ok := w.(*smtp.DataCloser); ok {
		return "250 " + d.ServerResponse(), nil
	}
	return "250", nil
}

// refusal returns a server's error answer as an error. 5xx is permanent, except the codes that ask for a login or TLS
// (RFC 4954).
func refusal(err error) error {
	var answer *textproto.Error
	if !errors.As(err, &answer) {
		return err
	}
	switch answer.Code {
	case 530, 534, 535, 538:
		return refused{answer, false}
	}
	return refused{answer, answer.Code >= 500}
}

type refused struct {
	answer    *textproto.Error
	permanent bool
}

// Error returns the server's answer.
func (r refused) Error() string { return fmt.Sprintf("%d %s", r.answer.Code, r.answer.Msg) }

// Is reports that a permanent refusal is an ErrPermanent.
func (r refused) Is(target error) bool { return r.permanent && target == ErrPermanent }

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
