package s3

import (
	"context"
	"errors"
	"fmt"

	"github.com/minio/minio-go/v7"

	"github.com/consign-dev/consign/internal/blob"
)

// Finish implements blob.Store.
func (s *Store) Finish(ctx context.Context, key blob.Key, size int64) error {
	if err := blob.Begin(ctx, key); err != nil {
		return err
	}
	for try := 1; ; try++ {
		object, err := s.finished(ctx, key)
		if err == nil {
			if object.Size != size {
				return fmt.Errorf("finish blob %s: %w: %d held, %d expected", key, blob.ErrSize, object.Size, size)
			}
			s.tidy(ctx, key)
			return nil
		}
		if missing(err) {
			err = s.complete(ctx, key, size)
		}
		if err == nil {
			return nil
		}
		// A parallel call may have finished the object and removed what this one was reading. While another one finishes it again, some
		// services do not have it for a moment.
		if !missing(err) && !errors.Is(err, errChanged) && !errors.Is(err, blob.ErrSize) || !again(ctx, try) {
			return failed("finish", key, err)
		}
	}
}

// tidy removes leftovers of an interrupted Finish. It ignores failures: Delete removes them, too.
func (s *Store) tidy(ctx context.Context, key blob.Key) {
	if records, err := s.records(ctx, s.recordsPrefix(key)); err == nil && len(records) > 0 {
		_ = s.abortUploads(ctx, key)
		s.forget(ctx, records)
	}
}

// complete makes the finished object from parts and tail; missing(err) when they do not exist.
func (s *Store) complete(ctx context.Context, key blob.Key, size int64) error {
	records, err := s.records(ctx, s.recordsPrefix(key))
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return errNothing
	}
	if last := newest(records); last.kind != kindPart {
		w, err := s.resume(ctx, key, s.partSize(size), last.held)
		if err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if records, err = s.records(ctx, s.recordsPrefix(key)); err != nil {
			return err
		}
		if len(records) == 0 {
			return errNothing
		}
	}
	last := newest(records)
	if last.held != size {
		return fmt.Errorf("%w: %d held, %d expected", blob.ErrSize, last.held, size)
	}
	if err := s.fill(ctx, &last); err != nil {
		return err
	}
	if err := s.assemble(ctx, key, last); err != nil {
		return err
	}
	if last.upload != "" && last.parts == 0 {
		_ = s.abortUploads(ctx, key) // a restart has cut it back to less than one part
	}
	s.forget(ctx, records)
	return nil
}

// assemble makes the finished object from the parts and tail of a record.
func (s *Store) assemble(ctx context.Context, key blob.Key, r record) error {
	tail, err := s.spools.make()
	if err != nil {
		return err
	}
	defer tail.free()
	if err := s.fetch(ctx, tail, r.name, r.held-r.parts*r.partSize); err != nil {
		return err
	}
	if r.parts == 0 {
		return s.put(ctx, s.objectName(key), tail, tail.size, nil)
	}
	etags, err := s.etags(ctx, key, r)
	if err != nil {
		return err
	}
	var last minio.CompletePart
	if tail.size > 0 {
		last.PartNumber = int(r.parts) + 1
		if last.ETag, err = s.putPart(ctx, key, r.upload, r.parts+1, tail); err != nil {
			return err
		}
	}
	return s.completeUpload(ctx, key, r.upload, etags, last)
}
