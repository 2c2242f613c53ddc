// SQL of ended transfers: what is deleted, what stays, who is warned, and how old records go.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// bounded selects rows of a table expression named due, oldest first, until they have 10,000 objects together. The last row may exceed
// that, because a single transfer may have 10,000. The bound keeps transactions short, because others wait for their locks.
const bounded = `(SELECT *, sum(object_count) OVER (ORDER BY since, uid) - object_count AS before FROM due) d WHERE before < 10000`

// LockExpiredTransfers locks transfers that expired at or before graceOver and still have their content, and those without a managing
// sender that have expired, and those whose organization keeps them no longer. It returns at most limit, as bounded
// allows. It skips locked rows.
func (s *Store) LockExpiredTransfers(ctx context.Context, now, graceOver time.Time, limit int) ([]id.Transfer, error) {
	return database.Scalars[id.Transfer](ctx, s.q, "list transfers", `
		WITH over AS (
			SELECT uid, object_count, expires_at AS since FROM transfer.transfers WHERE ended_at IS NULL AND expires_at <= $3
			ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
		), unmanaged AS (
			SELECT uid, object_count, expires_at AS since FROM transfer.transfers
			WHERE ended_at IS NULL AND NOT sender_managed AND expires_at <= $1 AND expires_at > $3
			ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
		), ruled AS (
			SELECT uid, object_count, erase_by AS since FROM transfer.transfers
			WHERE ended_at IS NULL AND erase_by <= $1 AND sender_managed AND expires_at > $3
			ORDER BY erase_by LIMIT $2 FOR UPDATE SKIP LOCKED
		), due AS (
			SELECT * FROM (SELECT * FROM over UNION ALL SELECT * FROM unmanaged UNION ALL SELECT * FROM ruled) d ORDER BY since LIMIT $2
		)
		SELECT uid FROM `+bounded, now, limit, graceOver)
}

// Ended is what EndTransfers has ended.
type Ended struct {
	Transfers    int
	Reservations []id.Reservation // of the transfers
	charges      []charge         // that Release gives back
}

// EndTransfers deletes the content of locked transfers and sets their final state. It deletes the objects, marks their bytes for the purge
// and clears subject, message, fields and passwords. Bytes that a forward shares stay (release_content in migrations). Uids, times, sums
// and addresses stay (contract 4.9). What the rules of an organization keep for longer stays as by a hold. It ignores
// transfers that have ended already. The caller releases the volume with Release.
func (s *Store) EndTransfers(ctx context.Context, uids []id.Transfer, final transfer.State, why string,
	now time.Time) (e Ended, err error) {
	type ended struct {
		LimitsOrganization id.Organization
		Held               int64
		Reservations       []id.Reservation
	}
	if err := s.keepLeast(ctx, "transfers", uids, now); err != nil {
		return e, err
	}
	// A statement of its own takes the locks in one order. Most contents are not shared.
	shared, err := database.Exec(ctx, s.q, "lock shared contents", `
		SELECT FROM transfer.shared_contents c WHERE c.content IN (
			SELECT coalesce(o.content, o.uid) FROM transfer.transfers t JOIN transfer.objects o ON o.reservation = t.reservation
			WHERE t.uid = ANY ($1) AND t.ended_at IS NULL)
		ORDER BY c.content FOR UPDATE`, uids)
	if err != nil {
		return e, err
	}
	rows, err := database.All[ended](ctx, s.q, "end transfers", `
		WITH t AS (
			UPDATE transfer.transfers SET state = $2, ended_at = $3, subject = NULL, message = NULL, fields = NULL, password_hash = NULL,
				search = NULL
			WHERE uid = ANY ($1) AND ended_at IS NULL
			RETURNING uid, reservation, limits_organization, erase_by
		), texts AS (
			DELETE FROM transfer.search_texts s USING t WHERE s.transfer = t.uid
		), cleared AS (
			UPDATE transfer.reservations r SET subject = NULL, message = NULL, fields = NULL, password_hash = NULL
			FROM t WHERE r.uid = t.reservation AND num_nonnulls(r.subject, r.message, r.fields, r.password_hash) > 0
		), o AS MATERIALIZED (
			SELECT o.uid, t.uid AS transfer, coalesce(o.content, o.uid) AS content, o.held + o.metadata AS held, t.limits_organization
			FROM t JOIN transfer.objects o ON o.reservation = t.reservation
		), noted AS (
			INSERT INTO transfer.discarded_objects (object, discarded_at, unshared) SELECT uid, $3, $4 FROM o
			ON CONFLICT ON CONSTRAINT discarded_objects_pkey DO NOTHING
		), erasing AS (
			INSERT INTO transfer.erasing (transfer, contents, reason)
			SELECT uid, contents, CASE WHEN $5 = 'expiry' AND erase_by <= $3 THEN 'retention' ELSE $5 END
			FROM (SELECT t.uid, t.erase_by, array_remove(array_agg(o.content), NULL) AS contents FROM t LEFT
				JOIN o ON o.transfer = t.uid GROUP BY t.uid, t.erase_by) c
			WHERE EXISTS (SELECT FROM transfer.receipts r WHERE r.transfer = c.uid AND r.kind = 'delivered')
			ON CONFLICT ON CONSTRAINT erasing_pkey DO NOTHING
		), keys AS (
			DELETE FROM transfer.one_time_keys k USING t WHERE k.transfer = t.uid
		), sums AS (
			SELECT t.limits_organization, r.uid AS reservation, r.metadata AS held FROM t JOIN transfer.reservations r ON r.uid = t.reservation
			UNION ALL SELECT limits_organization, NULL, held FROM o
		)
		SELECT limits_organization, sum(held)::bigint AS held, array_remove(array_agg(reservation), NULL) AS reservations
		FROM sums GROUP BY limits_organization`,
		uids, final, now, shared == 0, why)
	if err != nil {
		return e, err
	}
	for _, r := range rows {
		e.Reservations = append(e.Reservations, r.Reservations...)
		e.charges = append(e.charges, charge{LimitsOrganization: r.LimitsOrganization, Held: r.Held})
	}
	e.Transfers = len(e.Reservations)
	// A statement of its own: release_content reads the objects.
	_, err = database.Exec(ctx, s.q, "delete objects", `DELETE FROM transfer.objects WHERE reservation = ANY ($1)`, e.Reservations)
	return e, err
}

