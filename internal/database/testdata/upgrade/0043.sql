INSERT INTO transfer.downloads (transfer, item, delivery, day, size, downloads, sent, ranges, began_at, last_at, completed_at, addresses) VALUES
    ('00000000-0000-7000-8000-0000000000f1', '00000000-0000-7000-8000-0000000000f1', '00000000-0000-7000-8000-0000000000f3', '2026-01-03', 1000, 1, 1000, '{[0,1000)}',
     '2026-01-03Z', '2026-01-03Z', '2026-01-03Z', '{192.0.2.1}');
