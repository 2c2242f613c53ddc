//go:build s3

package s3

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// planned plans the object of an upload, and returns the path and the size of its parts.
func (u upload) planned(t *testing.T, wanted int) (parts string, size int) {
	t.Helper()
	parts = u.reservation + "/objects/a/parts"
	made := u.sam.Post(parts, map[string]any{"partSize": wanted}).Want(http.StatusCreated)
	return parts, int(made.Number("partSize"))
}

// TestParts: Sam sends the parts of a file to two replicas at once. They share only the database and the bucket. One part is interrupted
// on one replica and goes on at the other one, and one replica stops before the parts are joined.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, encryption := range []string{"off", "on"} {
		t.Run("encryption "+encryption, func(t *testing.T) {
			t.Parallel()
			where := storage(t)
			bucket, sealed := testkit.Env("CONSIGN_STORAGE_URL", where), testkit.Env("CONSIGN_STORAGE_ENCRYPTION", encryption)
			first := testkit.New(t, bucket, sealed)
			second := testkit.New(t, testkit.Beside(first), bucket, sealed, testkit.Env("CONSIGN_DATA_DIR", t.TempDir()))
			ann := mailboxOf(first)
			u := reserve(t, first, "ann-box", random(53*mib+11))
			parts, size := u.planned(t, 10*mib)
			if size != 10*mib {
				t.Fatalf("parts of %d bytes", size)
			}
			there := u.sam.At(second)
			begun := u.sam.With("Content-Range", fmt.Sprintf("bytes 0-%d/%d", 7*mib-1, size)).Put(parts+"/2",
				u.data[size:size+7*mib]).Want(http.StatusOK)
			if held := begun.Number("held"); held != 7*mib {
				t.Errorf("%v bytes of a part are held", held)
			}
			var all sync.WaitGroup
			for n, p := range []*testkit.Person{u.sam, there, u.sam, there} { // parts 3 to 6
				all.Go(func() {
					from := (n + 2) * size
					p.Put(fmt.Sprintf("%s/%d", parts, n+3), u.data[from:min(from+size, len(u.data))]).Want(http.StatusOK)
				})
			}
			all.Wait()
			u.sam.Put(parts+"/1", u.data[:size]).Want(http.StatusOK)
			poll.Until(t, "the first part is joined", func() bool { return u.sam.Get(parts).Want(http.StatusOK).Number("joined") == float64(size) })
			if all := kept(t, where); len(all) != 6 {
				t.Errorf("the bucket holds %+v", all)
			}
			first.Stop()
			there.With("Content-Range", fmt.Sprintf("bytes %d-%d/%d", 7*mib, size-1, size)).Put(parts+"/2",
				u.data[size+7*mib:2*size]).Want(http.StatusOK)
			u.sam = there
			download(t, second, ann.At(second), confirmJoined(t, u), u.data)
			for _, o := range kept(t, where) {
				if !o.Finished {
					t.Errorf("the bucket holds %+v", o)
				}
			}
		})
	}
}

// confirmJoined confirms a reservation as soon as its parts are joined.
func confirmJoined(t *testing.T, u upload) (uid string) {
	t.Helper()
	poll.Until(t, "the parts are joined", func() bool {
		r := u.sam.Post(u.reservation+"/confirm", nil)
		if r.Status != http.StatusOK {
			r.WantError(transfer.ErrJoining)
			return false
		}
		uid = r.String("uid")
		return true
	})
	return uid
}

// TestSmallParts: parts may be smaller than those of S3.
func TestSmallParts(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_STORAGE_URL", storage(t)))
	ann := mailboxOf(s)
	u := reserve(t, s, "ann-box", random(21*mib))
	parts, size := u.planned(t, mib)
	if size != mib {
		t.Fatalf("parts of %d bytes", size)
	}
	for n := 0; n*size < len(u.data); n++ {
		u.sam.Put(fmt.Sprintf("%s/%d", parts, n+1), u.data[n*size:min((n+1)*size, len(u.data))]).Want(http.StatusOK)
	}
	download(t, s, ann, confirmJoined(t, u), u.data)
}

// TestSlowCompletion: the service takes longer than a lease to complete the uploads of the parts. The file is whole nevertheless.
func TestSlowCompletion(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 100)
	where := through(t, storage(t), func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
			begun <- struct{}{}
			select {
			case <-time.After(7 * time.Second): // a lease has 5
			case <-t.Context().Done():
			}
		}
		service.ServeHTTP(w, r)
	})
	bucket := testkit.Env("CONSIGN_STORAGE_URL", where)
	first := testkit.New(t, bucket)
	second := testkit.New(t, testkit.Beside(first), bucket, testkit.Env("CONSIGN_DATA_DIR", t.TempDir()))
	ann := mailboxOf(first)
	u := reserve(t, first, "ann-box", random(29*mib))
	parts, size := u.planned(t, 16*mib)
	u.sam.Put(parts+"/1", u.data[:size]).Want(http.StatusOK)
	<-begun // each part is completed by itself
	var last sync.WaitGroup
	last.Go(func() { u.sam.Put(parts+"/2", u.data[size:]).Want(http.StatusOK) })
	<-begun
	there := u
	there.sam = u.sam.At(second)
	download(t, first, ann, confirmJoined(t, there), u.data)
	last.Wait()
}

