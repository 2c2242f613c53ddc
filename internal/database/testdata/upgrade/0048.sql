-- An API token of Ann and one of her organization.
INSERT INTO identity.api_tokens (uid, secret_hash, person, membership, organization, name, scopes, mailboxes, mailbox_keys, strong, created_at, expires_at) VALUES
    ('00000000-0000-7000-8000-000000000a01', '\x01', '00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-000000000002', NULL,
     'Scanner', '{mailbox:drop}', '{00000000-0000-7000-8000-00000000000b}', '{bob}', true, '2026-01-01Z', '2026-12-31Z'),
    ('00000000-0000-7000-8000-000000000a02', '\x02', '00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-000000000002',
     '00000000-0000-7000-8000-000000000002', 'Directory', '{organization:read}', '{}', '{}', true, '2026-01-01Z', '2026-12-31Z');
