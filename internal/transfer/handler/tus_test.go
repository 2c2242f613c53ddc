package handler_test

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // tus asks for it
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

// tus returns d as a client of tus.
func (d draft) tus() draft {
	d.Person = d.With("Tus-Resumable", "1.0.0")
	return d
}

// with returns d with one more header.
func (d draft) with(name, value string) draft {
	d.Person = d.With(name, value)
	return d
}

// begin creates a tus upload and returns its path.
func (d draft) begin(headers ...string) string {
	d.Server.T.Helper()
	for i := 0; i < len(headers); i += 2 {
		d = d.with(headers[i], headers[i+1])
	}
	made := d.Post(d.path+"/tus", nil).Want(http.StatusCreated)
	path, ours := strings.CutPrefix(made.Header.Get("Location"), d.Server.URL)
	if !ours || made.Header.Get("Tus-Resumable") != "1.0.0" {
		d.Server.T.Fatalf("created with %v", made.Header)
	}
	return path
}

// bytesAt sends bytes of an upload from an offset on.
func (d draft) bytesAt(path string, offset int, body any) *testkit.Response {
	d.Server.T.Helper()
	return d.with("Content-Type", "application/offset+octet-stream").With("Upload-Offset", strconv.Itoa(offset)).Patch(path, body)
}

func inBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func tusSum(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256 " + base64.StdEncoding.EncodeToString(sum[:])
}

func TestTusUpload(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s).tus()
	data := random(300_000)
	metadata := "filename " + inBase64("a.txt") + ",filetype " + inBase64("text/plain") + ",relativePath " + inBase64("folder/a.txt")
	path := d.begin("Upload-Length", "300000", "Upload-Metadata", metadata)
	head := func(offset string) http.Header {
		t.Helper()
		got := d.Head(path).Want(http.StatusOK).Header
		if got.Get("Upload-Offset") != offset || got.Get("Cache-Control") != "no-store" || got.Get("Tus-Resumable") != "1.0.0" {
			t.Errorf("HEAD: %v, want offset %s", got, offset)
		}
		return got
	}
	if got := head("0"); got.Get("Upload-Length") != "300000" || got.Get("Upload-Metadata") != metadata {
		t.Errorf("HEAD: %v", got)
	}
	got := d.bytesAt(path, 0, data[:100_000]).Want(http.StatusNoContent)
	expires, err := http.ParseTime(got.Header.Get("Upload-Expires"))
	if got.Header.Get("Upload-Offset") != "100000" || err != nil || expires.Sub(s.Clock.Now()) < 47*time.Hour {
		t.Errorf("PATCH: %v", got.Header)
	}
	if got := d.bytesAt(path, 50_000, data[50_000:]).WantError(fault.ErrOffset); got.Header.Get("Tus-Resumable") != "1.0.0" {
		t.Errorf("conflict: %v", got.Header)
	}
	d.with("Upload-Checksum", tusSum(data)).bytesAt(path, 100_000, data[100_000:200_000]).WantError(fault.ErrChecksum)
	d.with("Upload-Checksum", "sha1 "+inBase64(strings.Repeat("x", 20))).bytesAt(path, 100_000, data[100_000:]).WantError(fault.ErrChecksum)
	d.with("Upload-Checksum", "md5 "+inBase64(strings.Repeat("x", 16))).bytesAt(path, 100_000, data[100_000:]).WantError(fault.ErrInvalid)
	d.with("Upload-Checksum", "sha1 "+inBase64(strings.Repeat("x", 32))).bytesAt(path, 100_000, data[100_000:]).WantError(fault.ErrInvalid)
	d.With("Content-Type", "application/octet-stream").With("Upload-Offset", "100000").Patch(path,
		data[100_000:]).WantError(fault.ErrUnsupported)
	d.with("Upload-Length", "300001").bytesAt(path, 100_000, data[100_000:]).WantError(fault.ErrInvalid)
	d.bytesAt(path, 100_000, random(200_001)).WantError(fault.ErrTooLarge)
	head("100000")
	sum := sha1.Sum(data[100_000:150_000]) //nolint:gosec // tus asks for it
	d.with("Upload-Checksum", "sha1 "+inBase64(string(sum[:]))).bytesAt(path, 100_000, data[100_000:150_000]).Want(http.StatusNoContent)
	d.with("Upload-Checksum", tusSum(data[150_000:200_000])).bytesAt(path, 150_000, data[150_000:200_000]).Want(http.StatusNoContent)
	chunked := struct{ io.Reader }{bytes.NewReader(data[200_000:])} // of unknown length
	d.bytesAt(path, 200_000, chunked).Want(http.StatusNoContent)
	d.bytesAt(path, 300_000, nil).Want(http.StatusNoContent) // an empty PATCH changes nothing
	head("300000")
	uid := d.confirm()
	seen := ann.Get(s.Transfer + "/transfers/" + uid).Want(http.StatusOK)
	if name := seen.String("objects.0.name"); name != "folder/a.txt" {
		t.Errorf("the file is called %q", name)
	}
	if got := ann.Get(s.Transfer + "/transfers/" + uid + "/objects/" + seen.String("objects.0.uid") + "/content").Want(
		http.StatusOK); !bytes.Equal(got.Body, data) {
		t.Error("the file differs")
	}
	d.bytesAt(path, 300_000, nil).WantError(transfer.ErrConfirmed)
}

