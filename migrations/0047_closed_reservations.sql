-- +goose Up

-- A reservation that is no longer open counts no longer among those of strangers. Versions from before 0024 close reservations without
-- knowing their table, so a trigger deletes the row. Without it the rows count against their network until they expire.
-- +goose StatementBegin
create function transfer.close_stranger_reservation() returns trigger
language plpgsql
as $$
begin
    delete from transfer.stranger_reservations s where s.reservation = new.uid;
    return null;
end
$$;
-- +goose StatementEnd

create trigger reservations_closed after update of state on transfer.reservations
for each row when (old.state = 'open' and new.state <> 'open' and new.type = 'mailbox') execute function transfer.close_stranger_reservation();

delete from transfer.stranger_reservations s using transfer.reservations r where r.uid = s.reservation and r.state <> 'open';
