-- A file that is uploaded in parts, with one part.
UPDATE transfer.objects SET part_size = 1048576 WHERE uid = '00000000-0000-7000-8000-0000000000f6';
INSERT INTO transfer.object_parts (object, number, held) VALUES ('00000000-0000-7000-8000-0000000000f6', 1, 400);
