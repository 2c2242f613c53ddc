package s3

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/consign-dev/consign/internal/blob"
)

// List implements blob.Store. A multipart upload without a record is an unfinished object of no bytes: its process died
// between creating the upload and writing the record.
func (s *Store) List(ctx context.Context, fn func(blob.Info) error) error {
	// In the order of Finish, so that no object is missed between the two.
	unfinished := map[blob.Key]string{} // kind of the newest record
	if err := s.listRecords(ctx, unfinished, fn); err != nil {
		return fmt.Errorf("list blobs: %w", err)
	}
	if err := s.listUploads(ctx, unfinished, fn); err != nil {
		return fmt.Errorf("list blobs: %w", err)
	}
	for o := range s.all(ctx, s.prefix+objectsPrefix) {
		if o.Err != nil {
			return fmt.Errorf("list blobs: %w", o.Err)
		}
		key, ok := s.keyOf(o.Key)
		if kind := unfinished[key]; !ok || kind == kindCut || kind == kindCutting {
			continue
		}
		if err := fn(blob.Info{Key: key, Size: o.Size, Modified: o.LastModified, Finished: true}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// all lists S3 objects ordered by name.
func (s *Store) all(ctx context.Context, prefix string) func(func(minio.ObjectInfo) bool) {
	return s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true})
}

// keyOf parses the key from the name of a finished object.
func (s *Store) keyOf(name string) (blob.Key, bool) {
	key := blob.Key(strings.TrimPrefix(name, s.prefix+objectsPrefix))
	return key, key.Check() == nil
}

func (s *Store) listRecords(ctx context.Context, unfinished map[blob.Key]string, fn func(blob.Info) error) error {
	var current blob.Info
	show := func() error {
		if current.Key == "" {
			return nil
		}
		return fn(current)
	}
	for o := range s.all(ctx, s.prefix+uploadsPrefix) {
		if o.Err != nil {
			return o.Err
		}
		prefix, r, ok := parseRecord(o)
		key := blob.Key(strings.TrimSuffix(strings.TrimPrefix(prefix, s.prefix+uploadsPrefix), "/"))
		if !ok || key.Check() != nil {
			continue
		}
		if key != current.Key {
			if err := show(); err != nil {
				return err
			}
		}
		// The records of a key are adjacent, the newest last.
		current = blob.Info{Key: key, Size: r.held, Modified: r.modified}
		unfinished[key] = r.kind
	}
	return show()
}

func (s *Store) listUploads(ctx context.Context, unfinished map[blob.Key]string, fn func(blob.Info) error) error {
	begun := map[blob.Key]time.Time{}
	err := s.multipartUploads(ctx, s.prefix+objectsPrefix, func(u minio.ObjectMultipartInfo) error {
		key, ok := s.keyOf(u.Key)
		if _, known := unfinished[key]; ok && !known && u.Initiated.After(begun[key]) {
			begun[key] = u.Initiated
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, at := range begun {
		if err := fn(blob.Info{Key: key, Modified: at}); err != nil {
			return err
		}
	}
	return nil
}
