-- +goose Up

-- What strangers occupy at one mailbox is bounded for each client network. client identifies the network that began an open
-- reservation; it is erased by the confirm.
alter table transfer.reservations add column client text;

-- Bytes of names, subject, message and fields, charged as volume to the month in which the reservation was created.
alter table transfer.reservations add column metadata_bytes bigint not null default 0;

-- Storage set aside for requests that are writing, as transfer.volumes has it.
alter table transfer.stored_volumes add column reserved bigint not null default 0,
    add constraint stored_volumes_reserved_not_negative check (reserved >= 0);
