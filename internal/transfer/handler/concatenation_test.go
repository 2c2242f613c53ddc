package handler_test

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// partial sends data as a partial upload and returns its path.
func (d draft) partial(data []byte) string {
	d.Server.T.Helper()
	path := d.begin("Upload-Length", strconv.Itoa(len(data)), "Upload-Concat", "partial")
	d.with("Upload-Concat", "partial").bytesAt(path, 0, data).Want(http.StatusNoContent) // tus-js-client repeats the header
	return path
}

// final asks for a file of partial uploads.
func (d draft) final(name string, paths ...string) *testkit.Response {
	return d.with("Upload-Concat", "final;"+strings.Join(paths, " ")).With("Upload-Metadata", "filename "+inBase64(name)).Post(d.path+"/tus",
		nil)
}

// files returns how many files the reservation shows.
func (d draft) files() int {
	d.Server.T.Helper()
	return len(d.Get(d.path).Want(http.StatusOK).Value("objects").([]any))
}

// wantFile checks that the only file that Ann got has a name and content.
func wantFile(ann *testkit.Person, uid, name string, data []byte) {
	t := ann.Server.T
	t.Helper()
	path := ann.Server.Transfer + "/transfers/" + uid
	seen := ann.Get(path).Want(http.StatusOK)
	if n := len(seen.Value("objects").([]any)); n != 1 || seen.String("objects.0.name") != name {
		t.Errorf("Ann gets %s", seen.Body)
	}
	if got := ann.Get(contentPath(path, seen, 0)).Want(http.StatusOK); !bytes.Equal(got.Body, data) {
		t.Errorf("Ann gets %d other bytes", len(got.Body))
	}
}

// TestConcatenation: Sam sends a file in three partial uploads at once and makes one file of them. A repeated request finds what it has
// made.
func TestConcatenation(t *testing.T) {
	t.Parallel()
	for _, encryption := range []string{"off", "on"} {
		t.Run(encryption, func(t *testing.T) {
			t.Parallel()
			s, ann := newMailbox(t, testkit.Env("CONSIGN_STORAGE_ENCRYPTION", encryption))
			d := reserve(s).tus()
			data := random(3_000_001)
			pieces := [][]byte{data[:700_000], data[700_000:700_001], data[700_001:]}
			paths := make([]string, len(pieces))
			var sent sync.WaitGroup
			for i, piece := range pieces {
				paths[i] = d.begin("Upload-Length", strconv.Itoa(len(piece)), "Upload-Concat", "partial")
				sent.Go(func() {
					d := d
					d.Person = d.With("Tus-Resumable", "1.0.0")
					d.bytesAt(paths[i], 0, piece[:len(piece)/2]).Want(http.StatusNoContent)
					d.bytesAt(paths[i], len(piece)/2, piece[len(piece)/2:]).Want(http.StatusNoContent)
				})
			}
			sent.Wait()
			complete := func(path string, size int) {
				t.Helper()
				if got := d.Head(path).Want(http.StatusOK).Header; got.Get("Upload-Concat") != "partial" ||
					got.Get("Upload-Offset") != strconv.Itoa(size) || got.Get("Upload-Length") != strconv.Itoa(size) || got.Get("Upload-Expires") == "" {
					t.Errorf("HEAD of a partial upload: %v", got)
				}
			}
			complete(paths[2], len(pieces[2]))
			if n := d.files(); n != 0 {
				t.Errorf("%d files are shown", n)
			}
			relative := strings.TrimPrefix(paths[1], d.path+"/")
			made := d.final("a.bin", s.URL+paths[0], relative, paths[2]).Want(http.StatusCreated)
			final := strings.TrimPrefix(made.Header.Get("Location"), s.URL)
			concat := "final;" + s.URL + paths[0] + " " + relative + " " + paths[2]
			if made.Header.Get("Upload-Concat") != concat {
				t.Errorf("POST of the final upload: %v", made.Header)
			}
			poll.Until(t, "the file has all bytes", func() bool { // the job may be faster than the request
				got := d.Head(final).Want(http.StatusOK).Header
				offset, known := got["Upload-Offset"]
				if got.Get("Upload-Concat") != concat || got.Get("Upload-Length") != "3000001" || known && offset[0] != "3000001" {
					t.Errorf("HEAD of the final upload: %v", got)
				}
				return known
			})
			complete(paths[0], len(pieces[0])) // a client that got no answer asks again
			again := d.final("a.bin", s.URL+paths[0], relative, paths[2]).Want(http.StatusCreated)
			if got := again.Header.Get("Location"); got != made.Header.Get("Location") || d.files() != 1 {
				t.Errorf("%s, then %s, %d files", final, got, d.files())
			}
			d.final("b.bin", s.URL+paths[0], relative, paths[2]).WantError(transfer.ErrPartial) // the uploads are used
			d.bytesAt(final, 3_000_001, nil).WantError(transfer.ErrConcatenated)
			d.bytesAt(final, 0, "x").WantError(transfer.ErrConcatenated)
			d.Put(strings.TrimSuffix(final, "tus")+"content", data).WantError(transfer.ErrConcatenated)
			d.Post(strings.TrimSuffix(final, "tus")+"parts", map[string]any{}).WantError(transfer.ErrConcatenated)
			wantFile(ann, d.confirmJoined(), "a.bin", data)
			if used := ann.Get(s.Transfer + "/usage").Number("uploadBytes"); used < 3_000_001 || used > 3_002_000+transfer.ObjectCost {
				t.Errorf("%v bytes are charged", used)
			}
		})
	}
}

