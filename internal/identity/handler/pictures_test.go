package handler_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestPictureWithoutTempDir: a picture is refused while the temporary directory is missing, and accepted once it exists. make
// test-container tests a full and a read-only disk, which must be mounted.
func TestPictureWithoutTempDir(t *testing.T) {
	w := newWorld(t)
	refusePictures(t, w, filepath.Join(t.TempDir(), "away"), "no such file")
}

// refusePictures sets TMPDIR to dir and checks that Ann's pictures are refused with 503, and that the cause of each is logged once.
// The test must not be parallel.
func refusePictures(t *testing.T, w world, dir, cause string) {
	t.Helper()
	file := picture(t, 640, 320)
	t.Run(cause, func(t *testing.T) {
		t.Setenv("TMPDIR", dir)
		for _, path := range []string{w.s.Identity + "/profile/avatar", w.acme.path + "/avatar"} {
			before := strings.Count(w.s.Log(), cause)
			got := w.ann.With("Content-Type", "image/png").Put(path, file).WantError(httpapi.ErrPictureNotTaken)
			if got.Header.Get("Retry-After") != "30" {
				t.Errorf("%s: Retry-After %q", path, got.Header.Get("Retry-After"))
			}
			poll.Until(t, "the log line", func() bool { return strings.Count(w.s.Log(), cause) == before+1 })
		}
	})
	w.ann.With("Content-Type", "image/png").Put(w.s.Identity+"/profile/avatar", file).Want(http.StatusOK)
}
