-- A hold of a person that has kept a row and a file.
INSERT INTO holds (uid, kind, subject, name, reason, created_at) VALUES
    ('00000000-0000-7000-8000-0000000000e0', 'person', '00000000-0000-7000-8000-0000000000dd', 'Case 7',
     'court order', '2026-11-20T09:30:00Z');
INSERT INTO hold_scope (hold, kind, subject) VALUES
    ('00000000-0000-7000-8000-0000000000e0', 'person', '00000000-0000-7000-8000-0000000000dd');
INSERT INTO hold_rows (hold, source, at, data) VALUES
    ('00000000-0000-7000-8000-0000000000e0', 'identity.avatars', '2026-11-21T09:30:00Z', '{"height": 80}');
INSERT INTO hold_contents (hold, content) VALUES ('00000000-0000-7000-8000-0000000000e0', '00000000-0000-7000-8000-0000000000de');