// TestConcatenationOrder: the order of the URLs counts, not that of the uploads. Empty ones are allowed.
func TestConcatenationOrder(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s).tus()
	world, empty, hello := d.partial([]byte("world")), d.begin("Upload-Length", "0", "Upload-Concat", "partial"), d.partial([]byte("hello "))
	d.final("a.txt", hello, empty, world).Want(http.StatusCreated)
	wantFile(ann, d.confirmJoined(), "a.txt", []byte("hello world"))

	d = reserve(s).tus()
	empty = d.begin("Upload-Length", "0", "Upload-Concat", "partial")
	made := d.final("empty.txt", empty).Want(http.StatusCreated)
	if made.Header.Get("Upload-Offset") != "0" || d.final("empty.txt", empty).Header.Get("Location") != made.Header.Get("Location") {
		t.Errorf("%v", made.Header)
	}
	wantFile(ann, d.confirm(), "empty.txt", nil)
}

func TestConcatenationRefused(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "maxFileSizeMb": 1}).Want(http.StatusOK)
	d := reserve(s).tus()
	one, two := d.partial([]byte("one")), d.partial([]byte("two"))
	foreign := reserve(s).tus().partial([]byte("foreign"))
	plain := d.begin("Upload-Length", "3")
	d.bytesAt(plain, 0, "abc").Want(http.StatusNoContent)
	for name, paths := range map[string][]string{
		"foreign": {one, foreign}, "no partial upload": {one, plain}, "unknown": {strings.Replace(one, "/objects/", "/objects/x", 1)},
		"twice":        {one, two, one},
		"another path": {"https://example.com/files/1"}, "no URL": {"http://[::1"},
		"path of content": {strings.TrimSuffix(one, "tus") + "content"}, "..": {d.path + "/objects/../tus"},
	} {
		if r := d.final("a.txt", paths...); r.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	many := make([]string, transfer.MaxPartials+1)
	for i := range many {
		many[i] = "objects/" + strconv.Itoa(i) + "/tus"
	}
	for name, header := range map[string]string{
		"unknown": "part", "case": "Partial", "no URLs": "final;", "no semicolon": "final", "two spaces": "final;" + one + "  " + two,
		"not ASCII": "final;\xff",
		"too many":  "final;" + strings.Join(many, " "),
	} {
		if r := d.with("Upload-Concat", header).Post(d.path+"/tus", nil); r.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	whole := d.with("Upload-Concat", "final;"+one+" "+two)
	whole.With("Upload-Length", "6").Post(d.path+"/tus", nil).WantError(fault.ErrInvalid)
	whole.With("Upload-Defer-Length", "1").Post(d.path+"/tus", nil).WantError(fault.ErrInvalid)
	whole.With("Content-Type", "application/offset+octet-stream").Post(d.path+"/tus", "x").WantError(fault.ErrInvalid)
	unfinished := d.begin("Upload-Length", "9", "Upload-Concat", "partial")
	d.bytesAt(unfinished, 0, "12345").Want(http.StatusNoContent)
	if r := d.final("a.txt", one, unfinished).WantError(transfer.ErrPartial); !strings.Contains(string(r.Body), "holds 5 of 9 bytes") {
		t.Errorf("%s", r.Body)
	}
	large, larger := d.partial(random(600_000)), d.partial(random(600_000))
	d.final("a.txt", large, larger).WantError(fault.ErrTooLarge)
	d.with("Upload-Concat", "final;"+one).With("Upload-Metadata", "clientId "+inBase64(strings.Split(plain, "/")[6])).Post(d.path+"/tus",
		nil).WantError(transfer.ErrClientID)
	if n := d.files(); n != 1 {
		t.Errorf("%d files after refused requests", n)
	}
	s.Stranger().With("Tus-Resumable", "1.0.0").With("Upload-Concat", "final;"+one).Post(d.path+"/tus", nil).WantError(token.ErrMissing)
}

// TestPartialUploadHasNoParts: a final upload takes one segment of each partial one, so a partial one has no parts.
func TestPartialUploadHasNoParts(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s).tus()
	data := random(2 * mib)
	path := d.begin("Upload-Length", strconv.Itoa(len(data)), "Upload-Concat", "partial")
	parts := strings.TrimSuffix(path, "tus") + "parts"
	if r := d.Post(parts, map[string]any{"partSize": mib}); r.Status == http.StatusCreated { // else what comes would be a 500
		d.Put(parts+"/1", data[:mib]).Want(http.StatusOK)
		d.Put(parts+"/2", data[mib:]).Want(http.StatusOK)
		d.final("a.bin", path).Want(http.StatusCreated)
	} else {
		r.WantError(transfer.ErrOtherWay)
	}
	d.bytesAt(path, 0, data).Want(http.StatusNoContent)
	d.final("a.bin", path).Want(http.StatusCreated)
	wantFile(ann, d.confirmJoined(), "a.bin", data)
}

