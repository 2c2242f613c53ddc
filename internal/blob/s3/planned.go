package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/consign-dev/consign/internal/blob"
)

// plan is a planned object: one multipart upload, which several Writers fill at once, also of different processes. All S3 parts have the
// same size, the piece, of which a part of the object has a whole number. The bytes of a part are where those of an object of one Writer
// are: whole pieces in the multipart upload, and in records which of them count, and the tail. The S3 objects are
//
//	planned/<key>/<upload>/<begin>/<record>   what the last Syncs made durable of the part that begins there; <upload> is a hash
//	planned/<key>/plan                        the numbers, as metadata
//
// S3 returns no bytes of a multipart upload that is not completed. So OpenPlanned completes it first, once every byte is held.
type plan struct {
	key    blob.Key
	upload string // id of the multipart upload
	size   int64  // of the object
	part   int64  // size of the object's parts
	piece  int64  // size of the S3 parts
}

// Names of the metadata of a plan. The size of a piece is in metaPartSize.
const (
	metaSize = "Consign-Size"
	metaPart = "Consign-Part"
)

// atOnce is how many requests about the parts of a planned object are made concurrently.
const atOnce = 16

func (s *Store) plannedPrefix(key blob.Key) string {
	return s.prefix + plannedPrefix + string(key) + "/"
}
func (s *Store) planName(key blob.Key) string { return s.plannedPrefix(key) + "plan" }

// recordsOf returns the prefix of all records of a plan. Records of an earlier plan of the same key have another one.
func (s *Store) recordsOf(p plan) string {
	sum := sha256.Sum256([]byte(p.upload))
	return s.plannedPrefix(p.key) + hex.EncodeToString(sum[:8]) + "/"
}

// place returns where the part that begins at an offset is kept.
func (s *Store) place(p plan, begin int64) place {
	return place{records: fmt.Sprintf("%s%015d/", s.recordsOf(p), begin), upload: p.upload, first: begin / p.piece, partSize: p.piece}
}

// pieces returns the size of the S3 parts of a planned object, and that of its parts, a multiple: d.Part, or the next size up from
// which pieces can be made that S3 accepts. A piece is as small as possible, because a Sync writes what does not fill one.
func (s *Store) pieces(d blob.Division) (piece, part int64) {
	units := d.Part / d.Unit
	least := (s.partSize(d.Size) + d.Unit - 1) / d.Unit
	if units <= least {
		return least * d.Unit, least * d.Unit
	}
	for n := least; n <= min(4*least, units); n++ {
		if units%n == 0 {
			return n * d.Unit, d.Part
		}
	}
	return least * d.Unit, (units + least - 1) / least * least * d.Unit
}

// Plan implements blob.Store.
func (s *Store) Plan(ctx context.Context, key blob.Key, d blob.Division) (int64, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return 0, err
	}
	piece, part := s.pieces(d)
	upload, err := s.core.NewMultipartUpload(ctx, s.bucket, s.objectName(key), minio.PutObjectOptions{})
	if err != nil {
		return 0, failed("plan", key, err)
	}
	metadata := map[string]string{
		metaUpload: upload, metaSize: strconv.FormatInt(d.Size, 10), metaPart: strconv.FormatInt(part, 10), metaPartSize: strconv.FormatInt(piece, 10),
	}
	if err := s.put(ctx, s.planName(key), &spool{}, 0, metadata); err != nil {
		return 0, failed("plan", key, err)
	}
	return part, nil
}

// plan returns the plan of an object; missing(err) when there is none.
func (s *Store) plan(ctx context.Context, key blob.Key) (plan, error) {
	o, err := s.core.StatObject(ctx, s.bucket, s.planName(key), minio.StatObjectOptions{})
	if err != nil {
		return plan{}, err
	}
	p := plan{key: key, upload: meta(o, metaUpload)}
	var errs [3]error
	p.size, errs[0] = strconv.ParseInt(meta(o, metaSize), 10, 64)
	p.part, errs[1] = strconv.ParseInt(meta(o, metaPart), 10, 64)
	p.piece, errs[2] = strconv.ParseInt(meta(o, metaPartSize), 10, 64)
	if err := errors.Join(errs[:]...); err != nil || p.upload == "" || p.piece <= 0 || p.part < p.piece || p.part%p.piece != 0 {
		return plan{}, fmt.Errorf("plan %s: metadata are malformed: %w", o.Key, err)
	}
	return p, nil
}

// AppendAt implements blob.Store.
func (s *Store) AppendAt(ctx context.Context, key blob.Key, begin, offset int64) (blob.Writer, error) {
	if err := blob.BeginAt(ctx, key, begin, offset); err != nil {
		return nil, err
	}
	w, err := s.appendAt(ctx, key, begin, offset)
	if missing(err) || errors.Is(err, errChanged) {
		err = fmt.Errorf("%w: %w", blob.ErrGap, err)
	}
	if err != nil {
		return nil, failed("append to", key, err)
	}
	return &partWriter{writer: w, begin: begin}, nil
}

func (s *Store) appendAt(ctx context.Context, key blob.Key, begin, offset int64) (*writer, error) {
	p, err := s.plan(ctx, key)
	if err != nil {
		return nil, err
	}
	if begin%p.part != 0 {
		return nil, fmt.Errorf("no part of %d bytes begins at %d", p.part, begin)
	}
	// A service may abort an old multipart upload by itself.
	at := s.place(p, begin)
	if _, err := s.core.ListObjectParts(ctx, s.bucket, s.objectName(key), p.upload, int(at.first), 1); err != nil {
		return nil, err
	}
	return s.resume(ctx, key, at, offset-begin)
}

