-- Ann's mailbox and group; a transfer that Sam delivered to her, which Ann has opened; and half an upload.
INSERT INTO transfer.adminunits (organization, available_ttl, default_ttl, priority_enabled, protection_level, max_files, max_file_size_mb, max_recipients, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000002', '{1,7}', 7, true, 'none', 100, 5000, 10, '2026-01-01Z');
INSERT INTO transfer.mailboxes (person, name, slogan, fields_schema, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', 'Ann''s files', 'Hand them over.', '{"type": "object", "title": "Project", "properties": {"floor": {"type": "string"}}, "required": []}', '2026-01-01Z', '2026-01-01Z');
INSERT INTO transfer.mailbox_groups (uid, organization, name, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-0000000000a7', '00000000-0000-7000-8000-000000000002', 'Archive', '2026-01-01Z', '2026-01-01Z');
INSERT INTO transfer.mailbox_group_members (mailbox_group, mailbox, position) VALUES
    ('00000000-0000-7000-8000-0000000000a7', '00000000-0000-7000-8000-00000000000a', 0);
INSERT INTO transfer.vanity_links (host_organization, link, mailbox, mailbox_group) VALUES
    ('00000000-0000-7000-8000-000000000001', 'ann', '00000000-0000-7000-8000-00000000000a', NULL),
    ('00000000-0000-7000-8000-000000000001', 'archive', NULL, '00000000-0000-7000-8000-0000000000a7');
INSERT INTO transfer.reservations (uid, type, state, owner, organization, limits_organization, subject, anon_sender, anon_email, locale, ttl, protection, fields,
    max_files, max_file_size_mb, max_recipients, object_count, transfer, created_at, expires_at) VALUES
    ('00000000-0000-7000-8000-0000000000f0', 'mailbox', 'confirmed', '00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-000000000002',
     '00000000-0000-7000-8000-000000000002', 'Plans', 'Sam', 'sam@example.com', 'en_US', 7, 'none', '{"floor": "3"}', 100, 5000, 10, 1, '00000000-0000-7000-8000-0000000000f1', '2026-01-02Z', '2999-01-01Z'),
    ('00000000-0000-7000-8000-0000000000f5', 'mailbox', 'open', '00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-000000000002',
     '00000000-0000-7000-8000-000000000002', NULL, 'Sam', 'sam@example.com', 'en_US', 7, 'none', NULL, 100, 5000, 10, 1, NULL, '2026-01-02Z', '2999-01-01Z');
INSERT INTO transfer.reservation_recipients (reservation, position, person, name, email, destination_type) VALUES
    ('00000000-0000-7000-8000-0000000000f0', 0, '00000000-0000-7000-8000-00000000000a', 'Ann', 'ann@example.com', 'to');
INSERT INTO transfer.transfers (uid, reservation, type, state, owner, sender_managed, limits_organization, subject, sender_name, sender_email, sender_locale,
    delivery_notification, protection, fields, search, object_count, total_bytes, created_at, expires_at, accessed_at) VALUES
    ('00000000-0000-7000-8000-0000000000f1', '00000000-0000-7000-8000-0000000000f0', 'mailbox', 'accessed', '00000000-0000-7000-8000-00000000000a', false,
     '00000000-0000-7000-8000-000000000002', 'Plans', 'Sam', 'sam@example.com', 'en_US', false, 'none', '{"floor": "3"}', 'plans sam sam@example.com plans.pdf', 1, 1000,
     '2026-01-02Z', '2999-01-01Z', '2026-01-03Z');
INSERT INTO transfer.deliveries (uid, transfer, position, destination_type, person, name, email, key_hash, accessed_at, created_at) VALUES
    ('00000000-0000-7000-8000-0000000000f3', '00000000-0000-7000-8000-0000000000f1', 0, 'to', '00000000-0000-7000-8000-00000000000a', 'Ann', 'ann@example.com',
     decode(repeat('de', 32), 'hex'), '2026-01-03Z', '2026-01-02Z');
INSERT INTO transfer.one_time_keys (key_hash, transfer, delivery, created_at, expires_at) VALUES
    (decode(repeat('07', 32), 'hex'), '00000000-0000-7000-8000-0000000000f1', '00000000-0000-7000-8000-0000000000f3', '2026-01-03Z', '2999-01-01Z');
INSERT INTO transfer.upload_confirmations (email, day, sent) VALUES ('sam@example.com', '2999-01-01', 1);
INSERT INTO transfer.daily_recipients (person, day, recipients) VALUES ('00000000-0000-7000-8000-000000000001', '2026-11-20', 3);
INSERT INTO transfer.sender_codes (reservation, email, expires_at, verified_email) VALUES
    ('00000000-0000-7000-8000-0000000000f5', 'sam@example.com', '2026-11-20Z', 'sam@example.com');
INSERT INTO transfer.daily_sender_codes (email, day, client, sent)
VALUES ('sam@example.com', '2026-11-20', '203.0.113.7', 1);
INSERT INTO transfer.daily_mailbox_mails (owner, day, client, sent)
VALUES ('00000000-0000-7000-8000-00000000000a', '2026-11-20', '203.0.113.7', 1);
INSERT INTO transfer.receipts (transfer, kind, entry, body, created_at)
VALUES ('00000000-0000-7000-8000-000000003101', 'delivered', sha256('receipt'), 'receipt', '2026-11-23 04:00Z');
INSERT INTO transfer.receipt_parts (transfer, part, body) VALUES ('00000000-0000-7000-8000-000000003101', 1, 'part');
INSERT INTO transfer.downloads (transfer, item, delivery, day, size, downloads, sent, ranges, began_at, last_at, completed_at, addresses) VALUES
    ('00000000-0000-7000-8000-0000000000f1', '00000000-0000-7000-8000-0000000000f1', '00000000-0000-7000-8000-0000000000f3', '2026-01-03', 1000, 1, 1000, '{[0,1000)}',
     '2026-01-03Z', '2026-01-03Z', '2026-01-03Z', '{192.0.2.1}');
INSERT INTO transfer.mailbox_pictures (mailbox, image, etag, updated_at) SELECT person, '\xffd8ffd9', '"ffd9"', now() FROM transfer.mailboxes LIMIT 1;
INSERT INTO transfer.stranger_reservations (reservation, owner, organization, limits_organization, client, bytes, expires_at) VALUES
    ('00000000-0000-7000-8000-0000000000f5', '00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-000000000002',
     '00000000-0000-7000-8000-000000000002', '203.0.113.7', 400, '2999-01-01Z');
INSERT INTO transfer.mailbox_suspensions (mailbox, suspended_at) VALUES ('00000000-0000-7000-8000-0000000000dd', now());
