INSERT INTO transfer.requests (uid, owner, title, time_zone, late, locale, due, created_at, updated_at) VALUES
  ('0193f000-0000-7000-8000-0000000000d1', '0193f000-0000-7000-8000-000000000001', 'Statement 2026', 'Europe/Berlin', 'mark', 'de_DE', now(), now(), now());
INSERT INTO transfer.request_items (uid, request, position, name, required, max_files, max_file_size_mb) VALUES
  ('0193f000-0000-7000-8000-0000000000d2', '0193f000-0000-7000-8000-0000000000d1', 1, 'Lease', true, 10, 100);
INSERT INTO transfer.request_parties (uid, request, email, locale, time_zone, key_hash, created_at) VALUES
  ('0193f000-0000-7000-8000-0000000000d3', '0193f000-0000-7000-8000-0000000000d1', 'bob@example.org', 'de_DE', 'Europe/Berlin', '\x01', now());
INSERT INTO transfer.party_items (party, item, state, changed_at) VALUES
  ('0193f000-0000-7000-8000-0000000000d3', '0193f000-0000-7000-8000-0000000000d2', 'uploaded', now());
INSERT INTO transfer.heartbeats (at, body, entry) VALUES (now(), '\x01', '\x02');
