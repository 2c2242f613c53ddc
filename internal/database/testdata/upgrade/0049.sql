-- A program that Ann has approved.
INSERT INTO identity.device_logins (device_hash, user_hash, host, name, user_agent, ip, network, poll_seconds, created_at, expires_at, person, epoch, auth_level, auth_time, federated) VALUES
    ('\x01', '\x02', '00000000-0000-7000-8000-000000000001', 'consign', 'consign/1.0', '127.0.0.1', '127.0.0.1', 5, '2026-01-01Z', '2026-01-01T00:10:00Z',
     '00000000-0000-7000-8000-00000000000a', 4, 1, '2026-01-01Z', false);
