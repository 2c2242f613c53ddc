// Package target copies transfers to a place that people choose: a bucket of an S3 service, or a folder of a WebDAV server. It owns the
// addresses of targets, the names of what it writes, and how a copy is verified. Connections pass the guard of package outbound.
//
// A transfer becomes a folder DATE-UID with the files and, last, manifest.json with their sizes and SHA-256. A file has its name only
// when it is whole. So a copy that was interrupted can be repeated: what is there already is left alone.
package target

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/archive"
	"github.com/consign-dev/consign/internal/outbound"
)

// ReasonDifferent is the reason of a failed copy, besides those of package webhook: the target holds, or was sent, other bytes than the
// transfer has.
const ReasonDifferent = "DIFFERENT"

const (
	manifestName = "manifest.json"
	testName     = "consign-test.txt"
)

// Login is what a target asks for: the user and password of WebDAV, or the access key and its secret of S3.
type Login struct{ User, Password string }

// File is a file of a transfer.
type File struct {
	Name   string // as its sender named it
	Size   int64
	SHA256 []byte
	Open   func(context.Context) (io.ReadCloser, error)
}

// Transfer is what is copied.
type Transfer struct {
	UID         string
	Kind        string
	Subject     string
	Message     string
	Fields      json.RawMessage // answers to the questions of a mailbox; nil: none
	SenderName  string
	SenderEmail string
	CreatedAt   time.Time
	Files       []File
}

// manifestJSON is the content of manifest.json. It is the same at each attempt.
type manifestJSON struct {
	Transfer  string          `json:"transfer"`
	Type      string          `json:"type"`
	Subject   string          `json:"subject"`
	Message   string          `json:"message"`
	Fields    json.RawMessage `json:"fields"`
	Sender    senderJSON      `json:"sender"`
	CreatedAt time.Time       `json:"createdAt"`
	Files     []fileJSON      `json:"files"`
}

type senderJSON struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

