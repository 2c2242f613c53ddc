// Final uploads of tus: the copy of partial uploads into one object.

package content

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// A final upload of tus is made of partial ones (contract 4.25), which are objects of the same reservation. A run of join copies their durable
// bytes into the final object, and computes its SHA-256 meanwhile. What is joined of it is durable, so a run goes on where the last one has
// saved. The volume stays charged to the partial uploads until the final one is complete. Then the same transaction moves the charges and
// deletes the partial uploads.

// errRestart means that the store holds less of a final upload than the database claims. Its partial uploads still have all bytes.
var errRestart = errors.New("the copy of partial uploads starts over")

// JoinLater enqueues the job that joins an object.
func (s *Service) JoinLater(ctx context.Context, tx *postgres.Store, r id.Reservation, clientID string) error {
	return s.jobs.Enqueue(ctx, tx.Tx(), joinJob{Reservation: r, ClientID: clientID})
}

// DeletePartials deletes the partial uploads of a locked, open reservation: all, or those that an object is made of. It enqueues the purge of
// their bytes. The caller gives back the refund where it locks volumes.
func (s *Service) DeletePartials(ctx context.Context, tx *postgres.Store, r id.Reservation, final id.Object) (postgres.Refund, error) {
	n, refund, err := tx.DeletePartials(ctx, r, final, s.now())
	if err != nil || n == 0 {
		return refund, err
	}
	return refund, s.PurgeSoon(ctx, tx)
}

// hold makes a run that copies the writer of its object in this process: the purge stops it and waits for it. It waits for an earlier run.
// The caller calls release.
// Errors: errJoining.
func (j *joining) hold(ctx context.Context) (_ context.Context, release func(), err error) {
	if !j.row.Concatenated {
		return ctx, func() {}, nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	holder, place := &leaseHolder{epoch: j.epoch, stop: stop, done: make(chan struct{})}, writer{object: j.row.UID}
	previous, ok := j.s.leases.acquire(place, holder, errJoining)
	if !ok {
		close(holder.done)
		stop(nil)
		return nil, nil, errJoining
	}
	if previous != nil {
		<-previous.done
	}
	return ctx, func() {
		j.close()
		j.s.leases.release(place, holder)
		stop(nil)
	}, nil
}

// openPartials opens the object for writing and its partial uploads for reading, where the copy goes on.
// Errors: errRestart.
func (j *joining) openPartials(ctx context.Context) (io.ReadCloser, error) {
	key := blob.ObjectKey(j.row.UID)
	if j.joined == 0 {
		if err := j.s.blobs.Delete(ctx, key); err != nil {
			return nil, storageError("delete bytes of an earlier copy", err)
		}
	}
	out, err := j.s.blobs.Append(ctx, key, j.joined, j.row.IntendedSize)
	if errors.Is(err, blob.ErrGap) || errors.Is(err, blob.ErrFinished) {
		return nil, fmt.Errorf("%w: %w", errRestart, err)
	}
	if err != nil {
		return nil, storageError("open object", err)
	}
	j.out = out
	partials, err := j.s.store.Partials(ctx, j.row.UID)
	if err != nil {
		return nil, err
	}
	skip := j.joined
	for len(partials) > 0 && skip >= partials[0].Held {
		skip -= partials[0].Held
		partials = partials[1:]
	}
	return &chain{open: func(o id.Object, size int64) (io.ReadSeekCloser, error) { return j.s.open(ctx, o, size) }, next: partials, skip: skip}, nil
}

// close closes the object that a run writes. What counts of it is synced.
func (j *joining) close() {
	if j.out != nil {
		_ = j.out.Close()
		j.out = nil
	}
}

// write appends bytes to the object of a run that copies. It returns how many of them the object has.
func (j *joining) write(ctx context.Context, p []byte) (int, error) {
	if j.out == nil {
		return len(p), nil
	}
	if j.nearLeaseEnd() {
		if err := j.save(ctx, false); err != nil {
			return 0, err
		}
	}
	n, err := j.out.Write(p)
	if err != nil {
		return n, storageError("write object", err)
	}
	return n, nil
}

// sync makes what a run has copied durable.
func (j *joining) sync() error {
	if j.out == nil {
		return nil
	}
	held, err := j.out.Sync()
	if err != nil {
		return storageError("sync object", err)
	}
	if held != j.joined {
		return fmt.Errorf("sync object: the store holds %d bytes instead of %d", held, j.joined)
	}
	return nil
}

// store stores the progress of a run in the row. The last one of a final upload ends its partial uploads.
func (j *joining) store(ctx context.Context, p postgres.Progress) (ours bool, err error) {
	if !j.row.Concatenated || p.SHA256 == nil {
		return j.s.store.SaveJoined(ctx, p)
	}
	err = j.s.store.InTx(ctx, func(tx *postgres.Store) error {
		u, err := tx.LockUpload(ctx, j.row.Reservation, j.row.ClientID, postgres.Scope{Host: postgres.AnyHost, Now: j.s.now()})
		if err != nil {
			return err
		}
		if ours, err = tx.SaveJoined(ctx, p); err != nil || !ours {
			return err
		}
		if err := tx.MoveCharges(ctx, u); err != nil {
			return err
		}
		refund, err := j.s.DeletePartials(ctx, tx, j.row.Reservation, j.row.UID)
		if err != nil {
			return err
		}
		return tx.GiveBack(ctx, refund)
	})
	return ours, err
}

// chain reads partial uploads one after the other.
type chain struct {
	open    func(id.Object, int64) (io.ReadSeekCloser, error)
	next    []postgres.HeldPartial
	skip    int64             // bytes of the first one that are left out
	current io.ReadSeekCloser // nil: none is open
	left    int64             // bytes of current
}

// advance opens the next partial upload. Its error is io.EOF after the last one.
func (c *chain) advance() error {
	_ = c.Close()
	if len(c.next) == 0 {
		return io.EOF
	}
	p := c.next[0]
	r, err := c.open(p.UID, p.Held)
	if err != nil {
		return err
	}
	c.current, c.left, c.next = r, p.Held-c.skip, c.next[1:]
	_, err = r.Seek(c.skip, io.SeekStart)
	c.skip = 0
	return err
}

// Read implements io.Reader. A partial upload that lacks bytes is io.ErrUnexpectedEOF.
func (c *chain) Read(p []byte) (int, error) {
	for c.left == 0 {
		if err := c.advance(); err != nil {
			return 0, err
		}
	}
	n, err := c.current.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
		if c.left > 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// Close implements io.Closer.
func (c *chain) Close() error {
	if c.current == nil {
		return nil
	}
	err := c.current.Close()
	c.current, c.left = nil, 0
	return err
}
