// The receivers: a syslog server over TLS (RFC 5424, 5425), or a file.

package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Parse returns the receiver of a URL: syslog+tls://host:6514 or file:///name. host is the HOSTNAME of syslog messages.
func Parse(text, host string) (Target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("is not a URL")
	}
	switch {
	case u.Scheme == "file" && u.Host == "" && strings.HasPrefix(u.Path, "/") && u.RawQuery == "":
		return file(filepath.FromSlash(u.Path)), nil
	case u.Scheme == "syslog+tls" && u.Hostname() != "" && u.User == nil && strings.Trim(u.Path, "/") == "":
		return parseSyslog(u, host)
	}
	return nil, errors.New("must be syslog+tls://host:6514 or file:///name/of/file.jsonl")
}

// syslog is a syslog server.
type syslog struct {
	address, server string // where to connect, and whose certificate is wanted
	host            string
	ca, cert, key   string // names of files; empty: the system's authorities, no certificate
}

func parseSyslog(u *url.URL, host string) (Target, error) {
	s := &syslog{address: u.Host, server: u.Hostname(), host: host}
	if u.Port() == "" {
		s.address = net.JoinHostPort(u.Hostname(), "6514")
	}
	names := map[string]*string{"ca": &s.ca, "cert": &s.cert, "key": &s.key}
	for name, values := range u.Query() {
		if names[name] == nil || len(values) != 1 {
			return nil, errors.New("may have ca, cert and key after the question mark, each with the name of a PEM file")
		}
		*names[name] = values[0]
	}
	if (s.cert == "") != (s.key == "") {
		return nil, errors.New("needs both cert and key, or neither")
	}
	return s, nil
}

// connect opens a session. It reads the files again, so that renewed certificates are used.
func (s *syslog) connect(ctx context.Context) (*tls.Conn, error) {
	c := &tls.Config{ServerName: s.server, MinVersion: tls.VersionTLS12}
	if s.ca != "" {
		pem, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca: there is no certificate in %s", s.ca)
		}
	}
	if s.cert != "" {
		pair, err := tls.LoadX509KeyPair(s.cert, s.key)
		if err != nil {
			return nil, fmt.Errorf("cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	raw, err := (&net.Dialer{Timeout: connectLimit}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.address, err)
	}
	conn := tls.Client(cuttable{raw}, c)
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %s: %w", s.address, err), raw.Close())
	}
	return conn, nil
}

const connectLimit = 10 * time.Second

// errCut means that the connection ended without close_notify.
var errCut = errors.New("it ended the connection without close_notify")

// cuttable is a connection whose end is an error. Package tls takes an end between two records for close_notify.
type cuttable struct{ net.Conn }

// Read implements net.Conn.
func (c cuttable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	return n, err //nolint:wrapcheck // package tls looks at it
}

// Send implements Target. Syslog has no acknowledgement, but a receiver must answer close_notify with its own (RFC 5425, 4.4), and reads
// all messages before. So each batch is a session, and its end says that the program has read it; bytes in its kernel do not count.
func (s *syslog) Send(ctx context.Context, lines []Line) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer s.watch(ctx, conn)()
	var all strings.Builder
	for _, l := range lines {
		m := s.message(l)
		fmt.Fprintf(&all, "%d %s", len(m), m)
	}
	if _, err := io.WriteString(conn, all.String()); err != nil {
		return fmt.Errorf("send to %s: %w", s.address, err)
	}
	return s.close(conn)
}

// watch ends what waits for conn when ctx ends. The returned function closes conn.
func (s *syslog) watch(ctx context.Context, conn *tls.Conn) func() {
	stop := context.AfterFunc(ctx, func() { _ = conn.NetConn().SetDeadline(time.Unix(1, 0)) })
	return func() {
		stop()
		_ = conn.NetConn().Close()
	}
}

// close ends a session and waits for the receiver's end of it.
func (s *syslog) close(conn *tls.Conn) error {
	if err := conn.CloseWrite(); err != nil {
		return fmt.Errorf("send to %s: %w", s.address, err)
	}
	switch n, err := io.Copy(io.Discard, io.LimitReader(conn, 1<<16)); {
	case errors.Is(err, errCut) && taken(conn.NetConn().(cuttable).Conn): // rsyslog sends no close_notify
		return nil
	case err != nil:
		return fmt.Errorf("%s does not confirm what was sent: %w", s.address, err)
	case n > 0:
		return fmt.Errorf("%s answers, so it is no syslog server", s.address)
	}
	return nil
}

// Try implements Target.
func (s *syslog) Try(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer s.watch(ctx, conn)()
	return s.close(conn)
}

// priority is that of facility 13, log audit, and severity 6, informational.
const priority = 13*8 + 6

// message returns a line as a syslog message. MSGID is the action.
func (s *syslog) message(l Line) string {
	id := l.Action
	if len(id) > 32 {
		id = id[:32]
	}
	return fmt.Sprintf("<%d>1 %s %s consign - %s - %s", priority, l.At.UTC().Format("2006-01-02T15:04:05.000000Z"), s.host, id, l.Text)
}

// file is the name of a file to which lines are appended.
type file string

// Send implements Target. It opens the file each time, so that it may be renamed between.
func (f file) Send(_ context.Context, lines []Line) (err error) {
	out, err := f.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var all strings.Builder
	for _, l := range lines {
		all.WriteString(l.Text + "\n")
	}
	if _, err := out.WriteString(all.String()); err != nil {
		return err //nolint:wrapcheck // has the name
	}
	return out.Sync() //nolint:wrapcheck // has the name
}

// open opens the file for appending, and cuts off a line that a crash has left unfinished. A new file is durable in its directory.
func (f file) open() (*os.File, error) {
	out, err := os.OpenFile(string(f), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640) //nolint:gosec // its group may read it
	if err != nil {
		return nil, err //nolint:wrapcheck // has the name
	}
	info, err := out.Stat()
	if err == nil && info.Size() == 0 {
		err = syncDir(filepath.Dir(string(f)))
	} else if err == nil && info.Mode().IsRegular() {
		err = cutTail(out, info.Size())
	}
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// cutTail cuts off what follows the last newline. A line has at most 8 KiB.
func cutTail(f *os.File, size int64) error {
	tail := make([]byte, min(size, 16<<10))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return err //nolint:wrapcheck // has the name
	}
	end := strings.LastIndexByte(string(tail), '\n') + 1
	if end == len(tail) {
		return nil
	}
	return f.Truncate(size - int64(len(tail)-end)) //nolint:wrapcheck // has the name
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err //nolint:wrapcheck // has the name
	}
	return errors.Join(d.Sync(), d.Close())
}

// Try implements Target.
func (f file) Try(context.Context) error {
	out, err := os.OpenFile(string(f), os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, os.ErrNotExist) { // the first entry makes it
		_, err = os.Stat(filepath.Dir(string(f)))
		return err //nolint:wrapcheck // has the name
	}
	if err != nil {
		return err //nolint:wrapcheck // has the name
	}
	return out.Close() //nolint:wrapcheck // has the name
}
