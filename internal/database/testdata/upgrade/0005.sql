-- A webhook of Ann, one of her organization, and a delivery.
INSERT INTO webhook.webhooks (uid, person, organization, creator, kind, url, host, events, secret, created_at) VALUES
    ('00000000-0000-7000-8000-000000000b01', '00000000-0000-7000-8000-00000000000a', NULL, '00000000-0000-7000-8000-00000000000a',
     'url', 'https://hooks.example.com/ann', 'hooks.example.com', '{TRANSFER_RECEIVED}', '\x01', '2026-01-01Z'),
    ('00000000-0000-7000-8000-000000000b02', NULL, '00000000-0000-7000-8000-000000000002', '00000000-0000-7000-8000-00000000000a',
     'url', 'https://hooks.example.com/org', 'hooks.example.com', '{PRIVILEGES_UPDATED}', '\x01', '2026-01-01Z');
INSERT INTO webhook.deliveries (uid, webhook, event, kind, subject, receivers, created_at, next_attempt_at) VALUES
    ('00000000-0000-7000-8000-000000000b03', '00000000-0000-7000-8000-000000000b01', '00000000-0000-7000-8000-000000000b04',
     'TRANSFER_RECEIVED', '00000000-0000-7000-8000-000000000b05', '{00000000-0000-7000-8000-00000000000a}', '2026-01-01Z', '2026-01-01Z');
-- An export target of Ann.
INSERT INTO webhook.webhooks (uid, person, creator, kind, url, host, events, secret, created_at, username) VALUES
    ('00000000-0000-7000-8000-000000000b06', '00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-00000000000a',
     'webdav', 'webdav+https://cloud.example.com/files', 'cloud.example.com', '{TRANSFER_RECEIVED}', '\x01', '2026-01-01Z', 'ann');