func TestTusPreconditions(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	plain := reserve(s)
	d := plain.tus()
	path := d.begin("Upload-Length", "5")
	for _, version := range []string{"", "0.2.2", "1.0.1"} {
		p := plain.Person
		if version != "" {
			p = p.With("Tus-Resumable", version)
		}
		if got := p.With("Upload-Length", "1").Post(plain.path+"/tus",
			nil).WantError(fault.ErrPrecondition); got.Header.Get("Tus-Version") != "1.0.0" || got.Header.Get("Tus-Resumable") != "1.0.0" {
			t.Errorf("%q: %v", version, got.Header)
		}
		p.Head(path).Want(http.StatusPreconditionFailed)
	}
	for _, target := range []string{plain.path + "/tus", path} {
		got := s.Stranger().Do(http.MethodOptions, target, nil).Want(http.StatusOK).Header
		if got.Get("Tus-Version") != "1.0.0" || !strings.Contains(got.Get("Tus-Extension"), "creation-with-upload") ||
			got.Get("Tus-Checksum-Algorithm") != "sha256,sha1" {
			t.Errorf("OPTIONS %s: %v", target, got)
		}
	}
	for name, headers := range map[string][]string{
		"no length": {}, "negative": {"Upload-Length", "-1"}, "no number": {"Upload-Length", "1x"},
		"both":    {"Upload-Length", "1", "Upload-Defer-Length", "1"},
		"defer 2": {"Upload-Defer-Length", "2"}, "metadata": {"Upload-Length", "1", "Upload-Metadata", "filename !"},
		"twice":    {"Upload-Length", "1", "Upload-Metadata", "a,a"},
		"no UTF-8": {"Upload-Length", "1", "Upload-Metadata", "filename " + inBase64("\xff")},
		"clientId": {"Upload-Length", "1", "Upload-Metadata", "clientId " + inBase64("../x")},
		"name":     {"Upload-Length", "1", "Upload-Metadata", "filename " + inBase64("a\x00b")},
	} {
		p := d
		for i := 0; i < len(headers); i += 2 {
			p = p.with(headers[i], headers[i+1])
		}
		if r := p.Post(d.path+"/tus", nil).WantError(fault.ErrInvalid); r.Header.Get("Tus-Resumable") != "1.0.0" {
			t.Errorf("%s: %v", name, r.Header)
		}
	}
	d.With("Upload-Length", "99000000000000").Post(d.path+"/tus", nil).WantError(fault.ErrTooLarge)
	if n := len(d.Get(d.path).Value("objects").([]any)); n != 1 {
		t.Errorf("%d objects after refused creations", n)
	}
	d.With("Content-Type", "application/offset+octet-stream").Patch(path, "x").WantError(fault.ErrInvalid)
	s.Stranger().With("Tus-Resumable", "1.0.0").Head(path).Want(http.StatusUnauthorized)
}

func TestTusTerminationAndOverride(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s).tus()
	path := d.begin("Upload-Length", "5", "Upload-Metadata", "clientId "+inBase64("mine"))
	if again := d.begin("Upload-Length", "5", "Upload-Metadata", "clientId "+inBase64("mine")); again != path ||
		!strings.HasSuffix(path, "/objects/mine/tus") {
		t.Errorf("%s, then %s", path, again)
	}
	over := func(method string) draft { return d.with("X-HTTP-Method-Override", method) }
	over("PATCH").With("Content-Type", "application/offset+octet-stream").With("Upload-Offset", "0").Post(path,
		"abc").Want(http.StatusNoContent)
	if got := over("HEAD").Post(path, nil).Want(http.StatusOK); got.Header.Get("Upload-Offset") != "3" {
		t.Errorf("%v", got.Header)
	}
	over("PUT").Post(path, nil).WantError(fault.ErrInvalid)
	over("DELETE").Post(path, nil).Want(http.StatusNoContent)
	d.Head(path).Want(http.StatusNotFound)
	d.bytesAt(path, 3, "de").WantError(transfer.ErrNotFound)
	second := d.begin("Upload-Length", "5")
	d.Delete(second).Want(http.StatusNoContent)
	d.Delete(second).WantError(transfer.ErrNotFound)
}

