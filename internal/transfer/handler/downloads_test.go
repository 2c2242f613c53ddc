package handler_test

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// TestRanges is RFC 9110, 14, on a file of a hundred bytes.
func TestRanges(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	data := random(100)
	d.send("a", data)
	path := s.Transfer + "/transfers/" + d.confirm()
	file := path + "/objects/" + ann.Get(path).String("objects.0.uid") + "/content"
	for spec, want := range map[string][2]int{
		"bytes=0-0": {0, 1}, "bytes=99-": {99, 100}, "bytes=-1": {99, 100}, "bytes=-1000": {0, 100}, "bytes=10-20": {10, 21},
		"bytes=90-5000": {90, 100}, "bytes= 5-6 ": {5, 7}, "bytes=5-6,": {5, 7}, "bytes=200-300,7-8": {7, 9},
	} {
		r := ann.With("Range", spec).Get(file).Want(http.StatusPartialContent)
		if !bytes.Equal(r.Body, data[want[0]:want[1]]) || r.Header.Get("Content-Range") != rangeOf(want[0], want[1]-1, 100) {
			t.Errorf("%s: %s with %d bytes", spec, r.Header.Get("Content-Range"), len(r.Body))
		}
	}
	for _, spec := range []string{"bytes=100-", "bytes=-0", "bytes=5-4", "bytes=a-b", "bytes=1", "bytes=--5", "bytes=5--",
		"bytes=99999999999999999999-", "bytes=-99999999999999999999", "bytes=0x1-2", "bytes=+1-2", "bytes=1-2-3", "bytes=1;2"} {
		if r := ann.With("Range", spec).Get(file).WantError(transfer.ErrRange); r.Header.Get("Content-Range") != "bytes */100" ||
			r.Header.Get("ETag") != "" {
			t.Errorf("%s: %v", spec, r.Header)
		}
	}
	several := ann.With("Range", "bytes=0-9, 50-54 ,-5").Get(file).Want(http.StatusPartialContent)
	kind, params, err := mime.ParseMediaType(several.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/byteranges" {
		t.Fatalf("%v", several.Header)
	}
	parts := multipart.NewReader(bytes.NewReader(several.Body), params["boundary"])
	for _, want := range [][2]int{{0, 10}, {50, 55}, {95, 100}} {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(part)
		if !bytes.Equal(got, data[want[0]:want[1]]) || part.Header.Get("Content-Range") != rangeOf(want[0], want[1]-1, 100) {
			t.Errorf("%v", part.Header)
		}
	}
	// Another unit than bytes is ignored (RFC 9110, section 14.2).
	if r := ann.With("Range", "lines=0-5").Get(file).Want(http.StatusOK); !bytes.Equal(r.Body, data) || r.Header.Get("Content-Range") != "" {
		t.Errorf("%d bytes, %v", len(r.Body), r.Header)
	}
	// Ranges that add up to more than the file are answered with the whole file.
	if r := ann.With("Range", "bytes=0-99,0-99").Get(file).Want(http.StatusOK); !bytes.Equal(r.Body, data) {
		t.Errorf("%d bytes", len(r.Body))
	}
	// A range counts as a download if it includes the first byte.
	ann.With("Range", "bytes=1-,1-").Get(file).Want(http.StatusOK)
	etag := ann.Head(file).Header.Get("ETag")
	if downloads := ann.Get(path).Value("objects.0.downloads"); downloads != 6.0 { // those that include byte 0
		t.Errorf("%v downloads", downloads)
	}
	for condition, status := range map[string]int{etag: 206, `W/` + etag: 200, `"x"`: 200, "Fri, 20 Nov 2026 09:30:00 GMT": 200} {
		if r := ann.With("Range", "bytes=50-").With("If-Range", condition).Get(file).Want(status); len(r.Body) != map[int]int{206: 50,
			200: 100}[status] {
			t.Errorf("If-Range %s: %d bytes", condition, len(r.Body))
		}
	}
	before := ann.Get(path).Value("objects.0.downloads")
	for _, condition := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
		ann.With("If-None-Match", condition).Get(file).Want(http.StatusNotModified)
		ann.With("If-None-Match", condition).With("Range", "bytes=100-").Get(file).Want(http.StatusNotModified) // RFC 9110, 13.2.2: comes first
	}
	if after := ann.Get(path).Value("objects.0.downloads"); after != before {
		t.Errorf("304 counts as a download: %v, then %v", before, after)
	}
	// A malformed list of tags is read the same way everywhere: no bytes are sent without being counted.
	for _, conditions := range [][]string{{"x, " + etag}, {`"x"`, etag}, {`"x, ` + etag}} {
		before := ann.Get(path).Number("objects.0.downloads")
		who := ann.With("If-None-Match", "")
		who.Header["If-None-Match"] = conditions
		r := who.Get(file)
		if noted := ann.Get(path).Number("objects.0.downloads") - before; (r.Status == http.StatusOK) != (noted == 1) {
			t.Errorf("If-None-Match %q: %d, and %v downloads noted", conditions, r.Status, noted)
		}
	}
	ann.With("If-None-Match", `"x"`).Get(file).Want(http.StatusOK)
	ann.With("If-Match", `"x"`).Get(file).Want(http.StatusConflict)
}

