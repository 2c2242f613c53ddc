package postgres

import (
	"context"
	"errors"
	"net/netip"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/transfer"
)

// Unconfirmed are the bytes that strangers' open reservations hold or have reserved, at one mailbox and at all of an organization. Those of
// the client network and of each around it are counted at the mailbox, and at all that share the limits of an organization. OwnNetworks are
// the house of the mailbox's owner.
type Unconfirmed struct {
	Mailbox, Organization             int64
	MailboxClient, OrganizationClient []int64
	OwnNetworks                       []netip.Prefix
}

// AddedReservation tells whether a stranger's reservation was stored, and which bounds had no room for it.
type AddedReservation struct {
	Stored                                                   bool
	Mailbox, MailboxClient, Organization, OrganizationClient bool
}

// within is the condition for a client network that is in n.network, as a range of an index.
const within = `client BETWEEN n.network AND host(broadcast(n.network))::inet`

// InsertMailboxReservation stores a stranger's reservation if the mailbox exists and each bound has room for it. It does not lock the
// mailbox, since many reserve at once. So a concurrent deletion of the mailbox may not end the reservation. Requests do not find it
// without the mailbox, and the job transfer-expire-reservations deletes its rows at expires_at. Advisory locks make the counts exact.
// A count stops at its bound, so its cost is bounded as well. Where a bound is reached, transfer.KeptReservations times as many fit above
// it: one of each network that has no other at the mailboxes that share limits, and around which there is none.
func (s *Store) InsertMailboxReservation(ctx context.Context, r transfer.Reservation, l transfer.StrangerLimits) (AddedReservation, error) {
	const live = ` AND expires_at > $16`
	full := func(where, limit string) string {
		return limit + ` > 0 AND ` + limit + ` <= (SELECT count(*) FROM (SELECT FROM transfer.stranger_reservations WHERE ` + where +
			live + ` LIMIT ` + limit + `) x)`
	}
	allFull := func(where, limit string) string {
		return full(where, limit) + ` AND (NOT kept.may OR ` + full(where, `$25::bigint * `+limit) + `)`
	}
	anyFull := func(where, bounds string) string {
		return `EXISTS (SELECT FROM unnest($20::cidr[], ` + bounds + `::bigint[]) AS n (network, most) WHERE ` +
			full(where+` AND `+within, `coalesce(n.most, 0)`) + `)`
	}
	sql := `
		WITH kept AS MATERIALIZED (
			SELECT n.network IS NOT NULL AND NOT EXISTS (
				SELECT FROM transfer.stranger_reservations WHERE limits_organization = $4 AND ` + within + live + `) AS may
			FROM (SELECT ($20::cidr[])[1] AS network) n
		), bound AS MATERIALIZED (
			SELECT ` + allFull(`owner = $2`, `$19::bigint`) + ` AS mailbox, ` + anyFull(`owner = $2`, `$21`) + ` AS mailbox_client,
				` + allFull(`organization = $3`, `$22::bigint`) + ` AS organization,
				` + anyFull(`limits_organization = $4`, `$23`) + ` AS organization_client
			FROM kept
		), r AS (
			INSERT INTO transfer.reservations (uid, type, owner, organization, limits_organization, sender, subject, message, anon_sender,
				anon_email,
				locale, ttl, protection, max_files, max_file_size_mb, max_recipients, created_at, expires_at, client, sender_by_session)
			SELECT $1, 'mailbox', m.person, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18::cidr, $24
			FROM transfer.mailboxes m, bound b
			WHERE m.person = $2 AND NOT (b.mailbox OR b.mailbox_client OR b.organization OR b.organization_client)
			RETURNING uid, owner, organization, limits_organization, client, expires_at
		), x AS (
			INSERT INTO transfer.stranger_reservations (reservation, owner, organization, limits_organization, client, expires_at) SELECT * FROM r
		)
		SELECT bound.*, EXISTS (SELECT FROM r) AS stored FROM bound`
	networks, atMailbox := ratelimit.Bounds(r.Client, l.NetworkShare, int64(l.Reservations))
	if l.House {
		clear(atMailbox)
	}
	_, atOrganization := ratelimit.Bounds(r.Client, l.NetworkShare, int64(l.OrganizationReservations))
	args := []any{
		r.UID, r.Owner, database.Null(r.Organization), r.LimitsOrganization, database.Null(r.Sender), database.Null(r.Subject),
		database.Null(r.Message), database.Null(r.AnonSender),
		database.Null(r.AnonEmail), database.Null(r.Locale), r.TTL, r.Protection, r.MaxFiles, r.MaxFileSizeMB, r.MaxRecipients, r.CreatedAt,
		r.ExpiresAt, database.Null(r.Client),
		l.Reservations, networks, atMailbox, l.OrganizationReservations, atOrganization,
		!r.SenderByUID, 1 + int64(transfer.KeptReservations),
	}
	const operation = "store reservation"
	keys := strangersKeys(r, l)
	if len(keys) == 0 {
		return database.One[AddedReservation](ctx, s.q, operation, nil, sql, args...)
	}
	return database.OneLocked[AddedReservation](ctx, s.q, operation, nil, database.Statement{
		SQL:  planOnce.SQL + `, (SELECT count(pg_advisory_xact_lock(hashtextextended('transfer.strangers ' || k, 0))) FROM unnest($1::text[]) AS k)`,
		Args: []any{keys},
	}, sql, args...)
}

