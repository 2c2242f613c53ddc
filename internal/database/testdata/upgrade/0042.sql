-- The file of the transfer f1 was forwarded.
INSERT INTO transfer.shared_contents (content, holders) VALUES ('00000000-0000-7000-8000-0000000000f2', 2);