type fileJSON struct {
	Path   string `json:"path"`
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// The reasons why a transfer is not copied.
var (
	ErrEnded     = errors.New("the transfer has ended")
	ErrProtected = errors.New("a password, an address or limits protect the transfer")
	ErrPersonal  = errors.New("the transfer was not sent to a mailbox")
	ErrHeld      = errors.New("a file of the transfer is being checked for malware, or held because of that") // it is tried again
)

// place is a folder of a target.
type place interface {
	// has reports whether there is a whole file of this size and SHA-256, as far as the service tells.
	has(ctx context.Context, path string, size int64, sum []byte) (bool, error)
	// put stores a file and returns when the service has confirmed its size. It leaves nothing under the name when content fails.
	put(ctx context.Context, path string, content io.Reader, size int64, sum []byte) error
}

// Copier copies transfers. It is safe for concurrent use.
type Copier struct {
	guard     *outbound.Guard
	transport *http.Transport
	agent     string
}

// New returns a Copier. version is this server's, for User-Agent.
func New(guard *outbound.Guard, version string) *Copier {
	return &Copier{guard: guard, agent: "Consign-Export/" + cmp.Or(version, "dev"), transport: &http.Transport{ // no Proxy, as for webhooks
		DialContext: dialer(guard), DisableCompression: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: 5 * time.Second, MaxIdleConnsPerHost: 2, MaxIdleConns: 20,
		IdleConnTimeout: 30 * time.Second,
	}}
}

// Copy makes one attempt to copy a transfer. An error means that the transfer could not be read.
func (c *Copier) Copy(ctx context.Context, address string, login Login, t Transfer) (outbound.Result, error) {
	begin := time.Now()
	p, err := c.open(address, login)
	if err == nil {
		err = copyTo(ctx, p, t)
	}
	return result(err, time.Since(begin))
}

// Test stores a small file in the folder of a target.
func (c *Copier) Test(ctx context.Context, address string, login Login) (outbound.Result, error) {
	begin := time.Now()
	p, err := c.open(address, login)
	if err == nil {
		err = putText(ctx, p, testName, []byte("Consign can write here. This file can be deleted.\n"))
	}
	return result(err, time.Since(begin))
}

// open returns the folder of an address. The operator may have changed what is allowed since it was stored.
func (c *Copier) open(address string, login Login) (place, error) {
	a, err := Parse(c.guard, address)
	if err != nil {
		return nil, outbound.ErrAddress
	}
	if a.Kind == S3 {
		return newBucket(a, login, c.transport)
	}
	return newFolder(a, login, c.agent, c.transport), nil
}

// copyTo copies the files of a transfer, then its manifest.
func copyTo(ctx context.Context, p place, t Transfer) error {
	names := []string{manifestName} // its name is taken
	for _, f := range t.Files {
		names = append(names, f.Name)
	}
	names = archive.Names(names)[1:]
	folder := t.CreatedAt.UTC().Format("2006-01-02") + "-" + t.UID + "/"
	m := manifestJSON{
		Transfer: t.UID, Type: t.Kind, Subject: t.Subject, Message: t.Message, Fields: t.Fields, Sender: senderJSON{t.SenderName, t.SenderEmail},
		CreatedAt: t.CreatedAt.UTC(), Files: make([]fileJSON, len(t.Files)),
	}
	for i, f := range t.Files {
		m.Files[i] = fileJSON{Path: names[i], Name: f.Name, Size: f.Size, SHA256: hex.EncodeToString(f.SHA256)}
		if err := copyFile(ctx, p, folder+names[i], f); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	return putText(ctx, p, folder+manifestName, append(text, '\n'))
}

func putText(ctx context.Context, p place, path string, text []byte) error {
	sum := sha256.Sum256(text)
	return p.put(ctx, path, bytes.NewReader(text), int64(len(text)), sum[:])
}

// copyFile copies a file unless it is there.
func copyFile(ctx context.Context, p place, path string, f File) error {
	there, err := p.has(ctx, path, f.Size, f.SHA256)
	if err != nil || there {
		return err
	}
	source, err := f.Open(ctx)
	if err != nil {
		return &sourceError{err}
	}
	content := &checked{from: source, left: f.Size, sum: f.SHA256, hash: sha256.New()}
	defer content.Close()
	return p.put(ctx, path, content, f.Size, f.SHA256)
}

// sourceError is a failure to read the transfer, for which the target is not to blame.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return e.error }

// errDifferent: what was read or stored is not what the transfer has.
var errDifferent = errors.New("the size or SHA-256 differs")

// checked reads a file, and fails instead of ending when its size or SHA-256 is not the expected one. The last byte is withheld until the
// SHA-256 is known, so that no service gets all bytes of a file that is wrong.
//
// When a target answers before it has the whole file, the HTTP transport goes on reading in a goroutine of its own (http.RoundTripper).
// Therefore Close waits for a running Read, and a later Read fails.
type checked struct {
	from io.ReadCloser
	left int64
	sum  []byte
	hash hash.Hash

	mu     sync.Mutex // held during Read and Close
	closed bool
}

// Read implements io.Reader.
func (c *checked) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, os.ErrClosed
	}
	if c.left == 0 {
		return 0, c.end()
	}
	n, err := c.from.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	c.hash.Write(b[:n])
	switch {
	case c.left == 0:
		if failed := c.end(); failed != io.EOF { //nolint:errorlint // the very value
			return 0, failed
		}
		return n, nil
	case err == io.EOF:
		return n, errDifferent
	case err != nil:
		return n, &sourceError{err}
	}
	return n, nil
}

// Close implements io.Closer.
func (c *checked) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return c.from.Close()
}

func (c *checked) end() error {
	if !bytes.Equal(c.hash.Sum(nil), c.sum) {
		return errDifferent
	}
	return io.EOF
}

// statusError is an answer that is no success.
type statusError struct {
	status int
	answer string
	after  time.Duration
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the target answered %d %s", e.status, e.answer)
}

// result returns the outcome of an attempt.
func result(err error, took time.Duration) (outbound.Result, error) {
	r := outbound.Result{Duration: took}
	var source *sourceError
	var status *statusError
	switch {
	case err == nil:
	case errors.As(err, &source):
		return r, source.error
	case errors.Is(err, errDifferent):
		r.Reason = ReasonDifferent
	case errors.As(err, &status):
		r.Reason, r.Status, r.Answer, r.RetryAfter = outbound.ReasonStatus, status.status, outbound.Excerpt([]byte(status.answer)), status.after
	default:
		r.Reason = outbound.Reason(err)
	}
	return r, nil
}

// clean returns a path below a folder without leading and trailing slashes.
func clean(path string) string { return strings.Trim(path, "/") }
