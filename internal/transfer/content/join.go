// Joins the parts of an object, or its partial uploads: reads them in order, hashes them, and completes the object.

package content

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

const (
	// joinTime bounds a run of join beside requests.
	joinTime = 2 * time.Second
	// joinsAtOnce bounds the runs beside requests in this process. Objects beyond it are joined after their next part, or by a job.
	joinsAtOnce = 8
)

// joinJob joins the parts of an object that are all held, or the partial uploads that it is made of.
type joinJob struct {
	Reservation id.Reservation `json:"reservation"`
	ClientID    string         `json:"clientId"`
}

// Kind implements river.JobArgs.
func (joinJob) Kind() string { return "transfer_join_parts" }

// workJoin joins the parts of an object to the end. A failure is repeated, and goes on where the last run has saved.
func (s *Service) workJoin(ctx context.Context, j joinJob) error {
	err := s.join(ctx, j, func() bool { return jobs.DeadlineNear(ctx) })
	switch {
	case errors.Is(err, errJoining):
		return jobs.Again(time.Second)
	case errors.Is(err, errMore):
		return jobs.Again(0)
	case errors.Is(err, transfer.ErrNotFound), errors.Is(err, transfer.ErrConfirmed), errors.Is(err, transfer.ErrMIMEType):
		return nil
	}
	return err
}

// joins are the runs of join that requests have started in this process: one of an object at a time.
type joins struct {
	shared  singleflight.Group // by object
	slots   *semaphore.Weighted
	running sync.WaitGroup
}

// Close waits until no parts are being joined. No request may be in progress.
func (s *Service) Close() { s.joins.running.Wait() }

// joinBeside joins complete parts while the client sends others, so that the sum is known soon after the last part. Only the request after
// which all parts are held waits for it.
// Errors: transfer.ErrMIMEType.
func (w *session) joinBeside(ctx context.Context) error {
	if w.allHeld {
		return w.s.JoinSome(ctx, w.row.Reservation, w.row.ClientID)
	}
	w.s.startJoin(ctx, joinJob{w.row.Reservation, w.row.ClientID})
	return nil
}

// JoinSome joins parts for a request that waits for them, for joinTime. It does nothing while another replica does. The server that was
// joining them may have been killed; its job runs again only after its time limit.
// Errors: transfer.ErrMIMEType.
func (s *Service) JoinSome(ctx context.Context, r id.Reservation, clientID string) error {
	late := time.After(joinTime)
	for range 2 { // a run that began before this call may not see the last part
		select {
		case run := <-s.startJoin(ctx, joinJob{r, clientID}):
			if run.Err != nil || !run.Shared {
				return run.Err
			}
		case <-late:
			return nil
		}
	}
	return nil
}

// startJoin joins the parts of an object beside the request, or takes part in the run that does.
func (s *Service) startJoin(ctx context.Context, o joinJob) <-chan singleflight.Result {
	ctx = context.WithoutCancel(ctx)
	ended := make(chan singleflight.Result, 1)
	s.joins.running.Go(func() {
		_, err, shared := s.joins.shared.Do(o.Reservation.String()+"/"+o.ClientID, func() (any, error) { return nil, s.joinSome(ctx, o) })
		ended <- singleflight.Result{Err: err, Shared: shared}
	})
	return ended
}

// joinSome joins parts for joinTime.
// Errors: transfer.ErrMIMEType.
func (s *Service) joinSome(ctx context.Context, o joinJob) error {
	if !s.joins.slots.TryAcquire(1) {
		return nil
	}
	defer s.joins.slots.Release(1)
	until := time.Now().Add(joinTime)
	err := s.join(ctx, o, func() bool { return time.Now().After(until) })
	switch {
	case errors.Is(err, transfer.ErrMIMEType):
		return err
	case err != nil && !errors.Is(err, errJoining) && !errors.Is(err, errMore) && !errors.Is(err, transfer.ErrNotFound):
		s.log.WarnContext(ctx, "parts not joined yet", "reservation", o.Reservation.String(), "object", o.ClientID, "error", err)
	}
	return nil
}

var (
	errJoining = errors.New("another run joins the parts")
	errMore    = errors.New("more parts can be joined")
	errGone    = errors.New("the bytes of parts or partial uploads are not held any more")
)

// joining is one run of join. It has the writer lease of the object.
type joining struct {
	s        *Service
	row      postgres.Upload
	epoch    int64
	whole    hash.Hash
	crc      uint32
	head     []byte
	mimeType string
	joined   int64 // bytes
	saved    int64
	at       time.Time // of the last save

	out blob.Writer // of the object, while the run copies partial uploads into it
}

