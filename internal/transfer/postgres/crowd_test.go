// A crowd of persons and organizations for the tests of query plans.

package postgres

import (
	"testing"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// crowd makes so many persons, half of them members of an organization, each with a mailbox that somebody has reserved for a file, and
// with a transfer of a file to the next one.
const crowd = `
	INSERT INTO identity.organizations (uid, free, locale, time_zone, created_at, updated_at)
	VALUES (gen_random_uuid(), true, 'en_US', 'UTC', now(), now()), (gen_random_uuid(), false, 'en_US', 'UTC', now(), now());
	INSERT INTO identity.hosts (host, organization, active, created_at)
	SELECT CASE WHEN free THEN 'free.test' ELSE 'firm.test' END, uid, true, now() FROM identity.organizations;
	INSERT INTO identity.limits (organization) SELECT uid FROM identity.organizations;
	UPDATE identity.limits SET service_enabled = true, mime_type_filter = true, new_transfer_receivers_limit = 1, new_transfer_limit = 1,
		new_transfer_drain_rate = 1;
	INSERT INTO identity.persons (uid, name, locale, time_zone, created_at)
	SELECT gen_random_uuid(), n::text, 'en_US', 'UTC', now() FROM generate_series(1, 3000) n;
	INSERT INTO identity.addresses (person, address, is_primary, verified_at, created_at)
	SELECT uid, 'p' || name || '@example.com', true, now(), now() FROM identity.persons;
	INSERT INTO identity.memberships (person, organization, roles, created_at)
	SELECT p.uid, o.uid, '{}', now() FROM identity.persons p, identity.organizations o WHERE NOT o.free AND p.name::int % 2 = 0;
	INSERT INTO identity.organizations (uid, free, locale, time_zone, created_at, updated_at)
	SELECT gen_random_uuid(), false, 'en_US', 'UTC', now(), now() FROM generate_series(1, 1500);
	INSERT INTO identity.hosts (host, organization, active, created_at)
	SELECT uid || '.test', uid, true, now() FROM identity.organizations ON CONFLICT DO NOTHING;
	INSERT INTO identity.limits (organization) SELECT uid FROM identity.organizations ON CONFLICT DO NOTHING;
	INSERT INTO transfer.adminunits (organization, available_ttl, default_ttl, priority_enabled, protection_level, max_files,
		max_file_size_mb, max_recipients, updated_at)
	SELECT uid, '{7}', 7, true, 'none', 1, 1, 1, now() FROM identity.organizations;
	INSERT INTO transfer.stored_volumes (organization, bytes) SELECT uid, 1 FROM identity.organizations;
	INSERT INTO transfer.stored_volumes (organization, bytes) SELECT gen_random_uuid(), 0 FROM generate_series(1, 20000); -- of deleted ones
	INSERT INTO transfer.volumes (subject, month, kind, held)
	SELECT uid, date_trunc('month', now()), 'person', 1 FROM identity.persons UNION ALL
	SELECT uid, date_trunc('month', now()), 'organization', 1 FROM identity.organizations;
	INSERT INTO transfer.volume_advances (subject, month, slot)
	SELECT o.uid, m.month, slot FROM identity.organizations o, (VALUES (date '-infinity'), (date_trunc('month', now())::date)) m (month),
		generate_series(0, 31) slot;
	INSERT INTO transfer.mailboxes (person, created_at, updated_at) SELECT uid, now(), now() FROM identity.persons;
	INSERT INTO transfer.vanity_links (host_organization, link, mailbox)
	SELECT o.uid, 'box' || p.name, p.uid FROM identity.persons p LEFT JOIN identity.memberships m ON m.person = p.uid
	JOIN identity.organizations o ON o.free = (m.person IS NULL) AND (o.free OR o.uid = m.organization);
	INSERT INTO transfer.reservations (uid, type, owner, limits_organization, ttl, protection, max_files, max_file_size_mb, max_recipients,
		created_at, expires_at)
	SELECT gen_random_uuid(), 'mailbox', p.uid, o.uid, 7, 'none', 1, 1, 1, now(), now() + interval '1 day'
	FROM identity.persons p, identity.organizations o WHERE o.free;
	INSERT INTO transfer.stranger_reservations (reservation, owner, organization, limits_organization, client, expires_at)
	SELECT r.uid, r.owner, m.organization, r.limits_organization, ('10.0.0.0'::inet + p.name::int)::cidr, r.expires_at
	FROM transfer.reservations r
	JOIN identity.persons p ON p.uid = r.owner LEFT JOIN identity.memberships m ON m.person = r.owner AND p.name::int % 50 = 0;
	INSERT INTO transfer.reservations (uid, type, state, transfer, owner, limits_organization, ttl, protection, max_files, max_file_size_mb,
		max_recipients, created_at, expires_at)
	SELECT gen_random_uuid(), 'p2p', 'confirmed', gen_random_uuid(), owner, limits_organization, ttl, protection, 1, 1, 1, created_at,
		expires_at
	FROM transfer.reservations;
	INSERT INTO transfer.transfers (uid, reservation, type, owner, sender, sender_managed, limits_organization, delivery_notification,
		protection,
		search, object_count, total_bytes, created_at, expires_at)
	SELECT transfer, uid, type, owner, owner, true, limits_organization, false, protection, 'report ' || uid, 1, 1, created_at, expires_at
	FROM transfer.reservations WHERE state = 'confirmed';
	INSERT INTO transfer.deliveries (uid, transfer, position, destination_type, person, email, key_hash, created_at)
	SELECT gen_random_uuid(), t.uid, 1, 'to', r.uid, 'p' || r.name || '@example.com', sha256(('key' || p.name)::bytea), t.created_at
	FROM transfer.transfers t JOIN identity.persons p ON p.uid = t.sender JOIN identity.persons r ON r.name::int = p.name::int % 3000 + 1;
	INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, created_at)
	SELECT gen_random_uuid(), uid, 'a', 'a', 1, now() FROM transfer.reservations;
	ANALYZE;`

// crowded is a database with a crowd in it.
func crowded(t *testing.T) *database.DB {
	t.Helper()
	db, err := database.New(t.Context(), pgtest.URL(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if _, err := db.Pool.Exec(t.Context(), crowd); err != nil {
		t.Fatal(err)
	}
	return db
}
