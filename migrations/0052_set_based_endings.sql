-- +goose Up

-- Charges go with their objects, by one statement instead of one for each object, which took most of the time when many transfers fell due at
-- once. Charges are written by statements that hold the lock of the object, so none comes after its deletion.
-- +goose StatementBegin
create function transfer.delete_charges() returns trigger
language plpgsql
as $$
begin
    delete from transfer.object_charges c where c.object = any (array(select uid from gone)); -- by the index, whatever the statistics say
    return null;
end
$$;
-- +goose StatementEnd
create trigger objects_charges_deleted after delete on transfer.objects
referencing old table as gone for each statement execute function transfer.delete_charges();
alter table transfer.object_charges drop constraint object_charges_object;

-- An end sets transfers.search to '' and deletes the search texts itself. Older versions set null, and the trigger transfers_searched
-- deletes them one by one. Ended transfers get no search text again.
-- +goose StatementBegin
create or replace function transfer.write_search_texts(uids uuid[]) returns void
language sql
as $$
    insert into transfer.search_texts (transfer, parties, words)
    select t.uid, array_remove(array_agg(distinct d.person) || case when t.sender_managed then t.sender end, null),
        concat_ws(E'\n', t.search, lower(normalize(string_agg(concat_ws(' ', d.name, d.email, d.notes), E'\n' order by d.position))))
    from transfer.transfers t join transfer.deliveries d on d.transfer = t.uid where t.uid = any (uids) and t.search is not null and t.ended_at is null
    group by t.uid order by t.uid
    on conflict on constraint search_texts_pkey do update set parties = excluded.parties, words = excluded.words
$$;
-- +goose StatementEnd