// Release gives back the volume of ended transfers. Every upload waits for the rows that it locks.
func (s *Store) Release(ctx context.Context, e Ended) error { return s.refund(ctx, e.charges) }

// DeliveriesTo returns a transfer's deliveries to a person that the person has not hidden.
func (s *Store) DeliveriesTo(ctx context.Context, t id.Transfer, p id.Person) ([]id.Delivery, error) {
	return database.Scalars[id.Delivery](ctx, s.q, "list deliveries",
		`SELECT uid FROM transfer.deliveries WHERE transfer = $1 AND person = $2 AND hidden_at IS NULL`, t, p)
}

// HideDeliveries hides a locked transfer's deliveries to a person from that person, and erases the person's notes.
func (s *Store) HideDeliveries(ctx context.Context, t id.Transfer, p id.Person, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "hide delivery", `
		UPDATE transfer.deliveries SET hidden_at = $3, notes = NULL WHERE transfer = $1 AND person = $2 AND hidden_at IS NULL`, t, p, now)
	return err
}

// HideTransfer hides an ended transfer from its sender.
func (s *Store) HideTransfer(ctx context.Context, t id.Transfer, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "hide transfer", `UPDATE transfer.transfers SET hidden_at = $2 WHERE uid = $1 AND hidden_at IS NULL`, t,
		now)
	return err
}

// Abandoned returns those of the transfers that no person can see: no sender manages them, and every delivery is hidden.
func (s *Store) Abandoned(ctx context.Context, uids []id.Transfer) ([]id.Transfer, error) {
	return database.Scalars[id.Transfer](ctx, s.q, "list transfers", `
		SELECT t.uid FROM transfer.transfers t
		WHERE t.uid = ANY ($1) AND (NOT t.sender_managed OR t.hidden_at IS NOT NULL)
			AND NOT EXISTS (SELECT FROM transfer.deliveries d WHERE d.transfer = t.uid AND d.hidden_at IS NULL)`, uids)
}

// Belongings is what a person has in this domain.
type Belongings struct {
	Mailbox        string // vanity link, else uid; empty: no mailbox
	Received, Sent int
}

