-- +goose Up

-- A forward is a transfer of its own over the bytes of another one. Its objects name these bytes in content: the uid of the object that
-- was uploaded, which is the key in the storage. Null: the object has bytes of its own. metadata is negative where the bytes count nothing.
alter table transfer.objects add column content uuid;
create index objects_sharing on transfer.objects (content, uid) where content is not null;

-- The sender may forbid to forward a transfer.
alter table transfer.transfers add column forwarding boolean not null default true;

-- How many objects hold bytes that were forwarded: that of the upload, until its transfer ends, and one of each forward.
create table transfer.shared_contents (
    content uuid   not null,
    holders bigint not null,
    constraint shared_contents_pkey primary key (content),
    constraint shared_contents_held check (holders > 0)
);

-- Decides which bytes of an ended object are purged, also while an older version, which knows no forwards, serves beside this one.
-- Bytes that others hold stay. Those whose own object has ended are noted with the time infinity: then neither purge nor orphan sweep of
-- any version removes them. The last holder makes them due.
-- +goose StatementBegin
create or replace function transfer.release_content() returns trigger
language plpgsql
as $$
declare
    shared uuid := coalesce((select o.content from transfer.objects o where o.uid = new.object), new.object);
    n      bigint;
begin
    select c.holders into n from transfer.shared_contents c where c.content = shared for update;
    if n = 1 then
        delete from transfer.shared_contents c where c.content = shared;
        update transfer.discarded_objects d set discarded_at = new.discarded_at, busy_until = null where d.object = shared;
        if found then
            return null;
        end if;
        new.object := shared;
        return new;
    end if;
    if n > 1 then
        update transfer.shared_contents c set holders = c.holders - 1 where c.content = shared;
        new.discarded_at := 'infinity';
        new.busy_until := 'infinity';
    end if;
    if shared <> new.object then
        return null;
    end if;
    return new;
end
$$;
-- +goose StatementEnd

create trigger discarded_objects_shared before insert on transfer.discarded_objects
for each row execute function transfer.release_content();