func TestTusDeferredLength(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s).tus()
	path := d.begin("Upload-Defer-Length", "1", "Upload-Metadata", "filename "+inBase64("a.txt")+", note")
	if got := d.Head(path).Header; got.Get("Upload-Defer-Length") != "1" || got.Get("Upload-Length") != "" {
		t.Errorf("%v", got)
	}
	d.bytesAt(path, 0, "hello").Want(http.StatusNoContent)
	d.Post(d.path+"/confirm", nil).WantError(transfer.ErrUnconfirmable)
	d.with("Upload-Length", "11").bytesAt(path, 5, " w").Want(http.StatusNoContent)
	if got := d.Head(path).Header; got.Get("Upload-Defer-Length") != "" || got.Get("Upload-Length") != "11" ||
		got.Get("Upload-Offset") != "7" {
		t.Errorf("%v", got)
	}
	d.bytesAt(path, 7, "orld").Want(http.StatusNoContent)
	d.confirm()
}

// TestTusCreationWithUpload: the bytes of the creation are held; when they are refused, nothing is left that the client does not know.
func TestTusCreationWithUpload(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s).tus()
	with := d.with("Content-Type", "application/offset+octet-stream").with("Upload-Length", "10")
	made := with.Post(d.path+"/tus", "01234").Want(http.StatusCreated)
	if made.Header.Get("Upload-Offset") != "5" || made.Header.Get("Upload-Expires") == "" {
		t.Errorf("%v", made.Header)
	}
	path := strings.TrimPrefix(made.Header.Get("Location"), s.URL)
	with.With("Upload-Checksum", tusSum(nil)).Post(d.path+"/tus", "01234").WantError(fault.ErrChecksum)
	d.with("Upload-Length", "10").With("Content-Type", "text/plain").Post(d.path+"/tus", "01234").WantError(fault.ErrUnsupported)
	if n := len(d.Get(d.path).Value("objects").([]any)); n != 1 {
		t.Errorf("%d objects after refused creations", n)
	}
	d.bytesAt(path, 5, "56789").Want(http.StatusNoContent)
	d.begin("Upload-Length", "0")
	d.confirm()
}

// TestTusHeadEndsALostRequest: the client has lost its connection, and the server does not know yet. HEAD tells an offset at which PATCH
// goes on.
func TestTusHeadEndsALostRequest(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s).tus()
	data := random(500_000)
	path := d.begin("Upload-Length", "500000")
	b := &cutBody{data: bytes.NewReader(data[:200_000]), hang: make(chan struct{})}
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		p := d.with("Content-Type", "application/offset+octet-stream").with("Upload-Offset", "0").With("Content-Length", "500000")
		_, _ = p.Try(t.Context(), "PATCH", path, b) // the connection ends
	}()
	db, err := database.New(t.Context(), s.DatabaseURL, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	poll.Until(t, "the writer has its lease", func() bool {
		var writing bool
		if err := db.Pool.QueryRow(t.Context(), `SELECT count(*) = 1 FROM transfer.segments WHERE epoch = 1`).Scan(&writing); err != nil {
			t.Fatal(err)
		}
		return writing
	})
	held, err := strconv.Atoi(d.Head(path).Header.Get("Upload-Offset"))
	if err != nil || held > 200_000 {
		t.Fatalf("offset %d, %v", held, err)
	}
	d.bytesAt(path, held, data[held:]).Want(http.StatusNoContent)
	close(b.hang)
	<-lost
	d.confirm()
}

// TestTusUploadsAreBounded: each upload is an object, and what a client tells of it is charged.
func TestTusUploadsAreBounded(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "maxFiles": 2, "maxFileSizeMb": 1}).Want(http.StatusOK)
	d := reserve(s).tus()
	before := ann.Get(s.Transfer + "/usage").Value("uploadBytes").(float64)
	path := d.begin("Upload-Defer-Length", "1", "Upload-Metadata", "note "+strings.Repeat("aaaa", 500))
	if charged := ann.Get(s.Transfer+"/usage").Value("uploadBytes").(float64) - before; charged < 2000 {
		t.Errorf("%v bytes are charged for the metadata", charged)
	}
	d.begin("Upload-Length", "1")
	d.With("Upload-Length", "1").Post(d.path+"/tus", nil).WantError(transfer.ErrTooManyFiles)
	d.with("Upload-Length", "1000001").bytesAt(path, 0, nil).WantError(fault.ErrTooLarge)
	d.bytesAt(path, 0, random(1_000_001)).WantError(fault.ErrTooLarge)
	d.bytesAt(path, 0, struct{ io.Reader }{bytes.NewReader(random(1_000_001))}).WantError(fault.ErrTooLarge)
}
