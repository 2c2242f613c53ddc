// Tests of PUT of content, and of interruptions.

package handler_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

func TestAttaching(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann", "maxFiles": 3, "maxFileSizeMb": 1}).Want(http.StatusOK)
	d := reserve(s)
	one := map[string]any{"clientId": "a", "name": "ä/…\\b.txt", "intendedSize": 5}
	made := d.Post(d.path+"/objects", one).Want(http.StatusCreated)
	if made.Header.Get("Location") != s.URL+d.path+"/objects/a" || made.String("name") != "ä/…\\b.txt" || made.Value("contentLength") != 0.0 {
		t.Errorf("%s %s", made.Header.Get("Location"), made.Body)
	}
	d.Post(d.path+"/objects", one).Want(http.StatusOK)
	d.Post(d.path+"/objects", map[string]any{"clientId": "a", "name": "other", "intendedSize": 5}).WantError(transfer.ErrClientID)
	d.Post(d.path+"/objects", map[string]any{"clientId": "b", "name": "b", "intendedSize": 1_000_001}).
		WantError(transfer.ErrFileTooLarge.AtMost(1_000_000))
	list := func(ids ...string) map[string]any {
		var objects []any
		for _, id := range ids {
			objects = append(objects, map[string]any{"clientId": id, "name": id, "intendedSize": 1_000_000})
		}
		return map[string]any{"objects": objects}
	}
	d.Post(d.path+"/objects", list("b", "c", "d")).WantError(transfer.ErrTooManyFiles)
	if n := len(d.Get(d.path).Value("objects").([]any)); n != 1 {
		t.Errorf("%d objects after a refused list", n)
	}
	if got := d.Post(d.path+"/objects", list("b", "c")).Want(http.StatusCreated); got.String("objects.1.clientId") != "c" {
		t.Errorf("%s", got.Body)
	}
	d.Delete(d.path + "/objects/b").Want(http.StatusNoContent)
	d.Delete(d.path + "/objects/b").WantError(transfer.ErrNotFound)
	d.Post(d.path+"/objects", list("e")).Want(http.StatusCreated)
	for _, never := range []string{"%00", "%FF", "%2e%2e", "a%2Fb", strings.Repeat("x", 129)} { // invalid client ids
		d.Get(d.path + "/objects/" + never).WantError(transfer.ErrNotFound)
		d.Delete(d.path + "/objects/" + never).WantError(transfer.ErrNotFound)
		d.Put(d.path+"/objects/"+never+"/content", "x").WantError(transfer.ErrNotFound)
		d.Head(d.path + "/objects/" + never + "/content").Want(http.StatusNotFound)
	}
	for name, bad := range map[string]map[string]any{
		"dot": {"clientId": "..", "name": "x", "intendedSize": 1}, "no name": {"clientId": "x", "intendedSize": 1},
		"negative":       {"clientId": "x", "name": "x", "intendedSize": -1},
		"unknown member": {"clientId": "x", "name": "x", "intendedSize": 1, "size": 1},
		"bidi":           {"clientId": "x", "name": "gpj.\u202eexe", "intendedSize": 1},
		"long":           {"clientId": "x", "name": strings.Repeat("n", 100_000), "intendedSize": 1},
		"twice":          list("x", "x"), "none": {"objects": []any{}},
		"both":     {"clientId": "x", "name": "x", "intendedSize": 1, "objects": []any{one}},
		"fraction": {"clientId": "x", "name": "x", "intendedSize": 1.5},
	} {
		if r := d.Post(d.path+"/objects", bad); r.Status != http.StatusBadRequest {
			t.Errorf("%s answered %d %s", name, r.Status, r.Body)
		}
	}
}

func TestUploadOverHTTP(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s)
	data := random(300_000)
	content := d.attach("a", len(data))
	offset := func() string { s.T.Helper(); return d.Head(content).Want(http.StatusOK).Header.Get("Content-Length") }
	if offset() != "0" {
		t.Error("something is held already")
	}
	d.With("Content-Range", rangeOf(0, 99_999, 300_000)).Put(content, data[:100_000]).Want(http.StatusOK)
	for _, bad := range []string{rangeOf(0, 99_999, 300_000), rangeOf(100_001, 200_000, 300_000), rangeOf(100_000, 199_999, 300_001), "bytes",
		"bytes */300000", "items 1-2/3", "bytes 5-4/3"} {
		r := d.With("Content-Range", bad).Put(content, data[:100_000])
		r.WantError(transfer.ErrRange)
		if got := r.Header.Get("Content-Range"); got != "bytes */100000" {
			t.Errorf("%s: Content-Range %q", bad, got)
		}
	}
	r := d.With("Content-Range", rangeOf(100_000, 199_999, 300_000)).Put(content, data[100_000:100_010])
	r.WantError(transfer.ErrBodyLength)
	if offset() != "100000" {
		t.Error("a body that contradicts its range was read")
	}
	wrong := "sha-256=:" + base64.StdEncoding.EncodeToString(make([]byte, 32)) + ":"
	d.With("Content-Range", rangeOf(100_000, 199_999, 300_000)).With("Content-Digest", wrong).Put(content,
		data[100_000:200_000]).WantError(transfer.ErrDigest)
	if offset() != "100000" {
		t.Error("bytes with a wrong digest were kept")
	}
	d.With("Content-Digest", "sha-256=x").Put(content, data).WantError(fault.ErrInvalid)
	d.With("Content-Encoding", "gzip").Put(content, data).WantError(fault.ErrUnsupported)
	sum := sha256.Sum256(data)
	whole := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	chunked := struct{ io.Reader }{bytes.NewReader(data[100_000:])} // of unknown length
	d.With("Content-Range", rangeOf(100_000, 299_999, 300_000)).With("Repr-Digest", whole).Put(content, chunked).Want(http.StatusOK)
	if offset() != "300000" {
		t.Error("not everything is held")
	}
	d.confirm()
}

