// Tests of zip downloads.

package handler_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

func TestArchive(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	big := string(random(300_000))
	names := []string{"plan.pdf", "../../etc/passwd", `C:\Windows\evil.dll`, "CON", "plan.pdf", "PLAN.pdf", "empty", "Bilder/Ärger 😀.png"}
	var files [][2]string
	for i, n := range names {
		files = append(files, [2]string{n, big[:i*40_000%300_000]})
	}
	files[6][1] = ""
	x := deliver(ann, object{"recipients": []object{to("bob@example.com")}}, files...)
	head := bob.Head(x.path + "/archive").Want(http.StatusOK)
	got := bob.Get(x.path + "/archive").Want(http.StatusOK)
	if got.Header.Get("Content-Length") != strconv.Itoa(len(got.Body)) ||
		head.Header.Get("Content-Length") != got.Header.Get("Content-Length") ||
		got.Header.Get("Content-Type") != "application/zip" || got.Header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" ||
		got.Header.Get("Content-Disposition") != fmt.Sprintf(`attachment; filename="transfer-%[1]s.zip"; filename*=UTF-8''transfer-%[1]s.zip`,
			s.Clock.Now().Format("2006-01-02")) {
		t.Errorf("%v", got.Header)
	}
	read, err := zip.NewReader(bytes.NewReader(got.Body), int64(len(got.Body)))
	if err != nil {
		t.Fatal(err)
	}
	var in []string
	for i, f := range read.File {
		in = append(in, f.Name)
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := io.ReadAll(content); err != nil || string(raw) != files[i][1] {
			t.Errorf("%s: %d bytes, %v", f.Name, len(raw), err)
		}
	}
	want := []string{"plan.pdf", "etc/passwd", "Windows/evil.dll", "_CON", "plan (2).pdf", "PLAN (3).pdf", "empty", "Bilder/Ärger 😀.png"}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Error(diff)
	}
	part := bob.With("Range", "bytes=100000-199999").With("If-Range",
		got.Header.Get("ETag")).Get(x.path + "/archive").Want(http.StatusPartialContent)
	if !bytes.Equal(part.Body, got.Body[100_000:200_000]) {
		t.Error("a range of the archive is something else")
	}
	bob.With("Range", "bytes=9000000-").Get(x.path + "/archive").WantError(transfer.ErrRange)
	if seen := ann.Get(x.path); seen.Value("objects.0.downloads") != 1.0 || seen.Value("objects.7.downloads") != 1.0 ||
		seen.String("state") != "accessed" {
		t.Errorf("%s", seen.Body)
	}
	if list := ann.Get(s.Transfer + "/transfers"); list.Value("transfers.0.objects.7.downloads") != 1.0 {
		t.Errorf("%s", list.Body)
	}
	ann.Get(x.path + "/archive").Want(http.StatusOK) // a download by the sender does not count
	if seen := ann.Get(x.path); seen.Value("objects.0.downloads") != 1.0 {
		t.Errorf("%s", seen.Body)
	}
	s.SignUp("eve@example.com").Get(x.path + "/archive").WantError(transfer.ErrNotFound)
	s.Stranger().Get(x.path + "/archive").WantError(token.ErrMissing)
	nothing := deliver(ann, object{"message": "Hello.", "recipients": []object{to("bob@example.com")}})
	if empty := bob.Get(nothing.path + "/archive").Want(http.StatusOK); len(empty.Body) != 22 {
		t.Errorf("%d bytes", len(empty.Body))
	}
}

// TestParallelArchives: an archive of many files is downloaded by several at once, and counted for each file as often.
func TestParallelArchives(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	d, _ := begin(ann, object{"recipients": []object{to("bob@example.com")}, "message": "A thousand empty files."})
	d.attachMany(1000)
	path := s.Transfer + "/transfers/" + d.confirm()
	one := bob.Get(path).Want(http.StatusOK).String("objects.7.uid")
	bob.Get(path + "/objects/" + one + "/content").Want(http.StatusOK)
	const readers = 12
	var reading sync.WaitGroup
	for range readers {
		reading.Go(func() {
			got := bob.Get(path + "/archive").Want(http.StatusOK)
			if read, err := zip.NewReader(bytes.NewReader(got.Body), int64(len(got.Body))); err != nil || len(read.File) != 1000 {
				t.Errorf("%d bytes, %v", len(got.Body), err)
			}
		})
	}
	reading.Wait()
	seen := ann.Get(path).Want(http.StatusOK)
	public := s.Stranger().Get(linkTo(s, "bob@example.com")).Want(http.StatusOK)
	for at, want := range map[string]float64{"0": readers, "7": readers + 1, "999": readers} {
		for _, list := range []*testkit.Response{seen, public} {
			if got := list.Value("objects." + at + ".downloads"); got != want {
				t.Errorf("object %s was downloaded %v times, not %v", at, got, want)
			}
		}
	}
	for exported, err := range s.App.Transfer.PersonTransfers(t.Context(), id.Person{UUID: uuid.MustParse(uidOf(ann))}) {
		if err != nil || exported.Objects[7].Downloads != readers+1 {
			t.Errorf("the export counts %d downloads, %v", exported.Objects[7].Downloads, err)
		}
	}
}

// TestArchiveOfManyChunks checks the CRC of a file that was uploaded in chunks, one of them twice.
func TestArchiveOfManyChunks(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	data := random(900_000)
	content := d.attach("a", len(data))
	for at := 0; at < len(data); at += 300_000 {
		if at == 300_000 {
			d.With("Content-Range", rangeOf(at, at+299_999, len(data))).With("Content-Digest",
				"sha-256=:"+"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="+":").Put(content, data[at:at+300_000]).WantError(transfer.ErrDigest)
		}
		d.With("Content-Range", rangeOf(at, at+299_999, len(data))).Put(content, data[at:at+300_000]).Want(http.StatusOK)
	}
	d.send("b", []byte("first"))
	d.Put(d.path+"/objects/b/content", []byte("again")).Want(http.StatusOK) // uploaded again from the start
	got := ann.Get(s.Transfer + "/transfers/" + d.confirm() + "/archive").Want(http.StatusOK)
	read, err := zip.NewReader(bytes.NewReader(got.Body), int64(len(got.Body)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]byte{data, []byte("again")} {
		content, err := read.File[i].Open()
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := io.ReadAll(content); err != nil || !bytes.Equal(raw, want) {
			t.Errorf("%s: %d bytes, %v", read.File[i].Name, len(raw), err)
		}
	}
}

// TestArchiveIsStreamed: many clients read a large archive and disconnect in the middle, with bounded memory.
func TestArchiveIsStreamed(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	chunk := random(8 << 20)
	for i := range 8 {
		d.send(fmt.Sprint("f", i), chunk)
	}
	path := s.Transfer + "/transfers/" + d.confirm() + "/archive"
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 10 {
		resp, err := ann.Open(t.Context(), "GET", path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, resp.Body, 30<<20); err != nil {
			t.Error(err)
		}
		_ = resp.Body.Close() // disconnects
	}
	runtime.ReadMemStats(&after)
	// What was sent is 300 MB. Other tests run beside this one, so the bound is generous.
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 128<<20 {
		t.Errorf("the heap grew by %d MB", grown>>20)
	}
	ann.With("Range", "bytes=-22").Get(path).Want(http.StatusPartialContent)
}