// Belongings returns what a person has: the mailbox, the received transfers that are not hidden, and the sent ones that have not
// ended. Each count stops at most.
func (s *Store) Belongings(ctx context.Context, p id.Person, most int) (Belongings, error) {
	return database.One[Belongings](ctx, s.q, "count what a person has", nil, `
		SELECT coalesce((SELECT coalesce(v.link, m.person::text) FROM transfer.mailboxes m LEFT
			JOIN transfer.vanity_links v ON v.mailbox = m.person
				WHERE m.person = $1), '') AS mailbox,
			(SELECT count(*) FROM (SELECT DISTINCT created_at, transfer FROM transfer.deliveries
				WHERE person = $1 AND hidden_at IS NULL ORDER BY created_at, transfer LIMIT $2) d) AS received,
			(SELECT count(*) FROM (SELECT FROM transfer.transfers
				WHERE sender = $1 AND sender_managed AND state IN ('delivered', 'accessed') LIMIT $2) t) AS sent`, p, most)
}

// HideDeliveriesOf hides deliveries to a deleted person, of at most limit transfers and as bounded allows. It locks the transfers first,
// by uid, and returns them, including those that were deleted while it waited for the locks.
func (s *Store) HideDeliveriesOf(ctx context.Context, p id.Person, limit int, now time.Time) ([]id.Transfer, error) {
	return database.Scalars[id.Transfer](ctx, s.q, "list transfers", `
		WITH due AS (
			SELECT t.uid, t.object_count, f.created_at AS since
			FROM (SELECT DISTINCT created_at, transfer FROM transfer.deliveries WHERE person = $1 AND hidden_at IS NULL ORDER BY created_at,
				transfer LIMIT $2) f
			JOIN transfer.transfers t ON t.uid = f.transfer
		), found AS (
			SELECT uid FROM `+bounded+`
		), t AS (
			SELECT t.uid FROM transfer.transfers t WHERE t.uid IN (SELECT uid FROM found) ORDER BY t.uid FOR UPDATE
		), hidden AS (
			UPDATE transfer.deliveries d SET hidden_at = $3, notes = NULL FROM t WHERE d.transfer = t.uid AND d.person = $1 AND d.hidden_at IS NULL
		)
		SELECT uid FROM found`, p, limit, now)
}

// DisownTransfers removes a deleted person as the sender of up to limit transfers. The transfers stay until they expire, with the name
// of the sender and without the address. It locks them by uid, as HideDeliveriesOf does. It returns them, including those that
// were deleted while it waited for the locks.
func (s *Store) DisownTransfers(ctx context.Context, p id.Person, limit int) ([]id.Transfer, error) {
	return database.Scalars[id.Transfer](ctx, s.q, "disown transfers", `
		WITH found AS (
			SELECT ARRAY (SELECT uid FROM transfer.transfers WHERE sender = $1 LIMIT $2) AS uids
		), sent AS (
			SELECT uid FROM transfer.transfers WHERE uid = ANY ((SELECT uids FROM found)::uuid[]) ORDER BY uid FOR NO KEY UPDATE
		), parted AS (
			UPDATE transfer.transfers t SET sender_managed = false, sender = NULL, sender_email = NULL FROM sent WHERE t.uid = sent.uid
		)
		SELECT unnest(uids) FROM found`, p, limit)
}

// DeleteEndedTransfers deletes transfers that ended before a time, at most limit and as bounded allows, with their reservations, objects
// and deliveries. It returns their number. Objects whose bytes await the purge stay marked.
func (s *Store) DeleteEndedTransfers(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.deleteTransfers(ctx, `
			SELECT uid, reservation, object_count, ended_at AS since FROM transfer.transfers WHERE ended_at < $1
			ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED`, before, limit)
}

// DeleteEndedTransfer deletes a transfer that has ended, as DeleteEndedTransfers does.
func (s *Store) DeleteEndedTransfer(ctx context.Context, t id.Transfer) error {
	_, err := s.deleteTransfers(ctx, `
			SELECT uid, reservation, object_count, ended_at AS since FROM transfer.transfers WHERE uid = $1 AND ended_at IS NOT NULL FOR UPDATE`, t)
	return err
}

