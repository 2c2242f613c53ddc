INSERT INTO transfer.sender_codes (reservation, email, expires_at, verified_email) VALUES
    ('00000000-0000-7000-8000-0000000000f5', 'sam@example.com', '2026-11-20Z', 'sam@example.com');
INSERT INTO transfer.daily_sender_codes (email, day, sent) VALUES ('sam@example.com', '2026-11-20', 1);
