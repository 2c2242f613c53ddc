-- Fills an empty, migrated database with :persons persons, :organizations organizations and :transfers transfers of :objects files
-- each. A quarter of the transfers is alive. Person 1 is the heavy one: she receives one of a hundred transfers and sends another
-- one. Organization 1 has up to 10,000 members. Uids are ordered by number, as those of the server are by time. Keys, indexes and
-- triggers are off (fill.go): what triggers do is done here for all rows at once.

CREATE FUNCTION public.uid(kind text, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT (lpad(to_hex(1000000000000 + n), 12, '0') || '7' || substr(md5(kind || n::text), 14))::uuid $$;

INSERT INTO identity.organizations (uid, free, name, locale, time_zone, created_at, updated_at)
SELECT uid('organization', n), n = 0, 'Organization ' || n, 'en_US', 'UTC', now(), now() FROM generate_series(0, :organizations) n;
INSERT INTO identity.hosts (host, organization, active, created_at)
SELECT CASE n WHEN 0 THEN ':host' ELSE 'o' || n || '.example.com' END, uid('organization', n), true, now()
FROM generate_series(0, :organizations) n WHERE n = 0 OR n > 1;
INSERT INTO identity.limits (organization, service_enabled, users, transfer_volume_bytes, storage_volume_bytes, gdpr_contract, secure_spaces, mime_type_filter,
	new_transfer_limit, new_transfer_drain_rate, new_transfer_receivers_limit, admin_portal, mailbox_groups, change_hostname)
SELECT uid('organization', n), true, 100000, 1e15, 1e15, true, true, true, 100000, 100000, 10000, true, 100, 'custom' FROM generate_series(0, :organizations) n WHERE n % 10 = 0;
INSERT INTO identity.limits (organization) SELECT uid('organization', n) FROM generate_series(0, :organizations) n WHERE n % 10 <> 0;

INSERT INTO identity.persons (uid, name, locale, time_zone, created_at, email_proved_at)
SELECT uid('person', n), 'Person ' || n, 'en_US', 'UTC', now() - interval '1 year', now() FROM generate_series(1, :persons) n;
INSERT INTO identity.addresses (person, address, is_primary, verified_at, created_at)
SELECT uid('person', n), 'p' || n || '@example.com', true, now(), now() FROM generate_series(1, :persons) n;
INSERT INTO identity.authenticators (uid, person, type, verified, registered_at, updated_at, secret)
SELECT uid('password', n), uid('person', n), 'bcrypt', true, now(), now(), 'x'::bytea FROM generate_series(1, :persons) n;
INSERT INTO identity.id_tokens (jti, person, sid, auth_level, auth_time, issued_at, expires_at, user_agent, ip)
SELECT uid('token', n), uid('person', n), uid('session', n), 2, now(), now(), now() + interval '30 days', 'growth', '192.0.2.1'
FROM generate_series(1, :persons) n;
-- Even persons are members: the first 10,000 of them of organization 1, the others of ten-member organizations.
INSERT INTO identity.memberships (person, organization, roles, admin_since, created_at)
SELECT uid('person', n), uid('organization', CASE WHEN n <= least(20000, :persons / 2) THEN 1 ELSE 2 + n / 20 % greatest(:organizations - 1, 1) END),
	CASE n WHEN 2 THEN '{Organization.Admin,Service.All.Use}' ELSE '{Service.All.Use}' END::text[], CASE n WHEN 2 THEN now() END, now()
FROM generate_series(2, :persons, 2) n;

INSERT INTO transfer.adminunits (organization, available_ttl, default_ttl, priority_enabled, protection_level, max_files, max_file_size_mb, max_recipients, updated_at)
SELECT uid('organization', n), '{7,30,90}', 30, true, 'none', 10000, 50000, 100, now() FROM generate_series(1, :organizations) n;
INSERT INTO transfer.mailboxes (person, created_at, updated_at) SELECT uid('person', n), now(), now() FROM generate_series(1, :persons) n;
INSERT INTO transfer.vanity_links (host_organization, link, mailbox)
SELECT coalesce(h.organization, uid('organization', 0)), 'box' || n, uid('person', n)
FROM generate_series(1, :persons) n LEFT JOIN identity.memberships m ON m.person = uid('person', n) LEFT JOIN identity.hosts h ON h.organization = m.organization;
INSERT INTO transfer.volumes (subject, month, kind, held)
SELECT uid('person', n), date_trunc('month', now()) - m * interval '1 month', 'person', 1000 FROM generate_series(1, :persons) n, generate_series(0, 2) m;
INSERT INTO transfer.volumes (subject, month, kind, held)
SELECT uid('organization', n), date_trunc('month', now()), 'organization', 1000000 FROM generate_series(0, :organizations) n;
INSERT INTO transfer.stored_volumes (organization, bytes) SELECT uid('organization', n), :transfers::bigint * 1000000 FROM generate_series(0, :organizations) n;

-- Transfer 1 is the newest, and the last row. Every fourth is alive. Of a hundred, number 1 goes to the heavy person and number 2 comes from her. Four of hers have the word
-- Lindwurm at each size, one in 50 has Quittungsbeleg.
CREATE UNLOGGED TABLE public.made AS
SELECT n, uid('transfer', :transfers - n) AS uid, uid('reservation', :transfers - n) AS reservation, alive, uid('person', sender) AS sender_uid, sender,
	uid('person', recipient) AS recipient_uid, recipient, now() - (n + 1) * (interval '90 days' / (:transfers + 2)) AS at,
	CASE WHEN n % (:transfers / 2) IN (1, 2) THEN 'Lindwurm Quittungsbeleg ' WHEN n % 5000 IN (1, 2) THEN 'Quittungsbeleg ' ELSE 'Documents of week ' END || n AS subject
FROM (
	SELECT n, n % 4 = 1 OR n % 100 IN (1, 2) AND n % 8 < 4 AS alive,
		CASE WHEN n % 100 = 2 THEN 1 ELSE 2 + (n::bigint * 7919) % (:persons - 1) END AS sender,
		CASE WHEN n % 100 = 1 THEN 1 ELSE 2 + (n::bigint * 104729) % (:persons - 1) END AS recipient
	FROM generate_series(:transfers, 1, -1) n
) m;
ANALYZE public.made;
INSERT INTO transfer.reservations (uid, type, state, owner, creator, limits_organization, sender, ttl, protection, max_files, max_file_size_mb, max_recipients,
	object_count, transfer, created_at, expires_at, metadata)
SELECT reservation, 'p2p', 'confirmed', sender_uid, sender_uid, uid('organization', 0), sender_uid, 90, 'none', 10000, 50000, 100, :objects, uid, at, at + interval '1 day', 20
FROM public.made;
INSERT INTO transfer.transfers (uid, reservation, type, state, owner, sender, sender_managed, limits_organization, subject, message, sender_name, sender_email,
	delivery_notification, protection, search, object_count, total_bytes, created_at, expires_at, ended_at, sender_verified)
SELECT uid, reservation, 'p2p', CASE WHEN alive THEN 'delivered' ELSE 'expired' END, sender_uid, sender_uid, true,
	uid('organization', 0), CASE WHEN alive THEN subject END, CASE WHEN alive THEN 'Please find the files below.' END, 'Person ' || sender, 'p' || sender || '@example.com', false, 'none',
	CASE WHEN alive THEN lower(concat_ws(' ', subject, 'Person ' || sender, 'p' || sender || '@example.com',
		(SELECT string_agg('report-' || n || '-' || o || '.pdf', ' ') FROM generate_series(1, :objects) o))) END,
	:objects, 1000 * :objects, at, at + interval '100 days', CASE WHEN NOT alive THEN at + (now() - at) / 2 END, true
FROM public.made;
INSERT INTO transfer.deliveries (uid, transfer, position, destination_type, person, name, email, key_hash, created_at)
SELECT uid('delivery', :transfers - n), uid, 1, 'to', recipient_uid, 'Person ' || recipient, 'p' || recipient || '@example.com', sha256(uid::text::bytea), at FROM public.made;
INSERT INTO transfer.search_texts (transfer, parties, words)
SELECT d.transfer, ARRAY[d.person, t.sender], t.search || E'\n' || lower(d.name || ' ' || d.email)
FROM transfer.transfers t JOIN transfer.deliveries d ON d.transfer = t.uid WHERE t.search IS NOT NULL;
INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, held, sha256, mime_type, created_at, metadata)
SELECT uid('object', (:transfers - n)::bigint * :objects + o), reservation, CASE WHEN alive THEN 'report-' || o ELSE uid('object', (:transfers - n)::bigint * :objects + o)::text END,
	CASE WHEN alive THEN 'report-' || n || '-' || o || '.pdf' END, 1000, 1000, CASE WHEN alive THEN sha256(repeat('x', 1000)::bytea) END, CASE WHEN alive THEN 'application/pdf' END, at, 30