// join reads complete parts, or partial uploads, from the first one that is not joined on, and saves the sums over them, until late says so.
// It finishes the object in the store when it is complete.
// Errors: errJoining, errMore; transfer.ErrMIMEType when the mailbox does not accept the content, which is deleted.
func (s *Service) join(ctx context.Context, o joinJob, late func() bool) error {
	j, err := s.beginJoin(ctx, o)
	if err != nil || j == nil {
		return err
	}
	ctx, release, err := j.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	failure := j.run(ctx, late)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	switch {
	case errors.Is(failure, transfer.ErrMIMEType):
		return (&session{s: s, row: j.row, scope: postgres.Scope{Host: postgres.AnyHost}}).deleteObject(ctx, failure)
	case errors.Is(failure, errGone):
		s.log.Warn("upload in parts starts over: the store does not hold what the database claims", "object", j.row.UID.String(), "error", failure)
		return j.drop(ctx, true)
	case errors.Is(failure, errRestart):
		s.log.Warn("partial uploads are copied again: the store does not hold what the database claims", "object", j.row.UID.String(), "error", failure)
		return cmp.Or(j.drop(ctx, false), errMore)
	case failure != nil && !errors.Is(failure, errMore):
		return errors.Join(failure, j.save(ctx, true))
	}
	if err := j.save(ctx, true); err != nil {
		return err
	}
	if j.joined < j.row.IntendedSize {
		return failure
	}
	j.close()
	if err := s.blobs.Finish(ctx, blob.ObjectKey(j.row.UID), j.row.IntendedSize); err != nil { // the first download repeats it
		s.log.Warn("object not finished in the store yet", "object", j.row.UID.String(), "error", err)
	}
	return nil
}

// beginJoin takes the lease of an object of parts or partial uploads; nil when there is nothing to join.
// Errors: errJoining.
func (s *Service) beginJoin(ctx context.Context, o joinJob) (*joining, error) {
	var j *joining
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		u, err := tx.LockUpload(ctx, o.Reservation, o.ClientID, postgres.Scope{Host: postgres.AnyHost, Now: s.now()})
		switch {
		case err != nil:
			return err
		case !u.Transfer.IsZero(), u.PartSize == 0 && !u.Concatenated, u.Complete():
			return nil
		case time.Now().Before(u.LeaseUntil):
			return errJoining
		}
		epoch, err := tx.TakeLease(ctx, u, leaseTime)
		j = &joining{s: s, row: u, epoch: epoch, whole: sha256.New(), crc: u.CRC32, head: u.Head, mimeType: u.MIMEType, joined: u.Held, saved: u.Held, at: time.Now()}
		return err
	})
	if err != nil || j == nil {
		return nil, err
	}
	if j.joined > 0 {
		if err := j.whole.(encoding.BinaryUnmarshaler).UnmarshalBinary(j.row.ShaState); err != nil {
			return nil, fmt.Errorf("restore SHA-256 state: %w", err)
		}
	}
	return j, nil
}

// run joins parts until it must end. It looks for parts that were completed meanwhile.
// Errors: errMore, errGone, errRestart, transfer.ErrMIMEType.
func (j *joining) run(ctx context.Context, late func() bool) error {
	front, err := j.front(ctx)
	if err != nil || front <= j.joined {
		return err
	}
	r, err := j.open(ctx, front)
	if err != nil || r == nil {
		return err
	}
	defer r.Close()
	for {
		for j.joined < front {
			if late() {
				return errMore
			}
			if err := j.step(ctx, r, front); err != nil {
				return err
			}
		}
		if front, err = j.front(ctx); err != nil || front <= j.joined {
			return err
		}
	}
}

// open opens the object where its bytes are not joined yet; nil when the store reads it only once all parts are held.
// Errors: errGone, errRestart.
func (j *joining) open(ctx context.Context, front int64) (io.ReadCloser, error) {
	if j.row.Concatenated {
		return j.openPartials(ctx)
	}
	defer j.keepLease(ctx)()
	r, err := j.s.blobs.OpenPlanned(ctx, blob.ObjectKey(j.row.UID), front, j.row.IntendedSize)
	switch {
	case errors.Is(err, blob.ErrIncomplete):
		return nil, nil
	case errors.Is(err, blob.ErrNotFound):
		return nil, fmt.Errorf("%w: %w", errGone, err)
	case err != nil:
		return nil, storageError("open parts", err)
	}
	if _, err := r.Seek(j.joined, io.SeekStart); err != nil {
		return nil, errors.Join(storageError("read parts", err), r.Close())
	}
	return r, nil
}

