INSERT INTO mails (uid, created_at, template, reference, recipient, recipient_name, reply_to, reply_to_name, locale, time_zone, sender, data, has_secret,
    message_id, give_up_at, state, attempts, last_attempt_at, last_answer, finished_at) VALUES
    ('00000000-0000-7000-8000-0000000000b1', '2026-01-01Z', 'transfer-delivered', 'delivery:1', 'ann@example.com', 'Ann', 'sam@example.com', 'Sam', 'en_US',
     'Europe/Berlin', '{}', '{}', true, '<1@localhost>', '2026-01-03Z', 'sent', 2, '2026-01-01Z', '250 2.0.0 Ok', '2026-01-01Z');
