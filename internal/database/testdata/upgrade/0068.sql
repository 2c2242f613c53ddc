-- A partial upload, and the final one that is made of it.
INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, held, created_at, partial, final) VALUES
    ('00000000-0000-7000-8000-0000000000f7', '00000000-0000-7000-8000-0000000000f5', 'p', 'unnamed', 10, 10, '2026-01-02Z', true, '00000000-0000-7000-8000-0000000000f8');
INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, created_at, upload_concat, partials, partial_sizes) VALUES
    ('00000000-0000-7000-8000-0000000000f8', '00000000-0000-7000-8000-0000000000f5', 'f', 'f.bin', 10, '2026-01-02Z', 'final;objects/p/tus', '{p}', '{10}');
