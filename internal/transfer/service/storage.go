package service

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

// A database or a store that was brought back from a backup knows less than the other: bytes without rows are then not
// rubbish but what a better backup may still need. So both carry the same mark, which each sweep replaces; where they
// differ, nothing is swept until an operator has looked (`consign fsck --accept`). A database that is older by less than
// a sweep is told by its orphans: bytes are finished only once their row says so, and rows go only with a note to remove the
// bytes, so a finished object without either has lost its row.

// markKey is the name of the mark in the object store. It is no object's.
const markKey blob.Key = "consign-installation"

const maxMark = 100 // bytes

// errSweepOff says why bytes without rows are left alone.
var errSweepOff = errors.New("database and object storage are not of one moment, as after a restore: see consign fsck, then consign fsck --accept")

// StorageUsed reports whether the database belongs to a storage that holds something: it has a mark, or objects hold bytes. A mark
// that is being replaced may be missing there, and the first one may never have been written.
func StorageUsed(ctx context.Context, store *postgres.Store) (bool, error) {
	if m, set, err := store.StorageMark(ctx); err != nil || set && m.Next == "" {
		return set, err
	}
	held, err := store.StoredObjects(ctx, id.Object{}, 1)
	return len(held) > 0, err
}

// readMark returns the store's mark, empty if there is none.
func (s *Service) readMark(ctx context.Context) (string, error) {
	r, err := s.blobs.Open(ctx, markKey)
	if errors.Is(err, blob.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read mark of storage: %w", err)
	}
	defer r.Close()
	mark, err := io.ReadAll(io.LimitReader(r, maxMark))
	if err != nil {
		return "", fmt.Errorf("read mark of storage: %w", err)
	}
	return string(mark), nil
}

// writeMark replaces the store's mark.
func (s *Service) writeMark(ctx context.Context, mark string) error {
	if err := s.blobs.Delete(ctx, markKey); err != nil {
		return fmt.Errorf("replace mark of storage: %w", err)
	}
	w, err := s.blobs.Append(ctx, markKey, 0, int64(len(mark)))
	if err != nil {
		return fmt.Errorf("write mark of storage: %w", err)
	}
	defer w.Close()
	if _, err := io.WriteString(w, mark); err != nil {
		return fmt.Errorf("write mark of storage: %w", err)
	}
	if _, err := w.Sync(); err != nil {
		return fmt.Errorf("write mark of storage: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write mark of storage: %w", err)
	}
	return s.blobs.Finish(ctx, markKey, int64(len(mark)))
}

// checkMark returns errSweepOff unless database and store carry the same mark. Neither having one is the first sweep.
func (s *Service) checkMark(ctx context.Context) (postgres.StorageMark, error) {
	m, set, err := s.store.StorageMark(ctx)
	if err != nil {
		return m, err
	}
	there, err := s.readMark(ctx)
	if err != nil {
		return m, err
	}
	switch {
	case !set && there == "", set && there == m.Current:
	case set && m.Next != "" && (there == m.Next || there == ""): // a server died while replacing it
	default:
		return m, errSweepOff
	}
	return m, nil
}

// renewMark gives both a new mark.
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

// AcceptStorage takes database and store as they are: from now on what has no row is rubbish again.
func (s *Service) AcceptStorage(ctx context.Context) error {
	m, _, err := s.store.StorageMark(ctx)
	if err != nil {
		return err
	}
	m.Accepted = time.Now() // compared with the times of files
	return s.renewMark(ctx, m)
}

// SweepOrphans removes bytes that no row knows, left by a server that died between the bytes and the row. Bytes that
// changed within the orphan age are left alone, and all of them after a restore.
func (s *Service) SweepOrphans(ctx context.Context) error {
	mark, err := s.checkMark(ctx)
	if err == nil {
		err = s.sweep(ctx, mark)
	}
	if errors.Is(err, errSweepOff) {
		s.log.Warn("orphaned bytes are not removed", "reason", err.Error())
		return nil
	}
	return err
}

func (s *Service) sweep(ctx context.Context, mark postgres.StorageMark) error {
	before := s.now().Add(-s.orphanAge)
	var rubbish []id.Object
	err := s.orphans(ctx, func(i blob.Info, o id.Object) error {
		switch {
		case !i.Modified.Before(before) || s.writers.writing(o):
			return nil
		case i.Finished && i.Modified.After(mark.Accepted):
			return errSweepOff
		}
		rubbish = append(rubbish, o)
		return nil
	})
	if err != nil {
		return err
	}
	for _, o := range rubbish {
		if err := s.blobs.Delete(ctx, blob.ObjectKey(o)); err != nil {
			return fmt.Errorf("remove orphan %s: %w", o, err)
		}
	}
	if len(rubbish) > 0 {
		s.log.Info("orphaned bytes removed", "objects", len(rubbish))
	}
	return s.renewMark(ctx, mark)
}

// orphans calls fn for each object in the store that no row knows and no note has removed soon.
func (s *Service) orphans(ctx context.Context, fn func(blob.Info, id.Object) error) error {
	var batch []blob.Info
	flush := func() error {
		keys := make([]id.Object, 0, len(batch))
		infos := make(map[id.Object]blob.Info, len(batch))
		for _, i := range batch {
			if o, err := id.Parse[id.Object](string(i.Key)); err == nil { // others are no objects of ours
				keys = append(keys, o)
				infos[o] = i
			}
		}
		batch = batch[:0]
		kept, err := s.store.ObjectsKept(ctx, keys)
		if err != nil {
			return err
		}
		noted, err := s.store.ObjectsNoted(ctx, keys)
		if err != nil {
			return err
		}
		for _, o := range keys {
			if kept[o] || noted[o] {
				continue
			}
			if _, err := s.blobs.Held(ctx, blob.ObjectKey(o)); errors.Is(err, blob.ErrNotFound) {
				continue // its note was done with meanwhile
			} else if err != nil {
				return fmt.Errorf("look at orphan %s: %w", o, err)
			}
			if err := fn(infos[o], o); err != nil {
				return err
			}
		}
		return nil
	}
	err := s.blobs.List(ctx, func(i blob.Info) error {
		if batch = append(batch, i); len(batch) < sweepBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}
