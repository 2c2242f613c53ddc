-- What a connection has left of the bytes that the row of the organization in 0007 counts ahead.
INSERT INTO transfer.volume_advances (subject, month, slot, held) VALUES ('00000000-0000-7000-8000-000000000002', '-infinity', 3, 400);
