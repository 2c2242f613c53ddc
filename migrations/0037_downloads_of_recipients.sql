-- +goose Up

-- How often the recipient of a delivery downloaded from the transfer, and when last.
alter table transfer.deliveries add column downloads integer not null default 0, add column downloaded_at timestamptz;
