// Lists and downloads the files of a transfer or link. A download goes on after an interruption and ends with a comparison of SHA-256.

package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"

	"github.com/consign-dev/consign/client/transferapi"
)

// Target is a file that a download is written to; *os.File is one. Bytes that it has are taken for the begin of the download.
type Target interface {
	io.Reader
	io.Writer
	io.Seeker
	Truncate(size int64) error
}

// Object is a file of a transfer.
type Object struct {
	UID    string
	Name   string
	Size   int64
	SHA256 string // hex; empty when the server does not know it
	path   string // of its content
	token  string // of a link
}

// Objects returns the files of a transfer that the client's person has sent or received. Errors: *Error.
func (c *Client) Objects(ctx context.Context, uid string) ([]Object, error) {
	t, err := c.Transfer.GetTransfer(ctx, uid)
	if err != nil {
		return nil, err
	}
	return ObjectsOf(*t), nil
}

// ObjectsOf returns the files of a transfer that a list or the transfer's own answer has.
func ObjectsOf(t transferapi.Transfer) []Object {
	if t.Objects == nil {
		return nil
	}
	return objects(*t.Objects, "/transfers/"+t.UID.String(), "")
}

// Link is a transfer that was opened by its link.
type Link struct {
	Transfer transferapi.PublicTransfer
	Objects  []Object
}

// OpenLink opens the transfer of a link's key. password is that of the transfer, if it has one. Errors: *Error, 401010 wrong password.
func (c *Client) OpenLink(ctx context.Context, key, password string) (*Link, error) {
	opened, err := c.Transfer.OpenPublicTransfer(ctx, key, transferapi.AccessRequest{Password: some(password)})
	if err != nil {
		return nil, err
	}
	shown, err := c.Transfer.GetPublicTransfer(ctx, key, bearer(opened.Token))
	if err != nil {
		return nil, err
	}
	l := &Link{Transfer: *shown}
	if l.Transfer.Objects != nil {
		l.Objects = objects(*l.Transfer.Objects, "/public/transfers/"+url.PathEscape(key), opened.Token)
	}
	return l, nil
}

func objects(list []transferapi.DeliveredObject, base, token string) []Object {
	var all []Object
	for _, o := range list {
		one := Object{UID: o.UID.String(), Size: o.ContentLength, path: base + "/objects/" + o.UID.String() + "/content", token: token}
		if o.Name != nil {
			one.Name = *o.Name
		}
		if o.Sha256 != nil {
			one.SHA256 = *o.Sha256
		}
		all = append(all, one)
	}
	return all
}

// ErrDigest is returned when a download has another SHA-256 than the file that was sent.
var ErrDigest = errors.New("the bytes have another SHA-256 than the file that was sent")

// DownloadOptions are optional.
type DownloadOptions struct {
	Progress func(held int64)
	Limit    func(ctx context.Context, n int) error // called after n bytes were read: waits to limit the rate
}

// Download writes a file to target, beginning where target ends, and checks its SHA-256. After an interruption it goes on with a range.
// When the bytes that target had before do not fit, it begins again once. Errors: ErrDigest, *Error, errors of target.
func (c *Client) Download(ctx context.Context, object Object, target Target, o DownloadOptions) error {
	d := &download{c: c, object: object, target: target, o: o}
	resumed, err := d.takeUp()
	if err != nil {
		return err
	}
	err = d.run(ctx)
	if errors.Is(err, ErrDigest) && resumed {
		if err := d.restart(); err != nil {
			return err
		}
		err = d.run(ctx)
	}
	return err
}

type download struct {
	c      *Client
	object Object
	target Target
	o      DownloadOptions
	digest hash.Hash
	held   int64
}

// takeUp reads what the target has.
func (d *download) takeUp() (resumed bool, err error) {
	d.digest = sha256.New()
	if _, err = d.target.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	if d.held, err = io.Copy(d.digest, d.target); err != nil {
		return false, err
	}
	if d.held > d.object.Size {
		return false, d.restart()
	}
	return d.held > 0, nil
}

func (d *download) restart() error {
	d.digest, d.held = sha256.New(), 0
	if err := d.target.Truncate(0); err != nil {
		return err
	}
	_, err := d.target.Seek(0, io.SeekStart)
	return err
}

// run reads the rest, however often it is interrupted, and compares the SHA-256.
func (d *download) run(ctx context.Context) error {
	var pauses backoff
	for d.held < d.object.Size {
		before := d.held
		err := d.rest(ctx)
		if d.held > before {
			pauses.reset()
		}
		if err == nil {
			continue
		}
		least, again := passing(err)
		if broken := (*targetError)(nil); errors.As(err, &broken) {
			return broken.err
		}
		if !again {
			return err
		}
		if err := pauses.wait(ctx, d.c, err, least); err != nil {
			return err
		}
	}
	if d.object.SHA256 != "" && hex.EncodeToString(d.digest.Sum(nil)) != d.object.SHA256 {
		return ErrDigest
	}
	return nil
}

// targetError is an error of the target, which no other try mends.
type targetError struct{ err error }

func (e *targetError) Error() string { return e.err.Error() }

// rest requests the bytes from d.held on and writes what arrives.
func (d *download) rest(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.c.transferURL+d.object.path, http.NoBody)
	if err != nil {
		return err
	}
	if d.object.token != "" {
		r.Header.Set("Authorization", "Bearer "+d.object.token)
	}
	if d.held > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.held))
	}
	resp, err := doer{d.c, d.c.token}.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if d.held > 0 && resp.StatusCode != http.StatusPartialContent {
		return fmt.Errorf("the server answered %s to a range", resp.Status)
	}
	buf := make([]byte, 256<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			if err := d.write(ctx, buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) && d.held < d.object.Size {
			return io.ErrUnexpectedEOF
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (d *download) write(ctx context.Context, b []byte) error {
	if int64(len(b)) > d.object.Size-d.held {
		return &targetError{fmt.Errorf("%s is longer than the server said", d.object.Name)}
	}
	n, err := d.target.Write(b)
	d.digest.Write(b[:n])
	d.held += int64(n)
	if err != nil {
		return &targetError{err}
	}
	if d.o.Progress != nil {
		d.o.Progress(d.held)
	}
	if d.o.Limit != nil {
		return d.o.Limit(ctx, n)
	}
	return nil
}