// TestPartialUsedTwice: of final uploads that share a partial one, the first gets it.
func TestPartialUsedTwice(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s).tus()
	one, two, three := d.partial([]byte("one")), d.partial([]byte("two")), d.partial([]byte("three"))
	var sent sync.WaitGroup
	answers := make([]*testkit.Response, 8)
	for i := range answers {
		sent.Go(func() {
			other := two
			if i%2 == 0 {
				other = three
			}
			answers[i] = d.final("a.txt", one, other)
		})
	}
	sent.Wait()
	places := map[string]bool{}
	for _, r := range answers {
		if r.Status == http.StatusCreated {
			places[r.Header.Get("Location")] = true
		} else if r.Status != http.StatusConflict && r.Status != http.StatusBadRequest { // incomplete copy, and complete one
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	if len(places) != 1 || d.files() != 1 {
		t.Errorf("final uploads %v", places)
	}
	uid := d.confirmJoined()
	if size := ann.Get(s.Transfer + "/transfers/" + uid).Number("objects.0.contentLength"); size != 6 && size != 8 {
		t.Errorf("Ann gets %v bytes", size)
	}
}

// TestPartialsAreBounded: partial uploads have the room of the files that they can become.
func TestPartialsAreBounded(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "maxFiles": 2, "maxFileSizeMb": 1}).Want(http.StatusOK)
	d := reserve(s).tus()
	begin := func(size string) *testkit.Response {
		return d.with("Upload-Concat", "partial").With("Upload-Length", size).Post(d.path+"/tus", nil)
	}
	begin("1000001").WantError(fault.ErrTooLarge)
	first := d.partial(random(600_000))
	second := d.partial(random(400_000))
	d.partial(random(600_000))
	begin("400001").WantError(transfer.ErrTooManyFiles)
	d.Post(d.path+"/objects", map[string]any{"clientId": "a", "name": "a", "intendedSize": 1}).WantError(transfer.ErrTooManyFiles)
	d.final("a.bin", first, second).Want(http.StatusCreated)
	begin("400001").WantError(transfer.ErrTooManyFiles)
	for range transfer.MaxPartials - 1 {
		begin("0").Want(http.StatusCreated)
	}
	begin("0").WantError(transfer.ErrTooManyFiles)
	d.confirmJoined()
}