FROM public.made, generate_series(1, :objects) o;
INSERT INTO transfer.segments (uid, object, number, size, held)
SELECT uid('object', (:transfers - n)::bigint * :objects + o), uid('object', (:transfers - n)::bigint * :objects + o), 1, 1000, 1000
FROM public.made, generate_series(1, :objects) o WHERE alive;
INSERT INTO transfer.segment_charges (segment, month, bytes)
SELECT uid('object', (:transfers - n)::bigint * :objects + o), date_trunc('month', at), 1000 FROM public.made, generate_series(1, :objects) o WHERE alive;
INSERT INTO transfer.receipts (transfer, kind, entry, body, readers, named, created_at)
SELECT uid, 'delivered', sha256(uid::text::bytea), repeat('x', 300 + 100 * :objects)::bytea, ARRAY[sender_uid, recipient_uid], ARRAY[sender_uid, recipient_uid], at FROM public.made;

-- A request for ten transfers, of three people and four items each; every hundredth is the heavy person's. Number 0 asks 50 people for 20
-- items. A third of the people has not opened the link, a third has handed in.
INSERT INTO transfer.requests (uid, owner, title, due, time_zone, late, locale, created_at, updated_at)
SELECT uid('request', n), uid('person', CASE WHEN n = 0 THEN :ordinary WHEN n % 100 = 1 THEN 1 ELSE 2 + (n::bigint * 7919) % (:persons - 1) END),
	'Request ' || n, now() + interval '30 days', 'UTC', 'mark', 'en_US', now() - n * interval '1 second', now()
