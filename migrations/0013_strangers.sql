-- +goose Up

-- What strangers occupy at one mailbox is bounded for each client network. client identifies the network that began an open
-- reservation; it is erased by the confirm.
alter table transfer.reservations add column client text;

-- Storage set aside for requests that are writing, as transfer.volumes has it.
alter table transfer.stored_volumes add column reserved bigint not null default 0,
    add constraint stored_volumes_reserved_not_negative check (reserved >= 0);
