// Writes an unfinished object to the bucket: parts in parallel, a record at each Sync, time limits and retries of requests.

package s3

import (
	"context"
	"fmt"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/consign-dev/consign/internal/blob"
)

const (
	maxSending = 3               // parts that one writer sends concurrently
	patience   = 2 * time.Minute // timeout of one request with its retries, plus 1 s per MiB

	emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of no bytes
)

// writer appends to an unfinished object. Bytes go into a spool until it has a whole part. Parts are sent while the next one
// fills. Bytes become part of the object only with a record.
type writer struct {
	store *Store
	key   blob.Key
	ctx   context.Context // outlives the call of Append, whose context does not apply to the writer

	upload   string // id; empty until the first part is full
	partSize int64
	start    int64 // offset of the part being filled
	at       int64 // offset of the next byte
	parts    digest
	settled  int64 // parts in digest
	spool    *spool
	sending  []*sending // oldest first
	spare    []*spool

	generation int64
	sequence   int
	held       int64    // bytes known to be durable
	recorded   bool     // there is a record of held
	last       *record  // newest record
	old        []record // older records, to remove with the next one

	restarting bool  // a restart writes no record before it has all bytes
	err        error // first failure
}

// sending is a part being sent.
type sending struct {
	spool *spool
	done  chan struct{}
	etag  string
	err   error
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (n int, err error) {
	if w.err != nil {
		return 0, w.err
	}
	for len(p) > 0 {
		room := w.start + w.partSize - w.at
		if room == 0 {
			switch err := w.send(); {
			case spoolFull(err):
				return n, failed("write", w.key, err) // the full part can still be saved as a tail
			case err != nil:
				return n, w.fail("write", err)
			}
			continue
		}
		taken, err := w.spool.Write(p[:min(int64(len(p)), room)])
		n += taken
		w.at += int64(taken)
		p = p[taken:]
		if err != nil {
			return n, failed("write", w.key, err) // the bytes taken can be saved
		}
	}
	return n, nil
}

// send starts sending the full part.
func (w *writer) send() error {
	number := w.start/w.partSize + 1
	if number > maxParts {
		return fmt.Errorf("more than %d parts of %d bytes", maxParts, w.partSize)
	}
	if w.upload == "" {
		if err := w.begin(); err != nil {
			return err
		}
	}
	if len(w.sending) == maxSending {
		if err := w.settle(); err != nil {
			return err
		}
	}
	next, err := w.freeSpool()
	if err != nil {
		return err
	}
	s := &sending{spool: w.spool, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.etag, s.err = w.store.putPart(w.ctx, w.key, w.upload, number, s.spool)
	}()
	w.sending = append(w.sending, s)
	w.spool = next
	w.start += w.partSize
	return nil
}

// begin creates the multipart upload and saves its id in a record, so that it can be found again.
func (w *writer) begin() error {
	ctx, cancel := w.bounded(0)
	defer cancel()
	if err := w.store.abortUploads(ctx, w.key); err != nil { // one that was created without a record
		return err
	}
	upload, err := w.store.core.NewMultipartUpload(ctx, w.store.bucket, w.store.objectName(w.key), minio.PutObjectOptions{})
	if err != nil {
		return fmt.Errorf("begin multipart upload: %w", err)
	}
	w.upload = upload
	if w.restarting {
		return nil
	}
	return w.record(w.held, kindPart)
}

// settle waits for the oldest part being sent.
func (w *writer) settle() error {
	s := w.sending[0]
	w.sending = w.sending[1:]
	<-s.done
	s.spool.reset()
	w.spare = append(w.spare, s.spool)
	if s.err != nil {
		return s.err
	}
	w.parts = w.parts.add(s.etag)
	w.settled++
	return nil
}

func (w *writer) freeSpool() (*spool, error) {
	if n := len(w.spare); n > 0 {
		s := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return s, nil
	}
	return w.store.spools.make()
}

// Sync implements blob.Writer.
func (w *writer) Sync() (int64, error) {
	if w.err != nil {
		return w.held, w.err
	}
	if w.recorded && w.held == w.at {
		return w.held, nil
	}
	for len(w.sending) > 0 {
		if err := w.settle(); err != nil {
			return w.held, w.fail("sync", err)
		}
	}
	if err := w.record(w.at, kindPart); err != nil {
		return w.held, w.fail("sync", err)
	}
	return w.held, nil
}

// record makes the first held bytes of the object durable: those of settled parts, and the tail in the spool.
func (w *writer) record(held int64, kind string) error {
	r := record{
		name:       w.store.recordsPrefix(w.key) + recordName(w.generation, w.sequence, held, kind),
		generation: w.generation, sequence: w.sequence, held: held, kind: kind,
		upload: w.upload, partSize: w.partSize, parts: w.settled, digest: w.parts.String(),
	}
	tail := held - w.settled*w.partSize
	if kind == kindCutting {
		tail = 0
	}
	ctx, cancel := w.bounded(tail)
	defer cancel()
	if err := w.store.put(ctx, r.name, w.spool, tail, r.metadata()); err != nil {
		return fmt.Errorf("record %d bytes: %w", held, err)
	}
	w.sequence++
	w.held, w.recorded = held, true
	w.store.forget(ctx, w.old)
	w.old = nil
	if w.last != nil {
		w.old = []record{*w.last}
	}
	w.last = &r
	return nil
}

// Close implements blob.Writer. It also sends the bytes written since the last Sync, because Finish may need them. A failure
// does not matter: no Sync has reported them.
func (w *writer) Close() error {
	if w.spool == nil {
		return nil
	}
	var err error
	if w.err == nil {
		_, err = w.Sync()
	}
	for _, s := range w.sending {
		<-s.done
		s.spool.free()
	}
	for _, s := range append(w.spare, w.spool) {
		s.free()
	}
	w.sending, w.spare, w.spool = nil, nil, nil
	w.err = fmt.Errorf("write blob %s: the writer is closed", w.key)
	return err
}

// fail saves the first failure: bytes after it may be missing.
func (w *writer) fail(operation string, err error) error {
	w.err = failed(operation, w.key, err)
	return w.err
}

// bounded returns the context of a request that moves size bytes.
func (w *writer) bounded(size int64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.ctx, patience+time.Duration(size/mebibyte)*time.Second)
}

