package content

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

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
// repeated. An object whose bytes do not have the SHA-256 of its row stays as it is and is passed to damaged. room is asked before each
// object whether the storage has room.
func (s *Service) EncryptStored(ctx context.Context, store *sealed.Store, room func() error, damaged func(id.Object) error) (EncryptResult, error) {
	var result EncryptResult
	var after id.Object
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
			case errors.Is(err, transfer.ErrOvertaken):
				result.Busy++
				err = nil
			case done:
				result.Objects++
				result.Bytes += row.Held
			}
			if err != nil {
				return result, err
			}
		}
		if len(rows) < fsckBatch {
			return result, nil
		}
	}
}

// errSum means that the bytes of an object do not have the SHA-256 of its row.
var errSum = errors.New("the SHA-256 is not that of the row")

// encryptStored encrypts one object. It reports false when there was nothing to do.
// Errors: errSum, transfer.ErrOvertaken when somebody else has the object, or it was deleted.
func (s *Service) encryptStored(ctx context.Context, store *sealed.Store, room func() error, row postgres.StoredObject) (done bool, err error) {
	if err := room(); err != nil {
		return false, storageError("encrypt object "+row.Content.String(), err)
	}
	if err := store.Finish(ctx, blob.ObjectKey(row.Content), row.IntendedSize); err != nil && !errors.Is(err, blob.ErrNotFound) {
		return false, fmt.Errorf("finish object %s: %w", row.Content, err)
	}
	lease := &encryptionLease{ctx: ctx, store: s.store, object: row.UID}
	if err := lease.take(); err != nil {
		return false, err
	}
	defer lease.end()
	done, err = store.Encrypt(ctx, row.Content, lease.reader, func(copied io.Reader) error {
		sum := sha256.New()
		if _, err := io.Copy(sum, copied); err != nil {
			return fmt.Errorf("read object %s: %w", row.Content, err)
		}
		if !bytes.Equal(sum.Sum(nil), row.SHA256) {
			return errSum
		}
		return lease.renew()
	})
	if err != nil || !done {
		return false, err
	}
	if err := store.DropPlain(ctx, row.Content); err != nil {
		return false, err
	}
	return true, s.removeEncrypted(ctx, store, row.Content)
}

// encryptionTime is how long an object belongs to the command that encrypts it, after the last renewal. The lease is the writer lease:
// a delivered object has no writer.
const encryptionTime = time.Minute

// encryptionLease lets one command encrypt an object. One goroutine uses it.
type encryptionLease struct {
	ctx    context.Context //nolint:containedctx // of the call that the lease lives in
	store  *postgres.Store
	object id.Object
	epoch  int64
	since  time.Time // of the last renewal
}

// take begins the lease.
// Errors: transfer.ErrOvertaken.
func (l *encryptionLease) take() (err error) {
	l.since = time.Now()
	l.epoch, err = l.store.LeaseStored(l.ctx, l.object, encryptionTime)
	if err == nil && l.epoch == 0 {
		err = transfer.ErrOvertaken
	}
	return err
}

// renew extends the lease.
// Errors: transfer.ErrOvertaken.
func (l *encryptionLease) renew() error {
	now := time.Now()
	ours, err := l.store.RenewStored(l.ctx, l.object, l.epoch, encryptionTime)
	if err == nil && !ours {
		err = transfer.ErrOvertaken
	}
	l.since = now
	return err
}

// end gives the object back. When that fails, the lease ends by itself.
func (l *encryptionLease) end() {
	_, _ = l.store.RenewStored(context.WithoutCancel(l.ctx), l.object, l.epoch, 0)
}

// reader returns r, whose reading renews the lease.
func (l *encryptionLease) reader(r io.Reader) io.Reader { return leasedReader{r, l} }

type leasedReader struct {
	io.Reader
	lease *encryptionLease
}

// Read implements io.Reader.
func (r leasedReader) Read(p []byte) (int, error) {
	if time.Since(r.lease.since) > encryptionTime/3 {
		if err := r.lease.renew(); err != nil {
			return 0, err
		}
	}
	return r.Reader.Read(p)
}

// removeEncrypted deletes an encrypted copy whose object was deleted while it was made. A purge that is still to come deletes both forms.
func (s *Service) removeEncrypted(ctx context.Context, store *sealed.Store, o id.Object) error {
	kept, err := s.store.ObjectsKept(ctx, []id.Object{o})
	if err != nil || kept[o] {
		return err
	}
	awaiting, err := s.store.ObjectsAwaitingPurge(ctx, []id.Object{o})
	if err != nil || awaiting[o] {
		return err
	}
	return store.Delete(ctx, blob.ObjectKey(o))
}

// resealBatch is how many keys one query returns.
const resealBatch = 500

// Reseal encrypts every key of an object that is sealed under the previous secret key with the current one. It returns how many it has
// changed.
func (s *Service) Reseal(ctx context.Context) (resealed int, err error) {
	var after id.Object
	for {
		batch, err := s.store.SealedObjectsAfter(ctx, after, resealBatch)
		if err != nil {
			return resealed, err
		}
		for _, k := range batch {
			after = k.Object
			fresh, err := s.keys.Renew(k.Key, k.Object.UUID[:])
			switch {
			case err != nil:
				return resealed, fmt.Errorf("open the key of object %s: %w", k.Object, err)
			case fresh == nil:
				continue
			}
			if err := s.store.ReplaceSealedKey(ctx, k, fresh); err != nil {
				return resealed, err
			}
			resealed++
		}
		if len(batch) < resealBatch {
			return resealed, nil
		}
	}
}
