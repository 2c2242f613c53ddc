-- An account whose erasure waits for a hold of one of its transfers.
INSERT INTO transfer.person_erasures (person, reason, deleted_at, key_hash, mailboxes, requests, received, finished_at)
VALUES ('00000000-0000-7000-8000-000000016001', 'person', '2026-11-27 05:00:00Z', sha256('key'), 1, 0, 1, '2026-11-27 05:00:01Z');
INSERT INTO transfer.held_erasures (person, subject)
SELECT '00000000-0000-7000-8000-000000016001', uid FROM transfer.transfers LIMIT 1;
