package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/minio/minio-go/v7"
)

// Right is something that a Store does with its bucket, and why it failed if it did.
type Right struct {
	Name string // such as "delete objects"
	Err  error
}

// Trial is the result of Try.
type Trial struct {
	Rights   []Right
	Versions bool   // the bucket keeps versions of deleted objects
	Left     string // name of the trial's object when it could not be removed
}

// Causes of an error of Try and Probe, besides a service that is not reached.
var (
	ErrKey      = errors.New("the service does not know the access key")
	ErrSecret   = errors.New("the secret is not that of the access key")
	ErrRights   = errors.New("the credentials lack a right")
	ErrNoBucket = errors.New("there is no such bucket")
	ErrRegion   = errors.New("the bucket is in another region")
	ErrClock    = errors.New("the clocks of service and server differ")
)

// causes are the codes of S3 services.
var causes = map[string]error{
	"InvalidAccessKeyId": ErrKey, "SignatureDoesNotMatch": ErrSecret, "AccessDenied": ErrRights, "AllAccessDisabled": ErrRights,
	"NoSuchBucket": ErrNoBucket, "AuthorizationHeaderMalformed": ErrRegion, "PermanentRedirect": ErrRegion, "RequestTimeTooSkewed": ErrClock,
}

// cause adds to an error what it means. The answer to a HEAD has no body and so no code: then a list is asked for.
func cause(ctx context.Context, core *minio.Core, bucket, prefix string, err error) error {
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) || answer.StatusCode == 0 {
		return err
	}
	code := answer.Code
	for o := range core.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix, MaxKeys: 1}) {
		if o.Err != nil {
			code = minio.ToErrorResponse(o.Err).Code
		}
		break
	}
	if known := causes[code]; known != nil {
		return fmt.Errorf("%w: %w", known, err)
	}
	return err
}

const trialPrefix = "doctor/" // no Store looks there

// Try does everything in the bucket that a Store does, with an object of its own, and removes that again.
// Errors: when the bucket is not reached or does not exist.
func Try(ctx context.Context, o Options) (Trial, error) {
	core, err := o.connect(1)
	if err != nil {
		return Trial{}, err
	}
	if err := checkBucket(ctx, core, o); err != nil {
		return Trial{}, err
	}
	t := trial{core: core, bucket: o.Bucket, name: o.Prefix + trialPrefix + rand.Text(),
		content: bytes.Repeat([]byte("consign doctor\n"), 100)}
	var result Trial
	do := func(name string, fn func(context.Context) error) bool {
		err := fn(ctx)
		result.Rights = append(result.Rights, Right{name, err})
		return err == nil
	}
	if do("write objects", t.put) {
		do("read objects", t.get)
		do("list objects", t.list)
		if !do("delete objects", t.remove) {
			result.Left = t.name
		}
	}
	do("upload in parts", t.multipart)
	if versioning, err := core.GetBucketVersioning(ctx, o.Bucket); err == nil {
		result.Versions = versioning.Enabled()
	}
	return result, nil
}

// trial is the object of Try.
type trial struct {
	core         *minio.Core
	bucket, name string
	content      []byte
}

func (t trial) put(ctx context.Context) error {
	_, err := t.core.PutObject(ctx, t.bucket, t.name, bytes.NewReader(t.content), int64(len(t.content)), "", "", minio.PutObjectOptions{})
	return err
}

func (t trial) get(ctx context.Context) error {
	body, _, _, err := t.core.GetObject(ctx, t.bucket, t.name, minio.GetObjectOptions{})
	if err != nil {
		return err
	}
	got, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err == nil && !bytes.Equal(got, t.content) {
		err = errors.New("other bytes came back")
	}
	return errors.Join(err, body.Close())
}

func (t trial) list(ctx context.Context) error {
	for o := range t.core.ListObjectsIter(ctx, t.bucket, minio.ListObjectsOptions{Prefix: t.name, Recursive: true, MaxKeys: 1}) {
		if o.Err == nil && o.Key != t.name {
			return fmt.Errorf("%s is listed instead of %s", o.Key, t.name)
		}
		return o.Err
	}
	return errors.New("an object that was just written is not listed")
}

func (t trial) remove(ctx context.Context) error {
	return t.core.RemoveObject(ctx, t.bucket, t.name, minio.RemoveObjectOptions{})
}

// multipart begins an upload of parts, sends one, finds it in the list of uploads, and aborts it.
func (t trial) multipart(ctx context.Context) (err error) {
	upload, err := t.core.NewMultipartUpload(ctx, t.bucket, t.name, minio.PutObjectOptions{})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() {
		abort := t.core.AbortMultipartUpload(ctx, t.bucket, t.name, upload)
		if abort != nil {
			err = errors.Join(err, fmt.Errorf("abort: %w", abort))
		}
	}()
	_, err = t.core.PutObjectPart(ctx, t.bucket, t.name, upload, 1, bytes.NewReader(t.content), int64(len(t.content)),
		minio.PutObjectPartOptions{})
	if err != nil {
		return fmt.Errorf("send a part: %w", err)
	}
	if _, err := t.core.ListObjectParts(ctx, t.bucket, t.name, upload, 0, 1); err != nil {
		return fmt.Errorf("list parts: %w", err)
	}
	uploads, err := t.core.ListMultipartUploads(ctx, t.bucket, t.name, "", "", "", 10)
	if err != nil {
		return fmt.Errorf("list unfinished uploads: %w", err)
	}
	if !slices.ContainsFunc(uploads.Uploads, func(u minio.ObjectMultipartInfo) bool { return u.UploadID == upload }) {
		return errors.New("an unfinished upload is not listed")
	}
	return nil
}
