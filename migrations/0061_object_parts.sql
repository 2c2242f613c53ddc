-- +goose Up

-- Objects that are uploaded in parts at once. part_size: bytes of all parts but the last one; null: the object comes in one stream.
-- objects.held counts the bytes that are joined: their SHA-256 is computed, in order. Older versions take such an object for one
-- without bytes, and do not deliver it.
alter table transfer.objects add column part_size bigint,
    add constraint objects_part_size check (part_size > 0);

-- What is held of a part. Rows are made when a part begins, and go when the object is complete. A row is written by who holds at least
-- a key share lock of the object, so none comes after its deletion. charges are those of the object.
create table transfer.object_parts (
    object         uuid        not null,
    number         integer     not null, -- from 1
    held           bigint      not null default 0,
    writer_epoch   bigint      not null default 0,
    lease_until    timestamptz,
    reserved       bigint      not null default 0, -- volume set aside for the request that is writing
    reserved_month date,
    constraint object_parts_pkey primary key (object, number),
    constraint object_parts_number check (number > 0),
    constraint object_parts_held check (held >= 0),
    constraint object_parts_reserved_known check (reserved >= 0 and (reserved = 0 or reserved_month is not null))
);
create index object_parts_reserving on transfer.object_parts (lease_until) where reserved > 0;

-- +goose StatementBegin
create or replace function transfer.delete_charges() returns trigger
language plpgsql
as $$
begin
    delete from transfer.object_charges c where c.object = any (array(select uid from gone)); -- by the index, whatever the statistics say
    delete from transfer.object_parts p where p.object = any (array(select uid from gone));
    return null;
end
$$;
-- +goose StatementEnd