FROM generate_series(0, :transfers / 10) n;
INSERT INTO transfer.request_items (uid, request, position, name, required, max_files, max_file_size_mb)
SELECT uid('item', n::bigint * 20 + i), uid('request', n), i, 'Document ' || i, i > 1, 10, 50000
FROM generate_series(0, :transfers / 10) n, generate_series(0, 19) i WHERE n = 0 OR i < 4;
INSERT INTO transfer.request_parties (uid, request, email, name, locale, time_zone, key_hash, opened_at, handed_in_at, remind_at, created_at)
SELECT uid('party', n::bigint * 50 + p), uid('request', n), 'party' || p || '@example.com', 'Party ' || p, 'en_US', 'UTC',
	sha256(('party' || n::bigint * 50 + p)::bytea), CASE WHEN p % 3 > 0 THEN now() END, CASE WHEN p % 3 = 2 THEN now() END, now() + interval '27 days', now()
FROM generate_series(0, :transfers / 10) n, generate_series(0, 49) p WHERE n = 0 OR p < 3;
INSERT INTO transfer.party_items (party, item, state, changed_at)
SELECT uid('party', n::bigint * 50 + p), uid('item', n::bigint * 20 + i), CASE WHEN i % 2 = 0 THEN 'uploaded' ELSE 'accepted' END, now()
FROM generate_series(0, :transfers / 10) n, generate_series(2, 49, 3) p, generate_series(0, 19) i WHERE n = 0 OR p < 3 AND i < 4;

INSERT INTO event_feeds (person, last_id, used_at) SELECT uid('person', n), 20, now() FROM generate_series(1, :persons) n;
INSERT INTO events (person, id, uid, kind, subject, created_at)
SELECT recipient_uid, n, uid('event', n), 'TRANSFER_RECEIVED', uid::text, at FROM public.made WHERE n <= :transfers / 10;
INSERT INTO audit (at, kind, actor, action, object, organization, user_agent, details)
SELECT at, 'person', sender_uid, 'transfer.deliver', uid::text, uid('organization', sender % greatest(:organizations, 1)), 'growth', '{}' FROM public.made;
DROP TABLE public.made;
DROP FUNCTION public.uid;
