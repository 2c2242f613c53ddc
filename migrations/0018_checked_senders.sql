-- +goose Up

-- Whether the address of a mailbox's uploader was checked: it is a verified one of the uploader's account. What an older replica
-- stores counts as not checked.
alter table transfer.transfers add column sender_verified boolean not null default false;
