package target

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	partSize  = 16 << 20 // bytes of a part, which is in memory while it is sent; more for files over 160 GB
	s3Retries = 3
	sumName   = "Sha256" // of the metadata that holds the SHA-256
)

// bucket is a folder in a bucket of an S3 service. Each part has a Content-MD5, which every service checks.
type bucket struct {
	client *minio.Client
	at     Address
}

func newBucket(a Address, login Login, transport http.RoundTripper) (*bucket, error) {
	client, err := minio.New(a.URL.Host, &minio.Options{
		Creds: credentials.NewStaticV4(login.User, login.Password, ""), Secure: a.URL.Scheme == "https", Region: a.Region, Transport: transport,
		MaxRetries: s3Retries,
	})
	if err != nil {
		return nil, fmt.Errorf("open bucket: %w", err)
	}
	return &bucket{client, a}, nil
}

// name returns the key of a path.
func (b *bucket) name(path string) string { return clean(b.at.Folder + "/" + path) }

// has implements place: size and SHA-256 as they were stored with the object.
func (b *bucket) has(ctx context.Context, path string, size int64, sum []byte) (bool, error) {
	o, err := b.client.StatObject(ctx, b.at.Bucket, b.name(path), minio.StatObjectOptions{})
	if err != nil {
		if err = answered(err); isMissing(err) {
			err = nil
		}
		return false, err
	}
	return o.Size == size && o.UserMetadata[sumName] == hex.EncodeToString(sum), nil
}

// put implements place.
func (b *bucket) put(ctx context.Context, path string, content io.Reader, size int64, sum []byte) error {
	_, err := b.client.PutObject(ctx, b.at.Bucket, b.name(path), content, size, minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: uint64(size/10_000/partSize+1) * partSize, NumThreads: 1, SendContentMd5: true,
		UserMetadata: map[string]string{sumName: hex.EncodeToString(sum)},
	})
	if err != nil {
		return answered(err)
	}
	there, err := b.has(ctx, path, size, sum)
	if err == nil && !there {
		err = errDifferent
	}
	return err
}

// answered returns a statusError for an error that the service has answered.
func answered(err error) error {
	r := minio.ToErrorResponse(err)
	if r.StatusCode == 0 || r.Code == "" {
		return err
	}
	return &statusError{status: r.StatusCode, answer: r.Code + " " + r.Message}
}

func isMissing(err error) bool {
	e, ok := err.(*statusError) //nolint:errorlint // of answered
	return ok && e.status == http.StatusNotFound
}
