package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Strangers are figures of the open reservations of strangers: their number, or the bytes that they hold or have reserved. The
// client network is counted at one mailbox, and at all that share the limits of an organization.
type Strangers struct {
	Mailbox, MailboxClient           int64
	Organization, OrganizationClient int64
}

// LockStrangers takes the advisory locks for adding a stranger's reservation, until the transaction ends, and returns how many are
// open. Without organizations it neither locks nor counts what concerns organizations.
func (s *Store) LockStrangers(ctx context.Context, r transfer.Reservation, organizations bool) (Strangers, error) {
	var keys []string // all transactions lock in this order
	if organizations && !r.Organization.IsZero() {
		keys = append(keys, "organization "+r.Organization.String())
	}
	if organizations && r.Client != "" {
		keys = append(keys, "network "+r.LimitsOrganization.String()+" "+r.Client)
	}
	keys = append(keys, r.Owner.String())
	_, err := database.Exec(ctx, s.q, "lock strangers",
		`SELECT pg_advisory_xact_lock(hashtextextended('transfer.strangers ' || k, 0)) FROM unnest($1::text[]) AS k`, keys)
	if err != nil {
		return Strangers{}, err
	}
	return s.strangers(ctx, "count strangers' reservations", `count(*)`, ` AND expires_at > $6`, organizations,
		r.Owner, r.Organization, r.LimitsOrganization, r.Client, r.CreatedAt)
}

// Unconfirmed returns the unconfirmed bytes of strangers. The caller has locked the volumes of the upload's owner and organization,
// which makes the sums exact.
func (s *Store) Unconfirmed(ctx context.Context, u Upload) (Strangers, error) {
	return s.strangers(ctx, "sum unconfirmed bytes", `coalesce(sum(bytes), 0)::bigint`, ``, true, u.Owner, u.Organization, u.LimitsOrganization, u.Client)
}

// strangers returns an aggregate of strangers' reservations. Each part reads an index of its own.
func (s *Store) strangers(ctx context.Context, operation, aggregate, filter string, organizations bool, owner id.Person, o, limits id.Organization, client string, more ...any) (Strangers, error) {
	part := func(where string) string {
		return `(SELECT ` + aggregate + ` FROM transfer.stranger_reservations WHERE ` + where + filter + `)`
	}
	return database.One[Strangers](ctx, s.q, operation, nil, `
		SELECT `+part(`owner = $1`)+` AS mailbox, `+part(`owner = $1 AND client = $2`)+` AS mailbox_client,
			`+part(`organization = $3 AND $5`)+` AS organization, `+part(`limits_organization = $4 AND client = $2 AND $5`)+` AS organization_client`,
		append([]any{owner, database.Null(client), database.Null(o), limits, organizations}, more...)...)
}

// RecountStrangers corrects the bytes of up to limit strangers' reservations, beginning after the uid given. It skips locked rows. It
// returns the last one, zero at the end, and how many were wrong. A writer changes the bytes of an object before it waits for the row
// that this method has locked, and then adds its difference.
func (s *Store) RecountStrangers(ctx context.Context, after id.Reservation, limit int) (last id.Reservation, wrong int, err error) {
	uids, err := database.Scalars[id.Reservation](ctx, s.q, "lock strangers' reservations", `
		SELECT reservation FROM transfer.stranger_reservations WHERE reservation > $1
		ORDER BY reservation LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED`, after, limit)
	if err != nil || len(uids) == 0 {
		return id.Reservation{}, 0, err
	}
	wrong, err = database.Exec(ctx, s.q, "recount strangers' bytes", `
		UPDATE transfer.stranger_reservations x SET bytes = n.bytes
		FROM (
			SELECT r.uid, (SELECT coalesce(sum(o.held + o.reserved), 0) FROM transfer.objects o WHERE o.reservation = r.uid) AS bytes
			FROM unnest($1::uuid[]) AS r (uid)
		) n WHERE x.reservation = n.uid AND x.bytes <> n.bytes`, uids)
	return uids[len(uids)-1], wrong, err
}

// UnusedReservation is a stranger's open reservation without bytes, with the limits of its owner's bucket of new transfers.
type UnusedReservation struct {
	Owner         id.Person
	Client        string
	TransferLimit int
	TransferDrain float64
}

// UnusedReservations returns those of locked reservations that are a stranger's and hold no bytes.
func (s *Store) UnusedReservations(ctx context.Context, uids []id.Reservation) ([]UnusedReservation, error) {
	return database.All[UnusedReservation](ctx, s.q, "list unused reservations", `
		SELECT r.owner, coalesce(r.client, '') AS client, l.new_transfer_limit AS transfer_limit, l.new_transfer_drain_rate AS transfer_drain
		FROM transfer.reservations r
		JOIN directory.persons p ON p.person = r.owner
		JOIN directory.limits l ON l.organization = p.limits_organization
		WHERE r.uid = ANY ($1) AND r.state = 'open' AND r.type = 'mailbox'
			AND NOT EXISTS (SELECT FROM transfer.objects o WHERE o.reservation = r.uid AND o.held > 0)`, uids)
}
