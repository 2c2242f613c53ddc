-- A stream of the audit with an entry that waits and one that is under way.
INSERT INTO audit_stream (active, sequence, hash, sent, sent_hash) VALUES
    (true, 1, decode(repeat('01', 32), 'hex'), 0, decode(repeat('00', 32), 'hex'));
INSERT INTO audit_pending (id, at) VALUES (2, '2026-11-20T09:30:00Z');
INSERT INTO audit_outbox (sequence, at, action, line) VALUES (1, '2026-11-20T09:30:00Z', 'session.login', '{"sequence":1}');
