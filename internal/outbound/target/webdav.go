// Copies a file to a WebDAV folder.

package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// partName is where a file is stored until it is whole. One copy writes to a folder at a time.
const partName = ".consign.part"

// folder is a folder of a WebDAV server (RFC 4918). Four methods are all that is needed; the client library that there is has no
// contexts, by which a shutdown or a lost lease ends a copy.
type folder struct {
	client *http.Client
	base   *url.URL
	login  Login
	agent  string
	made   map[string]bool // folders
}

func newFolder(a Address, login Login, agent string, transport http.RoundTripper) *folder {
	return &folder{
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		base:   a.URL, login: login, agent: agent, made: map[string]bool{},
	}
}

// at returns the address of a path. The segments are escaped: a name may hold any character but a slash.
func (f *folder) at(p string) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(f.base.EscapedPath(), "/"))
	for segment := range strings.SplitSeq(clean(p), "/") {
		b.WriteString("/" + url.PathEscape(segment))
	}
	return f.base.Scheme + "://" + f.base.Host + b.String()
}

// do sends a request and returns the size that its answer names, -1 when none.
func (f *folder) do(ctx context.Context, method, p string, header map[string]string, content io.Reader,
	size int64) (held int64, err error) {
	r, err := http.NewRequestWithContext(ctx, method, f.at(p), nil)
	if err != nil {
		return 0, fmt.Errorf("request to WebDAV: %w", err)
	}
	if content != nil {
		r.Body, r.ContentLength = io.NopCloser(content), size
		if size == 0 {
			r.Body = http.NoBody
		}
	}
	r.SetBasicAuth(f.login.User, f.login.Password)
	r.Header.Set("User-Agent", f.agent)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := f.client.Do(r)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", method, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", method, err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		e := &statusError{status: answer.StatusCode, answer: string(body)}
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
			e.after = time.Duration(min(seconds, 24*60*60)) * time.Second
		}
		return 0, e
	}
	return answer.ContentLength, nil
}

// has implements place. A file has its name only when it is whole, so its size tells.
func (f *folder) has(ctx context.Context, p string, size int64, _ []byte) (bool, error) {
	held, err := f.size(ctx, p)
	return err == nil && held == size, err
}

// size returns the size of a file, -1 when there is none.
func (f *folder) size(ctx context.Context, p string) (int64, error) {
	held, err := f.do(ctx, http.MethodHead, p, nil, nil, 0)
	if isMissing(err) {
		return -1, nil
	}
	return held, err
}

// put implements place: it stores the file under another name, checks its size there, and renames it.
func (f *folder) put(ctx context.Context, p string, content io.Reader, size int64, _ []byte) error {
	if err := f.make(ctx, path.Dir(p)); err != nil {
		return err
	}
	part := partName
	if at := strings.IndexByte(p, '/'); at >= 0 {
		part = p[:at+1] + partName
	}
	if _, err := f.do(ctx, http.MethodPut, part, map[string]string{"Content-Type": "application/octet-stream"}, content, size); err != nil {
		return err
	}
	held, err := f.size(ctx, part)
	switch {
	case err != nil:
		return err
	case held != size:
		return errDifferent
	}
	_, err = f.do(ctx, "MOVE", part, map[string]string{"Destination": f.at(p), "Overwrite": "T"}, nil, 0)
	return err
}

// make makes a folder and those above it, below the folder of the address, which must exist.
func (f *folder) make(ctx context.Context, p string) error {
	if p == "." || f.made[p] {
		return nil
	}
	if err := f.make(ctx, path.Dir(p)); err != nil {
		return err
	}
	_, err := f.do(ctx, "MKCOL", p, nil, nil, 0)
	var status *statusError
	if errors.As(err, &status) && status.status == http.StatusMethodNotAllowed { // it exists
		err = nil
	}
	f.made[p] = err == nil
	return err
}