// TestEmptyFile: an empty file is checked against its size and digests, and can be downloaded.
func TestEmptyFile(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	content := d.attach("a", 0)
	unannounced := struct{ io.Reader }{strings.NewReader("abc")}
	d.Put(content, unannounced).WantError(transfer.ErrBodyLength)
	digest := func(of string) string {
		sum := sha256.Sum256([]byte(of))
		return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	}
	for _, header := range []string{"Content-Digest", "Repr-Digest"} {
		d.With(header, digest("abc")).Put(content, "").WantError(transfer.ErrDigest)
		d.With(header, digest("")).Put(content, "").Want(http.StatusOK)
	}
	path := s.Transfer + "/transfers/" + d.confirm()
	seen := ann.Get(path)
	if got := seen.String("objects.0.mimeType"); got != "application/octet-stream" {
		t.Errorf("mimeType %q", got)
	}
	file := path + "/objects/" + seen.String("objects.0.uid") + "/content"
	for _, spec := range []string{"", "bytes=0-", "bytes=-1", "bytes=-0", "bytes=7-9", "lines=1-2"} { // clients send Range for every file
		r := ann.With("Range", spec).Get(file).Want(http.StatusOK)
		if len(r.Body) > 0 || r.Header.Get("Content-Range") != "" || r.Header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("Range %q: %v %s", spec, r.Header, r.Body)
		}
	}
	for _, spec := range []string{"bytes=a-b", "bytes=5-4"} {
		if r := ann.With("Range", spec).Get(file).WantError(transfer.ErrRange); r.Header.Get("Content-Range") != "bytes */0" {
			t.Errorf("Range %q: %v", spec, r.Header)
		}
	}
}

// cutBody returns some bytes, then blocks until the test makes it fail.
type cutBody struct {
	data io.Reader
	hang chan struct{}
}

func (b *cutBody) Read(p []byte) (int, error) {
	if n, err := b.data.Read(p); err == nil {
		return n, nil
	}
	<-b.hang
	return 0, io.ErrUnexpectedEOF
}

func TestInterruptedUploadResumes(t *testing.T) {
	t.Parallel()
	s, ann := newMailbox(t)
	d := reserve(s)
	data := random(500_000)
	content := d.attach("a", len(data))
	b := &cutBody{data: bytes.NewReader(data[:200_000]), hang: make(chan struct{})}
	close(b.hang)
	if _, err := d.With("Content-Length", strconv.Itoa(len(data))).Try(t.Context(), "PUT", content, b); err == nil {
		t.Fatal("the cut upload succeeded")
	}
	var held int
	poll.Until(t, "a part of the upload is held", func() bool {
		held, _ = strconv.Atoi(d.Head(content).Header.Get("Content-Length"))
		return held > 0
	})
	if held > 200_000 {
		t.Fatalf("%d bytes held", held)
	}
	d.With("Content-Range", rangeOf(held, len(data)-1, len(data))).Put(content, data[held:]).Want(http.StatusOK)
	uid := d.confirm()
	got := ann.Get(s.Transfer + "/transfers/" + uid).Want(http.StatusOK)
	if !bytes.Equal(ann.Get(fmt.Sprintf("%s/transfers/%s/objects/%s/content", s.Transfer, uid, got.String("objects.0.uid"))).Want(
		http.StatusOK).Body, data) {
		t.Error("the file differs")
	}
}

// TestUploadWaitsForItsReservationFirst: requests lock the reservation, then the object. The other order could
// deadlock with a request that deletes the object.
func TestUploadWaitsForItsReservationFirst(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s)
	content := d.attach("a", 5)
	tx := hold(t, s, `SELECT FROM transfer.reservations FOR NO KEY UPDATE`)
	answer := make(chan *testkit.Response, 1)
	go func() {
		r, err := d.Try(t.Context(), "PUT", content, []byte("hello"))
		if err != nil {
			t.Error(err)
		}
		answer <- r
	}()
	waiting(t, s)
	if _, err := tx.Exec(t.Context(), `SELECT FROM transfer.objects FOR UPDATE NOWAIT`); err != nil {
		t.Errorf("the upload holds the object while it waits for the reservation: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-answer; r != nil {
		r.Want(http.StatusOK)
	}
}

func TestNewerUploadCutsOffOlder(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s)
	data := random(200_000)
	content := d.attach("a", len(data))
	b := &cutBody{data: bytes.NewReader(data[:100_000]), hang: make(chan struct{})}
	first := make(chan *testkit.Response, 1)
	go func() {
		r, err := d.With("Content-Length", strconv.Itoa(len(data))).Try(context.WithoutCancel(t.Context()), "PUT", content, b)
		if err != nil {
			r = nil // the server answered before the body was sent, and the client dropped the answer
		}
		first <- r
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
	d.Put(content, data).Want(http.StatusOK)
	close(b.hang)
	if r := <-first; r != nil {
		r.WantError(transfer.ErrOvertaken)
	}
	d.confirm()
}
