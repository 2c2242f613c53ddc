INSERT INTO event_feeds (person, last_id, used_at) VALUES ('00000000-0000-7000-8000-00000000000a', 1, '2999-01-01Z');
INSERT INTO events (person, id, uid, kind, subject, created_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', 1, '00000000-0000-7000-8000-0000000000c1', 'TRANSFER_RECEIVED', '00000000-0000-7000-8000-0000000000f1', '2999-01-01Z');
INSERT INTO audit (at, actor, action, object, target, organization, address, user_agent, details) VALUES
    ('2999-01-01Z', '00000000-0000-7000-8000-00000000000a', 'person.create', 'ann@example.com', '00000000-0000-7000-8000-00000000000a', NULL, '203.0.113.7', 'curl', '{"by": "signup"}');