// A service may refuse a request because of a parallel one and ask for a retry (409: OperationAborted, or a directory that
// versitygw removes while an object is stored in it).
const (
	putTries = 5
	putPause = 20 * time.Millisecond // after the first try, longer after each
)

// put stores the first n bytes of a spool as an S3 object.
func (s *Store) put(ctx context.Context, name string, from *spool, n int64, metadata map[string]string) error {
	o := minio.PutObjectOptions{UserMetadata: metadata}
	var sum string
	if n == 0 {
		// An empty body in signed chunks is not empty on the wire, which some services reject.
		o.DisableContentSha256, sum = true, emptySum
	}
	for try := 1; ; try++ {
		_, err := s.core.PutObject(ctx, s.bucket, name, from.reader(n), n, "", sum, o)
		if !conflict(err) || !again(ctx, try) {
			return err
		}
	}
}

// again waits after a try that a parallel request was in the way of; false: it is not tried again.
func again(ctx context.Context, try int) bool {
	if try >= putTries {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(try) * putPause):
		return true
	}
}

// putPart stores a part.
func (s *Store) putPart(ctx context.Context, key blob.Key, upload string, number int64, from *spool) (etag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience+time.Duration(from.size/mebibyte)*time.Second)
	defer cancel()
	p, err := s.core.PutObjectPart(ctx, s.bucket, s.objectName(key), upload, int(number), from.reader(from.size), from.size,
		minio.PutObjectPartOptions{})
	if err != nil {
		return "", fmt.Errorf("send part %d: %w", number, err)
	}
	return p.ETag, nil
}
