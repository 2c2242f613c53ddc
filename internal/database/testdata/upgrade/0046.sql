INSERT INTO transfer.mailbox_pictures (mailbox, image, etag, updated_at) SELECT person, '\xffd8ffd9', '"ffd9"', now() FROM transfer.mailboxes LIMIT 1;
