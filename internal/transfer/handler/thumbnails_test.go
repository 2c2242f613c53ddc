// Tests of the small pictures of files.

package handler_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"net/http"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

// pngFile returns a picture.
func pngFile(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// thumbnails counts those that are stored.
func thumbnails(s *testkit.Server) (n int) {
	s.T.Helper()
	if err := s.App.DB.Pool.QueryRow(s.T.Context(), "SELECT count(*) FROM transfer.thumbnails").Scan(&n); err != nil {
		s.T.Fatal(err)
	}
	return n
}

// TestThumbnail: after the confirm the server makes a small picture. It is sealed in the database, counts no download, and goes with the
// file. Files that are no pictures have none, whatever their names say.
func TestThumbnail(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, bob := s.SignUp("ann@example.com"), s.SignUp("bob@example.com")
	sent := deliver(ann, object{}, [2]string{"a.png", pngFile(t, 900, 450)}, [2]string{"b.png", "\x89PNG\r\n\x1a\n no picture"})
	objects := ann.Get(sent.path).Want(http.StatusOK)
	first, second := objects.String("objects.0.uid"), objects.String("objects.1.uid")
	small := func(p *testkit.Person, path, uid string) *testkit.Response {
		return p.With("Accept", "image/jpeg, application/json").Get(path + "/objects/" + uid + "/thumbnail")
	}
	reader := openLink(s, sent.public, nil)
	poll.Until(t, "the thumbnail is made", func() bool { return small(reader, sent.public, first).Status == http.StatusOK })
	got, err := jpeg.Decode(bytes.NewReader(small(reader, sent.public, first).Body))
	if err != nil || got.Bounds().Dx() != 320 || got.Bounds().Dy() != 160 {
		t.Fatalf("the thumbnail: %v %v", got, err)
	}
	small(ann, sent.path, first).Want(http.StatusOK)
	small(reader, sent.public, second).WantError(transfer.ErrNotFound)
	small(bob, sent.path, first).WantError(transfer.ErrNotFound)
	if n := ann.Get(sent.path).Number("objects.0.downloads"); n != 0 {
		t.Errorf("%v downloads", n)
	}
	var stored []byte
	err = s.App.DB.Pool.QueryRow(t.Context(), "SELECT image FROM transfer.thumbnails").Scan(&stored)
	if err != nil || bytes.Contains(stored, []byte("JFIF")) {
		t.Errorf("the thumbnail is not sealed: %v", err)
	}
	ann.Patch(sent.path, object{"maxDownloads": 3}).Want(http.StatusOK)
	small(reader, sent.public, first).WantError(transfer.ErrNotFound)
	small(ann, sent.path, first).WantError(transfer.ErrNotFound)
	ann.Delete(sent.path).Want(http.StatusNoContent)
	if n := thumbnails(s); n != 0 {
		t.Errorf("%d thumbnails after the end", n)
	}
}

// TestAttackThumbnail: the picture of a protected transfer is shown to nobody who has not opened it.
func TestAttackThumbnail(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := s.SignUp("ann@example.com")
	sent := deliver(ann, object{"protection": "password", "password": "quiet-heron-17"}, [2]string{"a.png", pngFile(t, 400, 400)})
	uid := ann.Get(sent.path).Want(http.StatusOK).String("objects.0.uid")
	at := sent.public + "/objects/" + uid + "/thumbnail"
	poll.Until(t, "the thumbnail is made", func() bool { return thumbnails(s) == 1 })
	if got := s.Stranger().With("Accept", "image/jpeg, application/json").Get(at); got.Status == http.StatusOK {
		t.Error("a stranger sees the picture")
	}
	openLink(s, sent.public, object{"password": "quiet-heron-17"}).With("Accept", "image/jpeg").Get(at).Want(http.StatusOK)
}
