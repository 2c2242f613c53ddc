-- Five minutes of the charts, and five whose counts of the database are not known yet.
INSERT INTO samples (at, requests, errors, uploads, downloads, bytes_in, bytes_out, free, logins, deliveries, mails, jobs, database, people, transfers)
VALUES ('2026-01-01Z', 120, 1, 4, 2, 5000, 7000, 1000000, 3, 2, 0, 1, 900000, 12, 30);
INSERT INTO samples (at, requests) VALUES ('2026-01-01 00:05Z', 7);
