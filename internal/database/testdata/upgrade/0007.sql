-- The files of the transfer and of the half upload of 0006.
INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, held, sha_state, sha256, mime_type, created_at) VALUES
    ('00000000-0000-7000-8000-0000000000f2', '00000000-0000-7000-8000-0000000000f0', 'a', 'plans.pdf', 1000, 1000, NULL, decode(repeat('5a', 32), 'hex'), 'application/pdf', '2026-01-02Z'),
    ('00000000-0000-7000-8000-0000000000f6', '00000000-0000-7000-8000-0000000000f5', 'a', 'half.bin', 1000, 400, decode('5347', 'hex'), NULL, NULL, '2026-01-02Z');
INSERT INTO transfer.segments (uid, object, number, size, held) VALUES
    ('00000000-0000-7000-8000-0000000000f2', '00000000-0000-7000-8000-0000000000f2', 1, 1000, 1000);
INSERT INTO transfer.segment_charges (segment, month, bytes) VALUES
    ('00000000-0000-7000-8000-0000000000f2', '2026-01-01', 1000), ('00000000-0000-7000-8000-0000000000a6', '2026-01-01', 400);
INSERT INTO transfer.volumes (subject, month, kind, held) VALUES
    ('00000000-0000-7000-8000-00000000000a', '2026-01-01', 'person', 1400), ('00000000-0000-7000-8000-000000000002', '2026-01-01', 'organization', 1400);
INSERT INTO transfer.stored_volumes (organization, bytes) VALUES ('00000000-0000-7000-8000-000000000002', 1400);
INSERT INTO transfer.discarded_objects (object, discarded_at) VALUES ('00000000-0000-7000-8000-0000000000f9', '2999-01-01Z');
-- The file of the transfer f1 was forwarded.
INSERT INTO transfer.shared_contents (content, holders) VALUES ('00000000-0000-7000-8000-0000000000f2', 2);
-- The key of a file that is stored encrypted.
INSERT INTO transfer.sealed_segments (segment, key, layout, version) VALUES ('00000000-0000-7000-8000-000000000e01', '\x01', '\x010a0000', 1);
-- A file that the scanner has found clean.
INSERT INTO transfer.inspections (content, transfer, bytes, state, engine, signatures, created_at, scanned_at) VALUES
    ('00000000-0000-7000-8000-0000000000e1', '00000000-0000-7000-8000-0000000000f1', 1000, 'clean', 'ClamAV 1.4.3', '27500', '2026-01-02Z', '2026-01-02Z');
-- A file that is uploaded in parts, with one part.
UPDATE transfer.objects SET part_size = 1048576, segmented = true WHERE uid = '00000000-0000-7000-8000-0000000000f6';
INSERT INTO transfer.segments (uid, object, number, size, held) VALUES
    ('00000000-0000-7000-8000-0000000000a6', '00000000-0000-7000-8000-0000000000f6', 1, 1000, 400);
-- A check of all stored files that has ended.
INSERT INTO transfer.storage_checks (uid, started_at, finished_at, state, total, listed, objects, bytes, findings, problems)
VALUES ('00000000-0000-7000-8000-0000000000c1', '2026-01-01Z', '2026-01-01 00:10Z', 'done', 2, true, 2, 300, 1, '[{"kind": "lost", "object": "00000000-0000-7000-8000-0000000000f6", "detail": "400 bytes, none of them in the store"}]');
-- A partial upload, and the final one that is made of it.
INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, held, created_at, partial, final) VALUES
    ('00000000-0000-7000-8000-0000000000f7', '00000000-0000-7000-8000-0000000000f5', 'p', 'unnamed', 10, 10, '2026-01-02Z', true, '00000000-0000-7000-8000-0000000000f8');
INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, created_at, upload_concat, partials) VALUES
    ('00000000-0000-7000-8000-0000000000f8', '00000000-0000-7000-8000-0000000000f5', 'f', 'f.bin', 10, '2026-01-02Z', 'final;objects/p/tus', '{p}');
-- A day of an organization.
INSERT INTO transfer.volume_samples (organization, day, stored, held) VALUES ('00000000-0000-7000-8000-0000000000e1', '2026-01-01', 5000, 7000);
-- An ended transfer whose bytes are not deleted yet.
INSERT INTO transfer.erasing (transfer, contents) VALUES ('00000000-0000-7000-8000-000000003101', '{00000000-0000-7000-8000-000000003103}');
-- A small picture of a file, sealed.
INSERT INTO transfer.thumbnails (object, image) VALUES ('00000000-0000-7000-8000-0000000000f2', '\x01');
-- A file whose stored bytes were found damaged.
INSERT INTO transfer.damaged_contents (content, detail, found_at, checked_at)
VALUES ('00000000-0000-7000-8000-0000000000f2', 'the SHA-256 differs', '2026-01-01', '2026-01-02');
