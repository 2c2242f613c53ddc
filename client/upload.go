// Uploads files in requests of bounded size, several at a time. After an interruption it asks the server for the offset.

package client

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
)

// File is a file to send.
type File struct {
	Name string // as the recipient sees it; slashes make folders
	Size int64
	Item uuid.UUID // of a request that the file is for
	Open func() (Content, error)
}

// Content are the bytes of a File.
type Content interface {
	io.ReaderAt
	io.Closer
}

// LocalFile returns the file at path, which is sent under name.
func LocalFile(path, name string) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("%s is not a regular file", path)
	}
	return File{Name: name, Size: info.Size(), Open: func() (Content, error) { return os.Open(path) }}, nil
}

// ErrChanged is returned when a file is not what it was when its upload began.
var ErrChanged = errors.New("the file has changed since its upload began")

// ErrOvertaken is returned when another program uploads the same file of the same reservation.
var ErrOvertaken = errors.New("another program continues this upload")

// UploadOptions are optional.
type UploadOptions struct {
	Parallel int   // files at a time; 4 when 0
	Part     int64 // bytes of a request; 64 MiB when 0
	// parts of a file at a time; 1: one stream; 0: by the size of the file and the time of a request
	AtOnce   int
	Progress func(file int, held int64)             // bytes that the server holds or is being sent; called by several goroutines
	Sent     func(file int, object UploadObject)    // a part has arrived: store the object
	Complete func(file int, object UploadObject)    // a file is complete
	Limit    func(ctx context.Context, n int) error // called before n bytes are sent: waits to limit the rate
}

const (
	defaultParallel = 4
	defaultPart     = 64 << 20
)

// Upload sends the bytes of all files that are not complete, several files at a time and each in parts. It continues where the
// server has ended, and repeats what fails for a moment. The SHA-256 of each file is compared. On a short line the parts of a file are sent
// one after the other, else those of a large file up to six at once, where the server takes that.
//
// Errors: ErrChanged, ErrOvertaken, *Error.
func (u *Upload) Upload(ctx context.Context, o UploadOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan int)
	var wg sync.WaitGroup
	for range min(orDefault(o.Parallel, defaultParallel), max(len(u.Objects), 1)) {
		wg.Go(func() {
			for i := range queue {
				if err := u.uploadFile(ctx, i, o); err != nil {
					cancel(fmt.Errorf("%s: %w", u.Objects[i].Name, err))
				}
			}
		})
	}
	for i := range u.Objects {
		if !u.Objects[i].Complete && ctx.Err() == nil {
			select {
			case queue <- i:
			case <-ctx.Done():
			}
		}
	}
	close(queue)
	wg.Wait()
	return context.Cause(ctx)
}

// uploadFile uploads one file.
func (u *Upload) uploadFile(ctx context.Context, i int, o UploadOptions) error {
	content, err := u.files[i].Open()
	if err != nil {
		return err
	}
	defer content.Close()
	p := &parts{u: u, i: i, o: o, content: content, size: u.Objects[i].Size, digest: sha256.New()}
	done, err := p.inParts(ctx)
	if err == nil && !done {
		err = p.send(ctx)
	}
	if err != nil {
		return err
	}
	if err := p.hashTo(p.size); err != nil {
		return err
	}
	object := &u.Objects[i]
	object.Complete, object.SHA256 = true, hex.EncodeToString(p.digest.Sum(nil))
	if o.Complete != nil {
		o.Complete(i, *object)
	}
	return nil
}

// parts uploads the parts of one file.
type parts struct {
	u       *Upload
	i       int
	o       UploadOptions
	content Content
	size    int64
	digest  hash.Hash
	hashed  int64 // bytes in digest
}

// send sends the rest of the file, however often it is interrupted.
func (p *parts) send(ctx context.Context) error {
	var pauses backoff
	overtaken := false
	held, err := p.held(ctx)
	for {
		if err == nil && held >= p.size {
			return nil
		}
		before := held
		if err == nil {
			held, err = p.part(ctx, held)
		}
		if held > before {
			pauses.reset()
		}
		if err == nil {
			continue
		}
		least, again, known := p.interrupted(err, &overtaken)
		if !again {
			return err
		}
		if known < 0 {
			if err := pauses.wait(ctx, p.u.c, err, least); err != nil {
				return err
			}
			held, err = p.held(ctx)
			if held > before {
				pauses.reset()
			}
			continue
		}
		held, err = known, nil
		if held <= before { // not forward: do not spin
			if err := pauses.wait(ctx, p.u.c, errors.New("the server repeats its range"), least); err != nil {
				return err
			}
		}
	}
}

var unsatisfied = regexp.MustCompile(`^bytes \*/(\d+)$`)

// The codes of an interrupted upload.
const (
	codeBodyLength = 400012
	codeDigest     = 400013
	codeOvertaken  = 409012
	codeBadRange   = 416001
)

