// Package s3 keeps blobs in a bucket of an S3 service:
//
//	objects/<key>              a finished object, and before that the destination of its multipart upload
//	uploads/<key>/<record>     what an unfinished object's last Syncs made durable, see record
//
// An unfinished object is a multipart upload of parts of equal size, plus a record whose body is the tail that fills no
// part yet and whose name and metadata say which parts count. A record is one PUT, so that what Sync reported is whole or
// not there, and whichever process comes next needs nothing of the one before: what that had on its disk, or did not say
// in a record, is not part of the object.
//
// The package owns how the promises of package blob are kept by a service that can neither append nor cut. It hands out
// no presigned URLs: all bytes flow through Consign.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/consign-dev/consign/internal/blob"
)

const (
	objectsPrefix = "objects/"
	uploadsPrefix = "uploads/"

	mebibyte    = 1 << 20
	minPartSize = 5 * mebibyte // the least that S3 takes for any part but the last
	maxParts    = 10_000       // the most that S3 takes

	startWithin = 15 * time.Second // for the first word of the service
	maxRetries  = 5                // of one request, on trouble that may pass
)

// Store is a blob.Store in a bucket. Several processes may use one bucket, which must not keep former versions: what is
// deleted would stay.
type Store struct {
	core    *minio.Core
	bucket  string
	prefix  string
	spools  spools
	now     func() time.Time
	minPart int64
}

var _ blob.Store = (*Store)(nil)

// New opens the bucket that o names, which must exist.
func New(ctx context.Context, o Options) (*Store, error) {
	transport, err := minio.DefaultTransport(o.secure())
	if err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	transport.MaxIdleConnsPerHost = 64
	core, err := minio.NewCore(o.Endpoint.Host, &minio.Options{
		Creds: o.credentials(), Secure: o.secure(), Region: o.Region, Transport: transport, MaxRetries: maxRetries,
	})
	if err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{core: core, bucket: o.Bucket, prefix: o.Prefix, spools: spools{dir: o.SpoolDir}, now: o.Now, minPart: minPartSize}
	if err := s.spools.prepare(); err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	exists, err := core.BucketExists(ctx, o.Bucket)
	if err != nil {
		return nil, fmt.Errorf("open blob store: bucket %s at %s: %w", o.Bucket, o.Endpoint.Host, err)
	}
	if !exists {
		return nil, fmt.Errorf("open blob store: there is no bucket %s at %s: create it first", o.Bucket, o.Endpoint.Host)
	}
	return s, nil
}

// Empty reports whether nothing lies where the store has its objects, as in a bucket that is another than before.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for o := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix, Recursive: true, MaxKeys: 1}) {
		return false, o.Err
	}
	return true, nil
}

// Append implements blob.Store.
func (s *Store) Append(ctx context.Context, key blob.Key, offset, size int64) (blob.Writer, error) {
	if err := begin(ctx, key); err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, fmt.Errorf("append to blob %s: negative offset %d", key, offset)
	}
	object, err := s.finished(ctx, key)
	switch {
	case err == nil:
		return blob.AppendFinished(key, offset, object.Size)
	case !missing(err):
		return nil, failed("append to", key, err)
	}
	w, err := s.resume(ctx, key, offset, size)
	if err != nil {
		return nil, failed("append to", key, err)
	}
	return w, nil
}

// Open implements blob.Store. The Reader asks for bytes as they are read, from wherever Seek last went.
func (s *Store) Open(ctx context.Context, key blob.Key) (blob.Reader, error) {
	if err := begin(ctx, key); err != nil {
		return nil, err
	}
	object, err := s.finished(ctx, key)
	if err != nil {
		return nil, failed("open", key, err)
	}
	return s.newReader(ctx, key, object), nil
}

// Held implements blob.Store.
func (s *Store) Held(ctx context.Context, key blob.Key) (int64, error) {
	if err := begin(ctx, key); err != nil {
		return 0, err
	}
	// The finished place is asked again at the end, because a Finish may come between the first two.
	object, err := s.finished(ctx, key)
	if missing(err) {
		var records []record
		if records, err = s.records(ctx, key); err == nil && len(records) > 0 {
			return newest(records).held, nil
		}
		if err == nil {
			object, err = s.finished(ctx, key)
		}
	}
	if err != nil {
		return 0, failed("look up", key, err)
	}
	return object.Size, nil
}

// Delete implements blob.Store. It also aborts multipart uploads that no record speaks of.
func (s *Store) Delete(ctx context.Context, key blob.Key) error {
	if err := begin(ctx, key); err != nil {
		return err
	}
	if err := s.abortUploads(ctx, key); err != nil {
		return failed("delete", key, err)
	}
	// In the direction of Finish; and the records last, because they alone show what a Delete has left that was cut short.
	if err := s.remove(ctx, s.objectName(key)); err != nil {
		return failed("delete", key, err)
	}
	records, err := s.records(ctx, key)
	if err != nil {
		return failed("delete", key, err)
	}
	for _, r := range records {
		if err := s.remove(ctx, r.name); err != nil {
			return failed("delete", key, err)
		}
	}
	return nil
}