// keepLease renews the lease until stop is called, while the store finishes the object.
func (j *joining) keepLease(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(checkpointEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if j.save(ctx, false) != nil { // the next save reports it
					return
				}
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// front returns up to where all parts are complete. Partial uploads are, from the beginning.
func (j *joining) front(ctx context.Context) (int64, error) {
	if j.row.Concatenated {
		return j.row.IntendedSize, nil
	}
	parts, err := j.s.store.Parts(ctx, j.row.UID)
	if err != nil {
		return 0, err
	}
	end := int64(0)
	for i, p := range parts {
		if p.Number != i+1 || p.Held < j.row.PartLength(p.Number) {
			break
		}
		end += p.Held
	}
	return end, nil
}

// step joins some bytes before front. It saves what is joined from time to time.
func (j *joining) step(ctx context.Context, r io.Reader, front int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	pooled := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	p := (*pooled)[:min(int64(len(*pooled)), front-j.joined)]
	n, err := io.ReadFull(r, p)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, sealed.ErrDamaged) || errors.Is(err, blob.ErrNotFound) {
			return fmt.Errorf("%w at byte %d: %w", errGone, j.joined+int64(n), err)
		}
		return storageError("read parts", err)
	}
	n, failure := j.write(ctx, p)
	p = p[:n]
	j.whole.Write(p)
	j.crc = crc32.Update(j.crc, crc32.IEEETable, p)
	if j.mimeType == "" && len(j.head) < transfer.SniffBytes {
		j.head = append(j.head, p[:min(n, transfer.SniffBytes-len(j.head))]...)
	}
	j.joined += int64(n)
	if failure != nil {
		return failure
	}
	if err := j.sniffType(); err != nil {
		return err
	}
	if j.joined == j.row.IntendedSize || j.joined-j.saved < checkpointBytes && time.Since(j.at) < checkpointEvery {
		return nil
	}
	return j.save(ctx, false)
}

// sniffType sets the object's MIME type as soon as enough bytes are joined.
// Errors: transfer.ErrMIMEType.
func (j *joining) sniffType() error {
	if j.mimeType != "" || len(j.head) < transfer.SniffBytes && j.joined < j.row.IntendedSize {
		return nil
	}
	if f := transfer.MIMEFilter(j.row.MIMETypeFilter); !f.AllowsContent(j.head, j.row.Name) {
		return f.Rejection("content")
	}
	j.mimeType = transfer.TypeByContent(j.head, j.row.Name)
	return nil
}

// save saves what is joined, and renews the lease, or ends it when this is the last call.
// Errors: errJoining when the lease is lost.
func (j *joining) save(ctx context.Context, last bool) error {
	if err := j.sync(); err != nil {
		return err
	}
	state, err := j.whole.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return fmt.Errorf("save SHA-256 state: %w", err)
	}
	p := postgres.Progress{Object: j.row.UID, Epoch: j.epoch, Held: j.joined, ShaState: state, CRC32: j.crc, MIMEType: j.mimeType}
	if j.mimeType == "" {
		p.Head = j.head
	}
	if j.joined == j.row.IntendedSize {
		p.SHA256, last = j.whole.Sum(nil), true
	}
	switch {
	case !last:
		p.Lease = leaseTime
	case p.SHA256 != nil:
		p.Lease = leaseToFinish
	}
	at := time.Now()
	ours, err := j.store(ctx, p)
	if err == nil && !ours {
		err = errJoining
	}
	if err == nil {
		j.saved, j.at = j.joined, at
	}
	return err
}

// nearLeaseEnd reports whether the lease must be renewed before anything is written.
func (j *joining) nearLeaseEnd() bool { return time.Since(j.at) > leaseTime-leaseMargin }

// drop gives up what is joined of an object. When bytes are lost, it also gives up its plan, which the client makes again, or its partial
// uploads: then the client deletes the object.
func (j *joining) drop(ctx context.Context, lost bool) error {
	return j.s.store.InTx(ctx, func(tx *postgres.Store) error {
		u, err := tx.LockUpload(ctx, j.row.Reservation, j.row.ClientID, postgres.Scope{Host: postgres.AnyHost, Now: j.s.now()})
		if err != nil || u.PartSize == 0 && !u.Concatenated || u.Complete() || u.UID != j.row.UID {
			return err
		}
		var refund postgres.Refund
		if u.Concatenated && lost {
			if refund, err = j.s.DeletePartials(ctx, tx, u.Reservation, u.UID); err != nil {
				return err
			}
		}
		if err := tx.ResetObject(ctx, u, false); err != nil {
			return err
		}
		return tx.GiveBack(ctx, refund)
	})
}
