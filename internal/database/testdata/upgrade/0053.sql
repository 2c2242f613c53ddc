-- A request that Ann may repeat.
INSERT INTO idempotency_keys (key, caller, fingerprint, claim, done, busy_until, expires_at) VALUES
    ('\x01', '\x02', '\x03', '00000000-0000-7000-8000-000000000c01', true, '2026-01-01Z', '2026-12-31Z');
