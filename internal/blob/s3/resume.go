package s3

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/consign-dev/consign/internal/blob"
)

// resume returns a writer that continues an unfinished object at offset, and makes all bytes beyond offset invalid. partSize is that of the
// parts of a new object.
func (s *Store) resume(ctx context.Context, key blob.Key, partSize, offset int64) (_ *writer, err error) {
	records, err := s.records(ctx, s.recordsPrefix(key))
	if err != nil {
		return nil, err
	}
	w := &writer{store: s, key: key, ctx: context.WithoutCancel(ctx), partSize: partSize, generation: s.now().UnixMilli()}
	if w.spool, err = s.spools.make(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.err = err // so that Close writes no record
			_ = w.Close()
		}
	}()
	if len(records) == 0 {
		if offset > 0 {
			return nil, fmt.Errorf("%w: 0 held, offset %d", blob.ErrGap, offset)
		}
		return w, nil
	}
	last := newest(records)
	w.generation = max(w.generation, last.generation+1)
	if last.held < offset {
		return nil, fmt.Errorf("%w: %d held, offset %d", blob.ErrGap, last.held, offset)
	}
	if err := s.fill(ctx, &last); err != nil {
		return nil, err
	}
	records[len(records)-1] = last
	w.last, w.old = &last, records[:len(records)-1] // the last but one stays until there is a newer one
	found, err := w.takeUp(ctx, records, offset)
	if err != nil {
		return nil, err
	}
	if !found {
		return w, w.restart(ctx, last, offset)
	}
	if last.kind == kindCut {
		if err := s.remove(ctx, s.objectName(key)); err != nil {
			return nil, err
		}
	}
	if offset < last.held || last.kind != kindPart {
		return w, w.record(offset, kindPart)
	}
	w.held, w.recorded = offset, true
	return w, nil
}

// takeUp sets the writer to offset from the last two records. It returns false when offset is inside a part of which neither
// record has the bytes.
func (w *writer) takeUp(ctx context.Context, records []record, offset int64) (bool, error) {
	last := newest(records)
	if last.kind == kindCutting {
		return false, nil
	}
	w.upload, w.partSize = last.upload, last.partSize
	whole := offset / w.partSize
	w.start, w.settled = whole*w.partSize, whole
	for i := len(records) - 1; i >= max(0, len(records)-2); i-- {
		r := records[i]
		if i < len(records)-1 {
			if err := w.store.fill(ctx, &r); err != nil {
				return false, err
			}
		}
		// A full part may still be in the tail; then it is sent again.
		begin := r.parts * r.partSize
		sameUpload := r.upload == last.upload || r.parts == 0
		if r.kind == kindCutting || !sameUpload || r.partSize != last.partSize || r.parts > whole || offset > r.held ||
			begin+w.partSize < offset {
			continue
		}
		w.start, w.settled = begin, r.parts
		d, err := parseDigest(r.digest)
		if err != nil {
			return false, err
		}
		w.parts = d
		return true, w.copyTail(ctx, r, offset-begin)
	}
	if offset > w.start {
		return false, nil
	}
	etags, err := w.store.etags(ctx, w.key, last)
	if err != nil {
		return false, err
	}
	for _, etag := range etags[:whole] {
		w.parts = w.parts.add(etag)
	}
	w.at = offset
	return true, nil
}

// copyTail copies the first n bytes of a record's tail into the spool.
func (w *writer) copyTail(ctx context.Context, r record, n int64) error {
	w.at = w.start + n
	return w.store.fetch(ctx, w.spool, r.name, n)
}

// fetch copies the first n bytes of an S3 object.
func (s *Store) fetch(ctx context.Context, to io.Writer, name string, n int64) error {
	if n == 0 {
		return nil
	}
	var o minio.GetObjectOptions
	if err := o.SetRange(0, n-1); err != nil {
		return err
	}
	body, _, _, err := s.core.GetObject(ctx, s.bucket, name, o)
	if err != nil {
		return err
	}
	defer body.Close()
	copied, err := io.CopyBuffer(struct{ io.Writer }{to}, io.LimitReader(body, n), make([]byte, 64<<10))
	if err == nil && copied != n {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// restart goes back to an offset inside a part whose bytes are no longer in the spool. S3 returns no bytes of an unfinished
// multipart upload. So the upload is completed up to that part, read, and sent again as another upload. Meanwhile
// objects/<key> exists but is not a finished object, which the kind of the newest record shows. Callers go back at most one Sync,
// so this is rare and may take time.
func (w *writer) restart(ctx context.Context, from record, offset int64) error {
	s := w.store
	if from.kind != kindCutting {
		if err := w.announce(from, offset); err != nil {
			return err
		}
	}
	object := s.objectName(w.key)
	_, err := s.core.StatObject(ctx, s.bucket, object, minio.StatObjectOptions{})
	if missing(err) {
		err = s.completeParts(ctx, w.key, from, offset)
	}
	if err != nil {
		return err
	}
	w.upload, w.partSize, w.start, w.at, w.settled, w.parts = "", from.partSize, 0, 0, 0, digest{}
	w.spool.reset()
	w.restarting = true
	if err := s.fetch(ctx, w, object, offset); err != nil {
		return err
	}
	for len(w.sending) > 0 {
		if err := w.settle(); err != nil {
			return err
		}
	}
	w.restarting = false
	if err := w.record(offset, kindCut); err != nil {
		return err
	}
	if err := s.remove(ctx, object); err != nil {
		return err
	}
	return w.record(offset, kindPart)
}

// announce writes the record of a restart from the given position.
func (w *writer) announce(from record, offset int64) error {
	d, err := parseDigest(from.digest)
	if err != nil {
		return err
	}
	w.upload, w.partSize, w.settled, w.parts = from.upload, from.partSize, from.parts, d
	return w.record(offset, kindCutting)
}

// completeParts completes an upload up to the part with the byte before offset.
func (s *Store) completeParts(ctx context.Context, key blob.Key, from record, offset int64) error {
	etags, err := s.etags(ctx, key, from)
	if err != nil {
		return err
	}
	n := (offset + from.partSize - 1) / from.partSize
	if n > int64(len(etags)) {
		return errors.New("the record that is cut holds less than its name says")
	}
	return s.completeUpload(ctx, key, from.upload, etags[:n], minio.CompletePart{})
}

// completeUpload completes an upload from whole parts and, if it has a number, a last one.
func (s *Store) completeUpload(ctx context.Context, key blob.Key, upload string, etags []string, last minio.CompletePart) error {
	parts := make([]minio.CompletePart, 0, len(etags)+1)
	for i, etag := range etags {
		parts = append(parts, minio.CompletePart{PartNumber: i + 1, ETag: etag})
	}
	if last.PartNumber > 0 {
		parts = append(parts, last)
	}
	_, err := s.core.CompleteMultipartUpload(ctx, s.bucket, s.objectName(key), upload, parts, minio.PutObjectOptions{})
	return err
}
