-- Fills an empty, migrated database with :persons persons, :organizations organizations and :transfers transfers of :objects files
-- each. A quarter of the transfers is alive. Person 1 is the heavy one: she receives one of a hundred transfers and sends another
-- one. Organization 1 has up to 10,000 members. The uid of a thing is the MD5 of its kind and number. Foreign keys and triggers
-- are off, and what triggers do is done here for all rows at once.
SET session_replication_role = replica;
SET synchronous_commit = off;
SET maintenance_work_mem = '1GB';
SET work_mem = '256MB';

INSERT INTO identity.organizations (uid, free, name, locale, time_zone, created_at, updated_at)
SELECT md5('organization' || n)::uuid, n = 0, 'Organization ' || n, 'en_US', 'UTC', now(), now() FROM generate_series(0, :organizations) n;
INSERT INTO identity.hosts (host, organization, active, created_at)
SELECT CASE n WHEN 0 THEN ':host' ELSE 'o' || n || '.example.com' END, md5('organization' || n)::uuid, true, now()
FROM generate_series(0, :organizations) n WHERE n = 0 OR n > 1;
INSERT INTO identity.limits (organization, service_enabled, users, transfer_volume_bytes, storage_volume_bytes, gdpr_contract, secure_spaces, mime_type_filter,
	new_transfer_limit, new_transfer_drain_rate, new_transfer_receivers_limit, admin_portal, mailbox_groups, change_hostname)
SELECT uid, true, 100000, 1e15, 1e15, true, true, true, 100000, 100000, 10000, true, 100, 'custom' FROM identity.organizations WHERE free OR random() < 0.1;
INSERT INTO identity.limits (organization) SELECT uid FROM identity.organizations ON CONFLICT DO NOTHING;

INSERT INTO identity.persons (uid, name, locale, time_zone, created_at, email_proved_at)
SELECT md5('person' || n)::uuid, 'Person ' || n, 'en_US', 'UTC', now() - interval '1 year', now() FROM generate_series(1, :persons) n;
INSERT INTO identity.addresses (person, address, is_primary, verified_at, created_at)
SELECT md5('person' || n)::uuid, 'p' || n || '@example.com', true, now(), now() FROM generate_series(1, :persons) n;
INSERT INTO identity.authenticators (uid, person, type, verified, registered_at, updated_at, secret)
SELECT md5('password' || n)::uuid, md5('person' || n)::uuid, 'bcrypt', true, now(), now(), ':password'::bytea FROM generate_series(1, :persons) n;
INSERT INTO identity.id_tokens (jti, person, sid, auth_level, auth_time, issued_at, expires_at, user_agent, ip)
SELECT md5('token' || n)::uuid, md5('person' || n)::uuid, md5('session' || n)::uuid, 2, now(), now(), now() + interval '30 days', 'growth', '192.0.2.1'
FROM generate_series(1, :persons) n;
-- Even persons are members: the first 10,000 of them of organization 1, the others of ten-member organizations.
INSERT INTO identity.memberships (person, organization, roles, created_at)
SELECT md5('person' || n)::uuid, md5('organization' || CASE WHEN n <= least(20000, :persons / 2) THEN 1 ELSE 2 + n / 20 % greatest(:organizations - 1, 1) END)::uuid,
	CASE n WHEN 2 THEN '{Organization.Admin,Service.All.Use}' ELSE '{Service.All.Use}' END::text[], now()
FROM generate_series(2, :persons, 2) n;

INSERT INTO transfer.adminunits (organization, available_ttl, default_ttl, priority_enabled, protection_level, max_files, max_file_size_mb, max_recipients, updated_at)
SELECT uid, '{7,30,90}', 30, true, 'none', 10000, 50000, 100, now() FROM identity.organizations WHERE NOT free;
INSERT INTO transfer.mailboxes (person, created_at, updated_at) SELECT md5('person' || n)::uuid, now(), now() FROM generate_series(1, :persons) n;
INSERT INTO transfer.vanity_links (host_organization, link, mailbox)
SELECT coalesce(h.organization, md5('organization0')::uuid), 'box' || n, md5('person' || n)::uuid
FROM generate_series(1, :persons) n LEFT JOIN identity.memberships m ON m.person = md5('person' || n)::uuid LEFT JOIN identity.hosts h ON h.organization = m.organization;
INSERT INTO transfer.volumes (subject, month, kind, held)
SELECT md5('person' || n)::uuid, date_trunc('month', now()) - m * interval '1 month', 'person', 1000 FROM generate_series(1, :persons) n, generate_series(0, 2) m;
INSERT INTO transfer.volumes (subject, month, kind, held)
SELECT uid, date_trunc('month', now()), 'organization', 1000000 FROM identity.organizations;
INSERT INTO transfer.stored_volumes (organization, bytes) SELECT uid, :transfers::bigint * 1000000 FROM identity.organizations;