func TestContentDisposition(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	names := map[string]string{ // as sent: as saved
		"plain.txt": "plain.txt", "two words.txt": "two words.txt", `"; filename=evil.exe`: `"; filename=evil.exe`,
		"Ärger ☂ 😀.pdf":    "Ärger ☂ 😀.pdf",
		"../../etc/passwd": "passwd", `..\..\boot.ini`: "boot.ini", "C:autoexec.bat": "autoexec.bat", "nul.txt": "_nul.txt", "..": "file",
		"a/..": "a", "100%25.txt": "100%25.txt",
		"x;y=z,'.txt": "x;y=z,'.txt", "\u200eשלום\u200f \u061cقائمة.pdf": "\u200eשלום\u200f \u061cقائمة.pdf",
		strings.Repeat("😀", 255): strings.Repeat("😀", 63), "a\\b/c": "c",
	}
	want := map[string]string{}
	for name, saved := range names {
		id := "n" + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return r
			}
			return -1
		}, name) + string(rune('a'+len(want)))
		d.Post(d.path+"/objects", object{"clientId": id, "name": name, "intendedSize": 0}).Want(http.StatusCreated)
		want[name] = saved
	}
	for _, refused := range []string{"a\r\nSet-Cookie: x=y", "a\nb", "a\x00b", "invoice\u202Efdp.exe", "a\u2066b", "", " ",
		strings.Repeat("x", 1025), "a\u0085b", "a\u2028b"} {
		d.Post(d.path+"/objects", object{"clientId": "refused", "name": refused, "intendedSize": 0}).Want(http.StatusBadRequest)
	}
	d.Post(d.path+"/objects", object{"clientId": "refused", "name": strings.Repeat("x", 100_000), "intendedSize": 0}).Want(
		http.StatusBadRequest)
	path := s.Transfer + "/transfers/" + d.confirm()
	list := ann.Get(path).Want(http.StatusOK)
	for i := range len(names) {
		o := list.Value("objects").([]any)[i].(map[string]any)
		got := ann.Get(path + "/objects/" + o["uid"].(string) + "/content").Want(http.StatusOK).Header.Get("Content-Disposition")
		kind, params, err := mime.ParseMediaType(got)
		if err != nil || kind != "attachment" || params["filename"] != want[o["name"].(string)] {
			t.Errorf("%q: %s is read as %q, %v", o["name"], got, params["filename"], err)
		}
		plain, full, _ := strings.Cut(got, "; filename*=UTF-8''")
		if saved, err := url.PathUnescape(full); err != nil || saved != want[o["name"].(string)] {
			t.Errorf("%q: %s", o["name"], got)
		}
		for _, c := range got {
			if c < 0x20 || c > 0x7e {
				t.Errorf("%q: %q holds %q", o["name"], got, c)
			}
		}
		if inner := strings.TrimSuffix(strings.TrimPrefix(plain, `attachment; filename="`), `"`); strings.ContainsAny(inner, `"\`) {
			t.Errorf("%q: %s", o["name"], plain)
		}
	}
}

// TestDownloadEndsWithItsSession: every download that was opened with a session ends with it (contract 2.8).
func TestDownloadEndsWithItsSession(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	d.send("a", random(48<<20))
	uid := d.confirm()
	path := s.Transfer + "/transfers/" + uid
	file := "/objects/" + ann.Get(path).String("objects.0.uid") + "/content"
	for what, body := range map[string]object{file: {"transferUid": uid, "objectUid": strings.Split(file, "/")[2]},
		"/archive": {"transferUid": uid}} {
		for _, byKey := range []bool{false, true} {
			session := ann.Login()
			s.Clock.Advance(15 * time.Second) // the login bucket has drained
			who, address := session, path+what
			if byKey {
				who, address = s.Stranger(), address+oneTime(session, s.Transfer+"/auth/otk", body)
			}
			resp, err := who.Open(t.Context(), "GET", address, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, resp.Body, 1000); err != nil { // the rest fills the pipe, so the server waits
				t.Fatal(err)
			}
			served := func() int { return strings.Count(s.Log(), `"route":"`+s.Transfer+"/transfers/{uid}"+what[:8]) }
			before := served()
			session.As(session.ID).Post(s.Identity+"/auth/logout", nil).Want(http.StatusNoContent)
			took := poll.Until(t, "the answer has ended", func() bool { return served() > before })
			if took > 2*time.Second { // one second, and one for a busy machine
				t.Errorf("%s, by key %v: ended after %s", what[:8], byKey, took)
			}
			if n, err := io.Copy(io.Discard, resp.Body); err == nil {
				t.Errorf("%s, by key %v: all of it came, %d more bytes", what[:8], byKey, n)
			}
			_ = resp.Body.Close()
		}
	}
}

