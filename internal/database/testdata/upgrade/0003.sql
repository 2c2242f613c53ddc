-- The free organization and one with a plan and a hostname of its own; Ann, who administers the latter, Bob, whose address waits, and one who is gone.
INSERT INTO identity.organizations (uid, free, name, locale, time_zone, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000001', true, 'Everybody', 'en_US', 'Europe/Berlin', '2026-01-01Z', '2026-01-01Z'),
    ('00000000-0000-7000-8000-000000000002', false, 'Acme', 'de_DE', 'Europe/Berlin', '2026-01-01Z', '2026-01-01Z');
INSERT INTO identity.hosts (host, organization, active, created_at) VALUES
    ('localhost', '00000000-0000-7000-8000-000000000001', true, '2026-01-01Z'),
    ('old.acme.example', '00000000-0000-7000-8000-000000000002', false, '2026-01-01Z');
INSERT INTO identity.host_claims (organization, host, key, created_at) VALUES
    ('00000000-0000-7000-8000-000000000002', 'files.acme.example', 'txt-key', '2026-01-01Z');
INSERT INTO identity.limits (organization, service_enabled, users, transfer_volume_bytes, storage_volume_bytes, gdpr_contract, secure_spaces, mime_type_filter,
    new_transfer_limit, new_transfer_drain_rate, new_transfer_receivers_limit, admin_portal, mailbox_groups, change_hostname) VALUES
    ('00000000-0000-7000-8000-000000000001', true, 100000, 1000000000000, 1000000000000, true, false, true, 20, 0.016666, 100, false, 10, 'noChange'),
    ('00000000-0000-7000-8000-000000000002', NULL, 7, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'custom');
INSERT INTO identity.subscriptions (uid, organization, domain, product_id, display_name, status, created_at, updated_at) VALUES
    ('00000000-0000-7000-8000-000000000003', '00000000-0000-7000-8000-000000000002', 'skp', 'team', 'Team', 'active', '2026-01-01Z', '2026-01-01Z');
INSERT INTO identity.persons (uid, name, locale, time_zone, created_at, last_login_at, email_proved_at, epoch, deleted_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', 'Ann Archer', 'de_DE', 'Europe/Berlin', '2026-01-01Z', '2026-01-02Z', '2026-01-01Z', 4, NULL),
    ('00000000-0000-7000-8000-00000000000b', 'Bob', 'en_US', 'UTC', '2026-01-01Z', NULL, NULL, 1, NULL),
    ('00000000-0000-7000-8000-00000000000c', NULL, 'en_US', 'UTC', '2026-01-01Z', NULL, NULL, 9, '2998-12-31Z');
INSERT INTO identity.addresses (person, address, is_primary, verified_at, remove_at, created_at, key_hash, key_expires_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', 'ann@example.com', true, '2026-01-01Z', NULL, '2026-01-01Z', NULL, NULL),
    ('00000000-0000-7000-8000-00000000000b', 'bob@example.com', true, NULL, '2999-01-01Z', '2026-01-01Z', decode(repeat('0b', 32), 'hex'), '2999-01-01Z');
INSERT INTO identity.memberships (person, organization, roles, reference, created_at, admin_since) VALUES
    ('00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-000000000002', '{Organization.Admin,Service.Transfer.Use}', 'E-17', '2026-01-01Z', '2026-01-01Z');
INSERT INTO identity.invitations (key, organization, address, roles, inviter, created_at, expires_at) VALUES
    ('invitation-key', '00000000-0000-7000-8000-000000000002', 'carl@example.com', '{Service.Transfer.Use}', '00000000-0000-7000-8000-00000000000a', '2026-01-01Z', '2999-01-01Z');
INSERT INTO identity.avatars (person, height, image, etag, updated_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', 80, decode('ffd8ffd9', 'hex'), '"a"', '2026-01-01Z');
-- Bob operates the installation.
INSERT INTO identity.operators (person, added_at) VALUES ('00000000-0000-7000-8000-00000000000b', '2026-01-01Z');
