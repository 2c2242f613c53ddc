-- What an installation of this step held. Later files go on from here; nothing in them is ever changed, only added to.
INSERT INTO settings (name, value, updated_at) VALUES
    ('maintenance', 'false', '2026-01-01Z'),
    ('identity.public_host', '"localhost"', '2026-01-01Z');
