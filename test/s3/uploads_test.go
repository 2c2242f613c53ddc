//go:build s3

// Uploads, downloads, removal and outages with a bucket; helpers of the package.

package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/blob"
	blobs3 "github.com/consign-dev/consign/internal/blob/s3"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
)

const mib = 1 << 20

// storage returns a storage setting with an unused prefix of the test bucket.
func storage(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(os.Getenv("TEST_S3_URL"))
	if err != nil || u.Scheme != "s3" {
		t.Fatal("TEST_S3_URL is not set: run make test-s3")
	}
	return u.JoinPath(strings.ToLower(rand.Text())).String()
}

// kept lists the transfers' objects in the bucket; the server may store other things there too.
func kept(t *testing.T, storage string) (all []blob.Info) {
	t.Helper()
	err := bucket(t, storage).List(t.Context(), func(i blob.Info) error {
		if _, err := id.Parse[id.Object](strings.TrimSuffix(string(i.Key), "-sealed")); err == nil {
			all = append(all, i)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func bucket(t *testing.T, storage string) *blobs3.Store {
	t.Helper()
	o, err := blobs3.Parse(storage)
	if err != nil {
		t.Fatal(err)
	}
	store, err := blobs3.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = mathrand.NewChaCha8([32]byte{1}).Read(b) // it never fails
	return b
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// upload is a stranger with a reservation on a mailbox, and one object attached.
type upload struct {
	sam                  *testkit.Person
	reservation, content string
	data                 []byte
}

func reserve(t *testing.T, s *testkit.Server, mailbox string, data []byte) upload {
	t.Helper()
	sam := s.Stranger()
	made := sam.Post(s.Transfer+"/public/mailbox/"+mailbox,
		map[string]any{"anonSender": "Sam", "anonEmail": "sam@example.com"}).Want(http.StatusCreated)
	u := upload{sam: sam.As(strings.TrimPrefix(made.Header.Get("Authorization"), "Bearer ")),
		reservation: s.Transfer + "/reservations/" + made.String("uid"), data: data}
	u.sam.Post(u.reservation+"/objects", map[string]any{"clientId": "a", "name": "a.bin", "intendedSize": len(data)}).Want(http.StatusCreated)
	u.content = u.reservation + "/objects/a/content"
	return u
}

// put sends a chunk.
func (u upload) put(from, to int, headers ...string) *testkit.Response {
	p := u.sam.With("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(u.data)))
	for i := 0; i < len(headers); i += 2 {
		p = p.With(headers[i], headers[i+1])
	}
	return p.Put(u.content, u.data[from:to])
}

func (u upload) wantHeld(t *testing.T, want int) {
	t.Helper()
	if held := u.sam.Head(u.content).Want(http.StatusOK).Header.Get("Content-Length"); held != fmt.Sprint(want) {
		t.Fatalf("%s bytes are held, want %d", held, want)
	}
}

func mailboxOf(s *testkit.Server) *testkit.Person {
	ann := s.SignUp("ann@example.com")
	ann.Put(s.Transfer+"/mailbox", map[string]any{"vanityLink": "ann-box"}).Want(http.StatusCreated)
	return ann
}

// TestOtherBucket checks that a server refuses to start when the bucket is empty but the database lists files. Otherwise a resumed
// upload would be told that no bytes are stored.
func TestOtherBucket(t *testing.T) {
	t.Parallel()
	right, other := storage(t), storage(t)
	first := testkit.New(t, testkit.Env("CONSIGN_STORAGE_URL", right))
	mailboxOf(first)
	u := reserve(t, first, "ann-box", random(200_000))
	u.put(0, 100_000).Want(http.StatusOK)
	first.Stop()

	cfg := first.Config
	cfg.StorageURL = other
	a, err := app.New(t.Context(), cfg, app.Options{Now: first.Clock.Now})
	if err == nil {
		t.Fatal("the server started although the bucket is empty", a.Close())
	}
	for _, want := range []string{"CONSIGN_STORAGE_URL", "are they the right ones?", "put any object there"} {
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want a one-line error that contains %q, got %v", want, err)
		}
	}

	again := testkit.New(t, testkit.Beside(first), testkit.Env("CONSIGN_STORAGE_URL", right))
	u.sam = u.sam.At(again)
	u.wantHeld(t, 100_000)
	u.put(100_000, 200_000).Want(http.StatusOK)
}

// TestUploads sends a file in chunks to two replicas that share only the database and the bucket. The first is stopped before
// the second continues.
func TestUploads(t *testing.T) {
	t.Parallel()
	bucket := testkit.Env("CONSIGN_STORAGE_URL", storage(t))
	first := testkit.New(t, bucket)
	ann := mailboxOf(first)
	u := reserve(t, first, "ann-box", random(23*mib+11))
	u.put(0, 6*mib+1).Want(http.StatusOK)
	u.wantHeld(t, 6*mib+1)
	if _, err := u.sam.With("Content-Range", fmt.Sprintf("bytes %d-%d/%d", 6*mib+1, 12*mib, len(u.data))).With("Content-Length",
		fmt.Sprint(6*mib)).
		Try(t.Context(), "PUT", u.content, io.MultiReader(bytes.NewReader(u.data[6*mib+1:8*mib]), broken{})); err == nil {
		t.Fatal("an aborted request body got a response")
	}
	held := settled(t, u)
	if held <= 6*mib || held > 8*mib {
		t.Fatalf("%d bytes are stored of an upload aborted at %d", held, 8*mib)
	}
	first.Stop()

	second := testkit.New(t, testkit.Beside(first), bucket, testkit.Env("CONSIGN_DATA_DIR", t.TempDir()))
	u.sam, ann = u.sam.At(second), ann.At(second)
	u.wantHeld(t, held)
	u.put(held, 13*mib, "Content-Digest", digest(u.data[held:13*mib-1])).WantError(transfer.ErrDigest)
	u.wantHeld(t, held)
	u.put(held, 13*mib, "Content-Digest", digest(u.data[held:13*mib])).Want(http.StatusOK)
	u.put(13*mib, len(u.data), "Repr-Digest", digest(u.data)).Want(http.StatusOK)
	uid := u.sam.Post(u.reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
	download(t, second, ann, uid, u.data)
}

// download reads a transfer's only object, whole and in ranges.
func download(t *testing.T, s *testkit.Server, ann *testkit.Person, uid string, data []byte) {
	t.Helper()
	got := ann.Get(s.Transfer + "/transfers/" + uid).Want(http.StatusOK)
	if sum := sha256.Sum256(data); got.String("objects.0.sha256") != hex.EncodeToString(sum[:]) {
		t.Errorf("the transfer has SHA-256 %s", got.String("objects.0.sha256"))
	}
	file := s.Transfer + "/transfers/" + uid + "/objects/" + got.String("objects.0.uid") + "/content"
	whole := ann.Get(file).Want(http.StatusOK)
	if !bytes.Equal(whole.Body, data) {
		t.Error("the file differs")
	}
	for _, r := range []struct {
		header   string
		from, to int
	}{
		{"bytes=0-0", 0, 1}, {"bytes=5242879-5242881", 5*mib - 1, 5*mib + 2}, {"bytes=7000000-19999999", 7_000_000, 20_000_000},
		{"bytes=-5", len(data) - 5, len(data)}, {fmt.Sprintf("bytes=%d-", len(data)-mib), len(data) - mib, len(data)},
	} {
		part := ann.With("Range", r.header).With("If-Range", whole.Header.Get("ETag")).Get(file).Want(http.StatusPartialContent)
		if !bytes.Equal(part.Body, data[r.from:r.to]) {
			t.Errorf("%s: %d bytes that differ", r.header, len(part.Body))
		}
	}
	ann.With("Range", fmt.Sprintf("bytes=%d-", len(data))).Get(file).Want(http.StatusRequestedRangeNotSatisfiable)
}

// broken ends a request's body with an error, like a lost connection.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("line is dead") }

// settled waits until the server has noticed the disconnect and reports the same offset twice.
func settled(t *testing.T, u upload) int {
	t.Helper()
	last, same := -1, 0
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var held int
		_, _ = fmt.Sscan(u.sam.Head(u.content).Want(http.StatusOK).Header.Get("Content-Length"), &held)
		if held != last {
			last, same = held, 0
		} else if same++; same > 10 && held > 6*mib+1 {
			return held
		}
	}
	t.Fatalf("held stays at %d", last)
	return 0
}

// TestSmall sends objects that fit into one request and need no multipart upload.
func TestSmall(t *testing.T) {
	t.Parallel()
	bucket := storage(t)
	s := testkit.New(t, testkit.Env("CONSIGN_STORAGE_URL", bucket))
	ann := mailboxOf(s)
	for _, size := range []int{0, 1, 5 * mib, 10 * mib} {
		u := reserve(t, s, "ann-box", random(size))
		u.sam.Put(u.content, u.data).Want(http.StatusOK)
		uid := u.sam.Post(u.reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
		got := ann.Get(s.Transfer + "/transfers/" + uid).Want(http.StatusOK)
		if !bytes.Equal(ann.Get(s.Transfer+"/transfers/"+uid+"/objects/"+got.String("objects.0.uid")+"/content").Want(http.StatusOK).Body,
			u.data) {
			t.Errorf("%d bytes differ", size)
		}
	}
	if all := kept(t, bucket); len(all) != 3 {
		t.Errorf("the bucket holds %+v", all)
	}
}

// TestRemoval checks that the bytes of a cancelled reservation are purged at once and orphans are swept after seven days.
func TestRemoval(t *testing.T) {
	t.Parallel()
	where := storage(t)
	s := testkit.New(t, testkit.Env("CONSIGN_STORAGE_URL", where))
	mailboxOf(s)
	u := reserve(t, s, "ann-box", random(12*mib))
	u.put(0, 7*mib).Want(http.StatusOK)
	u.sam.Delete(u.reservation).Want(http.StatusNoContent)
	run(t, s, content.PurgeBytesJob)
	if all := kept(t, where); len(all) != 0 {
		t.Fatalf("after the reservation was cancelled the bucket holds %+v", all)
	}

	orphan := blob.SegmentKey(id.New[id.Segment]())
	w, err := bucket(t, where).Append(t.Context(), orphan, 0, 7*mib)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(random(7 * mib))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(6 * 24 * time.Hour)
	run(t, s, content.SweepOrphansJob)
	if all := kept(t, where); len(all) != 1 {
		t.Fatalf("with an orphan six days old the bucket holds %+v", all)
	}
	s.Clock.Advance(25 * time.Hour)
	run(t, s, content.SweepOrphansJob)
	if all := kept(t, where); len(all) != 0 {
		t.Fatalf("with an orphan seven days old the bucket holds %+v", all)
	}
}

func run(t *testing.T, s *testkit.Server, job string) {
	t.Helper()
	if err := s.App.Jobs.RunOnce(context.Background(), job); err != nil {
		t.Fatal(err)
	}
}

// through returns a storage setting that leads to the same place through a gate, which passes requests on to the service or answers itself.
func through(t *testing.T, storage string, gate func(w http.ResponseWriter, r *http.Request, service http.Handler)) string {
	t.Helper()
	where, _ := url.Parse(storage)
	query := where.Query()
	endpoint, _ := url.Parse(query.Get("endpoint"))
	proxy := httputil.NewSingleHostReverseProxy(endpoint)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { gate(w, r, proxy) }))
	t.Cleanup(server.Close)
	query.Set("endpoint", server.URL)
	where.RawQuery = query.Encode()
	return where.String()
}

// TestOutage uploads and downloads while the bucket is unreachable, and afterwards.
func TestOutage(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	where := through(t, storage(t), func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		service.ServeHTTP(w, r)
	})
	s := testkit.New(t, testkit.Env("CONSIGN_STORAGE_URL", where))
	ann := mailboxOf(s)
	u := reserve(t, s, "ann-box", random(7*mib))
	u.put(0, 3*mib).Want(http.StatusOK)
	down.Store(true)
	refused := u.put(3*mib, 7*mib).WantError(fault.ErrUnavailable)
	if refused.Header.Get("Retry-After") == "" {
		t.Error("the refusal has no Retry-After")
	}
	u.wantHeld(t, 3*mib)
	down.Store(false)
	u.put(3*mib, 7*mib).Want(http.StatusOK)
	uid := u.sam.Post(u.reservation+"/confirm", nil).Want(http.StatusOK).String("uid")
	got := ann.Get(s.Transfer + "/transfers/" + uid).Want(http.StatusOK)
	file := s.Transfer + "/transfers/" + uid + "/objects/" + got.String("objects.0.uid") + "/content"
	down.Store(true)
	ann.Get(file).WantError(fault.ErrUnavailable)
	down.Store(false)
	if !bytes.Equal(ann.Get(file).Want(http.StatusOK).Body, u.data) {
		t.Error("the file differs")
	}
}