// interrupted says whether an upload goes on after err, and at which byte, -1 for unknown. The first ErrOvertaken may come from a late
// request of a killed program; a second one, after overtaken is set, comes from another program.
func (p *parts) interrupted(err error, overtaken *bool) (least time.Duration, again bool, held int64) {
	if errors.Is(err, ErrOvertaken) {
		again, *overtaken = !*overtaken, true
		return 0, again, -1
	}
	var e *Error
	if !errors.As(err, &e) {
		least, again = passing(err)
		ended := errors.Is(err, ErrChanged) || errors.As(err, new(*os.PathError))
		return least, again && !ended, -1
	}
	switch e.Code {
	case codeBadRange:
		if found := unsatisfied.FindStringSubmatch(e.header.Get("Content-Range")); found != nil {
			held, err := strconv.ParseInt(found[1], 10, 64)
			return 0, err == nil && held <= p.size, held
		}
	case codeBodyLength:
		return 0, true, -1
	}
	least, again = passing(err)
	return least, again, -1
}

func (p *parts) url() string {
	return p.u.c.transferURL + "/reservations/" + url.PathEscape(p.u.UID) + "/objects/" + url.PathEscape(p.u.Objects[p.i].ClientID) +
		"/content"
}

// held asks how many bytes the server holds.
func (p *parts) held(ctx context.Context) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, p.url(), http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+p.u.Token)
	resp, err := doer{p.u.c, nil}.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	p.progress(resp.ContentLength)
	return resp.ContentLength, nil
}

// part sends the next part, from byte first on, and returns how many bytes the server holds then.
func (p *parts) part(ctx context.Context, first int64) (held int64, err error) {
	end := min(first+orDefault(p.o.Part, defaultPart), p.size)
	body := &partReader{ctx: ctx, p: p, at: first, end: end, progress: p.progress}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, p.url(), body)
	if err != nil {
		return first, err
	}
	r.ContentLength = end - first
	r.Header.Set("Authorization", "Bearer "+p.u.Token)
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, end-1, p.size))
	if end == p.size {
		if err := p.hashTo(p.size); err != nil {
			return first, err
		}
		r.Header.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(p.digest.Sum(nil))+":")
	} else if err := p.hashTo(first); err != nil {
		return first, err
	}
	resp, err := p.u.c.send(r)
	if cause := body.failure(); cause != nil {
		err = cause // why the request failed
	}
	switch {
	case HasCode(err, codeDigest):
		return first, ErrChanged
	case HasCode(err, codeOvertaken):
		return first, ErrOvertaken
	case err != nil:
		return first, err
	}
	drain(resp)
	return end, p.sent(end)
}

// sent records the hash of the bytes up to end, which the server holds.
func (p *parts) sent(end int64) error {
	if p.o.Sent == nil {
		return nil
	}
	if err := p.hashTo(end); err != nil {
		return err
	}
	object := &p.u.Objects[p.i]
	object.Sent, object.SentSHA256 = end, hex.EncodeToString(p.digest.Sum(nil))
	p.o.Sent(p.i, *object)
	return nil
}

// hashTo hashes the file up to byte end. It compares the hash of what an earlier program has sent.
func (p *parts) hashTo(end int64) error {
	if object := p.u.Objects[p.i]; p.hashed < object.Sent && object.Sent < end {
		if err := p.hashOn(object.Sent); err != nil {
			return err
		}
	}
	return p.hashOn(end)
}

func (p *parts) hashOn(end int64) error {
	if p.hashed >= end {
		return nil
	}
	n, err := io.Copy(p.digest, io.NewSectionReader(p.content, p.hashed, end-p.hashed))
	if p.hashed += n; err == nil && p.hashed < end {
		err = ErrChanged
	}
	if object := p.u.Objects[p.i]; err == nil && p.hashed == object.Sent && hex.EncodeToString(p.digest.Sum(nil)) != object.SentSHA256 {
		err = ErrChanged
	}
	return err
}

func (p *parts) progress(held int64) {
	if p.o.Progress != nil {
		p.o.Progress(p.i, held)
	}
}

// partReader reads one part. The transport reads it in a goroutine that may outlive the request's answer, so it does not hash.
type partReader struct {
	ctx     context.Context
	p       *parts
	at, end int64

	progress func(at int64)

	mu  sync.Mutex
	err error // of the file
}

// failure returns why the file could not be read.
func (b *partReader) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Read implements io.Reader.
func (b *partReader) Read(buf []byte) (int, error) {
	if b.at >= b.end {
		return 0, io.EOF
	}
	buf = buf[:min(int64(len(buf)), b.end-b.at)]
	if b.p.o.Limit != nil {
		if err := b.p.o.Limit(b.ctx, len(buf)); err != nil {
			return 0, err
		}
	}
	n, err := b.p.content.ReadAt(buf, b.at)
	b.at += int64(n)
	if n > 0 {
		b.progress(b.at)
		return n, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = ErrChanged // it is shorter
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
	return 0, err
}

func orDefault[T int | int64](v, usual T) T {
	if v == 0 {
		return usual
	}
	return v
}
