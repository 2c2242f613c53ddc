package handler_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/identity"
)

// TestPictureWithoutRoom: while the directory in which pictures wait is away, Ann's picture is refused, and the same server takes
// it when there is one. What a full disk and a read-only one do, make test-container tries: they have to be mounted.
func TestPictureWithoutRoom(t *testing.T) {
	w := newThree(t)
	refusePictures(t, w, filepath.Join(t.TempDir(), "away"), "no such file")
}

// refusePictures has pictures wait in dir for a while: Ann's are refused with a 503 that says so, and the cause is logged once for
// each. It is for tests that are not parallel, for TMPDIR.
func refusePictures(t *testing.T, w three, dir, cause string) {
	t.Helper()
	file := picture(t, 640, 320)
	t.Run(cause, func(t *testing.T) {
		t.Setenv("TMPDIR", dir)
		for _, path := range []string{w.s.Identity + "/profile/avatar", w.acme.path + "/avatar"} {
			before := strings.Count(w.s.Log(), cause)
			got := w.ann.With("Content-Type", "image/png").Put(path, file).WantError(identity.ErrPictureNotTaken)
			if got.Header.Get("Retry-After") != "30" {
				t.Errorf("%s: Retry-After %q", path, got.Header.Get("Retry-After"))
			}
			eventually(t, "the log line", func() bool { return strings.Count(w.s.Log(), cause) == before+1 })
		}
	})
	w.ann.With("Content-Type", "image/png").Put(w.s.Identity+"/profile/avatar", file).Want(http.StatusOK)
}