// deleteTransfers deletes the transfers that the query due locks.
func (s *Store) deleteTransfers(ctx context.Context, due string, args ...any) (int, error) {
	uids, err := database.Scalars[id.Reservation](ctx, s.q, "delete ended transfers", `
		WITH due AS (`+due+`
		), t AS (
			SELECT uid, reservation FROM `+bounded+`
		), gone AS (
			DELETE FROM transfer.transfers x USING t WHERE x.uid = t.uid
		), uses AS (
			DELETE FROM transfer.downloads x USING t WHERE x.transfer = t.uid
		), o AS (
			DELETE FROM transfer.objects o USING t WHERE o.reservation = t.reservation
		)
		SELECT reservation FROM t`, args...)
	if err != nil {
		return 0, err
	}
	_, err = database.Exec(ctx, s.q, "delete reservations of ended transfers", `DELETE FROM transfer.reservations WHERE uid = ANY ($1)`, uids)
	return len(uids), err
}

// DeleteCounters deletes counts of mails, codes and recipients before a day, and one-time keys that expired before keysBefore.
func (s *Store) DeleteCounters(ctx context.Context, day, keysBefore time.Time) error {
	_, err := database.Exec(ctx, s.q, "delete counters", `
		WITH k AS (DELETE FROM transfer.one_time_keys WHERE expires_at < $2), r AS (DELETE FROM transfer.daily_recipients WHERE day < $1),
			c AS (DELETE FROM transfer.daily_sender_codes WHERE day < $1), m AS (DELETE FROM transfer.daily_mailbox_mails WHERE day < $1)
		DELETE FROM transfer.upload_confirmations WHERE day < $1`, day, keysBefore)
	return err
}

// Expiring is a warning that a transfer is about to expire, to a recipient or to the sender.
type Expiring struct {
	transfer.Transfer
	Recipient transfer.Delivery // for the sender: name and address only
	Link                        // of the recipient; for the sender only Host
	Locale    string
	TimeZone  string
}

// MarkWarned marks up to limit transfers as warned and returns them. It selects those that expire at or before a time, whose whole
// life is longer than window, and whose last warning was long enough ago. It locks them and skips locked rows.
func (s *Store) MarkWarned(ctx context.Context, now, before time.Time, window time.Duration, limit int) ([]id.Transfer, error) {
	return database.Scalars[id.Transfer](ctx, s.q, "list transfers", `
		UPDATE transfer.transfers t SET warned_at = $1 FROM (
			SELECT uid FROM transfer.transfers WHERE ended_at IS NULL AND warned_at IS NULL AND expires_at <= $2 AND expires_at > $1
				AND expires_at - created_at > $3::interval
				AND (warn_after IS NULL OR warn_after <= $1)
			ORDER BY expires_at LIMIT $4 FOR UPDATE SKIP LOCKED
		) due WHERE t.uid = due.uid RETURNING t.uid`, now, before, window, limit)
}

// Expiring returns the warnings for transfers: to recipients that have an address, were mailed about the transfer and have not hidden
// it, and to senders with an account.
func (s *Store) Expiring(ctx context.Context, uids []id.Transfer) ([]Expiring, error) {
	return database.All[Expiring](ctx, s.q, "list warnings", `
		SELECT `+transferColumns+`, `+deliveryJSON+` AS recipient, d.uid AS delivery, d.key_version AS version, d.key_hash,
			coalesce(sp.host, o.host, p.host, '') AS host, coalesce(p.locale, sp.locale, '') AS locale,
			coalesce(p.time_zone, sp.time_zone, '') AS time_zone
		FROM transfer.transfers t
		JOIN transfer.deliveries d ON d.transfer = t.uid AND d.email IS NOT NULL AND d.hidden_at IS NULL
		LEFT JOIN directory.persons p ON p.person = d.person
		LEFT JOIN directory.persons sp ON sp.person = t.sender AND t.sender_managed
		LEFT JOIN directory.organizations o ON o.organization = t.limits_organization
		WHERE t.uid = ANY ($1) AND NOT t.unmailed
		UNION ALL
		SELECT `+transferColumns+`, json_build_object('Person', p.person, 'Name', p.name, 'Email', p.email), NULL, 0, NULL,
			coalesce(p.host, ''), p.locale, p.time_zone
		FROM transfer.transfers t JOIN directory.persons p ON p.person = t.sender AND t.sender_managed AND p.email IS NOT NULL
		WHERE t.uid = ANY ($1)`, uids)
}

