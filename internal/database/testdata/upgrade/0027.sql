INSERT INTO transfer.daily_mailbox_mails (owner, client, day, sent) VALUES ('00000000-0000-7000-8000-00000000000a', '203.0.113.7', '2026-11-20', 1);
