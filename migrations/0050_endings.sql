-- +goose Up

-- The end of a transfer deletes its objects. A row here names the keys of their bytes, until these are deleted and that is stated.
create table transfer.erasing (
    transfer uuid   not null,
    contents uuid[] not null,
    constraint erasing_pkey primary key (transfer)
);

-- transfer.erasures is where older versions, which keep the objects, note the same. Their notes are copied, also while such a version
-- serves beside this one. A statement that both versions make is stored once.
-- +goose StatementBegin
create function transfer.copy_erasure() returns trigger
language plpgsql
as $$
begin
    insert into transfer.erasing (transfer, contents)
    select new.transfer, array(select coalesce(o.content, o.uid) from transfer.objects o where o.reservation = new.reservation)
    on conflict on constraint erasing_pkey do nothing;
    return null;
end
$$;
-- +goose StatementEnd
create trigger erasures_copied after insert on transfer.erasures for each row execute function transfer.copy_erasure();
insert into transfer.erasing (transfer, contents)
select e.transfer, array(select coalesce(o.content, o.uid) from transfer.objects o where o.reservation = e.reservation) from transfer.erasures e;

-- unshared: nothing shares the bytes, which spares a call of release_content. Older versions do not say.
alter table transfer.discarded_objects add column unshared boolean;
drop trigger discarded_objects_shared on transfer.discarded_objects;
create trigger discarded_objects_shared before insert on transfer.discarded_objects
for each row when (new.unshared is not true) execute function transfer.release_content();