// noLeast selects adminunits that keep nothing for a least time, and kept nothing so before their last change.
const noLeast = `num_nonnulls(retention #>> '{transfers,least}', retention #>> '{receipts,least}', least_before #>> '{transfers,least}',
	least_before #>> '{receipts,least}') = 0`

// DeleteOrganizationData deletes an organization's adminunit, samples of volumes and groups, and releases the groups' vanity links. For how
// long its rules keep things at least stays: what members sent goes on under them.
func (s *Store) DeleteOrganizationData(ctx context.Context, o id.Organization, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "delete organization's data", `
		WITH a AS (
			DELETE FROM transfer.adminunits WHERE organization = $1 AND `+noLeast+`
		), rules AS (
			UPDATE transfer.adminunits SET pinning_enabled = true, retention = jsonb_build_object(
				'transfers', jsonb_build_object('least', retention #> '{transfers,least}'),
				'receipts', jsonb_build_object('least', retention #> '{receipts,least}'))
			WHERE organization = $1 AND NOT (`+noLeast+`)
		), samples AS (
			DELETE FROM transfer.volume_samples WHERE organization = $1
		), released AS (`+releaseLinks+`WHERE v.mailbox_group IN (SELECT uid FROM transfer.mailbox_groups WHERE organization = $1))
		DELETE FROM transfer.mailbox_groups WHERE organization = $1`, o, now)
	return err
}

// Unfinished is an open reservation of a stranger that has bytes and expires soon.
type Unfinished struct {
	UID                                     id.Reservation
	Email                                   string // that the stranger states
	Locale, TimeZone                        string // of the stranger; of the mailbox's owner
	Mailbox, MailboxEmail, MailboxKey, Host string // name and address, vanity link or uid, host of the mailbox's page
	Files                                   int
	Bytes                                   int64 // held
	ExpiresAt                               time.Time
}

// MarkReminded marks up to limit open reservations of strangers as reminded and returns them: those that have bytes and a stated
// address, expire at or before a time, and whose whole life is longer than window. It locks them and skips locked rows.
func (s *Store) MarkReminded(ctx context.Context, now, before time.Time, window time.Duration, limit int) ([]Unfinished, error) {
	return database.All[Unfinished](ctx, s.q, "list unfinished reservations", `
		WITH due AS (
			SELECT uid FROM transfer.reservations r
			WHERE state = 'open' AND type = 'mailbox' AND anon_email IS NOT NULL AND reminded_at IS NULL AND party IS NULL
				AND expires_at > $1 AND expires_at <= $2 AND expires_at - created_at > $3::interval
				AND EXISTS (SELECT FROM transfer.objects o WHERE o.reservation = r.uid AND NOT o.partial AND `+segmentsHeld("o")+` > 0)
				AND EXISTS (SELECT FROM transfer.mailboxes m WHERE m.person = r.owner)
			ORDER BY expires_at LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED
		), r AS (
			UPDATE transfer.reservations r SET reminded_at = $1 FROM due WHERE r.uid = due.uid
			RETURNING r.uid, r.owner, r.anon_email, r.locale, r.expires_at
		)
		SELECT r.uid, r.anon_email AS email, coalesce(r.locale, '') AS locale, coalesce(p.time_zone, '') AS time_zone,
			coalesce(m.name, p.name, '') AS mailbox, coalesce(`+mailboxEmail+`, p.email, '') AS mailbox_email,
			coalesce(v.link, m.person::text) AS mailbox_key, coalesce(p.host, '') AS host,
			o.files, o.bytes, r.expires_at
		FROM r
		JOIN transfer.mailboxes m ON m.person = r.owner
		JOIN directory.persons p ON p.person = r.owner
		LEFT JOIN transfer.vanity_links v ON v.mailbox = m.person
		CROSS JOIN LATERAL (SELECT count(*)::int AS files, coalesce(sum(`+segmentsHeld("x")+
		`), 0)::bigint AS bytes FROM transfer.objects x WHERE x.reservation = r.uid AND NOT x.partial) o`,
		now, before, window, limit)
}