// partWriter writes a part of a planned object.
type partWriter struct {
	*writer
	begin int64
}

// Sync implements blob.Writer. A full piece goes into the multipart upload, so that Finish needs not copy it.
func (w *partWriter) Sync() (int64, error) {
	if w.err == nil && w.at == w.start+w.partSize {
		if err := w.send(); err != nil && !spoolFull(err) {
			return w.begin + w.held, w.fail("sync", err)
		}
	}
	held, err := w.writer.Sync()
	return w.begin + held, err
}

// Close implements blob.Writer. Bytes that no Sync has reported are not kept, so that a caller goes back by one Sync at most.
func (w *partWriter) Close() error {
	if w.err == nil {
		w.err = fmt.Errorf("write blob %s: the writer is closed", w.key)
	}
	return w.writer.Close()
}

// OpenPlanned implements blob.Store. It finishes the object.
func (s *Store) OpenPlanned(ctx context.Context, key blob.Key, held, size int64) (blob.Reader, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return nil, err
	}
	if held < size {
		return nil, fmt.Errorf("open blob %s: %w", key, blob.ErrIncomplete)
	}
	for try := 1; ; try++ {
		err := s.Finish(ctx, key, size)
		if errors.Is(err, blob.ErrSize) || errors.Is(err, errChanged) {
			err = fmt.Errorf("%w: %w", blob.ErrNotFound, err)
		}
		if err != nil {
			return nil, err
		}
		r, err := s.Open(ctx, key)
		if !errors.Is(err, blob.ErrNotFound) || !again(ctx, try) { // see Finish
			return r, err
		}
	}
}

// plannedParts returns the newest record of each part of a plan that has begun, by where it begins.
func (s *Store) plannedParts(ctx context.Context, p plan) (map[int64]record, error) {
	parts := map[int64]record{}
	for o := range s.all(ctx, s.recordsOf(p)) {
		if o.Err != nil {
			return nil, o.Err
		}
		prefix, r, ok := parseRecord(o)
		if !ok {
			continue
		}
		begin, err := strconv.ParseInt(strings.Trim(strings.TrimPrefix(prefix, s.recordsOf(p)), "/"), 10, 64)
		if err == nil && prefix == s.place(p, begin).records && parts[begin].name < r.name {
			r.first = begin / p.piece
			parts[begin] = r
		}
	}
	return parts, nil
}

// completePlan finishes a planned object; missing(err) when there is none.
func (s *Store) completePlan(ctx context.Context, key blob.Key, size int64) error {
	p, err := s.plan(ctx, key)
	if err != nil {
		return err
	}
	parts, err := s.plannedParts(ctx, p)
	if err != nil {
		return err
	}
	var records []record
	for begin := int64(0); begin < p.size; begin += p.part {
		r := parts[begin]
		if want := min(p.part, p.size-begin); p.size != size || r.held != want {
			return fmt.Errorf("%w: %d of %d bytes held of the part at %d, %d of %d expected", blob.ErrSize, r.held, want, begin, size, p.size)
		}
		records = append(records, r)
	}
	etags, err := s.collect(ctx, p, records)
	if err != nil {
		return err
	}
	if err := s.completeUpload(ctx, key, p.upload, etags, minio.CompletePart{}); err != nil {
		return err
	}
	_ = s.removePlan(ctx, key)
	return nil
}

// collect returns the ETags of all S3 parts of a plan whose parts have complete records. It sends the tail of a record as an S3 part: that
// of the last part, which fills no piece.
func (s *Store) collect(ctx context.Context, p plan, records []record) ([]string, error) {
	etags := make([][]string, len(records))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for i, r := range records {
		all.Go(func() (err error) {
			if err = s.fill(ctx, &r); err != nil {
				return err
			}
			if r.upload != p.upload || r.partSize != p.piece {
				return errChanged
			}
			if etags[i], err = s.etags(ctx, p.key, r); err != nil || r.held == r.parts*r.partSize {
				return err
			}
			etag, err := s.sendTail(ctx, p.key, r)
			etags[i] = append(etags[i], etag)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	var list []string
	for _, e := range etags {
		list = append(list, e...)
	}
	return list, nil
}

// sendTail sends the tail of a record as the S3 part after those of the record.
func (s *Store) sendTail(ctx context.Context, key blob.Key, r record) (etag string, err error) {
	tail, err := s.spools.make()
	if err != nil {
		return "", err
	}
	defer tail.free()
	if err := s.fetch(ctx, tail, r.name, r.held-r.parts*r.partSize); err != nil {
		return "", err
	}
	return s.putPart(ctx, key, r.upload, r.first+r.parts+1, tail)
}

// removePlan removes what is below planned/<key>/, the plan last: it shows what an interrupted removal has left.
func (s *Store) removePlan(ctx context.Context, key blob.Key) error {
	var names []string
	planned := false
	for o := range s.all(ctx, s.plannedPrefix(key)) {
		switch {
		case o.Err != nil:
			return o.Err
		case o.Key == s.planName(key):
			planned = true
		default:
			names = append(names, o.Key)
		}
	}
	all, each := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for _, name := range names {
		all.Go(func() error { return s.remove(each, name) })
	}
	if err := all.Wait(); err != nil || !planned {
		return err
	}
	return s.remove(ctx, s.planName(key))
}
