INSERT INTO identity.factor_tries (person, source, failures, next_at, forget_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', '00000000-0000-0000-0000-000000000000', 3, '2026-11-20Z', '2999-01-01Z');