// TestDownloadEndsWithItsAPIToken: a download with an API token is cut while bytes flow, within a second of the token's end.
func TestDownloadEndsWithItsAPIToken(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	d.send("a", random(48<<20))
	path := s.Transfer + "/transfers/" + d.confirm()
	made := ann.As(ann.ID).Post(s.Identity+"/tokens", object{"name": "Archive", "scopes": []string{"transfers:read"}}).Want(http.StatusCreated)
	program := s.Stranger().As(made.String("token"))
	resp, err := program.Open(t.Context(), "GET", path+"/objects/"+program.Get(path).String("objects.0.uid")+"/content", nil) //nolint:bodyclose // closed below
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.CopyN(io.Discard, resp.Body, 1000); err != nil {
		t.Fatal(err)
	}
	type end struct {
		at  time.Time
		n   int64
		err error
	}
	ended := make(chan end, 1)
	go func() { // reads on slowly, so that bytes flow when the token ends
		var all int64
		for {
			n, err := io.CopyN(io.Discard, resp.Body, 32<<10)
			if all += n; err != nil {
				ended <- end{time.Now(), all, err}
				return
			}
			time.Sleep(5 * time.Millisecond) // 6 MB/s: 8 s for all of it
		}
	}()
	ann.As(ann.ID).Delete(s.Identity + "/tokens/" + made.String("uid")).Want(http.StatusNoContent)
	revoked := time.Now()
	e := <-ended
	if errors.Is(e.err, io.EOF) && e.n+1000 >= 48<<20 {
		t.Errorf("all of it came, %d bytes", e.n)
	}
	if took := e.at.Sub(revoked); took > 3*time.Second { // one second, what the buffers of the connection hold, and a busy machine
		t.Errorf("the download ended %s after its token", took)
	}
	program.Get(path).WantError(token.ErrInvalid)
}
