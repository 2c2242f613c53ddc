// Package s3 keeps blobs in a bucket of an S3 service:
//
//	objects/<key>              a finished object, and before that the destination of its multipart upload
//	uploads/<key>/<record>     what the last Syncs of an unfinished object made durable, see record
//
// An unfinished object is a multipart upload of parts of equal size, plus a record. The record's body is the tail, which does
// not fill a part yet; its name and metadata say which parts count. A record is one PUT, so what Sync reported exists whole
// or not at all. The next process needs only records: bytes in a local spool or without a record are not part of the object.
//
// So the package keeps the guarantees of package blob on a service that can neither append nor truncate. It creates no
// presigned URLs: all bytes pass through Consign.
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
	minPartSize = 5 * mebibyte // minimum of S3 for any part but the last
	maxParts    = 10_000       // maximum of S3

	startWithin = 15 * time.Second // until the service's first byte of an answer
	maxRetries  = 5                // of one request, after transient failures
)

// Store is a blob.Store in a bucket. Several processes may use one bucket. The bucket must not keep versions, or deleted
// objects would remain.
type Store struct {
	core    *minio.Core
	bucket  string
	prefix  string
	spools  spools
	now     func() time.Time
	minPart int64
}

var (
	_ blob.Store  = (*Store)(nil)
	_ blob.Probed = (*Store)(nil)
)

// New opens the bucket of o, which must exist.
func New(ctx context.Context, o Options) (*Store, error) {
	core, err := o.connect(maxRetries)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{core: core, bucket: o.Bucket, prefix: o.Prefix, spools: spools{dir: o.SpoolDir}, now: o.Now, minPart: minPartSize}
	if err := s.spools.prepare(); err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	if err := checkBucket(ctx, core, o); err != nil {
		return nil, err
	}
	return s, nil
}

// connect returns a client of the service. It sends nothing.
func (o Options) connect(retries int) (*minio.Core, error) {
	transport, err := minio.DefaultTransport(o.secure())
	if err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	transport.MaxIdleConnsPerHost = 64
	core, err := minio.NewCore(o.Endpoint.Host, &minio.Options{
		Creds: o.credentials(), Secure: o.secure(), Region: o.Region, Transport: transport, MaxRetries: retries,
	})
	if err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	return core, nil
}

// checkBucket returns an error when the bucket is not reached or does not exist.
func checkBucket(ctx context.Context, core *minio.Core, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	exists, err := core.BucketExists(ctx, o.Bucket)
	if err != nil {
		return fmt.Errorf("open blob store: bucket %s at %s: %w", o.Bucket, o.Endpoint.Host, cause(ctx, core, o.Bucket, o.Prefix, err))
	}
	if !exists {
		return fmt.Errorf("open blob store: %w: %s at %s: create it first", ErrNoBucket, o.Bucket, o.Endpoint.Host)
	}
	return nil
}

// Empty reports whether the bucket holds none of the store's objects, as when another bucket is configured than before.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for _, kind := range []string{objectsPrefix, uploadsPrefix} {
		for o := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + kind, Recursive: true, MaxKeys: 1}) {
			return false, o.Err
		}
	}
	return true, nil
}

// Probe implements blob.Probed.
func (s *Store) Probe(ctx context.Context) error {
	t := trial{core: s.core, bucket: s.bucket, name: s.prefix + trialPrefix + "probe", content: []byte("consign\n")}
	if err := t.put(ctx); err != nil {
		return fmt.Errorf("probe bucket: %w", cause(ctx, s.core, s.bucket, s.prefix, err))
	}
	if err := t.get(ctx); err != nil {
		return fmt.Errorf("probe bucket: %w", cause(ctx, s.core, s.bucket, s.prefix, err))
	}
	return nil
}

// Append implements blob.Store.
func (s *Store) Append(ctx context.Context, key blob.Key, offset, size int64) (blob.Writer, error) {
	if err := blob.BeginAppend(ctx, key, offset); err != nil {
		return nil, err
	}
	object, err := s.finished(ctx, key)
	switch {
	case err == nil:
		return blob.AppendFinished(key, offset, object.Size)
	case !missing(err):
		return nil, failed("append to", key, err)
	}
	w, err := s.resume(ctx, key, s.partSize(size), offset)
	if err != nil {
		return nil, failed("append to", key, err)
	}
	return w, nil
}

