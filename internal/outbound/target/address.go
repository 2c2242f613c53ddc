// The addresses of export targets, and connections that end in silence.

package target

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/outbound"
)

// The kinds of targets.
const (
	S3     = "s3"
	WebDAV = "webdav"
)

// Address is where a target is. Its text form is s3+https://HOST/BUCKET/FOLDER?region=NAME or webdav+https://HOST/FOLDER.
type Address struct {
	Kind   string
	URL    *url.URL // without the kind
	Bucket string   // of S3
	Folder string   // of S3: empty, or without slashes at its ends
	Region string   // of S3; empty: asked from the service
}

// Kind returns the kind of an address, empty for one that is no target's.
func Kind(address string) string {
	for _, kind := range []string{S3, WebDAV} {
		if strings.HasPrefix(address, kind+"+") {
			return kind
		}
	}
	return ""
}

// Parse parses the address of a target. Its error continues a sentence that begins with the name of a member.
func Parse(guard *outbound.Guard, text string) (Address, error) {
	a := Address{Kind: Kind(text)}
	u, err := guard.Check(strings.TrimPrefix(text, a.Kind+"+"))
	if err != nil {
		return a, err
	}
	a.URL = u
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil:
		return a, errors.New("has a query that cannot be read")
	case a.Kind == WebDAV && u.RawQuery != "":
		return a, errors.New("must not have a query (?)")
	case a.Kind == WebDAV:
		return a, nil
	}
	for name, values := range query {
		if name != "region" || len(values) != 1 {
			return a, errors.New("may have one parameter only: ?region=NAME")
		}
		a.Region = values[0]
	}
	a.Bucket, a.Folder, _ = strings.Cut(clean(u.Path), "/")
	a.Folder = clean(a.Folder)
	if a.Bucket == "" {
		return a, errors.New("must name a bucket: s3+https://s3.example.com/bucket/folder")
	}
	return a, nil
}

// patience is how long a connection may be silent in both directions.
const patience = 2 * time.Minute

// dialer returns a function that connects through the guard. The connection fails when nothing moves for patience: a copy takes hours,
// so that a limit for the whole of it would be of no use.
func dialer(guard *outbound.Guard) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := guard.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &impatient{conn}, nil
	}
}

type impatient struct{ net.Conn }

func (c *impatient) Read(b []byte) (int, error) {
	_ = c.SetReadDeadline(time.Now().Add(patience))
	return c.Conn.Read(b)
}

// Write also extends the deadline of a pending Read, which waits for the answer while the request is sent.
func (c *impatient) Write(b []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(patience))
	return c.Conn.Write(b)
}
