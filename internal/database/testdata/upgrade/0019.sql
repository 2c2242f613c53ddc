INSERT INTO identity.security_changes (person, kind, made_at, undo_hash, end_hash, addresses, verified_at, email_proved_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', 'factor-added', '2998-01-01Z', decode(repeat('ad', 32), 'hex'), decode(repeat('ed', 32), 'hex'),
     '{ann@example.com}', '{2026-01-01Z}', '2026-01-01Z');
INSERT INTO identity.security_change_factors (change, uid, type, name, registered_at, updated_at, secret, salt, codes)
    SELECT seq, '00000000-0000-7000-8000-0000000000d2', 'recovery', 'codes', '2026-01-01Z', '2026-01-01Z', NULL, decode('5a17', 'hex'), ARRAY[decode(repeat('c0', 32), 'hex')]
    FROM identity.security_changes;
