package content

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// EncryptResult counts what EncryptStored has encrypted.
type EncryptResult struct {
	Objects int
	Bytes   int64
	Damaged int
	Busy    int // a writer has just ended, or another command encrypts them
}

// EncryptStored encrypts the complete objects that are stored in plain. It may run beside working servers, and may be interrupted and
// repeated: it goes on with what is still plain. An object whose bytes do not have the SHA-256 of its row stays as it is and is passed to
// damaged. room is asked before each segment whether the storage has room. progress is called after each object; nil: nobody looks.
func (s *Service) EncryptStored(ctx context.Context, store *sealed.Store, room func() error,
	damaged func(id.Object) error, progress func(Progress)) (EncryptResult, error) {
	var result EncryptResult
	var after id.Object
	passed, err := s.progress(ctx, progress)
	if err != nil {
		return result, err
	}
	for {
		rows, err := s.store.StoredObjects(ctx, after, fsckBatch)
		if err != nil {
			return result, err
		}
		for _, row := range rows {
			after = row.UID
			if row.Held < row.IntendedSize {
				continue
			}
			done, err := s.encryptStored(ctx, store, room, row)
			switch {
			case errors.Is(err, errSum):
				result.Damaged++
				err = damaged(row.Content)
			case errors.Is(err, errLost):
				result.Busy++
				err = nil
			case done:
				result.Objects++
				result.Bytes += row.Held
			}
			if err != nil {
				return result, err
			}
			passed(row.Held)
		}
		if len(rows) < fsckBatch {
			return result, nil
		}
	}
}

// errSum means that the bytes of an object do not have the SHA-256 of its row.
var errSum = errors.New("the SHA-256 is not that of the database")

// encryptStored encrypts the segments of one object. done is false when there was nothing to do.
// Errors: errSum; errLost when somebody else has a segment, or it was deleted.
func (s *Service) encryptStored(ctx context.Context, store *sealed.Store, room func() error,
	row postgres.StoredObject) (done bool, err error) {
	segments, err := s.store.Segments(ctx, row.Content)
	if err != nil {
		return false, err
	}
	var plain []postgres.Segment
	for _, g := range segments {
		is, err := store.IsPlain(ctx, g.UID)
		if err != nil {
			return false, err
		}
		if is {
			plain = append(plain, g)
		}
	}
	var sum []byte // of the only segment
	if len(segments) == 1 {
		sum = row.SHA256
	} else if len(plain) > 0 { // a segment of several has no sum of its own
		_, finding, err := s.checkStored(ctx, row, segments, nil)
		if err != nil || finding != nil {
			return false, cmp.Or(err, errSum)
		}
	}
	for _, g := range plain {
		if err := room(); err != nil {
			return false, storageError("encrypt object "+row.Content.String(), err)
		}
		encrypted, err := s.encryptSegment(ctx, store, g, sum)
		if err != nil {
			return false, err
		}
		done = done || encrypted
	}
	return done, nil
}

// encryptSegment encrypts one segment, whose SHA-256 is want; nil: unknown. done is false when there was nothing to do.
// Errors: errSum, errLost.
func (s *Service) encryptSegment(ctx context.Context, store *sealed.Store, g postgres.Segment, want []byte) (done bool, err error) {
	if err := store.Finish(ctx, blob.SegmentKey(g.UID), g.Size); err != nil && !errors.Is(err, blob.ErrNotFound) {
		return false, fmt.Errorf("finish segment %d of object %s: %w", g.Number, g.Object, err)
	}
	ctx, l, err := s.leaseStored(ctx, g.UID)
	if err != nil {
		return false, err
	}
	defer l.end(ctx)
	renew := func() error { return l.renew(ctx) }
	leased := func(r io.Reader) io.Reader { return l.reader(ctx, r, renew) }
	done, err = store.Encrypt(ctx, g.UID, leased, func(sum []byte) error {
		if want != nil && !bytes.Equal(sum, want) {
			return errSum
		}
		return renew()
	})
	if err != nil || !done {
		return false, err
	}
	if err := store.DropPlain(ctx, g.UID); err != nil {
		return false, err
	}
	return true, s.removeEncrypted(ctx, store, g.UID)
}

// removeEncrypted deletes an encrypted copy whose segment was purged while it was made. A purge that is still to come deletes both forms.
func (s *Service) removeEncrypted(ctx context.Context, store *sealed.Store, g id.Segment) error {
	kept, err := s.store.SegmentsKept(ctx, []id.Segment{g})
	if err != nil || kept[g] {
		return err
	}
	return store.Delete(ctx, blob.SegmentKey(g))
}

// resealBatch is how many keys one query returns.
const resealBatch = 500

// Reseal encrypts every key of a segment that is sealed under the previous secret key with the current one. It returns how many it has
// changed.
func (s *Service) Reseal(ctx context.Context) (resealed int, err error) {
	var after id.Segment
	for {
		batch, err := s.store.SealedSegmentsAfter(ctx, after, resealBatch)
		if err != nil {
			return resealed, err
		}
		for _, row := range batch {
			after = row.Segment
			fresh, err := s.keys.Renew(row.Key, row.Binding())
			switch {
			case err != nil:
				return resealed, fmt.Errorf("open the key of segment %s: %w", row.Segment, err)
			case fresh == nil:
				continue
			}
			if err := s.store.ReplaceSealedKey(ctx, row, fresh); err != nil {
				return resealed, err
			}
			resealed++
		}
		if len(batch) < resealBatch {
			return resealed, nil
		}
	}
}

// MakeFinal gives the segments of locked partial uploads to a new object. No byte is copied: the keys of encrypted segments are sealed
// again for their new places.
func (s *Service) MakeFinal(ctx context.Context, tx *postgres.Store, o transfer.Object, partials []transfer.Object) error {
	uids := make([]id.Segment, len(partials))
	for i, p := range partials {
		uids[i] = p.Segment(1)
	}
	before, err := tx.SealedSegments(ctx, uids)
	if err != nil {
		return err
	}
	if err := tx.MakeFinal(ctx, o, partials); err != nil {
		return err
	}
	after, err := tx.SealedSegments(ctx, uids)
	if err != nil {
		return err
	}
	for uid, row := range before {
		if row.Version == 0 {
			continue
		}
		key, err := s.keys.Open(row.Key, row.Binding())
		if err != nil {
			return fmt.Errorf("open the key of segment %s: %w", uid, err)
		}
		if err := tx.ReplaceSealedKey(ctx, row, s.keys.Seal(key, after[uid].Binding())); err != nil {
			return err
		}
	}
	return nil
}