// finished tells of the finished object; missing(err) when there is none.
func (s *Store) finished(ctx context.Context, key blob.Key) (minio.ObjectInfo, error) {
	object, err := s.core.StatObject(ctx, s.bucket, s.objectName(key), minio.StatObjectOptions{})
	if err != nil {
		return minio.ObjectInfo{}, err
	}
	// What restart leaves there for a while is whole parts, and nearly nothing else is.
	if object.Size > 0 && object.Size%mebibyte == 0 {
		records, err := s.records(ctx, key)
		if err != nil {
			return minio.ObjectInfo{}, err
		}
		if len(records) > 0 && newest(records).kind != kindPart {
			return minio.ObjectInfo{}, errNothing
		}
	}
	return object, nil
}

// abortUploads ends the key's multipart uploads, of which there is one at most unless a process died.
func (s *Store) abortUploads(ctx context.Context, key blob.Key) error {
	var found []minio.ObjectMultipartInfo
	err := s.multipartUploads(ctx, s.objectName(key), func(u minio.ObjectMultipartInfo) error {
		found = append(found, u)
		return nil
	})
	if err != nil {
		return err
	}
	for _, u := range found {
		if u.Key != s.objectName(key) { // a longer key
			continue
		}
		if err := s.core.AbortMultipartUpload(ctx, s.bucket, u.Key, u.UploadID); err != nil && !missing(err) {
			return err
		}
	}
	return nil
}

// multipartUploads calls fn for each multipart upload below prefix.
func (s *Store) multipartUploads(ctx context.Context, prefix string, fn func(minio.ObjectMultipartInfo) error) error {
	var key, upload string
	for {
		page, err := s.core.ListMultipartUploads(ctx, s.bucket, prefix, key, upload, "", 1000)
		if err != nil {
			return err
		}
		for _, u := range page.Uploads {
			if err := fn(u); err != nil {
				return err
			}
		}
		if !page.IsTruncated {
			return nil
		}
		key, upload = page.NextKeyMarker, page.NextUploadIDMarker
	}
}

// remove deletes one S3 object, which need not exist.
func (s *Store) remove(ctx context.Context, name string) error {
	err := s.core.RemoveObject(ctx, s.bucket, name, minio.RemoveObjectOptions{})
	if missing(err) {
		return nil
	}
	return err
}

func (s *Store) objectName(key blob.Key) string { return s.prefix + objectsPrefix + string(key) }
func (s *Store) recordsPrefix(key blob.Key) string {
	return s.prefix + uploadsPrefix + string(key) + "/"
}

// partSize is how large the parts of an object of size bytes are; 0 means unknown.
func (s *Store) partSize(size int64) int64 {
	needed := (size + maxParts - 1) / maxParts
	return max(s.minPart, (needed+mebibyte-1)/mebibyte*mebibyte)
}

// begin is what each call checks before it asks the service anything.
func begin(ctx context.Context, key blob.Key) error {
	if err := key.Check(); err != nil {
		return err
	}
	return ctx.Err()
}

// errNothing is what missing recognizes of our own making.
var errNothing = errors.New("nothing is held")

// missing reports whether an error says that something is not there.
func missing(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, errNothing) {
		return true
	}
	switch response(err).Code {
	case minio.NoSuchKey, minio.NoSuchUpload, "NotFound":
		return true
	}
	return false
}

// response is what the service said, or nothing where the error is not its.
func response(err error) minio.ErrorResponse {
	var r minio.ErrorResponse
	_ = errors.As(err, &r)
	return r
}

// failed wraps what the service said, and translates what callers must be able to tell apart.
func failed(operation string, key blob.Key, err error) error {
	for _, known := range []error{blob.ErrNotFound, blob.ErrGap, blob.ErrSize, blob.ErrFinished, blob.ErrFull, blob.ErrAway} {
		if errors.Is(err, known) {
			return fmt.Errorf("%s blob %s: %w", operation, key, err)
		}
	}
	switch {
	case missing(err):
		return fmt.Errorf("%s blob %s: %w", operation, key, blob.ErrNotFound)
	case full(err):
		return fmt.Errorf("%s blob %s: %w: %w", operation, key, blob.ErrFull, err)
	case away(err):
		return fmt.Errorf("%s blob %s: %w: %w", operation, key, blob.ErrAway, err)
	default:
		return fmt.Errorf("%s blob %s: %w", operation, key, err)
	}
}

// full reports whether the service, or the disk under the spools, has no room left.
func full(err error) bool {
	r := response(err)
	return spoolFull(err) || r.StatusCode == 507 || strings.Contains(r.Code, "QuotaExceeded") || strings.Contains(r.Code, "StorageFull")
}

// conflict reports whether another request got in the way, so that trying again makes sense.
func conflict(err error) bool { return response(err).StatusCode == 409 }

// away reports whether the service could not be reached or could not do its work, no longer lets us in or has the bucket no longer
// (keys, policies, names: the operator puts it right, and uploads go on), or whether no spool can be made or written.
func away(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	var request *url.Error
	var network *net.OpError
	var spool *fs.PathError
	r := response(err)
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &request) || errors.As(err, &network) || errors.As(err, &spool) ||
		r.StatusCode >= 500 || r.StatusCode == 429 || r.StatusCode == 401 || r.StatusCode == 403 || r.Code == minio.NoSuchBucket || conflict(err)
}
