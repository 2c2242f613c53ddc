-- Bob operates the installation.
INSERT INTO identity.operators (person, added_at) VALUES ('00000000-0000-7000-8000-00000000000b', '2026-01-01Z');
