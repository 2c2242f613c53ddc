package handler_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/transfer"
)

// resumable returns d as a client of the current version of the IETF's draft.
func (d draft) resumable(complete bool) draft {
	value := "?0"
	if complete {
		value = "?1"
	}
	return d.with("Upload-Draft-Interop-Version", "8").with("Upload-Complete", value)
}

// append sends bytes of a resumable upload.
func (d draft) append(offset int, complete bool) draft {
	return d.resumable(complete).with("Content-Type", "application/partial-upload").with("Upload-Offset", strconv.Itoa(offset))
}

func reprDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// TestInteropVersions sends the requests that clients of each version of the draft send, byte by byte, and reads the interim answers.
func TestInteropVersions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/interop/*.txt")
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			s, _ := newMailbox(t)
			d := reserve(s)
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			host := strings.TrimPrefix(s.URL, "http://")
			values := map[string]string{"host": host, "token": d.Access, "reservation": d.path}
			for exchange := range strings.SplitSeq(string(raw), "---\n") {
				sent, answers, _ := strings.Cut(exchange, "\n=> ")
				head, body, _ := strings.Cut(sent, "\n\n")
				for name, value := range values {
					head = strings.ReplaceAll(head, "{"+name+"}", value)
				}
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", host)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprint(conn, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+strings.ReplaceAll(body, `\r\n`, "\r\n"))
				reader := bufio.NewReader(conn)
				for want := range strings.SplitSeq(answers, "\n=> ") {
					method, _, _ := strings.Cut(head, " ")
					got, err := http.ReadResponse(reader, &http.Request{Method: method})
					if err != nil {
						t.Fatal(err)
					}
					checkAnswer(t, head, want, got)
					got.Body.Close()
					if location := got.Header.Get("Location"); location != "" {
						values["upload"] = strings.TrimPrefix(location, s.URL)
					}
				}
				conn.Close()
			}
			for _, o := range d.Get(d.path).Value("objects").([]any) {
				if o := o.(map[string]any); o["contentLength"] != o["intendedSize"] {
					t.Errorf("%v is incomplete", o)
				}
			}
			d.confirm()
		})
	}
}

// checkAnswer compares an answer with what a fixture wants: the status, then headers with * for anything.
func checkAnswer(t *testing.T, request, want string, got *http.Response) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(want), "\n")
	if status := strconv.Itoa(got.StatusCode); status != lines[0] {
		body, _ := io.ReadAll(got.Body)
		t.Fatalf("%s\nanswered %s %v %s, want %s", request, status, got.Header, body, lines[0])
	}
	for _, line := range lines[1:] {
		name, pattern, _ := strings.Cut(line, ": ")
		value := got.Header.Get(name)
		if ok, err := path.Match(pattern, strings.ReplaceAll(value, "/", "")); err != nil || value == "" || !ok && value != pattern {
			t.Errorf("%s\nanswered %s with %s: %q, want %s", request, lines[0], name, value, pattern)
		}
	}
}

// TestResumableWithoutInterimAnswers: a client that gets no 104, because it states no version or a proxy eats it, begins without bytes.
func TestResumableWithoutInterimAnswers(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	data := random(200_000)
	begin := d.with("Upload-Complete", "?0").with("Upload-Length", "200000").with("Content-Disposition",
		`inline; filename="x.bin"; filename*=UTF-8''%C3%A4.bin`)
	made := begin.Post(d.path+"/uploads", nil).Want(http.StatusCreated)
	at := strings.TrimPrefix(made.Header.Get("Location"), s.URL)
	if !strings.Contains(made.Header.Get("Upload-Limit"), "max-size=200000") || made.Header.Get("Upload-Complete") != "?0" {
		t.Errorf("%v", made.Header)
	}
	half := d.append(0, false).Patch(at, data[:100_000]).Want(http.StatusNoContent)
	if half.Header.Get("Upload-Offset") != "100000" || half.Header.Get("Upload-Complete") != "?0" {
		t.Errorf("%v", half.Header)
	}
	done := d.append(100_000, true).With("Repr-Digest", reprDigest(data)).Patch(at, data[100_000:]).Want(http.StatusOK)
	if done.Header.Get("Upload-Complete") != "?1" || done.Header.Get("Repr-Digest") != reprDigest(data) {
		t.Errorf("%v", done.Header)
	}
	d.append(200_000, true).Patch(at, nil).Want(http.StatusOK) // the answer was lost
	d.append(200_000, false).Patch(at, nil).WantError(fault.ErrInvalid)
	d.append(200_000, true).Patch(at, "more").WantError(fault.ErrInvalid)
	if got := d.Head(at).Want(http.StatusNoContent).Header; got.Get("Upload-Complete") != "?1" || got.Get("Repr-Digest") != reprDigest(data) {
		t.Errorf("%v", got)
	}
	if got := d.Get(at).Want(http.StatusNoContent).Header; got.Get("Upload-Complete") != "?1" || got.Get("Upload-Offset") != "200000" {
		t.Errorf("GET: %v", got)
	}
	uid := d.confirm()
	if name := ann.Get(s.Transfer + "/transfers/" + uid).String("objects.0.name"); name != "ä.bin" {
		t.Errorf("the file is called %q", name)
	}
}

func TestResumableProblems(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "maxFileSizeMb": 1}).Want(http.StatusOK)
	d := reserve(s)
	made := d.resumable(false).Post(d.path+"/uploads", "hello").Want(http.StatusCreated)
	at := strings.TrimPrefix(made.Header.Get("Location"), s.URL)
	mismatch := d.append(3, false).Patch(at, "x").WantError(fault.ErrOffset)
	if mismatch.Header.Get("Content-Type") != "application/problem+json" || mismatch.Value("expected-offset") != 5.0 ||
		mismatch.Value("provided-offset") != 3.0 ||
		mismatch.String("type") != "https://iana.org/assignments/http-problem-types#mismatching-upload-offset" ||
		mismatch.Value("status") != 409.0 {
		t.Errorf("%v %s", mismatch.Header, mismatch.Body)
	}
	if mismatch.Header.Get("Upload-Complete") != "?0" {
		t.Errorf("%v", mismatch.Header)
	}
	inconsistent := d.append(5, true).With("Upload-Length", "9").Patch(at, "x").WantError(fault.ErrInvalid)
	if inconsistent.String("type") != "https://iana.org/assignments/http-problem-types#inconsistent-upload-length" ||
		inconsistent.Header.Get("Upload-Complete") != "?0" {
		t.Errorf("%s", inconsistent.Body)
	}
	d.resumable(false).With("Upload-Offset", "5").Patch(at, "x").WantError(fault.ErrUnsupported)
	d.With("Upload-Complete", "?0").Patch(at, "x").WantError(fault.ErrUnsupported)
	d.append(5, false).With("Upload-Complete", "1").Patch(at, "x").WantError(fault.ErrInvalid)
	d.append(5, false).With("Upload-Offset", "5.0").Patch(at, "x").WantError(fault.ErrInvalid)
	d.append(5, false).With("Content-Encoding", "gzip").Patch(at, "x").WantError(fault.ErrUnsupported)
	large := d.append(5, false).Patch(at, random(1_000_000)).WantError(fault.ErrTooLarge)
	if large.Header.Get("Upload-Limit") != "max-size=1000000" {
		t.Errorf("%v", large.Header)
	}
	if r := d.resumable(false).With("Upload-Length", "1000001").Post(d.path+"/uploads",
		nil).WantError(fault.ErrTooLarge); r.Header.Get("Upload-Limit") != "max-size=1000000" {
		t.Errorf("%v", r.Header)
	}
	d.Post(d.path+"/uploads", nil).WantError(fault.ErrInvalid) // no Upload-Complete
	d.resumable(true).With("Repr-Digest", reprDigest(nil)).Post(d.path+"/uploads", "hello").WantError(transfer.ErrDigest)
	d.append(5, false).With("Content-Digest", reprDigest(nil)).Patch(at, "x").WantError(transfer.ErrDigest)
	d.append(5, false).With("Upload-Length", "7").Patch(at, "6").Want(http.StatusNoContent)
	// longer than its length: invalid from now on
	d.append(6, false).Patch(at, struct{ io.Reader }{strings.NewReader("78")}).WantError(fault.ErrInvalid)
	d.Head(at).Want(http.StatusNotFound)
	announced := strings.TrimPrefix(d.resumable(false).With("Upload-Length", "7").Post(d.path+"/uploads",
		"hello").Want(http.StatusCreated).Header.Get("Location"), s.URL)
	d.append(5, true).Patch(announced, "678").WantError(fault.ErrInvalid)
	d.Head(announced).Want(http.StatusNotFound)
	filled := d.resumable(false).With("Upload-Length", "5").Post(d.path+"/uploads", "hello").Want(http.StatusCreated)
	if filled.Header.Get("Upload-Complete") != "?1" {
		t.Errorf("an upload that is full answers %v", filled.Header)
	}
	d.Delete(strings.TrimPrefix(filled.Header.Get("Location"), s.URL)).Want(http.StatusNoContent)
	if got := s.Stranger().Do(http.MethodOptions, d.path+"/uploads",
		nil).Want(http.StatusNoContent); got.Header.Get("Accept-Patch") != "application/partial-upload" ||
		got.Header.Get("Upload-Limit") != "min-size=0" {
		t.Errorf("%v", got.Header)
	}
	if n := len(d.Get(d.path).Value("objects").([]any)); n != 0 {
		t.Errorf("%d objects are left", n)
	}
}

// TestResumablePut: PUT of content with Upload-Complete is a resumable upload of the object that is attached.
func TestResumablePut(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s)
	content := d.attach("a", 10)
	half := d.resumable(false).Put(content, "01234").Want(http.StatusCreated)
	at := strings.TrimPrefix(half.Header.Get("Location"), s.URL)
	if at != d.path+"/objects/a/upload" || half.Header.Get("Upload-Offset") != "5" {
		t.Errorf("%v", half.Header)
	}
	d.resumable(true).Put(content, "01234").WantError(fault.ErrInvalid) // less than intendedSize
	d.resumable(true).With("Content-Range", "bytes 5-9/10").Put(content, "56789").WantError(fault.ErrInvalid)
	if got := d.Head(at).Header; got.Get("Upload-Offset") != "5" || got.Get("Upload-Complete") != "?0" {
		t.Errorf("%v", got)
	}
	d.append(5, true).Patch(at, "56789").Want(http.StatusOK)
	if done := d.resumable(true).Put(content, "abcdefghij").Want(http.StatusOK); done.Header.Get("Upload-Complete") != "?1" ||
		done.String("clientId") != "a" {
		t.Errorf("%v %s", done.Header, done.Body)
	}
	d.confirm()
}

// TestProtocolsMix: an upload begins with tus, goes on with PUT, and ends with the IETF's protocol; in another order, too.
func TestProtocolsMix(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	data := random(300_000)
	object := func(upload string) string { return path.Dir(upload) }
	first := object(d.tus().begin("Upload-Defer-Length", "1"))
	d.tus().bytesAt(first+"/tus", 0, data[:100_000]).Want(http.StatusNoContent)
	d.With("Content-Range", rangeOf(100_000, 199_999, 300_000)).Put(first+"/content", data[100_000:200_000]).Want(http.StatusOK)
	d.append(200_000, true).Patch(first+"/upload", data[200_000:]).Want(http.StatusOK)

	made := d.resumable(false).Post(d.path+"/uploads", data[:50_000]).Want(http.StatusCreated)
	second := object(strings.TrimPrefix(made.Header.Get("Location"), s.URL))
	d.tus().with("Upload-Length", "300000").bytesAt(second+"/tus", 50_000, data[50_000:60_000]).Want(http.StatusNoContent)
	d.append(60_000, false).Patch(second+"/upload", data[60_000:70_000]).Want(http.StatusNoContent)
	d.With("Content-Range", rangeOf(70_000, 299_999, 300_000)).Put(second+"/content", data[70_000:]).Want(http.StatusOK)
	if got := d.tus().Head(second + "/tus").Header; got.Get("Upload-Offset") != "300000" || got.Get("Upload-Length") != "300000" {
		t.Errorf("%v", got)
	}
	uid := d.confirm()
	for i := range 2 {
		seen := ann.Get(s.Transfer + "/transfers/" + uid).Want(http.StatusOK)
		got := ann.Get(s.Transfer + "/transfers/" + uid + "/objects/" + seen.String(fmt.Sprintf("objects.%d.uid", i)) + "/content").Want(
			http.StatusOK)
		if !bytes.Equal(got.Body, data) {
			t.Errorf("file %d differs", i)
		}
	}
}
