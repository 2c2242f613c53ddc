package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// SealedObjects implements sealed.Rows.
func (s *Store) SealedObjects(ctx context.Context, objects []id.Object) (map[id.Object]sealed.Row, error) {
	list, err := database.All[struct {
		Object id.Object
		sealed.Row
	}](ctx, s.q, "read keys of objects", `SELECT object, key, layout, version FROM transfer.sealed_objects WHERE object = ANY ($1)`, objects)
	rows := make(map[id.Object]sealed.Row, len(list))
	for _, r := range list {
		rows[r.Object] = r.Row
	}
	return rows, err
}

// SaveSealedObject implements sealed.Rows.
func (s *Store) SaveSealedObject(ctx context.Context, o id.Object, r sealed.Row) (bool, error) {
	statement := `UPDATE transfer.sealed_objects SET key = $2, layout = $3, version = $4 + 1 WHERE object = $1 AND version = $4`
	if r.Version == 0 {
		statement = `INSERT INTO transfer.sealed_objects (object, key, layout, version) VALUES ($1, $2, $3, $4 + 1) ON CONFLICT DO NOTHING`
	}
	n, err := database.Exec(ctx, s.q, "save key of object", statement, o, r.Key, r.Layout, r.Version)
	return n == 1, err
}

// DeleteSealedObject implements sealed.Rows.
func (s *Store) DeleteSealedObject(ctx context.Context, o id.Object) error {
	_, err := database.Exec(ctx, s.q, "delete key of object", `DELETE FROM transfer.sealed_objects WHERE object = $1`, o)
	return err
}

// SealedObjectsAfter returns objects and their keys in the order of their uids.
func (s *Store) SealedObjectsAfter(ctx context.Context, after id.Object, limit int) ([]SealedKey, error) {
	return database.All[SealedKey](ctx, s.q, "list keys of objects", `
		SELECT object, key FROM transfer.sealed_objects WHERE object > $1 ORDER BY object LIMIT $2`, after, limit)
}

// SealedKey is the sealed key of an object.
type SealedKey struct {
	Object id.Object
	Key    []byte
}

// ReplaceSealedKey replaces a sealed key if it has not changed. A writer that has read the old one cannot save it any more.
func (s *Store) ReplaceSealedKey(ctx context.Context, k SealedKey, sealed []byte) error {
	_, err := database.Exec(ctx, s.q, "replace key of object", `
		UPDATE transfer.sealed_objects SET key = $3, version = version + 1 WHERE object = $1 AND key = $2`, k.Object, k.Key, sealed)
	return err
}

// LeaseStored takes the writer lease of an object whose bytes are complete, and returns its epoch; 0 when somebody else has it.
func (s *Store) LeaseStored(ctx context.Context, o id.Object, lease time.Duration) (int64, error) {
	return database.Scalar[int64](ctx, s.q, "lease object", nil, `
		UPDATE transfer.objects SET writer_epoch = writer_epoch + 1, lease_until = clock_timestamp() + $2::interval
		WHERE uid = $1 AND sha256 IS NOT NULL AND coalesce(lease_until <= clock_timestamp(), true) RETURNING writer_epoch`, o, lease)
}

// RenewStored extends the lease of LeaseStored, or ends it with 0. It reports false when the lease is lost.
func (s *Store) RenewStored(ctx context.Context, o id.Object, epoch int64, lease time.Duration) (bool, error) {
	n, err := database.Exec(ctx, s.q, "renew lease of object", `
		UPDATE transfer.objects SET lease_until = clock_timestamp() + $3::interval WHERE uid = $1 AND writer_epoch = $2`, o, epoch, lease)
	return n == 1, err
}