// planOnce makes Postgres plan the statements of a transaction once, for their indexes. A plan that was made while
// transfer.stranger_reservations was empty reads all of it until the next ANALYZE, and a plan for each call takes longer than the
// statement.
var planOnce = database.Statement{
	SQL: `SELECT set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)`}

// strangersKeys names the advisory locks for adding a stranger's reservation, one for each bound. All transactions lock in this order.
func strangersKeys(r transfer.Reservation, l transfer.StrangerLimits) (keys []string) {
	if l.OrganizationReservations > 0 && !r.Organization.IsZero() {
		keys = append(keys, "organization "+r.Organization.String())
	}
	around, _ := ratelimit.Bounds(r.Client, l.NetworkShare, int64(l.OrganizationReservations))
	if l.OrganizationReservations > 0 && len(around) > 0 {
		keys = append(keys, "network "+r.LimitsOrganization.String()+" "+around[0].String()) // the widest
	}
	if l.Reservations > 0 {
		keys = append(keys, r.Owner.String())
	}
	return keys
}

// Unconfirmed returns the unconfirmed bytes of strangers, of clients in the order of networks. The caller has locked the volumes of the
// payer's owner and organization, which makes the sums exact. Each sum reads an index of its own. A request is bounded as a mailbox is.
func (s *Store) Unconfirmed(ctx context.Context, p Payer, networks []netip.Prefix) (Unconfirmed, error) {
	sum := func(where string) string {
		return `(SELECT coalesce(sum(bytes), 0)::bigint FROM transfer.stranger_reservations WHERE ` + where + `)`
	}
	each := func(where string) string {
		return `ARRAY(SELECT ` + sum(where+` AND `+within) + ` FROM unnest($2::cidr[]) WITH ORDINALITY AS n (network, i) ORDER BY i)`
	}
	place := p.Owner.UUID
	if !p.Request.IsZero() {
		place = p.Request.UUID
	}
	return database.OneLocked[Unconfirmed](ctx, s.q, "sum unconfirmed bytes", nil, planOnce, `
		SELECT `+sum(`owner = $1`)+` AS mailbox, `+each(`owner = $1`)+` AS mailbox_client,
			`+sum(`organization = $3`)+` AS organization, `+each(`limits_organization = $4`)+` AS organization_client,
			coalesce((SELECT m.own_networks FROM transfer.mailboxes m WHERE m.person = $1), '{}') AS own_networks`,
		place, networks, database.Null(p.Organization), p.LimitsOrganization)
}

// UnusedReservation is a stranger's open reservation without bytes, with the limits of its owner's bucket of new transfers.
type UnusedReservation struct {
	Owner         id.Person
	Client        string
	TransferLimit int
	TransferDrain float64
	OwnNetworks   []netip.Prefix
}

// UnusedReservations returns those of locked reservations that are a stranger's and hold no bytes.
func (s *Store) UnusedReservations(ctx context.Context, uids []id.Reservation) ([]UnusedReservation, error) {
	return database.All[UnusedReservation](ctx, s.q, "list unused reservations", `
		SELECT r.owner, coalesce(r.client::text, '') AS client, l.new_transfer_limit AS transfer_limit,
			l.new_transfer_drain_rate AS transfer_drain, m.own_networks
		FROM transfer.reservations r
		JOIN transfer.mailboxes m ON m.person = r.owner
		JOIN directory.persons p ON p.person = r.owner
		JOIN directory.limits l ON l.organization = p.limits_organization
		WHERE r.uid = ANY ($1) AND r.state = 'open' AND r.type = 'mailbox' AND r.party IS NULL
			AND NOT EXISTS (SELECT FROM transfer.objects o WHERE o.reservation = r.uid AND `+segmentsHeld("o")+` > 0)`, uids)
}

// OwnNetworks returns the networks of the house of a mailbox's owner, none without a mailbox.
func (s *Store) OwnNetworks(ctx context.Context, owner id.Person) ([]netip.Prefix, error) {
	m, err := database.One[struct{ OwnNetworks []netip.Prefix }](ctx, s.q, "read own networks of a mailbox", transfer.ErrNotFound,
		`SELECT own_networks FROM transfer.mailboxes WHERE person = $1`, owner)
	if errors.Is(err, transfer.ErrNotFound) {
		return nil, nil
	}
	return m.OwnNetworks, err
}
