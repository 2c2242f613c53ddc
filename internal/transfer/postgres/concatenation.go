package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// LockNamed returns those of a locked reservation's objects that have one of the client ids, and locks them until the transaction ends.
func (s *Store) LockNamed(ctx context.Context, r id.Reservation, clientIDs []string) ([]transfer.Object, error) {
	return database.All[transfer.Object](ctx, s.q, "lock objects", `
		SELECT `+objectColumns+` FROM transfer.objects o WHERE o.reservation = $1 AND o.client_id = ANY ($2) ORDER BY o.position FOR UPDATE OF o`,
		r, clientIDs)
}

// FinalOf returns the newest object of a reservation that is made of the partial uploads with these client ids, in this order.
// Errors: transfer.ErrNotFound.
func (s *Store) FinalOf(ctx context.Context, r id.Reservation, partials []string) (transfer.Object, error) {
	return database.One[transfer.Object](ctx, s.q, "find final upload", transfer.ErrNotFound, `
		SELECT `+objectColumns+` FROM transfer.objects o WHERE o.reservation = $1 AND o.partials = $2 ORDER BY o.position DESC LIMIT 1`, r,
		partials)
}

// MakeFinal gives the segments of locked partial uploads to a new object, in the order of the partial uploads. Charges stay with the
// segments.
func (s *Store) MakeFinal(ctx context.Context, o transfer.Object, partials []transfer.Object) error {
	_, err := database.Exec(ctx, s.q, "place segments", `
		WITH final AS (
			UPDATE transfer.objects SET upload_concat = $2, partials = $3, segmented = true WHERE uid = $1
		), used AS (
			UPDATE transfer.objects SET final = $1 WHERE uid = ANY ($4)
		)
		UPDATE transfer.segments s SET object = $1, number = n.number FROM unnest($4::uuid[]) WITH ORDINALITY AS n (uid, number)
			WHERE s.object = n.uid`,
		o.UID, o.UploadConcat, column(partials, func(p transfer.Object) string { return p.ClientID }),
		column(partials, func(p transfer.Object) id.Object { return p.UID }))
	return err
}

// Refund is volume that a transaction gives back at its end.
type Refund struct{ charges []charge }

// DeletePartials deletes the partial uploads of an open reservation that the caller has locked. The bytes of those that a final upload has
// used are its own. The bytes of the others are marked for the purge. It returns the number of partial uploads. The caller gives back their
// volume last.
func (s *Store) DeletePartials(ctx context.Context, r id.Reservation, now time.Time) (int, Refund, error) {
	n, charges, err := s.removeObjects(ctx, []id.Reservation{r}, `o.partial AND $2 = ''`, "", false, now)
	return n, Refund{charges}, err
}

// GiveBack gives back the volume of what DeletePartials has deleted.
func (s *Store) GiveBack(ctx context.Context, r Refund) error { return s.refund(ctx, r.charges) }
