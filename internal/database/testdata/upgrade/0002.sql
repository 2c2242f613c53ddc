-- A key that signs no more, whose private part is gone; and a person's tokens ended.
INSERT INTO signing_keys (kid, purpose, public_key, private_key, created_at, signs_from, signs_until, published_until) VALUES
    ('former', 'session', decode('046B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C2964FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5', 'hex'), NULL, '2026-01-01Z', '2026-01-01Z', '2026-02-01Z', '2999-01-01Z');
INSERT INTO revocations (session, person, epoch, expires_at) VALUES
    ('00000000-0000-7000-8000-0000000000a1', NULL, NULL, '2999-01-01Z'),
    (NULL, '00000000-0000-7000-8000-00000000000b', 3, '2999-01-01Z');
