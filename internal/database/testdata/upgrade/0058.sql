-- A file that the scanner has found clean.
INSERT INTO transfer.inspections (content, transfer, bytes, state, engine, signatures, created_at, scanned_at) VALUES
    ('00000000-0000-7000-8000-0000000000e1', '00000000-0000-7000-8000-0000000000f1', 1000, 'clean', 'ClamAV 1.4.3', '27500', '2026-01-02Z', '2026-01-02Z');
