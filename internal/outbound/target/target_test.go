package target

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/webdav"

	"github.com/consign-dev/consign/internal/outbound"
)

// cloud is a WebDAV server on a directory, which wants a user and a password.
type cloud struct {
	*httptest.Server
	dir     string
	puts    atomic.Int64
	refuse  atomic.Int64 // status of the next PUT; 0: none
	shorten atomic.Bool  // claims other sizes
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(c.dir, "in box"), 0o700); err != nil {
		t.Fatal(err)
	}
	dav := &webdav.Handler{FileSystem: webdav.Dir(c.dir), LockSystem: webdav.NewMemLS()}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "ann" || password != "pass word" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodPut {
			c.puts.Add(1)
			if status := c.refuse.Swap(0); status != 0 {
				w.Header().Set("Retry-After", "7")
				http.Error(w, "not now", int(status))
				return
			}
		}
		if r.Method == http.MethodHead && c.shorten.Load() {
			w.Header().Set("Content-Length", "1")
			return
		}
		dav.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) address() string { return "webdav+" + c.URL + "/in%20box" }

var login = Login{User: "ann", Password: "pass word"}

func newCopier() *Copier { return New(outbound.NewGuard([]string{"127.0.0.0/8"}, "", nil), "1.0.0") }

func file(name, content string) File {
	sum := sha256.Sum256([]byte(content))
	return File{Name: name, Size: int64(len(content)), SHA256: sum[:], Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}

func transferOf(files ...File) Transfer {
	return Transfer{
		UID: "0193f0b1-0c2d-7e3f-8a4b-5c6d7e8f9d01", Kind: "mailbox", Subject: "Plans", SenderName: "Sam", SenderEmail: "sam@example.com",
		CreatedAt: time.Date(2026, 11, 23, 23, 30, 0, 0, time.UTC), Files: files,
	}
}

const copied = "in box/2026-11-23-0193f0b1-0c2d-7e3f-8a4b-5c6d7e8f9d01/"

func (c *cloud) want(t *testing.T, path, content string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(path)))
	if err != nil || string(got) != content {
		t.Errorf("%s holds %.100q, %v; want %.100q", path, got, err, content)
	}
}