-- Transfer n: the newest is 1. Every fourth is alive. Of a hundred, number 1 goes to the heavy person and number 2 comes from her.
CREATE UNLOGGED TABLE public.made AS
SELECT n, md5('transfer' || n)::uuid AS uid, md5('reservation' || n)::uuid AS reservation, n % 4 = 1 AS alive,
	CASE WHEN n % 100 = 2 THEN 1 ELSE 2 + (n::bigint * 7919) % (:persons - 1) END AS sender,
	CASE WHEN n % 100 = 1 THEN 1 ELSE 2 + (n::bigint * 104729) % (:persons - 1) END AS recipient,
	now() - n * (interval '90 days' / :transfers) AS at
FROM generate_series(1, :transfers) n;
UPDATE public.made SET alive = true WHERE n % 100 IN (1, 2) AND n % 8 < 4;
ANALYZE public.made;
INSERT INTO transfer.reservations (uid, type, state, owner, creator, limits_organization, sender, ttl, protection, max_files, max_file_size_mb, max_recipients,
	object_count, transfer, created_at, expires_at, metadata)
SELECT reservation, 'p2p', 'confirmed', md5('person' || sender)::uuid, md5('person' || sender)::uuid, md5('organization0')::uuid, md5('person' || sender)::uuid,
	90, 'none', 10000, 50000, 100, :objects, uid, at, at + interval '1 day', 20 FROM public.made;
INSERT INTO transfer.transfers (uid, reservation, type, state, owner, sender, sender_managed, limits_organization, subject, message, sender_name, sender_email,
	delivery_notification, protection, search, object_count, total_bytes, created_at, expires_at, ended_at, sender_verified)
SELECT uid, reservation, 'p2p', CASE WHEN alive THEN 'delivered' ELSE 'expired' END, md5('person' || sender)::uuid, md5('person' || sender)::uuid, true,
	md5('organization0')::uuid, CASE WHEN alive THEN subject END, CASE WHEN alive THEN 'Please find the files below.' END, 'Person ' || sender, 'p' || sender || '@example.com', false, 'none',
	CASE WHEN alive THEN lower(concat_ws(' ', subject, 'Person ' || sender, 'p' || sender || '@example.com', 'report-' || n || '.pdf photo-' || n || '.jpg table.xlsx')) END,
	:objects, 1000 * :objects, at, at + interval '100 days', CASE WHEN NOT alive THEN at + interval '30 days' END, true
FROM (SELECT *, CASE WHEN n % 5000 IN (1, 2) THEN 'Quittungsbeleg ' ELSE 'Documents of week ' END || n AS subject FROM public.made) m;
INSERT INTO transfer.deliveries (uid, transfer, position, destination_type, person, name, email, key_hash, created_at)
SELECT md5('delivery' || n)::uuid, uid, 1, 'to', md5('person' || recipient)::uuid, 'Person ' || recipient, 'p' || recipient || '@example.com', sha256(uid::text::bytea), at FROM public.made;
INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, held, sha256, mime_type, created_at)
SELECT md5('object' || n || ' ' || o)::uuid, reservation, CASE WHEN alive THEN o::text ELSE md5('object' || n || ' ' || o)::uuid::text END,
	CASE WHEN alive THEN 'report-' || n || '-' || o || '.pdf' END, 1000, 1000, CASE WHEN alive THEN sha256(uid::text::bytea) END, CASE WHEN alive THEN 'application/pdf' END, at
FROM public.made, generate_series(1, :objects) o ORDER BY n, o;
INSERT INTO transfer.object_charges (object, month, bytes)
SELECT md5('object' || n || ' ' || o)::uuid, date_trunc('month', at), 1000 FROM public.made, generate_series(1, :objects) o WHERE alive;

INSERT INTO event_feeds (person, last_id, used_at) SELECT md5('person' || n)::uuid, 20, now() FROM generate_series(1, :persons) n;
INSERT INTO events (person, id, uid, kind, subject, created_at)
SELECT md5('person' || recipient)::uuid, n, md5('event' || n)::uuid, 'TRANSFER_RECEIVED', uid::text, at FROM public.made WHERE n <= :transfers / 10;
INSERT INTO audit (at, actor, action, object, organization, user_agent, details)
SELECT at, md5('person' || sender)::uuid, 'transfer.deliver', uid::text, md5('organization' || sender % greatest(:organizations, 1))::uuid, 'growth', '{}' FROM public.made ORDER BY n DESC;
DROP TABLE public.made;
VACUUM ANALYZE;
