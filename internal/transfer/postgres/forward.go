package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Forwarded is what the objects of a forward count as volume.
type Forwarded struct {
	Bytes    int64 // of the contents
	Metadata int64 // of names and client ids
}

// InsertForwarded adds objects to a new reservation that share the bytes of objects of a locked transfer, which has not ended. When
// counted is false, their bytes count nothing: the end of a transfer gives back held and metadata.
func (s *Store) InsertForwarded(ctx context.Context, r id.Reservation, list []transfer.Object, counted bool,
	now time.Time) (Forwarded, error) {
	var sums Forwarded
	metadata := make([]int64, len(list))
	for i, o := range list {
		metadata[i] = o.MetadataBytes()
		sums.Bytes, sums.Metadata = sums.Bytes+o.Held, sums.Metadata+metadata[i]
		if !counted {
			metadata[i] -= o.Held
		}
	}
	if !counted {
		sums.Bytes = 0
	}
	_, err := database.Exec(ctx, s.q, "forward objects", `
		WITH r AS (
			UPDATE transfer.reservations SET object_count = cardinality($2::uuid[]) WHERE uid = $1 RETURNING uid
		), new AS (
			INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, held, sha256, crc32, mime_type, created_at, metadata,
				segmented, content)
			SELECT n.uid, r.uid, o.client_id, o.name, o.intended_size, o.held, o.sha256, o.crc32, o.mime_type, $5, n.metadata, o.segmented,
				coalesce(o.content, o.uid)
			FROM r, unnest($2::uuid[], $3::uuid[], $4::bigint[]) WITH ORDINALITY AS n (uid, source, metadata, nr)
			JOIN transfer.objects o ON o.uid = n.source
			ORDER BY n.nr RETURNING content
		)
		INSERT INTO transfer.shared_contents AS c (content, holders) SELECT content, 2 FROM new ORDER BY content
		ON CONFLICT ON CONSTRAINT shared_contents_pkey DO UPDATE SET holders = c.holders + 1`, r,
		column(list, func(transfer.Object) id.Object { return id.New[id.Object]() }),
		column(list, func(o transfer.Object) id.Object { return o.UID }), metadata, now)
	return sums, err
}
