-- An export target of Ann.
INSERT INTO identity.webhooks (uid, person, creator, url, host, events, secret, created_at, username) VALUES
    ('00000000-0000-7000-8000-000000000b06', '00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-00000000000a',
     'webdav+https://cloud.example.com/files', 'cloud.example.com', '{TRANSFER_RECEIVED}', '\x01', '2026-01-01Z', 'ann');
