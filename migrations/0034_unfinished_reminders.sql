-- +goose Up

-- When the stranger was mailed that the upload is unfinished and expires soon.
alter table transfer.reservations add column reminded_at timestamptz;
create index reservations_unreminded on transfer.reservations (expires_at)
    where state = 'open' and type = 'mailbox' and anon_email is not null and reminded_at is null;
