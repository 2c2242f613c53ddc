-- +goose Up

-- The sender may change a delivered transfer. protection_epoch counts changes of protection and password: it ends download tokens of
-- earlier ones. warn_after is when people may be warned of another expiry.
alter table transfer.transfers add column protection_epoch bigint not null default 0, add column warn_after timestamptz;

-- Content of transfers without a sender who could extend them is erased at their expiry.
create index transfers_expiring_unmanaged on transfer.transfers (expires_at) where ended_at is null and not sender_managed;