// TestCopyToWebDAV: names are safe and unique, the manifest names all files, and a repetition copies nothing again.
func TestCopyToWebDAV(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	tr := transferOf(file("a/b.txt", "one"), file("../a/B.TXT", "two"), file("manifest.json", "three"), file("50% #1?.txt", "four"),
		file("empty", ""), file("日本 語", strings.Repeat("x", 1<<20)))
	r, err := newCopier().Copy(t.Context(), c.address(), login, tr)
	if err != nil || r.Reason != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	c.want(t, copied+"a/b.txt", "one")
	c.want(t, copied+"a/B (2).TXT", "two")
	c.want(t, copied+"manifest (2).json", "three")
	c.want(t, copied+"50% #1?.txt", "four")
	c.want(t, copied+"empty", "")
	c.want(t, copied+"日本 語", strings.Repeat("x", 1<<20))
	raw, err := os.ReadFile(filepath.Join(c.dir, copied, "manifest.json"))
	var m manifestJSON
	if err != nil || json.Unmarshal(raw, &m) != nil || m.Transfer != tr.UID || m.Sender.Email != "sam@example.com" || len(m.Files) != 6 ||
		m.Files[1].Path != "a/B (2).TXT" {
		t.Errorf("the manifest is %s, %v", raw, err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, copied, ".*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	before := c.puts.Load()
	// the manifest
	if r, err := newCopier().Copy(t.Context(), c.address(), login, tr); err != nil || r.Reason != "" || c.puts.Load() != before+1 {
		t.Errorf("the repetition puts %d files: %+v, %v", c.puts.Load()-before, r, err)
	}
}

// TestCopyFailures: what is wrong with a target or a file is told in a word, and no name leads to a broken file.
func TestCopyFailures(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	do := func(address string, l Login, f File) (outbound.Result, error) {
		return newCopier().Copy(t.Context(), address, l, transferOf(f))
	}
	good := file("a", "hello")
	if r, _ := do(c.address(), Login{"ann", "wrong"}, good); r.Reason != outbound.ReasonStatus || r.Status != http.StatusUnauthorized {
		t.Errorf("with a wrong password: %+v", r)
	}
	if r, _ := do("webdav+"+c.URL+"/missing", login, good); r.Reason != outbound.ReasonStatus || r.Status != http.StatusConflict &&
		r.Status != http.StatusNotFound {
		t.Errorf("to a missing folder: %+v", r)
	}
	c.refuse.Store(http.StatusInsufficientStorage)
	if r, _ := do(c.address(), login, good); r.Status != http.StatusInsufficientStorage || r.Answer != "not now\n" ||
		r.RetryAfter != 7*time.Second {
		t.Errorf("to a full server: %+v", r)
	}
	c.shorten.Store(true)
	if r, _ := do(c.address(), login, good); r.Reason != ReasonDifferent {
		t.Errorf("a server that holds less: %+v", r)
	}
	c.shorten.Store(false)
	for what, f := range map[string]File{
		"other bytes": {"b", 5, good.SHA256, file("", "HELLO").Open}, "too short": {"b", 6, good.SHA256, good.Open},
	} {
		if r, err := do(c.address(), login, f); err != nil || r.Reason != ReasonDifferent && r.Reason != outbound.ReasonFailed {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
		if _, err := os.Stat(filepath.Join(c.dir, copied, "b")); err == nil {
			t.Errorf("%s have a name", what)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := do(c.address(), login, File{"c", 5, good.SHA256,
		func(context.Context) (io.ReadCloser, error) { return nil, broken }}); !errors.Is(err, broken) {
		t.Errorf("a transfer that cannot be read: %v", err)
	}
	strict := New(outbound.NewGuard(nil, "", nil), "")
	if r, _ := strict.Copy(t.Context(), c.address(), login, transferOf(good)); r.Reason != outbound.ReasonFailed {
		t.Errorf("to a private address: %+v", r)
	}
	if r, err := newCopier().Test(t.Context(), c.address(), login); err != nil || r.Reason != "" {
		t.Errorf("the test: %+v, %v", r, err)
	}
}

// TestCopyEndsWithContext: a copy that is cancelled ends, also while the target takes nothing.
func TestCopyEndsWithContext(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-held }))
	defer s.Close()
	defer close(held)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan outbound.Result, 1)
	go func() {
		r, _ := newCopier().Copy(ctx, "webdav+"+s.URL+"/", login, transferOf(file("a", "hello")))
		ended <- r
	}()
	cancel()
	if r := <-ended; r.Reason == "" {
		t.Error("a cancelled copy succeeds")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	g := outbound.NewGuard(nil, "files.example.com", nil)
	a, err := Parse(g, "s3+https://s3.example.com/bucket/some/folder/?region=eu-1")
	if err != nil || a.Kind != S3 || a.Bucket != "bucket" || a.Folder != "some/folder" || a.Region != "eu-1" ||
		a.URL.Host != "s3.example.com" {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := Parse(g, "webdav+https://cloud.example.com/remote.php/dav/files/ann/"); err != nil || a.Kind != WebDAV {
		t.Errorf("%+v, %v", a, err)
	}
	for _, text := range []string{
		"s3+https://s3.example.com", "s3+https://s3.example.com/", "s3+https://s3.example.com/b?x=1",
		"s3+https://s3.example.com/b?region=a&region=b",
		"s3+http://s3.example.com/b", "webdav+https://cloud.example.com/?a=b", "webdav+https://127.0.0.1/a", "webdav+https://files.example.com/a",
		"webdav+https://ann:secret@cloud.example.com/a", "s3+webdav+https://a.example.com/b",
	} {
		if _, err := Parse(g, text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// TestCheckedWithholds: the last byte of a file whose SHA-256 differs is not handed out.
func TestCheckedWithholds(t *testing.T) {
	t.Parallel()
	good := sha256.Sum256([]byte("hello"))
	got, err := io.ReadAll(&checked{from: io.NopCloser(strings.NewReader("hello")), left: 5, sum: good[:], hash: sha256.New()})
	if err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	got, err = io.ReadAll(&checked{from: io.NopCloser(iotestOneByte{strings.NewReader("hellO")}), left: 5, sum: good[:], hash: sha256.New()})
	if !errors.Is(err, errDifferent) || bytes.Contains(got, []byte("O")) {
		t.Errorf("%q, %v", got, err)
	}
}

type iotestOneByte struct{ io.Reader }

func (r iotestOneByte) Read(b []byte) (int, error) { return r.Reader.Read(b[:1]) }

// TestAnswerBeforeTheEnd: a target that answers before it has the whole file leaves the HTTP transport reading. Nothing is read while the
// file is closed, or later.
func TestAnswerBeforeTheEnd(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.refuse.Store(http.StatusInsufficientStorage)
	source := &slowSource{}
	big := file("big", "")
	big.Size, big.Open = 1<<30, func(context.Context) (io.ReadCloser, error) { return source, nil }
	got, err := newCopier().Copy(t.Context(), c.address(), login, transferOf(big))
	if err != nil || got.Status != http.StatusInsufficientStorage {
		t.Errorf("%+v, %v", got, err)
	}
	c.Close() // ends the connection, and with it the transport's reading
	if !source.closed.Load() || source.misused.Load() {
		t.Errorf("closed %t, read during or after that %t", source.closed.Load(), source.misused.Load())
	}
}

// slowSource gives a little at a time, and notes a Close during a Read and a Read after Close.
type slowSource struct {
	reading, closed, misused atomic.Bool
}

func (s *slowSource) Read(b []byte) (int, error) {
	s.reading.Store(true)
	defer s.reading.Store(false)
	time.Sleep(5 * time.Millisecond)
	if s.closed.Load() {
		s.misused.Store(true)
	}
	return min(len(b), 1024), nil
}

func (s *slowSource) Close() error {
	s.closed.Store(true)
	if s.reading.Load() {
		s.misused.Store(true)
	}
	return nil
}
