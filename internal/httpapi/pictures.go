package httpapi

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/consign-dev/consign/internal/fault"
)

// ErrPictureNotTaken is the answer while the directory of temporary pictures (TMPDIR) is full, read-only or missing.
var ErrPictureNotTaken = fault.ErrUnavailable.With("the server has no room for pictures at the moment; retry later").WithRetryAfter(
	30 * time.Second)

// ReceivePicture writes an uploaded picture to a temporary file. A picture that waits for the semaphore of package
// imaging therefore uses no memory. done deletes the file.
// Errors: fault.ErrUnsupported, fault.ErrTooLarge,
// ErrPictureNotTaken.
func ReceivePicture(r *http.Request) (picture io.ReadSeeker, done func(), err error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "image/jpeg" && kind != "image/png" && kind != "image/gif" {
		return nil, nil, fault.ErrUnsupported.With("Content-Type: send the picture as image/jpeg, image/png or image/gif")
	}
	f, err := os.CreateTemp("", "consign-picture-*")
	if err != nil {
		return nil, nil, ErrPictureNotTaken.Because(err)
	}
	done = func() {
		f.Close()
		_ = os.Remove(f.Name())
	}
	if _, err := io.Copy(f, r.Body); err != nil {
		done()
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, nil, fault.ErrTooLarge.With(fmt.Sprintf("body: at most %d bytes", large.Limit)).AtMost(large.Limit).Because(err)
		}
		var file *fs.PathError // an error of the file; reading the body never returns one
		if errors.As(err, &file) {
			return nil, nil, ErrPictureNotTaken.Because(err)
		}
		return nil, nil, err
	}
	return f, done, nil
}
