// The mark in the store and in the database that shows whether both belong together.

package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// The storage mark detects a restore. When only the database or only the store was restored from a backup, bytes without
// rows are no orphans: another backup may still need them. So both hold the same mark, which each sweep replaces. While
// the marks differ, nothing is swept until an operator runs `consign fsck --accept`.
//
// A database that was restored to a time after the last sweep has the right mark. Its orphans show it: bytes are finished
// only after their row is complete, and a row is deleted only together with an entry in discarded_objects. So a finished
// object with neither has lost its row.

// markKey is the key of the mark in the blob store. It is no object's key.
const markKey blob.Key = "consign-installation"

const maxMark = 100 // bytes

// errSweepOff is the reason why orphans are not swept.
var errSweepOff = errors.New("database and object storage differ in age, as after a restore: see consign fsck, then consign fsck --accept")

// StorageUsed reports whether the database belongs to a store that holds bytes: it has a storage mark, or objects hold
// bytes. A mark that is being replaced may be missing in the store, and the first one may never have been written.
func StorageUsed(ctx context.Context, store *postgres.Store) (bool, error) {
	if m, set, err := store.StorageMark(ctx); err != nil || set && m.Next == "" {
		return set, err
	}
	held, err := store.StoredObjects(ctx, id.Object{}, 1)
	return len(held) > 0, err
}

// readMark returns the mark in the blob store, empty when there is none.
func (s *Service) readMark(ctx context.Context) (string, error) {
	r, err := s.blobs.Open(ctx, markKey)
	if errors.Is(err, blob.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read storage mark: %w", err)
	}
	defer r.Close()
	mark, err := io.ReadAll(io.LimitReader(r, maxMark))
	if err != nil {
		return "", fmt.Errorf("read storage mark: %w", err)
	}
	return string(mark), nil
}

// writeMark replaces the mark in the blob store.
func (s *Service) writeMark(ctx context.Context, mark string) error {
	if err := s.blobs.Delete(ctx, markKey); err != nil {
		return fmt.Errorf("delete storage mark: %w", err)
	}
	w, err := s.blobs.Append(ctx, markKey, 0, int64(len(mark)))
	if err != nil {
		return fmt.Errorf("write storage mark: %w", err)
	}
	defer w.Close()
	if _, err := io.WriteString(w, mark); err != nil {
		return fmt.Errorf("write storage mark: %w", err)
	}
	if _, err := w.Sync(); err != nil {
		return fmt.Errorf("write storage mark: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write storage mark: %w", err)
	}
	return s.blobs.Finish(ctx, markKey, int64(len(mark)))
}

// checkMark compares the marks of database and store. Before the first sweep neither has one.
// Errors: errSweepOff.
func (s *Service) checkMark(ctx context.Context) (postgres.StorageMark, error) {
	m, set, err := s.store.StorageMark(ctx)
	if err != nil {
		return m, err
	}
	stored, err := s.readMark(ctx)
	if err != nil {
		return m, err
	}
	switch {
	case !set && stored == "", set && stored == m.Current:
	case set && m.Next != "" && (stored == m.Next || stored == ""): // a server stopped while replacing it
	default:
		return m, errSweepOff
	}
	return m, nil
}

// renewMark gives database and store a new mark.
func (s *Service) renewMark(ctx context.Context, m postgres.StorageMark) error {
	m.Next = seal.NewKey()
	if err := s.store.PutStorageMark(ctx, m, s.now()); err != nil {
		return err
	}
	if err := s.writeMark(ctx, m.Next); err != nil {
		return err
	}
	m.Current, m.Next = m.Next, ""
	return s.store.PutStorageMark(ctx, m, s.now())
}

// AcceptStorage accepts database and store as they are, after a restore: from now on bytes without a row are orphans again.
func (s *Service) AcceptStorage(ctx context.Context) error {
	m, _, err := s.store.StorageMark(ctx)
	if err != nil {
		return err
	}
	m.Accepted = time.Now() // real time, compared with modification times of files
	return s.renewMark(ctx, m)
}
