-- A check of all stored files that has ended.
INSERT INTO transfer.storage_checks (uid, started_at, finished_at, state, total, listed, objects, bytes, findings, problems)
VALUES ('00000000-0000-7000-8000-0000000000c1', '2026-01-01Z', '2026-01-01 00:10Z', 'done', 2, true, 2, 300, 1, '[{"kind": "lost", "object": "00000000-0000-7000-8000-0000000000f6", "detail": "400 bytes, none of them in the store"}]');
