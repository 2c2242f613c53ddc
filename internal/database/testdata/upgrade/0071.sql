-- A day of an organization.
INSERT INTO transfer.volume_samples (organization, day, stored, held) VALUES ('00000000-0000-7000-8000-0000000000e1', '2026-01-01', 5000, 7000);