// Open implements blob.Store. The Reader requests bytes as they are read, from the position of the last Seek.
func (s *Store) Open(ctx context.Context, key blob.Key) (blob.Reader, error) {
	if err := blob.Begin(ctx, key); err != nil {
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
	if err := blob.Begin(ctx, key); err != nil {
		return 0, err
	}
	// The finished place is checked twice, because a Finish may happen between the first two checks.
	object, err := s.finished(ctx, key)
	if missing(err) {
		var held int64
		if held, err = s.unfinished(ctx, key); err == nil {
			return held, nil
		}
		if missing(err) {
			object, err = s.finished(ctx, key)
		}
	}
	if err != nil {
		return 0, failed("look up", key, err)
	}
	return object.Size, nil
}

// unfinished returns the bytes of an unfinished object; missing(err) when there is none.
func (s *Store) unfinished(ctx context.Context, key blob.Key) (int64, error) {
	records, err := s.records(ctx, s.recordsPrefix(key))
	if err != nil {
		return 0, err
	}
	if len(records) > 0 {
		return newest(records).held, nil
	}
	return 0, errNothing
}

// Delete implements blob.Store. It also aborts multipart uploads without a record.
func (s *Store) Delete(ctx context.Context, key blob.Key) error {
	if err := blob.Begin(ctx, key); err != nil {
		return err
	}
	if err := s.abortUploads(ctx, key); err != nil {
		return failed("delete", key, err)
	}
	// In the order of Finish. The records go last: only they show what an interrupted Delete has left.
	if err := s.remove(ctx, s.objectName(key)); err != nil {
		return failed("delete", key, err)
	}
	records, err := s.records(ctx, s.recordsPrefix(key))
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

// finished returns the attributes of the finished object; missing(err) when there is none.
func (s *Store) finished(ctx context.Context, key blob.Key) (minio.ObjectInfo, error) {
	object, err := s.core.StatObject(ctx, s.bucket, s.objectName(key), minio.StatObjectOptions{})
	if err != nil {
		return minio.ObjectInfo{}, err
	}
	// writer.restart completes whole parts under this name for a while. Such an object is not finished, which its newest record says.
	// Its size is a multiple of 1 MiB, so objects of other sizes need no look at the records.
	if object.Size > 0 && object.Size%mebibyte == 0 {
		records, err := s.records(ctx, s.recordsPrefix(key))
		if err != nil {
			return minio.ObjectInfo{}, err
		}
		if len(records) > 0 && newest(records).kind != kindPart {
			return minio.ObjectInfo{}, errNothing
		}
	}
	return object, nil
}

// abortUploads aborts the key's multipart uploads. There is at most one unless a process died.
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
		if u.Key != s.objectName(key) { // of a longer key
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

// remove deletes one S3 object. It is idempotent.
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

// partSize returns the size of the parts of an object of size bytes; 0 means unknown.
func (s *Store) partSize(size int64) int64 {
	needed := (size + maxParts - 1) / maxParts
	return max(s.minPart, (needed+mebibyte-1)/mebibyte*mebibyte)
}

// errNothing is this package's own error that missing recognizes.
var errNothing = errors.New("nothing is held")

// missing reports whether an error means that something does not exist.
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

// response returns the service's answer, empty when err is not one.
func response(err error) minio.ErrorResponse {
	var r minio.ErrorResponse
	_ = errors.As(err, &r)
	return r
}

// failed wraps an error of the service with the error of package blob that callers check for.
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

// full reports whether the service, or the disk of the spools, is full.
func full(err error) bool {
	r := response(err)
	return spoolFull(err) || r.StatusCode == 507 || strings.Contains(r.Code, "QuotaExceeded") || strings.Contains(r.Code, "StorageFull")
}

// conflict reports whether a parallel request was in the way and a retry makes sense.
func conflict(err error) bool { return response(err).StatusCode == 409 }

// away reports whether the storage is unavailable: the service is unreachable or failing, it refuses the keys or lacks the
// bucket (the operator repairs that, and uploads continue), or no spool can be created or written.
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
