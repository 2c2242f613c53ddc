package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// StoredObject is what a row says of bytes that the store should hold.
type StoredObject struct {
	UID          id.Object
	IntendedSize int64
	Held         int64
	SHA256       []byte    // nil while incomplete
	LeaseUntil   time.Time // of the writer, by this machine's clock; zero: nobody writes
}

type storedRow struct {
	UID          id.Object
	IntendedSize int64
	Held         int64
	SHA256       []byte
	LeaseLeft    *time.Duration
}

func (r storedRow) stored() StoredObject {
	return StoredObject{UID: r.UID, IntendedSize: r.IntendedSize, Held: r.Held, SHA256: r.SHA256, LeaseUntil: leaseUntil(r.LeaseLeft)}
}

const storedColumns = `uid, intended_size, held, sha256, lease_until - clock_timestamp() AS lease_left`

// StoredObjects returns up to limit objects that hold bytes and are not erased, in the order of their uids, from the one
// after.
func (s *Store) StoredObjects(ctx context.Context, after id.Object, limit int) ([]StoredObject, error) {
	rows, err := all[storedRow](s.q.Query(ctx, `SELECT `+storedColumns+` FROM transfer.objects
		WHERE uid > $1 AND name IS NOT NULL AND held > 0 ORDER BY uid LIMIT $2`, after, limit))
	if err != nil {
		return nil, fmt.Errorf("list stored objects: %w", err)
	}
	out := make([]StoredObject, len(rows))
	for i, r := range rows {
		out[i] = r.stored()
	}
	return out, nil
}

// StoredObject returns one object that holds bytes and is not erased. ErrNotFound.
func (s *Store) StoredObject(ctx context.Context, uid id.Object) (StoredObject, error) {
	row, err := one[storedRow](s.q.Query(ctx, `SELECT `+storedColumns+` FROM transfer.objects WHERE uid = $1 AND name IS NOT NULL AND held > 0`, uid))
	if err != nil {
		return StoredObject{}, fmt.Errorf("find stored object: %w", err)
	}
	return row.stored(), nil
}

// ObjectsNoted returns which of keys are noted for the removal of their bytes.
func (s *Store) ObjectsNoted(ctx context.Context, keys []id.Object) (map[id.Object]bool, error) {
	type notedRow struct{ Object id.Object }
	rows, err := all[notedRow](s.q.Query(ctx, `SELECT object FROM transfer.discarded_objects WHERE object = ANY ($1)`, uuids(keys)))
	if err != nil {
		return nil, fmt.Errorf("look up discarded objects: %w", err)
	}
	noted := make(map[id.Object]bool, len(rows))
	for _, r := range rows {
		noted[r.Object] = true
	}
	return noted, nil
}

// storageSetting is the setting that a StorageMark is kept in.
const storageSetting = "transfer-storage"

// StorageMark says which mark lies in the object store that belongs to this database.
type StorageMark struct {
	Current  string    `json:"current"`
	Next     string    `json:"next,omitempty"`    // being written in place of Current
	Accepted time.Time `json:"accepted,omitzero"` // real time; objects without rows that are older than this may be removed
}

// StorageMark returns the mark and whether there is one.
func (s *Store) StorageMark(ctx context.Context) (m StorageMark, set bool, err error) {
	set, err = database.Setting(ctx, s.q, storageSetting, &m)
	return m, set, err
}

// PutStorageMark stores the mark.
func (s *Store) PutStorageMark(ctx context.Context, m StorageMark, now time.Time) error {
	return database.PutSetting(ctx, s.q, now, storageSetting, m)
}
