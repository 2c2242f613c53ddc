package handler_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit/cutter"
)

// loseAnswer sends a request through a network that cuts the answer to it in the middle of its head.
func (d draft) loseAnswer(network *cutter.Cutter, method, path string, body []byte, headers ...string) {
	t := d.Server.T
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(network.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n", method, path,
		strings.TrimPrefix(d.Server.URL, "http://"), d.Access, len(body))
	for i := 0; i < len(headers); i += 2 {
		head += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	request := append([]byte(head+"\r\n"), body...)
	before := network.Cuts()
	network.Cut(1, int64(len(request)))
	if _, err := conn.Write(request); err != nil {
		t.Fatal(err)
	}
	if got, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
		_ = got.Body.Close()
		t.Fatalf("the answer arrived: %s", got.Status)
	}
	if n := network.Cuts() - before; n != 1 {
		t.Fatalf("%d cuts", n)
	}
}

// TestCutAnswers: all bytes of a request arrived and its answer got lost. HEAD tells what is held and whether the upload is complete, and
// the client neither sends a byte again nor loses one.
func TestCutAnswers(t *testing.T) {
	t.Parallel()
	network := cutter.New(t)
	s, ann := newMailbox(t)
	network.To(strings.TrimPrefix(s.URL, "http://"))
	data := random(100_000)
	size, sum := strconv.Itoa(len(data)), reprDigest(data)
	tus := []string{"Tus-Resumable", "1.0.0", "Content-Type", "application/offset+octet-stream", "Upload-Offset", "0"}
	resumable := func(complete string) []string {
		return []string{"Upload-Draft-Interop-Version", "8", "Content-Type", "application/partial-upload", "Upload-Offset", "0",
			"Upload-Complete", complete}
	}
	for name, c := range map[string]struct {
		begin   func(d draft) string // returns the path of the upload
		headers []string
		want    map[string]string // of HEAD
	}{
		"tus": {
			func(d draft) string { return d.tus().begin("Upload-Length", size) }, tus,
			map[string]string{"Upload-Offset": size, "Upload-Length": size},
		},
		"tus, the length comes last": {
			func(d draft) string { return d.tus().begin("Upload-Defer-Length", "1") }, append(tus, "Upload-Length", size),
			map[string]string{"Upload-Offset": size, "Upload-Length": size, "Upload-Defer-Length": ""},
		},
		"IETF": {
			func(d draft) string { d.attach("a", len(data)); return d.path + "/objects/a/upload" }, resumable("?1"),
			map[string]string{"Upload-Offset": size, "Upload-Complete": "?1", "Upload-Length": size, "Repr-Digest": sum},
		},
		"IETF, the length is reached": {
			func(d draft) string { d.attach("a", len(data)); return d.path + "/objects/a/upload" }, resumable("?0"),
			map[string]string{"Upload-Offset": size, "Upload-Complete": "?1", "Upload-Length": size, "Repr-Digest": sum},
		},
		"IETF, no length": {
			endless, resumable("?1"),
			map[string]string{"Upload-Offset": size, "Upload-Complete": "?1", "Upload-Length": size, "Repr-Digest": sum},
		},
		"IETF, no length and no end": {
			endless, resumable("?0"),
			map[string]string{"Upload-Offset": size, "Upload-Complete": "?0", "Upload-Length": "", "Repr-Digest": ""},
		},
	} {
		d := reserve(s)
		path := c.begin(d)
		d.loseAnswer(network, "PATCH", path, data, c.headers...)
		if strings.HasSuffix(path, "/tus") {
			d = d.tus()
		}
		told := d.Head(path).Header
		for header, want := range c.want {
			if got := told.Get(header); got != want {
				t.Errorf("%s: HEAD has %s: %q, want %q", name, header, got, want)
			}
		}
		if strings.HasSuffix(path, "/tus") {
			d.bytesAt(path, 0, data).WantError(fault.ErrOffset)
		} else {
			d.append(len(data), true).Patch(path, nil).Want(http.StatusOK)
		}
		transfer := s.Transfer + "/transfers/" + d.confirm()
		seen := ann.Get(transfer).Want(http.StatusOK)
		if got := ann.Get(contentPath(transfer, seen, 0)).Want(http.StatusOK); !bytes.Equal(got.Body, data) {
			t.Errorf("%s: other bytes", name)
		}
	}
}

// endless creates an upload of the IETF whose length is not stated, and returns its path.
func endless(d draft) string {
	made := d.with("Upload-Complete", "?0").Post(d.path+"/uploads", nil).Want(http.StatusCreated)
	return strings.TrimPrefix(made.Header.Get("Location"), d.Server.URL)
}
