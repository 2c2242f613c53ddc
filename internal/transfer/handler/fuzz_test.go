package handler

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/consign-dev/consign/internal/httpapi"
)

// FuzzRange checks that http.ServeContent sends what extentOf announces, because the budget of a one-time key counts the latter.
func FuzzRange(f *testing.F) {
	for _, header := range []string{"bytes=0-", "bytes=-5", "bytes=2-3,5-", "bytes=0-0,0-0", "bytes=9-2", "bytes= 1 - 2 ", "bytes=-0",
		"bytes=99-", "bytes=,", "bytes=1-2,99-"} {
		f.Add(header, uint8(10))
	}
	f.Fuzz(func(t *testing.T, header string, size uint8) {
		if !strings.HasPrefix(header, bytesUnit) || strings.Count(header, ",") >= maxRanges || size == 0 {
			return // serve ignores these
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Range", header)
		e, ok := extentOf(r, `"e"`, int64(size))
		if !ok {
			return
		}
		if e.First < 0 || e.Bytes < 0 || e.First+e.Bytes > int64(size) && !strings.Contains(header, ",") {
			t.Fatalf("%q of %d bytes: %+v", header, size, e)
		}
		w := httptest.NewRecorder()
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(strings.Repeat("x", int(size))))
		if got := contentLength(t, w.Result()); got != e.Bytes {
			t.Errorf("%q of %d bytes: %d bytes are sent, %+v", header, size, got, e)
		}
	})
}

// contentLength returns how many bytes of the content an answer has, without what separates several ranges.
func contentLength(t *testing.T, r *http.Response) (n int64) {
	if r.StatusCode >= http.StatusBadRequest {
		return 0
	}
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/byteranges" {
		n, _ = io.Copy(io.Discard, r.Body)
		return n
	}
	for parts := multipart.NewReader(r.Body, params["boundary"]); ; {
		part, err := parts.NextPart()
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		m, _ := io.Copy(io.Discard, part)
		n += m
	}
}

// FuzzAttachment checks that a name in Content-Disposition is one header value, which a client decodes to the name.
func FuzzAttachment(f *testing.F) {
	for _, name := range []string{"a.txt", `"; filename=evil.exe`, "große Datei.pdf", "a\r\nSet-Cookie: x=y", "%41", "日本"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		value := httpapi.AttachmentName(name)
		for i := range len(value) {
			if value[i] < 0x20 || value[i] >= 0x7f {
				t.Fatalf("%q becomes %q", name, value)
			}
		}
		_, full, _ := strings.Cut(value, "filename*=")
		kind, params, err := mime.ParseMediaType("attachment; filename*=" + full)
		if err != nil || kind != "attachment" || params["filename"] != name {
			t.Errorf("%q becomes %q, which is %v, %v", name, value, params, err)
		}
	})
}

// FuzzFileName checks that every Content-Disposition of an upload gives a name, that a value without parameters gives none, and that a
// name which this server would send is read again.
func FuzzFileName(f *testing.F) {
	for _, header := range []string{
		`attachment; filename="a.txt"`, `inline; filename=a; filename*=UTF-8''%C3%A4.bin`, `attachment; filename*=UTF-8''%ff`,
		`attachment; filename="a\"b"`,
		`attachment; filename*0="a"; filename*1*=UTF-8''b`, "attachment", `; filename="x"`, `attachment; filename=""`,
		"attachment; filename=\"a\r\nb\"",
	} {
		f.Add(header)
	}
	named := func(header string) string {
		return fileName(&http.Request{Header: http.Header{"Content-Disposition": {header}}})
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := named(text); got == "" || got != unnamed && !strings.Contains(strings.ToLower(text), "filename") {
			t.Errorf("%q names %q", text, got)
		}
		if utf8.ValidString(text) && text != "" {
			if got := named(httpapi.AttachmentName(text)); got != text {
				t.Errorf("%q is sent as %q and read as %q", text, httpapi.AttachmentName(text), got)
			}
		}
	})
}