// TestPartsRemoved: nothing stays in the bucket of parts that are given up, and a part that the bucket has lost begins anew.
func TestPartsRemoved(t *testing.T) {
	t.Parallel()
	where := storage(t)
	s := testkit.New(t, testkit.Env("CONSIGN_STORAGE_URL", where), testkit.Env("CONSIGN_STORAGE_ENCRYPTION", "off"))
	ann := mailboxOf(s)
	u := reserve(t, s, "ann-box", random(12*mib))
	parts, size := u.planned(t, 6*mib)
	u.sam.With("Content-Range", fmt.Sprintf("bytes 0-%d/%d", mib-1, size)).Put(parts+"/1", u.data[:mib]).Want(http.StatusOK)
	for _, o := range kept(t, where) {
		if err := bucket(t, where).Delete(t.Context(), o.Key); err != nil {
			t.Fatal(err)
		}
	}
	rest := u.sam.With("Content-Range", fmt.Sprintf("bytes %d-%d/%d", mib, size-1, size))
	if lost := rest.Put(parts+"/1", u.data[mib:size]).WantError(transfer.ErrRange); lost.Header.Get("Content-Range") != "bytes */0" {
		t.Errorf("Content-Range %s", lost.Header.Get("Content-Range"))
	}
	u.sam.Put(parts+"/1", u.data[:size]).Want(http.StatusOK)
	u.sam.Delete(u.reservation).Want(http.StatusNoContent)
	poll.Until(t, "a purge comes after the lease in which the part was finished", func() bool {
		run(t, s, content.PurgeBytesJob)
		return len(kept(t, where)) == 0
	})
	again := reserve(t, s, "ann-box", random(12*mib))
	parts, size = again.planned(t, 6*mib)
	again.sam.Put(parts+"/1", again.data[:size]).Want(http.StatusOK)
	again.sam.Put(parts+"/2", again.data[size:]).Want(http.StatusOK)
	uid := confirmJoined(t, again)
	result, err := s.App.Content.Fsck(t.Context(), content.FsckOptions{}, func(f content.Finding) error { t.Errorf("%+v", f); return nil })
	if err != nil || result.Bytes != 12*mib {
		t.Errorf("%+v, %v", result, err)
	}
	got := ann.Get(s.Transfer + "/transfers/" + uid).Want(http.StatusOK)
	if !bytes.Equal(ann.Get(s.Transfer+"/transfers/"+uid+"/objects/"+got.String("objects.0.uid")+"/content").Want(http.StatusOK).Body,
		again.data) {
		t.Error("the file differs")
	}
}

// TestConcatenation: Sam sends three partial uploads of tus to two replicas, and the server makes one file of them in the bucket.
func TestConcatenation(t *testing.T) {
	t.Parallel()
	for _, encryption := range []string{"off", "on"} {
		t.Run("encryption "+encryption, func(t *testing.T) {
			t.Parallel()
			where := storage(t)
			bucket, sealed := testkit.Env("CONSIGN_STORAGE_URL", where), testkit.Env("CONSIGN_STORAGE_ENCRYPTION", encryption)
			first := testkit.New(t, bucket, sealed)
			second := testkit.New(t, testkit.Beside(first), bucket, sealed, testkit.Env("CONSIGN_DATA_DIR", t.TempDir()))
			ann := mailboxOf(first)
			u := reserve(t, first, "ann-box", random(23*mib+11))
			u.sam.Delete(u.reservation + "/objects/a").Want(http.StatusNoContent)
			sam := u.sam.With("Tus-Resumable", "1.0.0")
			var urls []string
			for i, cut := range [][2]int{{0, 9 * mib}, {9 * mib, 9*mib + 1}, {9*mib + 1, len(u.data)}} {
				made := sam.With("Upload-Concat", "partial").With("Upload-Length", fmt.Sprint(cut[1]-cut[0])).Post(u.reservation+"/tus",
					nil).Want(http.StatusCreated)
				urls = append(urls, made.Header.Get("Location"))
				p := sam
				if i%2 == 1 {
					p = sam.At(second)
				}
				p.With("Content-Type", "application/offset+octet-stream").With("Upload-Offset", "0").Patch(strings.TrimPrefix(urls[i], first.URL),
					u.data[cut[0]:cut[1]]).Want(http.StatusNoContent)
			}
			sam.With("Upload-Concat", "final;"+strings.Join(urls, " ")).With("Upload-Metadata", "filename YS5iaW4=").Post(u.reservation+"/tus",
				nil).Want(http.StatusCreated)
			download(t, first, ann, confirmJoined(t, u), u.data)
			run(t, first, content.PurgeBytesJob)
			for i, o := range kept(t, where) {
				if !o.Finished || i > 2 {
					t.Errorf("the bucket holds %+v", o)
				}
			}
		})
	}
}
