-- +goose Up

-- Bytes of texts and names that are charged as volume, to the month of created_at. What an older version stored counts nothing.
alter table transfer.objects add column metadata bigint not null default 0;
alter table transfer.reservations add column metadata bigint not null default 0;
