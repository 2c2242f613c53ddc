// Reads an object of the bucket. After an interruption it requests the rest of the same version.

package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/consign-dev/consign/internal/blob"
)

// maxBreaks is how many consecutive interruptions without a byte a download survives.
const maxBreaks = 3

var _ blob.Linked = (*reader)(nil)

// reader reads a finished object. Its first Read requests everything from the present position.
type reader struct {
	store  *Store
	key    blob.Key
	ctx    context.Context
	cancel context.CancelFunc
	size   int64
	etag   string
	at     int64
	body   io.ReadCloser // response at position at; nil: no request
}

func (s *Store) newReader(ctx context.Context, key blob.Key, o minio.ObjectInfo) *reader {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &reader{store: s, key: key, ctx: ctx, cancel: cancel, size: o.Size, etag: o.ETag}
}

// Read implements io.Reader. After an interruption it requests the rest.
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var err error
	for range maxBreaks {
		if r.at >= r.size {
			return 0, io.EOF
		}
		if r.body == nil {
			if err = r.ask(); err != nil {
				return 0, failed("read", r.key, err)
			}
		}
		var n int
		n, err = r.body.Read(p[:min(int64(len(p)), r.size-r.at)])
		r.at += int64(n)
		if err != nil {
			r.closeBody()
		}
		if n > 0 {
			return n, nil
		}
		if r.ctx.Err() != nil {
			break
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
	}
	return 0, failed("read", r.key, err)
}

// ask requests the bytes from at on, of the version of the object that was opened.
func (r *reader) ask() error {
	var o minio.GetObjectOptions
	if r.at > 0 {
		if err := o.SetRange(r.at, 0); err != nil {
			return err
		}
	}
	if err := o.SetMatchETag(r.etag); err != nil {
		return err
	}
	body, _, _, err := r.store.core.GetObject(r.ctx, r.store.bucket, r.store.objectName(r.key), o)
	r.body = body
	return err
}

func (r *reader) closeBody() {
	if r.body != nil {
		r.body.Close()
		r.body = nil
	}
}

// Seek implements io.Seeker.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return r.at, fmt.Errorf("seek in blob %s: no such place", r.key)
	}
	if offset != r.at {
		r.closeBody()
		r.at = offset
	}
	return offset, nil
}

// Link implements blob.Linked with a presigned URL.
func (r *reader) Link(ctx context.Context, lifetime time.Duration, disposition, contentType string) (string, error) {
	params := url.Values{
		"response-content-disposition": {disposition}, "response-content-type": {contentType}, "response-cache-control": {"no-store"},
	}
	u, err := r.store.core.PresignedGetObject(ctx, r.store.bucket, r.store.objectName(r.key), lifetime, params)
	if err != nil {
		return "", failed("link", r.key, err)
	}
	return u.String(), nil
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.closeBody()
	r.cancel()
	return nil
}
