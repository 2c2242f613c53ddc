-- What an installation has after the first file. Each file goes on from the one before.
INSERT INTO settings (name, value, updated_at) VALUES
    ('maintenance', '{"on": false}', '2026-01-01Z'),
    ('identity.public_host', '"localhost"', '2026-01-01Z');
-- A key that signs no more, whose private part is gone; and a person's tokens ended.
INSERT INTO signing_keys (kid, purpose, public_key, private_key, created_at, signs_from, signs_until, published_until) VALUES
    ('former', 'session', decode('046B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C2964FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5', 'hex'), NULL, '2026-01-01Z', '2026-01-01Z', '2026-02-01Z', '2999-01-01Z');
INSERT INTO revocations (ended, person, epoch, expires_at) VALUES
    ('00000000-0000-7000-8000-0000000000a1', NULL, NULL, '2999-01-01Z'),
    (NULL, '00000000-0000-7000-8000-00000000000b', 3, '2999-01-01Z');
INSERT INTO mails (uid, created_at, template, reference, recipient, recipient_name, reply_to, reply_to_name, locale, time_zone, sender, data, has_secret,
    message_id, give_up_at, state, attempts, last_attempt_at, last_answer, finished_at) VALUES
    ('00000000-0000-7000-8000-0000000000b1', '2026-01-01Z', 'transfer-delivered', 'delivery:1', 'ann@example.com', 'Ann', 'sam@example.com', 'Sam', 'en_US',
     'Europe/Berlin', '{}', '{}', true, '<1@localhost>', '2026-01-03Z', 'sent', 2, '2026-01-01Z', '250 2.0.0 Ok', '2026-01-01Z');
INSERT INTO event_feeds (person, last_id, used_at) VALUES ('00000000-0000-7000-8000-00000000000a', 1, '2999-01-01Z');
INSERT INTO events (person, id, uid, kind, subject, created_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', 1, '00000000-0000-7000-8000-0000000000c1', 'TRANSFER_RECEIVED', '00000000-0000-7000-8000-0000000000f1', '2999-01-01Z');
INSERT INTO audit (at, kind, actor, action, object, target, organization, address, user_agent, details) VALUES
    ('2999-01-01Z', 'person', '00000000-0000-7000-8000-00000000000a', 'person.create', 'ann@example.com', '00000000-0000-7000-8000-00000000000a', NULL, '203.0.113.7', 'curl', '{"by": "signup"}');
INSERT INTO audit (at, kind, action, object, user_agent, details) VALUES
    ('2027-01-02', 'job', 'storage.check', '', '', '{}'),
    ('3999-01-01', 'job', 'storage.check', '', '', '{}');
-- A request that Ann may repeat.
INSERT INTO idempotency_keys (key, caller, fingerprint, claim, done, busy_until, expires_at) VALUES
    ('\x01', '\x02', '\x03', '00000000-0000-7000-8000-000000000c01', true, '2026-01-01Z', '2026-12-31Z');
-- Five minutes of the charts, and five whose counts of the database are not known yet.
INSERT INTO samples (at, requests, errors, uploads, downloads, bytes_in, bytes_out, free, logins, deliveries, mails, jobs, database, people, transfers)
VALUES ('2026-01-01Z', 120, 1, 4, 2, 5000, 7000, 1000000, 3, 2, 0, 1, 900000, 12, 30);
INSERT INTO samples (at, requests) VALUES ('2026-01-01 00:05Z', 7);
