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
		SELECT `+objectColumns+` FROM transfer.objects o WHERE o.reservation = $1 AND o.client_id = ANY ($2) ORDER BY o.position FOR UPDATE OF o`, r, clientIDs)
}

// FinalOf returns the newest object of a reservation that is made of the partial uploads with these client ids, in this order.
// Errors: transfer.ErrNotFound.
func (s *Store) FinalOf(ctx context.Context, r id.Reservation, partials []string) (transfer.Object, error) {
	return database.One[transfer.Object](ctx, s.q, "find final upload", transfer.ErrNotFound, `
		SELECT `+objectColumns+` FROM transfer.objects o WHERE o.reservation = $1 AND o.partials = $2 ORDER BY o.position DESC LIMIT 1`, r, partials)
}

// MakeFinal makes a new object one that is made of locked partial uploads.
func (s *Store) MakeFinal(ctx context.Context, o transfer.Object, partials []transfer.Object) error {
	_, err := database.Exec(ctx, s.q, "name partial uploads", `
		WITH final AS (
			UPDATE transfer.objects SET upload_concat = $2, partials = $3, partial_sizes = $4 WHERE uid = $1
		)
		UPDATE transfer.objects SET final = $1 WHERE uid = ANY ($5)`,
		o.UID, o.UploadConcat, column(partials, func(p transfer.Object) string { return p.ClientID }),
		column(partials, func(p transfer.Object) int64 { return p.IntendedSize }), column(partials, func(p transfer.Object) id.Object { return p.UID }))
	return err
}

// HeldPartial is a partial upload whose bytes are copied into a final one.
type HeldPartial struct {
	UID  id.Object
	Held int64
}

// Partials returns the partial uploads that an object is made of, in order. A complete object has none any more.
func (s *Store) Partials(ctx context.Context, o id.Object) ([]HeldPartial, error) {
	return database.All[HeldPartial](ctx, s.q, "list partial uploads", `
		SELECT p.uid, p.held FROM transfer.objects f CROSS JOIN unnest(f.partials) WITH ORDINALITY AS n (client_id, nr)
		JOIN transfer.objects p ON p.reservation = f.reservation AND p.client_id = n.client_id AND p.final = f.uid
		WHERE f.uid = $1 ORDER BY n.nr`, o)
}

// UsedPartial is a partial upload whose bytes a final one has: it has no row any more.
type UsedPartial struct {
	Size    int64
	Creator id.Person // of the reservation; zero: a stranger
	Expires time.Time // of the reservation
}

// UsedPartial returns a partial upload of a reservation within its 48 hours that was used.
// Errors: transfer.ErrNotFound.
func (s *Store) UsedPartial(ctx context.Context, r id.Reservation, clientID string, sc Scope) (UsedPartial, error) {
	return database.One[UsedPartial](ctx, s.q, "find used partial upload", transfer.ErrNotFound, `
		SELECT o.partial_sizes[array_position(o.partials, $2)] AS size, r.creator, r.expires_at AS expires
		FROM transfer.reservations r
		JOIN transfer.objects o ON o.reservation = r.uid
		JOIN directory.persons p ON p.person = r.owner
		WHERE r.uid = $1 AND o.partials IS NOT NULL AND $2 = ANY (o.partials) AND ($3 = '*' OR p.host = $3) AND r.expires_at > $4
		ORDER BY o.position DESC LIMIT 1`, r, clientID, sc.Host, sc.Now)
}

// MoveCharges charges the bytes of the partial uploads of a locked object to the object, in the months they were charged to.
func (s *Store) MoveCharges(ctx context.Context, u Upload) error {
	_, err := database.Exec(ctx, s.q, "move charges", `
		WITH moved AS (
			DELETE FROM transfer.object_charges c USING transfer.objects p
			WHERE p.reservation = $2 AND p.partial AND p.final = $1 AND c.object = p.uid RETURNING c.month, c.bytes
		)
		INSERT INTO transfer.object_charges AS c (object, month, bytes) SELECT $1, month, sum(bytes)::bigint FROM moved GROUP BY month
		ON CONFLICT ON CONSTRAINT object_charges_pkey DO UPDATE SET bytes = c.bytes + excluded.bytes`, u.UID, u.Reservation)
	return err
}

// Refund is volume that a transaction gives back at its end.
type Refund struct{ charges []charge }

// DeletePartials deletes the partial uploads of an open reservation that the caller has locked: all, or those that an object is made of. It
// marks their bytes for the purge and returns their number. The caller gives back their volume last.
func (s *Store) DeletePartials(ctx context.Context, r id.Reservation, final id.Object, now time.Time) (int, Refund, error) {
	key := ""
	if !final.IsZero() {
		key = final.String()
	}
	n, charges, err := s.removeObjects(ctx, []id.Reservation{r}, `o.partial AND ($2 = '' OR o.final::text = $2)`, key, false, now)
	return n, Refund{charges}, err
}

// GiveBack gives back the volume of what DeletePartials has deleted.
func (s *Store) GiveBack(ctx context.Context, r Refund) error { return s.refund(ctx, r.charges) }