// TestPartialsLeftBehind: a confirm deletes partial uploads that no final upload has named, and gives back their volume.
func TestPartialsLeftBehind(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	usage := func() float64 { return ann.Get(s.Transfer + "/usage").Number("uploadBytes") }
	before := usage()
	d := reserve(s).tus()
	left := d.partial(random(500_000))
	unfinished := d.begin("Upload-Length", "100", "Upload-Concat", "partial")
	d.bytesAt(unfinished, 0, "12345").Want(http.StatusNoContent)
	d.send("a", []byte("hello"))
	if n := d.files(); n != 1 {
		t.Errorf("%d files are shown", n)
	}
	uid := d.confirm()
	wantFile(ann, uid, "a.bin", []byte("hello"))
	if added := usage() - before; added > 1000+transfer.ObjectCost {
		t.Errorf("%v bytes stay charged", added)
	}
	d.Head(left).Want(http.StatusNotFound)
	if n := ann.Get(s.Transfer + "/transfers/" + uid).Number("objectCount"); n != 1 {
		t.Errorf("%v objects are counted", n)
	}
}

// TestTerminatedConcatenation: ending a partial upload, or a final one, frees what it has. One that a final upload has used stays with it.
func TestTerminatedConcatenation(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	usage := func() float64 { return ann.Get(s.Transfer + "/usage").Number("uploadBytes") }
	before := usage()
	d := reserve(s).tus()
	ended := d.partial(random(1000))
	d.Delete(ended).Want(http.StatusNoContent)
	d.Head(ended).Want(http.StatusNotFound)
	one, two := d.partial(random(200_000)), d.partial(random(300_000))
	d.final("a.bin", one, ended).WantError(fault.ErrInvalid)
	final := strings.TrimPrefix(d.final("a.bin", one, two).Want(http.StatusCreated).Header.Get("Location"), s.URL)
	d.Delete(final).Want(http.StatusNoContent)
	d.Head(final).Want(http.StatusNotFound)
	d.Head(one).Want(http.StatusNotFound)
	if n := d.files(); n != 0 {
		t.Errorf("%d files stay", n)
	}
	if after := usage(); after != before {
		t.Errorf("%v bytes stay charged", after-before)
	}
}

// TestConcatenationExpires: partial uploads end with their reservation.
func TestConcatenationExpires(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s).tus()
	d.partial(random(200_000))
	one := d.partial(random(1000))
	d.final("a.bin", one).Want(http.StatusCreated)
	s.Clock.Advance(49 * time.Hour)
	if err := s.App.Jobs.RunOnce(t.Context(), "transfer-expire-reservations"); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := s.App.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM transfer.objects`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows stay, %v", left, err)
	}
}

// TestConcatenationAndFilter: the MIME filter is asked about the file, and never about its pieces.
func TestConcatenationAndFilter(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "mimeTypeFilter": []string{"image/*"}}).Want(http.StatusOK)
	d := reserve(s).tus()
	png := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), random(5000)...)
	head, tail := d.partial(png[:4]), d.partial(png[4:])
	d.final("a.pdf", head, tail).WantError(transfer.ErrMIMEType)
	document := d.partial([]byte("%PDF-1.7\n"))
	d.final("b.png", document, tail).WantError(transfer.ErrMIMEType)
	poll.Until(t, "the refused file is gone", func() bool { return d.Head(document).Status == http.StatusNotFound && d.files() == 0 })
	tail = d.partial(png[4:])
	d.final("a.png", head, tail).Want(http.StatusCreated)
	wantFile(ann, d.confirmJoined(), "a.png", png)
}

// TestConcatenationOptions: the extension is announced, and pages on other sites may use it.
func TestConcatenationOptions(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t, testkit.Env("CONSIGN_CORS_ORIGINS", "https://app.example.com"))
	d := reserve(s).tus()
	got := s.Stranger().Do(http.MethodOptions, d.path+"/tus", nil).Want(http.StatusOK).Header.Get("Tus-Extension")
	if !strings.HasSuffix(got, ",concatenation") {
		t.Errorf("extensions %s", got)
	}
	page := d.With("Origin", "https://app.example.com")
	if got := page.Get(d.path).Header.Get("Access-Control-Expose-Headers"); !strings.Contains(got, "Upload-Concat,") {
		t.Errorf("exposed are %s", got)
	}
	asked := s.Stranger().With("Origin", "https://app.example.com").With("Access-Control-Request-Method",
		"POST").With("Access-Control-Request-Headers", "upload-concat")
	if got := asked.Do(http.MethodOptions, d.path+"/tus", nil).Header.Get("Access-Control-Allow-Headers"); !strings.Contains(got,
		"Upload-Concat,") {
		t.Errorf("allowed are %s", got)
	}
}
