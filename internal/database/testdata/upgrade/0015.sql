INSERT INTO transfer.daily_recipients (person, day, recipients) VALUES ('00000000-0000-7000-8000-000000000001', '2026-11-20', 3);
