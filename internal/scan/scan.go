// Package scan asks a malware scanner about files: clamd by its own protocol (INSTREAM), or an ICAP service by RESPMOD (RFC 3507). It
// also looks into zip files itself (Inspect): encryption, nesting, ratio, macros. It knows neither transfers nor storage.
//
// A file is clean only when the engine has read it to its end. Engines skip what is over their limits and may say nothing: so the
// client never sends more than Options.Limit bytes, and calls every larger file partly read.
package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"
)

// State is what a scanner says about a file.
type State string

// The states. Partly: only a part was read, or an archive could not be opened.
const (
	Clean    State = "clean"
	Infected State = "infected"
	Partly   State = "partly"
)

// Verdict is the answer about a file.
type Verdict struct {
	State   State
	Finding string // name of what was found, or of the limit that was reached; empty: none
	Content []Rule // what an engine says about the kind of content
}

// Version names an engine and its signatures. A change of it means that files may be judged otherwise.
type Version struct {
	Engine     string
	Signatures string // empty: the engine does not say
}

// Scanner is a malware scanner. It is safe for concurrent use.
type Scanner interface {
	// Version returns the present version. It also shows that the scanner answers.
	Version(ctx context.Context) (Version, error)
	// Scan sends the size bytes of r to the scanner. An error says nothing about the file.
	Scan(ctx context.Context, r io.Reader, size int64) (Verdict, error)
	// Warnings returns what is wrong with the scanner's configuration, in sentences.
	Warnings(ctx context.Context) ([]string, error)
}

// Options configure a Scanner.
type Options struct {
	Limit   int64         // bytes of a file that are sent at most: no more than the engine reads
	Timeout time.Duration // for the connection, for each piece that is sent, and for the answer
}

// versionTimeout bounds the question for the version, which also shows whether a scanner is there.
const versionTimeout = 10 * time.Second

// ErrProtocol is the cause of an answer that the scanner's protocol does not have.
var ErrProtocol = errors.New("unexpected answer of the scanner")

// maxName bounds the names that are taken over from answers.
const maxName = 200

// New returns the scanner at a URL: clamd://host:3310, clamd:///path/of/socket or icap://host:1344/service. It connects to nothing.
func New(address string, o Options) (Scanner, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("is not a URL")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must have neither user, query nor fragment")
	}
	d := dialer{network: "tcp", timeout: o.Timeout}
	switch {
	case u.Scheme == "clamd" && u.Host == "" && len(u.Path) > 1:
		d.network, d.address = "unix", u.Path
		return newClamd(d, o.Limit), nil
	case u.Scheme == "clamd" && u.Hostname() != "" && strings.Trim(u.Path, "/") == "":
		d.address = withPort(u, "3310")
		return newClamd(d, o.Limit), nil
	case u.Scheme == "icap" && u.Hostname() != "" && len(u.Path) > 1:
		d.address = withPort(u, "1344")
		return newICAP(d, u, o.Limit), nil
	}
	return nil, errors.New("must be clamd://host:3310, clamd:///path/of/socket or icap://host:1344/service")
}

func withPort(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// dialer opens connections whose every operation has a time limit.
type dialer struct {
	network, address string
	timeout          time.Duration
}

// conn is a connection that ends with a context.
type conn struct {
	net.Conn
	timeout time.Duration
	ctx     context.Context
	stop    func() bool
}

func (d dialer) dial(ctx context.Context) (*conn, error) {
	within, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(within, d.network, d.address)
	if err != nil {
		return nil, fmt.Errorf("connect to the scanner: %w", err)
	}
	return &conn{Conn: c, timeout: d.timeout, ctx: ctx, stop: context.AfterFunc(ctx, func() { c.Close() })}, nil
}

// Read implements io.Reader.
func (c *conn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, c.cause(err)
	}
	n, err := c.Conn.Read(p)
	return n, c.cause(err)
}

// Write implements io.Writer.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.timeout)); err != nil { // an answer is due after the last byte
		return 0, c.cause(err)
	}
	n, err := c.Conn.Write(p)
	return n, c.cause(err)
}

// Close implements io.Closer.
func (c *conn) Close() error {
	c.stop()
	return c.Conn.Close()
}

// cause replaces the error of a connection that the end of its context has closed.
func (c *conn) cause(err error) error {
	if err == nil || errors.Is(err, io.EOF) || c.ctx.Err() == nil {
		return err
	}
	return context.Cause(c.ctx)
}

// name returns a name of an answer as it is stored: printable ASCII, at most maxName bytes.
func name(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return '_'
		}
		return r
	}, strings.TrimSpace(s))
	return clean[:min(len(clean), maxName)]
}
