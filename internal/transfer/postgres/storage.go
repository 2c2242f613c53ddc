package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// StoredObject is the row of an object of which the store should hold segments.
type StoredObject struct {
	UID          id.Object
	Content      id.Object // whose segments they are
	IntendedSize int64
	Held         int64  // bytes whose sums are known
	SHA256       []byte // nil while incomplete
	Damaged      bool   // a read or a check has found it so
}

const storedColumns = `uid, coalesce(content, uid) AS content, intended_size, held, sha256,
	EXISTS (SELECT FROM transfer.damaged_contents d WHERE d.content = coalesce(o.content, o.uid)) AS damaged`

// isStored is true when object o has a name, segments that hold bytes, and was not found infected and removed.
const isStored = `name IS NOT NULL AND EXISTS (SELECT FROM transfer.segments s WHERE s.object = coalesce(o.content, o.uid) AND s.held > 0)
			AND NOT EXISTS (SELECT FROM transfer.inspections i WHERE i.content = coalesce(o.content, o.uid) AND i.removed_at IS NOT NULL)`

// StoredObjects returns up to limit objects that hold bytes and are not erased, ordered by uid, beginning after the uid given
// (keyset pagination). Of objects that share bytes it returns one.
func (s *Store) StoredObjects(ctx context.Context, after id.Object, limit int) ([]StoredObject, error) {
	return database.All[StoredObject](ctx, s.q, "list stored objects", `
		SELECT `+storedColumns+` FROM transfer.objects o
		WHERE uid > $1 AND `+isStored+`
			AND (content IS NULL OR NOT EXISTS (SELECT FROM transfer.objects x WHERE x.uid = o.content AND x.name IS NOT NULL)
				AND NOT EXISTS (SELECT FROM transfer.objects x WHERE x.content = o.content AND x.uid < o.uid AND x.name IS NOT NULL))
		ORDER BY uid LIMIT $2`, after, limit)
}

// StoredContent returns one of the objects that hold the bytes of a content and are not erased.
// Errors: transfer.ErrNotFound.
func (s *Store) StoredContent(ctx context.Context, content id.Object) (StoredObject, error) {
	return database.One[StoredObject](ctx, s.q, "find stored content", transfer.ErrNotFound, `
		SELECT `+storedColumns+` FROM transfer.objects o WHERE (uid = $1 OR content = $1) AND `+isStored+` ORDER BY uid LIMIT 1`, content)
}

// StoredObject returns one object that holds bytes and is not erased.
// Errors: transfer.ErrNotFound.
func (s *Store) StoredObject(ctx context.Context, uid id.Object) (StoredObject, error) {
	return database.One[StoredObject](ctx, s.q, "find stored object", transfer.ErrNotFound, `
		SELECT `+storedColumns+` FROM transfer.objects o WHERE uid = $1 AND `+isStored, uid)
}

// Discarded reports whether the bytes of a content are deleted, or about to be.
func (s *Store) Discarded(ctx context.Context, content id.Object) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "find discarded object", nil, `
		SELECT EXISTS (SELECT FROM transfer.discarded_objects WHERE object = $1)
			OR NOT EXISTS (SELECT FROM transfer.segments WHERE object = $1)`, content)
}

// storageSetting is the name of the setting that holds the StorageMark.
const storageSetting = "transfer-storage"

// StorageMark names the mark in the object store that belongs to this database.
type StorageMark struct {
	Current  string    `json:"current"`
	Next     string    `json:"next,omitempty"`    // about to replace Current
	Accepted time.Time `json:"accepted,omitzero"` // real time; objects without a row that are older may be swept
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
